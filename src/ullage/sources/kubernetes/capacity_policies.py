"""CapacityPolicies of a cluster as the one policy that decides: a profile, and a layer for each of them.

Layers lie on each other in the order of their names; under them lies what our processes were started with,
which the arguments of their Deployments tell. The hard thing is a policy that is wrong: the others go on
without it, and why it does not count is kept for its status.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ullage.model.errors import InputError
from ullage.model.policy import PROFILE_NAMES, Layer, Policy
from ullage.model.resources import ResourceTypes
from ullage.model.settings import check_setting
from ullage.sources.kubernetes.faults import wrong_type
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.object_kinds import OWN_GROUP
from ullage.sources.kubernetes.wire import NULL, Named, Wire
from ullage.sources.own_records import SettingValue
from ullage.sources.places import Path, one_line, path_text, shown
from ullage.sources.policies import load_policy, texts

CAPACITY_POLICY: Final = Kind(OWN_GROUP, "CapacityPolicy")
DEFAULT_PROFILE: Final = "kubernetes"
DEPLOYMENT: Final = Kind("apps", "Deployment")
_NAME_LABEL: Final = "app.kubernetes.io/name"
_OURS: Final = "ullage"
_GPU_MEMORY: Final = "--gpu-memory-gb"
_SWITCHES: Final = {"--sequential-lvg": ("few-drives", "yes"), "--no-sequential-lvg": ("few-drives", "no")}


class _Spec(Wire):
    inherits: str = ""
    cluster: dict[str, SettingValue] | None = None
    groups: dict[str, dict[str, SettingValue]] | None = None
    nodes: dict[str, dict[str, SettingValue]] | None = None


FIELDS: Final = frozenset(_Spec.__struct_encode_fields__)
"""What a CapacityPolicy may say."""


class PolicyObject(Wire):
    """A CapacityPolicy; what it says is read on its own, so that a wrong one still has a name."""

    metadata: Named
    spec: msgspec.Raw = NULL


OBJECT: Final = msgspec.json.Decoder(PolicyObject)
_SPEC: Final = msgspec.json.Decoder(_Spec | None)


class _Labelled(Named):
    labels: dict[str, str] | None = None


class _Container(Wire):
    args: list[str] | None = None


class _PodSpec(Wire):
    containers: list[_Container] | None = None


class _Template(Wire):
    spec: _PodSpec | None = None


class _DeploymentSpec(Wire):
    template: _Template | None = None


class _LabelledObject(Wire):
    metadata: _Labelled


class _Deployment(Wire):
    metadata: _Labelled
    spec: _DeploymentSpec | None = None


_LABELLED: Final = msgspec.json.Decoder(_LabelledObject)
_DEPLOYMENT: Final = msgspec.json.Decoder(_Deployment)


class Policies:
    """All CapacityPolicies that are there."""

    def __init__(
        self, types: ResourceTypes, profile: str = DEFAULT_PROFILE, layer: Layer | None = None
    ) -> None:
        """`layer` lies over the profile and under all of them."""
        self._types = types
        self._profile = profile
        self._layer = layer
        self._specs: dict[str, _Spec] = {}
        self.problems: dict[str, str] = {}

    def put(self, content: Any) -> bool:
        """Take one that is new or changed; return whether they say something else with it."""
        found = OBJECT.decode(content)
        name = found.metadata.name
        before = self._specs.pop(name, None)
        self.problems.pop(name, None)
        spec, problems = self._read(found.spec)
        if problems:
            self.problems[name] = str(problems[0])
        else:
            self._specs[name] = spec
        return self._specs.get(name) != before

    def problems_of(self, content: Any) -> list[str]:
        """Return all that is wrong with one, whether it is among these or not."""
        return [str(each) for each in self.errors_of(content)]

    def errors_of(self, content: Any) -> list[InputError]:
        """Return the same as errors."""
        return self._read(OBJECT.decode(content).spec)[1]

    def drop(self, name: str) -> None:
        """Forget one that is gone."""
        self._specs.pop(name, None)
        self.problems.pop(name, None)

    def lies_on(self, layer: Layer) -> None:
        """Put another layer over the profile and under all of them."""
        self._layer = layer

    @property
    def says_anything(self) -> bool:
        """Whether there is more than the profile."""
        return bool(self._specs) or self._layer is not None

    def names(self) -> set[str]:
        """Return the names of all that are there."""
        return {*self._specs, *self.problems}

    def policy(self) -> Policy:
        """Return what they say together."""
        named = sorted(self._specs.items())
        profile = next((spec.inherits for _, spec in named if spec.inherits), self._profile)
        policy = load_policy(profile, self._types)
        if self._layer is not None:
            policy = policy.with_layer(self._layer)
        for name, spec in named:
            policy = policy.with_layer(_layer(name, spec))
        return policy

    def layer(self, name: str) -> Layer | None:
        """Return what one of them says; None where it is wrong."""
        spec = self._specs.get(name)
        return None if spec is None else _layer(name, spec)

    def _read(self, content: msgspec.Raw) -> tuple[_Spec, list[InputError]]:
        """Return what one says, and what is wrong with it, each with where it stands."""
        try:
            spec = _SPEC.decode(content) or _Spec()
        except msgspec.ValidationError as error:
            return _Spec(), [wrong_type(error, bytes(content)).under("spec").alone()]
        except (msgspec.DecodeError, RecursionError) as error:
            return _Spec(), [InputError(f"it cannot be read: {one_line(str(error))}", where="spec")]
        problems: list[InputError] = []
        if spec.inherits and spec.inherits not in PROFILE_NAMES:  # whoever wrote it may open no file of ours
            remedy = f"use {', '.join(PROFILE_NAMES)}"
            problems.append(
                InputError(f"{shown(spec.inherits)!r} is no profile", where="spec.inherits", remedy=remedy)
            )
        places: list[tuple[Path, Mapping[str, SettingValue]]] = [(("spec", "cluster"), spec.cluster or {})]
        places += [(("spec", "groups", name), settings) for name, settings in (spec.groups or {}).items()]
        places += [(("spec", "nodes", name), settings) for name, settings in (spec.nodes or {}).items()]
        for path, settings in places:
            for key, text in texts(settings).items():
                try:
                    check_setting(key, text, self._types)
                except InputError as error:
                    where = path_text((*path, key))
                    problems.append(InputError(error.what, where=where, remedy=error.remedy))
        return spec, problems


def _layer(name: str, spec: _Spec) -> Layer:
    groups = {group: texts(settings) for group, settings in (spec.groups or {}).items()}
    nodes = {node: texts(settings) for node, settings in (spec.nodes or {}).items()}
    return Layer(f"CapacityPolicy {name}", cluster=texts(spec.cluster or {}), groups=groups, nodes=nodes)


def installed_layer(content: Any, types: ResourceTypes) -> Layer | None:
    """Return what a Deployment of ours gives its process to decide by; nothing where it is of others."""
    try:
        if (_LABELLED.decode(content).metadata.labels or {}).get(_NAME_LABEL) != _OURS:
            return None
        found = _DEPLOYMENT.decode(content)
    except (msgspec.DecodeError, RecursionError):
        return None  # how it is wrong is said where its pods are read
    template = found.spec.template if found.spec else None
    containers = (template.spec.containers if template and template.spec else None) or ()
    settings = _settings_of([word for each in containers for word in each.args or ()])
    try:
        for key, text in settings.items():
            check_setting(key, text, types)
    except InputError:
        return None  # its process does not run
    origin = f"Deployment {found.metadata.namespace or 'default'}/{found.metadata.name}"
    return Layer(origin, cluster=settings, stated=True) if settings else None


def _settings_of(arguments: list[str]) -> dict[str, str]:
    """Return the settings that a command line of ours makes; the last of several counts."""
    settings: dict[str, str] = {}
    for place, word in enumerate(arguments):
        name, equals, text = word.partition("=")
        if name == _GPU_MEMORY:
            settings["gpu-memory"] = text if equals else "".join(arguments[place + 1 : place + 2])
        elif word in _SWITCHES:
            key, value = _SWITCHES[word]
            settings[key] = value
    return settings
