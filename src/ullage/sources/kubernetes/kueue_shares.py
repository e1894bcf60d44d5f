"""Kueue's ClusterQueues, Cohorts and LocalQueues as they are written: bounds, weight, and whom they evict.

The versions of Kueue differ in how they name a parent. The hard thing is flavors: Kueue bounds each, a quota
here bounds their sum.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from ullage.model.cluster import EvictsOthers, EvictsOwn
from ullage.model.constraints import LabelSelector
from ullage.model.errors import InputError
from ullage.model.quantity import parse_nano
from ullage.model.resources import NOTHING, Resources
from ullage.sources.kubernetes.amounts import NANO, Amounts
from ullage.sources.kubernetes.faults import Fault, decoded
from ullage.sources.kubernetes.items import Item, Kind
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE
from ullage.sources.kubernetes.wire import NULL, Named, Wire
from ullage.sources.places import Path

GROUP: Final = "kueue.x-k8s.io"
CLUSTER_QUEUE: Final = Kind(GROUP, "ClusterQueue")
COHORT: Final = Kind(GROUP, "Cohort")
LOCAL_QUEUE: Final = Kind(GROUP, "LocalQueue")
DEFAULT_WEIGHT: Final = Fraction(1)
NOT_STOPPED: Final = "None"
NEVER: Final = "Never"
NEWER_EQUAL: Final = "LowerOrNewerEqualPriority"
_OWN: Final[Mapping[str, EvictsOwn]] = {"LowerPriority": "LowerPriority", NEWER_EQUAL: "LowerPriority"}
_OTHERS: Final[Mapping[str, EvictsOthers]] = {"LowerPriority": "LowerPriority", "Any": "Any"}
_NUMBER: Final = msgspec.json.Decoder(str | int | float)


class _FlavorBound(Wire):
    name: str
    nominal_quota: Raw = NULL
    borrowing_limit: Raw = NULL
    lending_limit: Raw = NULL


class _Flavor(Wire):
    name: str = ""
    resources: list[_FlavorBound] | None = None


class _ResourceGroup(Wire):
    flavors: list[_Flavor] | None = None


class _FairSharing(Wire):
    weight: Raw = NULL


class _ShareSpec(Wire):
    """A ClusterQueue or a Cohort: what v1beta1 calls `cohort` and `parent` is a name from v1beta2 on."""

    resource_groups: list[_ResourceGroup] | None = None
    cohort: str | None = None
    cohort_name: str | None = None
    parent: str | None = None
    parent_name: str | None = None
    fair_sharing: _FairSharing | None = None
    namespace_selector: LabelSelector | None = None
    stop_policy: str | None = None
    preemption: dict[str, Any] | None = None


class _Used(Wire):
    name: str
    total: Raw = NULL


class _FlavorUsed(Wire):
    resources: list[_Used] | None = None


class _ShareStatus(Wire):
    flavors_usage: list[_FlavorUsed] | None = None


class _ShareWire(Wire):
    metadata: Named
    spec: _ShareSpec | None = None
    status: _ShareStatus | None = None


class _LocalSpec(Wire):
    cluster_queue: str | None = None
    stop_policy: str | None = None


class _LocalWire(Wire):
    metadata: Named
    spec: _LocalSpec | None = None


_SHARE: Final = msgspec.json.Decoder(_ShareWire)
_LOCAL: Final = msgspec.json.Decoder(_LocalWire)


class Evicts(NamedTuple):
    """Whom claims of a queue evict: of its own, and of others; which of its words are not simulated."""

    own: EvictsOwn = "Never"
    others: EvictsOthers = "Never"
    newer_equal: bool = False
    while_borrowing: bool = False


class Bounds(NamedTuple):
    """What an object says of all flavors together; `flavored` if a resource has more than one of them."""

    nominal: Resources = NOTHING
    borrowing: Resources = NOTHING
    lending: Resources = NOTHING
    flavored: bool = False


class Share(NamedTuple):
    """A ClusterQueue or a Cohort as it was read."""

    parent: str
    bounds: Bounds = Bounds()
    weight: Fraction = DEFAULT_WEIGHT
    selector: LabelSelector | None = None
    stopped: bool = False
    used: Resources | None = None
    evicts: Evicts = Evicts()


class Local(NamedTuple):
    """A LocalQueue as it was read: the queue of a namespace, and the ClusterQueue behind it."""

    namespace: str
    cluster_queue: str
    stopped: bool


def read_share(item: Item, amounts: Amounts) -> tuple[str, Share]:
    """Return the name of a ClusterQueue or Cohort and what it says; raises a Fault."""
    wire = item.decode(_SHARE)
    spec = wire.spec or _ShareSpec()
    is_queue = item.kind == CLUSTER_QUEUE
    above = (spec.cohort_name or spec.cohort) if is_queue else (spec.parent_name or spec.parent)
    return wire.metadata.name, Share(
        above or "",
        _bounds(spec, amounts),
        _weight(spec),
        spec.namespace_selector,
        _is_stopped(spec.stop_policy),
        _used(wire.status, amounts),
        _evicts(spec.preemption or {}),
    )


def read_local(item: Item, namespace: str = DEFAULT_NAMESPACE) -> tuple[str, Local]:
    """Return the key of a LocalQueue, as NAMESPACE/NAME, and what it says; raises a Fault."""
    wire = item.decode(_LOCAL)
    said = wire.spec or _LocalSpec()
    inside = wire.metadata.namespace or namespace
    key = f"{inside}/{wire.metadata.name}"
    return key, Local(inside, said.cluster_queue or "", _is_stopped(said.stop_policy))


def _evicts(policy: Mapping[str, Any]) -> Evicts:
    """Return whom a queue evicts; without a word on it, nobody."""
    borrows = policy.get("borrowWithinCohort")
    word = borrows.get("policy") if isinstance(borrows, dict) else None
    within = policy.get("withinClusterQueue")
    return Evicts(
        _OWN.get(str(within), "Never"),
        _OTHERS.get(str(policy.get("reclaimWithinCohort")), "Never"),
        within == NEWER_EQUAL,
        (word or NEVER) != NEVER,
    )


def _is_stopped(policy: str | None) -> bool:
    return (policy or NOT_STOPPED) != NOT_STOPPED


def _bounds(spec: _ShareSpec, amounts: Amounts) -> Bounds:
    """Return the bounds of all flavors together.

    Where one flavor of a resource may borrow without limit, so may their sum; a flavor without a lending
    limit lends all it has.
    """
    nominal: dict[str, list[int]] = {}
    borrowing: dict[str, list[int]] = {}
    lending: dict[str, list[int]] = {}
    limited: set[str] = set()
    for path, bound in _flavor_bounds(spec):
        least = _amounts(bound.name, bound.nominal_quota, (*path, "nominalQuota"), amounts)
        borrowed = _amounts(bound.name, bound.borrowing_limit, (*path, "borrowingLimit"), amounts)
        lent = _amounts(bound.name, bound.lending_limit, (*path, "lendingLimit"), amounts)
        for name, amount in least.items():
            nominal.setdefault(name, []).append(amount)
            lending.setdefault(name, []).append(lent.get(name, amount))
        for name, amount in borrowed.items():
            borrowing.setdefault(name, []).append(amount)
        limited.update(lent)
    return Bounds(
        _summed(nominal),
        _summed({name: each for name, each in borrowing.items() if len(each) == len(nominal.get(name, ()))}),
        _summed({name: each for name, each in lending.items() if name in limited}),
        any(len(each) > 1 for each in nominal.values()),
    )


def _flavor_bounds(spec: _ShareSpec) -> Iterable[tuple[Path, _FlavorBound]]:
    for group_index, group in enumerate(spec.resource_groups or ()):
        for flavor_index, flavor in enumerate(group.flavors or ()):
            for index, bound in enumerate(flavor.resources or ()):
                inside = ("resourceGroups", group_index, "flavors", flavor_index, "resources", index)
                yield ("spec", *inside), bound


def _amounts(name: str, quantity: Raw, path: Path, amounts: Amounts) -> Resources:
    """Return one amount under the name that its resource has here; nothing where it is not stated."""
    if quantity == NULL:
        return NOTHING
    try:
        return amounts.bound(Raw(msgspec.json.encode({name: quantity})))
    except Fault as fault:
        raise Fault(fault.error, path) from None


def _used(status: _ShareStatus | None, amounts: Amounts) -> Resources | None:
    """Return what the status of a queue says is used, of all flavors together; None where it says nothing."""
    if status is None or not status.flavors_usage:
        return None
    total: dict[str, list[int]] = {}
    for flavor_index, flavor in enumerate(status.flavors_usage):
        for index, used in enumerate(flavor.resources or ()):
            path = ("status", "flavorsUsage", flavor_index, "resources", index, "total")
            for name, amount in _amounts(used.name, used.total, path, amounts).items():
                total.setdefault(name, []).append(amount)
    return _summed(total)


def _summed(amounts: Mapping[str, list[int]]) -> Resources:
    return Resources({name: sum(each) for name, each in amounts.items()})


def _weight(spec: _ShareSpec) -> Fraction:
    """Return the weight of a share: a quantity, 1 where it is not stated."""
    raw = spec.fair_sharing.weight if spec.fair_sharing is not None else NULL
    if raw == NULL:
        return DEFAULT_WEIGHT
    path = ("spec", "fairSharing", "weight")
    text = bytes(raw)
    try:
        written = decoded(_NUMBER, text)
        return Fraction(parse_nano(written if isinstance(written, str) else text.decode().strip()), NANO)
    except Fault as fault:
        raise fault.under(*path) from None
    except InputError as error:
        raise Fault(error, path) from None
