"""How many more pods the ResourceQuotas of a namespace admit: what they bound, what is used, what is left.

    room = QuotaRoom(snapshot)
    mark = room.mark()
    admitted, line = room.refusal(workload, replicas)
    room.take(workload, admitted)
    room.undo(mark)

The hard thing is who is charged. The API server charges a pod when it is made, not when it is placed: a pod
of the snapshot that waits is in `used` already, and of one that is asked for again only the growth is new.
Workloads of a set that nobody has made the pods of (their kind is that of the set) are not. A claim is
charged once, however many pods name it; those of a StatefulSet's templates and ephemeral ones once per
replica. A quota that does not state what is used is filled from the pods and claims of its namespace.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.placement.limit_ranges import claim_key
from ullage.engine.placement.quota_charges import (
    POD_OBJECTS,
    SCOPES,
    SCOPES_BY_DEADLINE,
    claim_charge,
    is_of_scope,
    kind_of,
    not_stated,
    pod_charge,
)
from ullage.engine.redundancy.daemons import RESERVATION
from ullage.model.admission import ResourceQuota
from ullage.model.cluster import Snapshot, Volume, Workload
from ullage.model.constraints import Requirement
from ullage.model.errors import InputError
from ullage.model.quantity import NANO_EXPONENT, parse_nano
from ullage.model.resources import ResourceType, ResourceTypes

_FINAL_STATES: Final = frozenset(("error", "deleted"))
_POD: Final = "Pod"
_STATEFUL_SET: Final = "StatefulSet"
_NUMBER_DIGITS_MAX: Final = 9

Charge = Mapping[str, int]
"""Amounts by the names that quotas have for them."""


class _Bounds:
    """A quota of a namespace: what it bounds, and what of that is used."""

    def __init__(self, quota: ResourceQuota, types: ResourceTypes) -> None:
        self.key = quota.key
        self.scopes = (*(Requirement(each, "Exists") for each in quota.scopes), *quota.scope_selector)
        kinds = {name: self._kind(name, types) for name in sorted(quota.hard)}
        self.kinds = {name: kind for name, kind in kinds.items() if kind is not None}
        self.not_counted = [name for name, kind in kinds.items() if kind is None]
        self.hard = {name: self._amount(quota.hard, name, "hard") for name in self.kinds}
        used = quota.used or {}
        self.used = {name: self._amount(used, name, "used") for name in self.kinds if name in used}
        self.unstated = [name for name in self.kinds if name not in used]
        self.used.update(dict.fromkeys(self.unstated, 0))

    def _kind(self, name: str, types: ResourceTypes) -> ResourceType | None:
        try:
            return kind_of(name, types)
        except InputError as error:
            raise error.at(f"quota {self.key}: hard") from None

    def _amount(self, amounts: Mapping[str, str], name: str, field: str) -> int:
        """Return an amount in the steps of its type: a bound rounded down, a use rounded up."""
        try:
            nano = parse_nano(amounts[name])
        except InputError as error:
            raise error.at(f"quota {self.key}: {field}: {name}") from None
        step: int = 10 ** (NANO_EXPONENT - self.kinds[name].internal_scale_exponent)
        return nano // step if field == "hard" else -(-nano // step)

    def covers(self, pod: Workload, priority_class: str) -> bool:
        """Whether a pod is of all its scopes."""
        return all(is_of_scope(pod, priority_class, scope) for scope in self.scopes)

    def add(self, charge: Charge, times: int = 1) -> None:
        """Count a charge as used."""
        for name, amount in charge.items():
            if name in self.used:
                self.used[name] += amount * times

    def notes(self) -> Iterator[str]:
        """Yield what of this quota is not judged."""
        if self.not_counted:
            yield f"quota {self.key}: {', '.join(self.not_counted)} not counted"
        for scope in sorted({each.key for each in self.scopes}):
            if scope in SCOPES_BY_DEADLINE:
                yield f"quota {self.key}: scope {scope}: pods are taken to have no activeDeadlineSeconds"
            elif scope not in SCOPES:
                yield f"quota {self.key}: scope {scope} is not judged: nothing is taken to be of it"


class _Demand(NamedTuple):
    """What replicas of a workload are charged: each of them, those of certain numbers not, and all once."""

    pod: Charge
    bounds: tuple[_Bounds, ...]
    each: Charge
    numbered: tuple[tuple[Charge, list[int]], ...]
    once: Mapping[str, Charge]


class _Taken(NamedTuple):
    """What a step of the log has changed."""

    charges: Sequence[tuple[_Bounds, Charge]]
    claims: frozenset[str]
    workload: str
    replicas: int


class QuotaRoom:
    """What the ResourceQuotas of a cluster still admit; a log makes it possible to go back."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Read the quotas; raises an InputError where a quantity is none."""
        self._snapshot = snapshot
        self._types = snapshot.resource_types
        self._bounds: dict[str, list[_Bounds]] = {}
        self._log: list[_Taken] = []
        self._made_claims: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._released: set[str] = set()
        classes = [each.name for each in snapshot.storage_classes if each.default]
        self._default_class = classes[0] if classes else ""
        priorities = [each for each in snapshot.priority_classes if each.global_default]
        lowest = min(priorities, key=lambda each: (each.value, each.name), default=None)
        self._default_priority = lowest.name if lowest is not None else ""
        for quota in snapshot.resource_quotas:
            self._bounds.setdefault(quota.namespace, []).append(_Bounds(quota, self._types))
        self._count_unstated()
        self._count_promised()

    def _count_promised(self) -> None:
        """Charge what is promised to pods that are not made yet: no cluster states that as used."""
        for promised in self._snapshot.workloads:
            if promised.kind == RESERVATION:
                for bounds in self._bounds.get(promised.namespace, ()):
                    if bounds.covers(promised, promised.priority_class):
                        bounds.add(pod_charge(promised))

    def _count_unstated(self) -> None:
        """Fill in what quotas do not state from the pods and claims that exist."""
        unstated = {
            namespace: [each for each in bounds if each.unstated]
            for namespace, bounds in self._bounds.items()
        }
        if not any(unstated.values()):
            return
        known: dict[tuple[int, ...], dict[str, int]] = {}
        for pod in self._snapshot.workloads:
            for bounds in unstated.get(pod.namespace, ()):
                if pod.kind == _POD and bounds.covers(pod, pod.priority_class):
                    bounds.add(_only(_known_charge(pod, known), bounds.unstated))
        for claim in self._snapshot.claims:
            for bounds in unstated.get(claim.namespace, ()):
                if not bounds.scopes:
                    charge = claim_charge(claim.storage_class, claim.size_bytes)
                    bounds.add(_only(charge, bounds.unstated))

    # What is left

    def refusal(self, workload: Workload, replicas: int) -> tuple[int, str]:
        """Return how many replicas the quotas admit, and where these are not all, why and what would help.

        One replica of a pod that the snapshot has is charged what it grows by, unless it was released.
        """
        namespace_bounds = self._bounds.get(workload.namespace)
        if not namespace_bounds or replicas <= 0:
            return replicas, ""
        demand = self._demand(workload, replicas)
        if demand.pod:
            silent = "; ".join(filter(None, (_must_state(each, workload) for each in demand.bounds)))
            if silent:
                return 0, silent
        counts = range(1, replicas + 1)
        admitted = bisect_left(counts, 1, key=lambda count: any(self._short(demand, workload, count)))
        if admitted == replicas:
            return replicas, ""
        return admitted, self._line(demand, workload, replicas, admitted)

    def _short(self, demand: _Demand, workload: Workload, count: int) -> Iterator[tuple[_Bounds, str, int]]:
        """Yield each bound that so many replicas break, with what they are charged of it."""
        for bounds, charge in self._charges(demand, workload, count):
            for name, amount in charge.items():
                if amount > 0 and bounds.used[name] + amount > bounds.hard[name]:
                    yield bounds, name, amount

    def _charges(self, demand: _Demand, workload: Workload, count: int) -> list[tuple[_Bounds, Charge]]:
        """Return what so many replicas are charged by each quota."""
        first = self._numbers.get(workload.key, 0)
        of_claims: dict[str, int] = {name: amount * count for name, amount in demand.each.items()}
        for charge, existing in demand.numbered:
            made = count - (bisect_left(existing, first + count) - bisect_left(existing, first))
            _add(of_claims, charge, made)
        for charge in demand.once.values() if count else ():
            _add(of_claims, charge, 1)
        found: list[tuple[_Bounds, Charge]] = []
        for bounds in self._bounds.get(workload.namespace, ()):
            charge = {} if bounds.scopes else dict(of_claims)
            if bounds in demand.bounds:
                _add(charge, demand.pod, count)
            found.append((bounds, _only(charge, bounds.hard)))
        return found

    def _line(self, demand: _Demand, workload: Workload, replicas: int, admitted: int) -> str:
        facts, raises = [], []
        for bounds, name, amount in self._short(demand, workload, replicas):
            show = bounds.kinds[name].print
            used, hard = bounds.used[name], bounds.hard[name]
            each, rest = divmod(amount, replicas)
            asked = show(amount) if rest else f"{replicas} x {show(each)}"
            facts.append(
                f"quota {bounds.key}: {name} short by {show(used + amount - hard)} "
                f"(asked {asked}, used {show(used)} of {show(hard)})"
            )
            raises.append((f"{name} of {bounds.key}", show(used + amount)))
        if len(raises) == 1:
            remedy = f"raise it to {raises[0][1]}"
        else:
            remedy = "raise " + " and ".join(f"{what} to {amount}" for what, amount in raises)
        if admitted:
            remedy += f" or ask for {admitted} replica{'s' if admitted > 1 else ''}"
        return f"{', '.join(facts)}; {remedy}"

    def notes(self, namespaces: Iterable[str]) -> tuple[str, ...]:
        """Return what of the quotas of these namespaces is not judged."""
        wanted = sorted(set(namespaces))
        return tuple(
            note for name in wanted for bounds in self._bounds.get(name, ()) for note in bounds.notes()
        )

    # What is asked

    def _demand(self, workload: Workload, count: int) -> _Demand:
        priority_class = workload.priority_class or self._default_priority
        bounds = tuple(
            each for each in self._bounds.get(workload.namespace, ()) if each.covers(workload, priority_class)
        )
        charge = pod_charge(workload)
        itself = self._existing(workload) if count == 1 else None
        if itself is not None:
            held = _existing_charge(itself)
            grown = {name: amount - held.get(name, 0) for name, amount in charge.items()}
            return _Demand({name: more for name, more in grown.items() if more > 0}, bounds, {}, (), {})
        each: dict[str, int] = {}
        numbered: list[tuple[Charge, list[int]]] = []
        once: dict[str, Charge] = {}
        for volume in workload.volumes:
            key = claim_key(workload, volume.claim)
            of_claim = claim_charge(volume.storage_class or self._default_class, volume.size_bytes)
            if not volume.claim:
                continue
            if volume.inline:
                _add(each, of_claim, 1)
            elif _is_template(workload, volume):
                numbered.append((of_claim, self._numbers_of(workload, volume)))
            elif volume.size_bytes and key not in self._snapshot.claims and key not in self._made_claims:
                once[key] = of_claim
        return _Demand(charge, bounds, each, tuple(numbered), once)

    def _existing(self, workload: Workload) -> Workload | None:
        """Return the pod of the snapshot that a workload is, where it is still counted."""
        found = self._snapshot.workloads.get(workload.key)
        if found is None or workload.key in self._released or found.state in _FINAL_STATES:
            return None
        return found if found.kind == workload.kind and found.kind in {_POD, RESERVATION} else None

    def _numbers_of(self, workload: Workload, volume: Volume) -> list[int]:
        """Return the replicas of a StatefulSet whose claim exists."""
        prefix = claim_key(workload, volume.claim) + "-"
        endings = (key.removeprefix(prefix) for key in self._snapshot.claims.keys() if key.startswith(prefix))  # noqa: SIM118 - a Table iterates over rows
        return sorted(
            int(each)
            for each in endings
            if each.isascii() and each.isdigit() and len(each) <= _NUMBER_DIGITS_MAX
        )

    # What changes

    def take(self, workload: Workload, count: int) -> None:
        """Charge so many replicas of a workload."""
        if count <= 0 or workload.namespace not in self._bounds:
            return
        demand = self._demand(workload, count)
        charges = self._charges(demand, workload, count)
        self._apply(_Taken(charges, frozenset(demand.once), workload.key, count))

    def release(self, workload: Workload) -> None:
        """Give back what a pod of the snapshot is charged, because it goes; its claims stay."""
        pod = self._existing(workload)
        if pod is None or pod.namespace not in self._bounds:
            return
        charge = {name: -amount for name, amount in _existing_charge(pod).items()}
        covering = [each for each in self._bounds[pod.namespace] if each.covers(pod, pod.priority_class)]
        charges = [(bounds, _only(charge, bounds.hard)) for bounds in covering]
        self._apply(_Taken(charges, frozenset(), pod.key, -1))

    def _apply(self, taken: _Taken) -> None:
        self._log.append(taken)
        for bounds, charge in taken.charges:
            bounds.add(charge)
        self._made_claims |= taken.claims
        if taken.replicas < 0:
            self._released.add(taken.workload)
        else:
            self._numbers[taken.workload] = self._numbers.get(taken.workload, 0) + taken.replicas

    def mark(self) -> int:
        """Return a point in time to which `undo` can go back."""
        return len(self._log)

    def undo(self, mark: int) -> None:
        """Take back everything since a mark, the last first."""
        while len(self._log) > mark:
            taken = self._log.pop()
            for bounds, charge in taken.charges:
                bounds.add(charge, -1)
            self._made_claims -= taken.claims
            if taken.replicas < 0:
                self._released.discard(taken.workload)
            else:
                self._numbers[taken.workload] -= taken.replicas


def _must_state(bounds: _Bounds, pod: Workload) -> str:
    """Return why a quota does not take a pod at all; empty where it might."""
    missing = not_stated(pod, bounds.kinds)
    if not missing:
        return ""
    lacking = " and ".join(f"{name} ({', '.join(names)})" for name, names in missing.items())
    return (
        f"quota {bounds.key}: containers must state {lacking}; state it in the pod template, "
        "or give the namespace a LimitRange with defaults"
    )


def _is_template(workload: Workload, volume: Volume) -> bool:
    """Whether each replica has a claim of its own for a volume, with its number behind the name."""
    owner = workload.owner.partition("/")[2]
    return workload.kind == _STATEFUL_SET and volume.claim == f"{volume.name}-{owner}"


def _existing_charge(pod: Workload) -> dict[str, int]:
    """Return what a pod of the snapshot is charged: one that is over is only an object."""
    return {POD_OBJECTS: 1} if pod.state in _FINAL_STATES else pod_charge(pod)


def _known_charge(pod: Workload, known: dict[tuple[int, ...], dict[str, int]]) -> dict[str, int]:
    """Return what a pod of the snapshot is charged; pods share their parts, so each is added up once."""
    parts = (pod.requests, pod.limits, pod.containers, pod.overhead)
    key = (pod.state in _FINAL_STATES, *map(id, parts))
    if key not in known:
        known[key] = _existing_charge(pod)
    return known[key]


def _add(total: dict[str, int], charge: Charge, times: int) -> None:
    for name, amount in charge.items():
        total[name] = total.get(name, 0) + amount * times


def _only(charge: Charge, names: Iterable[str]) -> dict[str, int]:
    return {name: charge[name] for name in names if name in charge}
