"""Policy: every rule in which systems differ, as settings with a level and an origin.

A policy is a stack of layers (a built-in profile, then what users wrote over it); each layer holds settings
for the whole cluster, for groups and for nodes. The nearest level wins (node, group, cluster), within a
level the later layer. Settings are kept as the text that was written, so that showing, setting and
inheriting are the same for all of them; settings.py is the table that gives each its meaning.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from ullage.model.constraints import Record
from ullage.model.errors import InputError

Settings = Mapping[str, str]
PROFILE_NAMES: Final = ("kubernetes", "ganeti", "htools", "zos", "nos", "csi-baremetal")


class Layer(Record, frozen=True):
    """Settings of one origin; `built_in` marks a profile, whose reserve yields to what a source states.

    `stated` marks settings that a source states itself: they hold under whatever policy a user names.
    """

    origin: str
    built_in: bool = False
    cluster: Mapping[str, str] = {}
    groups: Mapping[str, Mapping[str, str]] = {}
    nodes: Mapping[str, Mapping[str, str]] = {}
    stated: bool = False


class Policy(Record, frozen=True):
    """A named stack of layers, the base first."""

    name: str = "kubernetes"
    layers: tuple[Layer, ...] = ()

    def with_layer(self, layer: Layer) -> "Policy":
        """Return this policy with one more layer over it."""
        return Policy(self.name, (*self.layers, layer))


class Effective(NamedTuple):
    """A setting as it applies somewhere: its text, and where that comes from."""

    text: str
    origin: str
    built_in: bool


def effective_settings(policy: Policy, group: str = "", node: str = "") -> dict[str, Effective]:
    """Return every setting that applies to a node, a group, or (neither named) the cluster."""
    found: dict[str, Effective] = {}
    for layer, level, settings in _levels(policy, group, node):
        origin = f"{layer.origin}, {level}" if level else layer.origin
        for key, text in settings.items():
            found.setdefault(key, Effective(text, origin, layer.built_in))
    return found


def _levels(policy: Policy, group: str, node: str) -> Iterator[tuple[Layer, str, Settings]]:
    """Yield settings from the nearest level and the latest layer to the farthest."""
    newest_first = policy.layers[::-1]
    if node:
        for layer in newest_first:
            yield layer, f"node {node}", layer.nodes.get(node, {})
    if group:
        for layer in newest_first:
            yield layer, f"group {group}", layer.groups.get(group, {})
    for layer in newest_first:
        yield layer, "", layer.cluster


def changed_layer(layer: Layer, scope: str, name: str, changes: Mapping[str, str | None]) -> Layer:
    """Return a layer with settings set (or, where None, removed) for `cluster`, a `group` or a `node`."""
    if scope == "cluster":
        return msgspec.structs.replace(layer, cluster=_changed(layer.cluster, changes))
    if scope not in {"group", "node"} or not name:
        raise InputError(
            f"policy target {scope}/{name} is unknown", remedy="write cluster, group/NAME or node/NAME"
        )
    table = dict(layer.groups if scope == "group" else layer.nodes)
    table[name] = _changed(table.get(name, {}), changes)
    if not table[name]:
        del table[name]
    ordered = {key: table[key] for key in sorted(table)}
    return msgspec.structs.replace(layer, **{f"{scope}s": ordered})


def _changed(settings: Settings, changes: Mapping[str, str | None]) -> Settings:
    merged = {**settings, **{key: text for key, text in changes.items() if text is not None}}
    removed = {key for key, text in changes.items() if text is None}
    return {key: merged[key] for key in sorted(merged) if key not in removed}
