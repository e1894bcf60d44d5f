"""Kueue's queues and cohorts as quotas: a ClusterQueue is one, its cohort the parent, a LocalQueue a queue.

A cohort shares what its queues are guaranteed, and its own quota is added to that; so the min of its quota is
the sum of all below it. A cohort that is only named exists as well. Queues and cohorts without a parent
neither lend nor borrow. The hard thing is flavors: Kueue bounds each, a quota here bounds their sum.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from ullage.engine.placement.selectors import NAMESPACE_NAME_LABEL, requirements_of, selects
from ullage.engine.quota.book import QUEUE_LABEL
from ullage.model.admission import Namespace
from ullage.model.cluster import Quota, Workload
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
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
COHORT_PREFIX: Final = "cohort/"
"""How quotas of cohorts are called: a cohort may have the name of a queue."""
DEFAULT_WEIGHT: Final = Fraction(1)
NOT_STOPPED: Final = "None"
NEVER: Final = "Never"
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


class _Bounds(NamedTuple):
    """What an object says of all flavors together; `flavored` if a resource has more than one of them."""

    nominal: Resources = NOTHING
    borrowing: Resources = NOTHING
    lending: Resources = NOTHING
    flavored: bool = False


class _Share(NamedTuple):
    """A ClusterQueue or a Cohort as it was read."""

    parent: str
    bounds: _Bounds = _Bounds()
    weight: Fraction = DEFAULT_WEIGHT
    selector: LabelSelector | None = None
    stopped: bool = False
    used: Resources | None = None
    evicts: bool = True


class _Local(NamedTuple):
    namespace: str
    cluster_queue: str
    stopped: bool


class Kueue:
    """The queues and cohorts that have been read; of two of one name the later counts."""

    def __init__(self, amounts: Amounts) -> None:
        self._amounts = amounts
        self._queues: dict[str, _Share] = {}
        self._cohorts: dict[str, _Share] = {}
        self._locals: dict[str, _Local] = {}
        self._labels: dict[str, Mapping[str, str]] = {}

    def take(self, item: Item) -> None:
        """Read a ClusterQueue, Cohort or LocalQueue; raises a Fault."""
        if item.kind == LOCAL_QUEUE:
            local = item.decode(_LOCAL)
            said = local.spec or _LocalSpec()
            namespace = local.metadata.namespace or DEFAULT_NAMESPACE
            self._locals[f"{namespace}/{local.metadata.name}"] = _Local(
                namespace, said.cluster_queue or "", _is_stopped(said.stop_policy)
            )
            return
        wire = item.decode(_SHARE)
        spec = wire.spec or _ShareSpec()
        is_queue = item.kind == CLUSTER_QUEUE
        above = (spec.cohort_name or spec.cohort) if is_queue else (spec.parent_name or spec.parent)
        shares = self._queues if is_queue else self._cohorts
        shares[wire.metadata.name] = _Share(
            above or "",
            _bounds(spec, self._amounts),
            _weight(spec),
            spec.namespace_selector,
            _is_stopped(spec.stop_policy),
            _used(wire.status, self._amounts),
            _evicts(spec.preemption or {}),
        )

    def know(self, namespaces: Iterable[Namespace]) -> None:
        """Take note of the namespaces that there are; queues select some of them by label."""
        self._labels = {each.name: {NAMESPACE_NAME_LABEL: each.name, **each.labels} for each in namespaces}

    @property
    def has_queues(self) -> bool:
        """Whether there is a LocalQueue, by which workloads find their quota."""
        return bool(self._locals)

    def admits(self, queue: str) -> bool:
        """Whether a queue, as NAMESPACE/NAME, takes workloads in: it is backed, runs, and may be used."""
        local = self._locals.get(queue)
        if local is None or local.stopped:
            return False
        backing = self._queues.get(local.cluster_queue)
        return backing is not None and not backing.stopped and not self._is_shut_out(local)

    def quotas(self, taken: Iterable[str] = ()) -> list[Quota]:
        """Return the quotas that queues and cohorts are; `taken` are names that others have."""
        others = frozenset(taken)
        cohorts = self._with_named_cohorts()
        totals = self._totals(cohorts)
        backed: dict[str, list[str]] = {}
        for key, local in self._locals.items():
            backed.setdefault(local.cluster_queue, []).append(key)
        found = [
            _quota(
                f"clusterqueue/{name}" if name in others else name,
                share,
                share.bounds.nominal,
                tuple(sorted(backed.get(name, ()))),
            )
            for name, share in self._queues.items()
        ]
        found += [_quota(f"{COHORT_PREFIX}{name}", share, totals[name]) for name, share in cohorts.items()]
        return found

    def _with_named_cohorts(self) -> dict[str, _Share]:
        """Return all cohorts: those that are objects, and those that queues or cohorts only name."""
        named = [share.parent for share in (*self._queues.values(), *self._cohorts.values()) if share.parent]
        return {**{name: _Share("") for name in sorted(named)}, **self._cohorts}

    def _totals(self, cohorts: Mapping[str, _Share]) -> dict[str, Resources]:
        """Return what each cohort has with all below it; cohorts in a circle count everything in it once."""
        totals = {name: share.bounds.nominal for name, share in cohorts.items()}
        for name, share in (*self._queues.items(), *cohorts.items()):
            seen = {name} if cohorts.get(name) is share else set()
            above = share.parent
            while above and above not in seen:
                seen.add(above)
                totals[above] += share.bounds.nominal
                above = cohorts[above].parent
        return totals

    def say(self, examples: Callable[[str, list[str]], None]) -> None:
        """Say what of Kueue's objects is not modelled, and what they name that is not there."""
        queues = self._queues.items()
        every = [*queues, *((f"{COHORT_PREFIX}{name}", share) for name, share in self._cohorts.items())]
        examples(
            "flavors are not told apart, their quotas are summed up",
            [name for name, share in every if share.bounds.flavored],
        )
        stopped = [name for name, share in queues if share.stopped]
        stopped += [name for name, local in self._locals.items() if local.stopped]
        examples("not simulated: queues that are stopped and take nothing in", stopped)
        unknown = {each.cluster_queue for each in self._locals.values()} - set(self._queues)
        examples("not found: ClusterQueues that LocalQueues name", [name or "(none)" for name in unknown])
        examples(
            "not simulated: LocalQueues from whose namespaces their ClusterQueue takes nothing in",
            [key for key, local in self._locals.items() if self._is_shut_out(local)],
        )
        examples(
            "not simulated: ClusterQueues that by their preemption never evict: here they claim their own",
            [name for name, share in queues if not share.evicts],
        )
        examples(
            "not simulated: lending limits where nobody is evicted; what is idle is lent all the same",
            [name for name, share in every if share.parent and share.bounds.lending],
        )
        examples(
            "not simulated: preemption policies, admission checks and uncovered resources of ClusterQueues",
            [name for name, _ in queues],
        )

    def _is_shut_out(self, local: _Local) -> bool:
        """Whether the queue behind a LocalQueue does not select its namespace, as far as that is known."""
        backing = self._queues.get(local.cluster_queue)
        if backing is None:
            return False
        if backing.selector is None:
            return True
        labels = self._labels.get(local.namespace)
        return labels is not None and not selects(requirements_of(backing.selector), labels)


def queue_of(value: Any) -> str:
    """Return the queue that an object names for all its pods; nothing where it names none."""
    return _label_of(value, QUEUE_LABEL)


def class_in_queue_of(value: Any) -> str:
    """Return the WorkloadPriorityClass that an object names for its queue; nothing where it names none."""
    return _label_of(value, PRIORITY_LABEL) if queue_of(value) else ""


def workload_class_of(pod: Workload) -> str:
    """Return the WorkloadPriorityClass that a pod names itself; nothing where it names none."""
    return pod.labels.get(PRIORITY_LABEL, "")


def _label_of(value: Any, label: str) -> str:
    metadata = value.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    text = labels.get(label) if isinstance(labels, dict) else None
    return text if isinstance(text, str) else ""


def with_queue(workload: Workload, queue: str) -> Workload:
    """Return a workload that names a queue by its label; one that names a queue already keeps it."""
    if not queue or workload.labels.get(QUEUE_LABEL):
        return workload
    return msgspec.structs.replace(workload, labels={**workload.labels, QUEUE_LABEL: queue})


def _quota(name: str, share: _Share, least: Resources, queues: tuple[str, ...] = ()) -> Quota:
    borrowing, lending = share.bounds.borrowing, share.bounds.lending
    if not share.parent:
        borrowing = lending = Resources(dict.fromkeys(least, 0))
    return Quota(
        name=name,
        min=least,
        parent=f"{COHORT_PREFIX}{share.parent}" if share.parent else "",
        weight=share.weight if share.parent else None,
        lending_limit=lending or None,
        borrowing_limit=borrowing or None,
        queues=queues,
        stated_used=share.used,
    )


def _evicts(policy: Mapping[str, Any]) -> bool:
    """Whether a queue evicts anybody at all; without a word on it, it never does."""
    return any((policy.get(each) or NEVER) != NEVER for each in ("reclaimWithinCohort", "withinClusterQueue"))


def _is_stopped(policy: str | None) -> bool:
    return (policy or NOT_STOPPED) != NOT_STOPPED


def _bounds(spec: _ShareSpec, amounts: Amounts) -> _Bounds:
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
    return _Bounds(
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
