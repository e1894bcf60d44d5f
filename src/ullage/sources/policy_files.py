"""Changing a policy file, and finding what is wrong with a policy.

A file is checked before anything is written, and written whole or not at all. It is written from its
content: order and comments of the old file are not kept.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.model.policy import PROFILE_NAMES, Layer, Policy, Settings, changed_layer
from ullage.model.resources import ResourceTypes
from ullage.model.settings import CLUSTER_ONLY, GROUP_AT_LEAST, check_setting
from ullage.model.verdict import Finding
from ullage.model.wire import API_VERSION
from ullage.sources.atomic_file import write_atomically
from ullage.sources.documents import JsonDocument
from ullage.sources.own_records import PolicyDocument
from ullage.sources.own_text import Form, policy_text
from ullage.sources.policies import read_policy_file, texts

CLUSTER: Final = "cluster"


def save_policy_file(path: str, policy: PolicyDocument, form: Form = "yaml") -> None:
    """Write a policy file, all of it or nothing."""
    write_atomically(path, policy_text(policy, form))


def set_values(
    path: str,
    target: str,
    changes: Mapping[str, str | None],
    types: ResourceTypes,
    *,
    inherits: str = "kubernetes",
) -> PolicyDocument:
    """Set settings of `cluster`, `group/NAME` or `node/NAME` in a file, or remove them where None.

    A file that is not there is created, and inherits the policy named. Nothing is written unless every
    setting is one that the target takes.
    """
    if path in PROFILE_NAMES:
        raise InputError(
            f"profile {path} is built in", remedy=f"name a file, for example --policy {path}-ours.yaml"
        )
    scope, name = parse_target(target)
    for key, text in changes.items():
        if text is not None:
            check_setting(key, text, types)
    form: Form = "yaml"
    if Path(path).exists():
        file = read_policy_file(path)
        content = file.content
        form = "json" if isinstance(file.document, JsonDocument) else "yaml"
    else:
        content = PolicyDocument(
            api_version=API_VERSION, kind="Policy", name=Path(path).stem, inherits=inherits
        )
    before = Layer(path, False, texts(content.cluster), _tables(content.groups), _tables(content.nodes))  # noqa: FBT003 - built_in
    _check_removed(before, scope, name, changes)
    after = changed_layer(before, scope, name, changes)
    changed = msgspec.structs.replace(content, cluster=after.cluster, groups=after.groups, nodes=after.nodes)
    save_policy_file(path, changed, form)
    return changed


def parse_target(target: str) -> tuple[str, str]:
    """Return scope and name of `cluster`, `group/NAME` or `node/NAME`."""
    scope, slash, name = target.partition("/")
    if target == CLUSTER or (scope in {"group", "node"} and slash and name):
        return scope, name
    raise InputError(f"policy target {target!r} is unknown", remedy="write cluster, group/NAME or node/NAME")


def policy_findings(policy: Policy, types: ResourceTypes, snapshot: Snapshot | None = None) -> list[Finding]:
    """Return what is wrong with a policy: settings that are unknown, and names that the cluster lacks."""
    found: list[Finding] = []
    for layer in policy.layers:
        for target, settings in _targets(layer):
            found += _setting_findings(layer.origin, target, settings, types)
        if snapshot is not None:
            found += _name_findings(layer, snapshot)
    return found


def _targets(layer: Layer) -> Iterator[tuple[str, Settings]]:
    yield CLUSTER, layer.cluster
    for name, settings in layer.groups.items():
        yield f"group/{name}", settings
    for name, settings in layer.nodes.items():
        yield f"node/{name}", settings


def _setting_findings(
    origin: str, target: str, settings: Settings, types: ResourceTypes
) -> Iterator[Finding]:
    for key, text in settings.items():
        try:
            check_setting(key, text, types)
        except InputError as error:
            yield Finding(
                "policy-setting", "error", target, f"{origin}: {target}: {key}: {error.what}", error.remedy
            )
        if key in CLUSTER_ONLY and target != CLUSTER:
            yield _without_effect(origin, target, key, "the cluster")
        elif key in GROUP_AT_LEAST and target.startswith("node/"):
            yield _without_effect(origin, target, key, "a group or the cluster")


def _without_effect(origin: str, target: str, key: str, level: str) -> Finding:
    return Finding(
        "policy-level",
        "warning",
        target,
        f"{origin}: {target}: {key} has no effect there",
        f"set it for {level}",
    )


def _name_findings(layer: Layer, snapshot: Snapshot) -> Iterator[Finding]:
    for kind, named, table in (
        ("group", layer.groups, snapshot.groups),
        ("node", layer.nodes, snapshot.nodes),
    ):
        for name in named:
            if name not in table:
                yield Finding(
                    f"policy-{kind}",
                    "warning",
                    f"{kind}/{name}",
                    f"{layer.origin}: {kind}/{name}: the cluster has no such {kind}",
                    "correct the name, or remove its settings",
                )


def _tables(table: Mapping[str, Mapping[str, str | int | float]]) -> dict[str, dict[str, str]]:
    return {name: texts(settings) for name, settings in table.items()}


def _check_removed(layer: Layer, scope: str, name: str, changes: Mapping[str, str | None]) -> None:
    settings = dict(_targets(layer)).get(f"{scope}/{name}" if name else scope, {})
    for key, text in changes.items():
        if text is None and key not in settings:
            raise InputError(
                f"{key} is not set for {scope}/{name}" if name else f"{key} is not set for the {scope}",
                where=layer.origin,
                remedy="see `ullage policy show` for where it comes from",
            )
