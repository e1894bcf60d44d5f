"""CapacityPolicies of a cluster as the one policy that decides: a profile, and a layer for each of them.

Layers lie on each other in the order of their names. The hard thing is a policy that is wrong: the others go
on without it, and why it does not count is kept for its status.
"""

from typing import Any, Final

import msgspec

from ullage.model.errors import InputError
from ullage.model.policy import Layer, Policy
from ullage.model.resources import ResourceTypes
from ullage.model.settings import check_setting
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.object_kinds import OWN_GROUP
from ullage.sources.kubernetes.wire import NULL, Named, Wire
from ullage.sources.own_records import SettingValue
from ullage.sources.places import one_line
from ullage.sources.policies import load_policy, texts

CAPACITY_POLICY: Final = Kind(OWN_GROUP, "CapacityPolicy")
DEFAULT_PROFILE: Final = "kubernetes"


class _Spec(Wire):
    inherits: str = ""
    cluster: dict[str, SettingValue] | None = None
    groups: dict[str, dict[str, SettingValue]] | None = None
    nodes: dict[str, dict[str, SettingValue]] | None = None


class _PolicyObject(Wire):
    metadata: Named
    spec: msgspec.Raw = NULL


_OBJECT: Final = msgspec.json.Decoder(_PolicyObject)
_SPEC: Final = msgspec.json.Decoder(_Spec | None)


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
        found = _OBJECT.decode(content)
        name = found.metadata.name
        before = self._specs.pop(name, None)
        self.problems.pop(name, None)
        try:
            spec = _SPEC.decode(found.spec) or _Spec()
            self._check(spec)
        except InputError as error:
            self.problems[name] = str(error)
        except (msgspec.DecodeError, RecursionError) as error:
            self.problems[name] = f"it cannot be read: {one_line(str(error))}"
        else:
            self._specs[name] = spec
        return self._specs.get(name) != before

    def drop(self, name: str) -> None:
        """Forget one that is gone."""
        self._specs.pop(name, None)
        self.problems.pop(name, None)

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
            groups = {group: texts(settings) for group, settings in (spec.groups or {}).items()}
            nodes = {node: texts(settings) for node, settings in (spec.nodes or {}).items()}
            origin = f"CapacityPolicy {name}"
            policy = policy.with_layer(
                Layer(origin, cluster=texts(spec.cluster or {}), groups=groups, nodes=nodes)
            )
        return policy

    def _check(self, spec: _Spec) -> None:
        """Raise an InputError where a setting is none."""
        if spec.inherits:
            load_policy(spec.inherits, self._types)
        every = [spec.cluster or {}, *(spec.groups or {}).values(), *(spec.nodes or {}).values()]
        for settings in every:
            for key, text in texts(settings).items():
                check_setting(key, text, self._types)
