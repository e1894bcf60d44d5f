"""Who stands in line after `fit --commit`: what does not fit and may wait, and what has to wait its turn.

A plan names disks, but who waits cannot: they are chosen when there is room. So a reservation that waits asks
for what it needs on any of some nodes. The hard thing is to ask twice: who stands in line already and wants
the same keeps the place, who has one now leaves the line, and who wants something else stands at its end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, cast

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.ledger.naming import STATEFUL_SET, ordinal_of, request_of, reservation_name
from ullage.engine.ledger.quota_holds import QuotaHolds
from ullage.engine.ledger.shared_volumes import claim_of
from ullage.engine.ledger.supply import supply_of
from ullage.engine.ledger.waiting import share_classes
from ullage.engine.placement.candidates import Candidates
from ullage.engine.placement.outcome import Outcome
from ullage.engine.storage.capacities import class_of_place
from ullage.engine.storage.disk_requests import DiskRequests
from ullage.model.cluster import Node, Workload
from ullage.model.disk_plan import DiskRequest, is_share
from ullage.model.drives import GROUP_SUFFIX, LocalClass
from ullage.model.ledger import (
    VOLUME_SPACE,
    WHOLE_DRIVE,
    Bind,
    Expire,
    Extend,
    Hold,
    Pause,
    Refuse,
    Release,
    Reserve,
    Resize,
    StorageMode,
    Supply,
    Together,
    is_disk,
    node_capacity,
    node_of,
)
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.settings import Rules

_Part = Supply | Reserve | Bind | Release | Extend | Expire | Pause | Resize | Refuse


class Asking(NamedTuple):
    """The question as it was judged: the columns with promises, outcomes with their workloads, and how long.

    `entries` are the live ones of the ledger, `line` who waits in it. With `waits`, what does not fit waits.
    """

    columns: Columns
    outcomes: Sequence[Outcome]
    workloads: Mapping[str, Workload]
    entries: Sequence[LedgerEntry]
    line: Sequence[Reserve]
    expires_seconds: int
    waits: bool
    few_drives: bool


class Lined(NamedTuple):
    """What a plan is committed as when some of it waits, and the reservations that keep their place."""

    command: Together | None
    in_line: tuple[str, ...] = ()


def lined_up(command: Together | None, asking: Asking) -> Lined:
    """Return a plan's commands with those who wait in line instead of being refused."""
    return _Line(asking).of(command)


class _Line:
    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._snapshot = asking.columns.snapshot
        self._candidates = Candidates(asking.columns)
        self._standing: dict[str, list[Reserve]] = {}
        for each in asking.line:
            self._standing.setdefault(each.owner, []).append(each)
        self._outcomes = {each.subject: each for each in asking.outcomes}
        self._replaced: set[str] = set()
        self._made: set[str] = set()
        self._released: list[Release] = []
        self._kept: list[str] = []

    def of(self, command: Together | None) -> Lined:
        parts: list[_Part] = list(command.commands) if command is not None else []
        named: dict[str, set[str]] = {}
        self._replaced = {part.reservation for part in parts if isinstance(part, Release)}
        told = (each for part in parts if isinstance(part, Supply) for each in part.capacities)
        self._made = {made.reservation for each in told for made in each.made}
        for part in parts:
            if isinstance(part, Reserve):
                named.setdefault(part.owner, set()).add(part.reservation)
        changed: list[_Part] = []
        for part in parts:
            if isinstance(part, Refuse):
                changed += self._instead_of(part, named.get(part.owner, set()))
            elif isinstance(part, Reserve):
                changed += self._in_turn(part)
            else:
                changed.append(part)
        for outcome in self._asking.outcomes:
            if outcome.refusal is None and outcome.subject in self._standing:
                self._leave(outcome.subject)
        kept = tuple(dict.fromkeys(self._kept))
        if not self._released and not any(not isinstance(each, Expire | Supply) for each in changed):
            return Lined(None, kept)
        parts = [*self._opening(changed), *self._released, *_rest(changed)]
        return Lined(Together(tuple(parts), line_last=True), kept)

    def _leave(self, owner: str) -> None:
        """Take an owner's reservations out of the line, but for those that keep their place."""
        for each in self._standing.pop(owner, ()):
            if each.reservation not in self._kept:
                self._released.append(Release(each.reservation))

    def _instead_of(self, refusal: Refuse, named: set[str]) -> Iterator[_Part]:
        """Yield what becomes of a refusal: a place in line, the one that its owner has already, or itself."""
        standing = self._standing.get(refusal.owner, [])
        wanted = list(self._wanted(refusal)) if self._asking.waits else []
        names = {each.reservation for each in standing}
        if standing and named.isdisjoint(names) and (not self._asking.waits or _alike(standing, wanted)):
            self._kept += sorted(names)
            return
        self._leave(refusal.owner)
        if wanted:
            yield from wanted
        else:
            yield refusal

    def _wanted(self, refusal: Refuse) -> Iterator[Reserve]:
        """Yield a reservation for every replica that has no place and could have one."""
        outcome = self._outcomes[refusal.owner]
        if outcome.action != "place" and not outcome.placed:
            return
        workload = self._asking.workloads[refusal.owner]
        nodes, mode = self._open_to(workload)
        if not nodes:
            return
        kind, first = ordinal_of(refusal.reservation, refusal.owner)
        gigabytes = self._rules(nodes[0]).gpu_memory_gigabytes
        holds = QuotaHolds(self._snapshot).of(workload, gigabytes)
        requests = self._asking.columns.taken(workload)
        asked = DiskRequests(self._snapshot)
        promised = (each.request for each in asked.promised(workload))
        volumes = (*asked.of(workload), *promised) if self._has_disks(nodes) else ()
        for number in range(first, first + outcome.replicas - outcome.placed):
            yield Reserve(
                reservation_name(kind, refusal.owner, number),
                refusal.owner,
                self._asking.expires_seconds,
                holds=holds,
                nodes=nodes,
                requests=requests,
                volumes=tuple(_numbered(volumes, workload, kind, number)),
                mode=mode,
                few_drives=self._asking.few_drives,
                waits=True,
                lets_pass=True,
            )

    def _open_to(self, workload: Workload) -> tuple[tuple[str, ...], StorageMode]:
        """Return the nodes that could take a workload, those that choose disks as the first of them does."""
        names = self._candidates.of(workload)
        mode: StorageMode = self._rules(names[0]).storage_mode if names else "exact"
        return tuple(name for name in names if self._rules(name).storage_mode == mode), mode

    def _rules(self, node: str) -> Rules:
        return self._asking.columns.rules_of(self._snapshot.nodes[node])

    def _has_disks(self, nodes: Iterable[str]) -> bool:
        return any(self._snapshot.nodes[name].drives for name in nodes) or any(
            self._snapshot.nodes[name].volume_groups for name in nodes
        )

    # Turns

    def _in_turn(self, reserve: Reserve) -> Iterator[Reserve]:
        """Yield a reservation as it is, or so that it can wait where classes are decided in turn."""
        on_disks = [hold for hold in reserve.holds if is_disk(hold.capacity)]
        nodes = {node_of(hold.capacity) for hold in on_disks}
        shares = [hold for hold in on_disks if not hold.resources.of(WHOLE_DRIVE)]
        in_turn = self._asking.few_drives and len(nodes) == 1 and shares
        node = self._snapshot.nodes[next(iter(nodes))] if in_turn else None
        # what a volume has that exists is offered for who is to hold it, and so must not be waited for
        made_again = reserve.reservation in self._replaced or reserve.reservation in self._made
        if node is None or made_again or self._rules(node.name).storage_mode != "compat":
            yield reserve
            return
        here = [hold for hold in reserve.holds if hold.capacity == node_capacity(node.name)]
        turned = msgspec.structs.replace(
            reserve,
            holds=tuple(hold for hold in reserve.holds if hold not in on_disks and hold not in here),
            nodes=(node.name,),
            requests=here[0].resources,
            volumes=tuple(_asked(hold, node) for hold in on_disks),
            mode="compat",
            waits=self._asking.waits,
            lets_pass=self._asking.waits,
        )
        if not self._promised.isdisjoint(share_classes(turned)):
            # it has to wait, and where there is room then is another question
            open_to, mode = self._open_to(self._asking.workloads[reserve.owner])
            if mode == "compat" and node.name in open_to:
                turned = msgspec.structs.replace(turned, nodes=open_to)
        self._promised |= share_classes(turned)
        standing = [each for each in self._standing.get(reserve.owner, ()) if _alike([each], [turned])]
        if standing:
            self._kept += [each.reservation for each in standing]
        else:
            yield turned

    @cached_property
    def _promised(self) -> set[str]:
        """The classes of logical volumes that are promised and not in use yet, or waited for."""
        found = {each for command in self._asking.line for each in share_classes(command)}
        for entry in self._asking.entries:
            node = self._snapshot.nodes.get(node_of(entry.capacity))
            if entry.state != "RESERVED" or node is None or entry.capacity not in _disk_names(node):
                continue
            asked = _asked(Hold(entry.request, entry.capacity, entry.resources), node)
            if asked.is_share:
                found.add(asked.storage_class)
        return found

    # What they may have

    def _opening(self, changed: Sequence[_Part]) -> Iterator[_Part]:
        """Yield what has ended and what there is, also of all nodes that somebody may wait for."""
        yield Expire()
        known = [each for part in changed if isinstance(part, Supply) for each in part.capacities]
        names: set[str] = set()
        for part in changed:
            if isinstance(part, Reserve) and part.nodes:
                names |= {hold.capacity for hold in part.holds}
                for name in part.nodes:
                    names |= {node_capacity(name), *_disk_names(self._snapshot.nodes[name])}
        names -= {each.name for each in known}
        more = supply_of(self._asking.columns, self._asking.entries, names) if names else ()
        told = {each.name: each for each in (*more, *known)}
        gone = tuple(name for part in changed if isinstance(part, Supply) for name in part.gone)
        if told or gone:
            yield Supply(tuple(told.values()), gone)


def _rest(changed: Iterable[_Part]) -> Iterator[_Part]:
    return (each for each in changed if not isinstance(each, Expire | Supply))


def _alike(standing: Sequence[Reserve], wanted: Sequence[Reserve]) -> bool:
    """Whether those who stand in line want the same, whatever they are called and until when they wait."""

    def essence(command: Reserve) -> Reserve:
        # those who stand since claims were not named yet, or nobody was let pass, want the same
        volumes = tuple(msgspec.structs.replace(each, claim="") for each in command.volumes)
        return msgspec.structs.replace(
            command,
            reservation="",
            expires_seconds=0,
            nodes=(),
            volumes=volumes,
            waits=False,
            lets_pass=False,
        )

    return len(standing) == len(wanted) and all(
        essence(one) == essence(other) for one, other in zip(standing, wanted, strict=True)
    )


def _numbered(
    volumes: Iterable[DiskRequest], workload: Workload, kind: str, number: int
) -> Iterator[DiskRequest]:
    """Yield volumes as a replica calls them: those of a StatefulSet's templates have its number."""
    _, _, owner = workload.owner.partition("/")
    templates = {each.claim for each in workload.volumes if each.claim == f"{each.name}-{owner}"}
    for volume in volumes:
        if kind == STATEFUL_SET and volume.name in templates:
            name = f"{volume.name}-{number - 1}"
            yield msgspec.structs.replace(volume, name=name, claim=claim_of(workload, name))
        else:
            yield msgspec.structs.replace(volume, name=request_of(volume.name))


def _asked(hold: Hold, node: Node) -> DiskRequest:
    """Return the volume that a plan holds a disk for."""
    place = hold.capacity.split("/", 2)[2]
    group = next((each for each in node.volume_groups if each.name == place), None)
    drive = next((each for each in node.drives if each.uuid == place), None)
    # A thin pool is named with its group: of both, the group is what has a class.
    storage_class = class_of_place(node, place if group or drive else place.partition("/")[0])
    if not hold.resources.of(WHOLE_DRIVE) and not is_share(storage_class):
        storage_class = cast("LocalClass", f"{storage_class}{GROUP_SUFFIX}")
    storage_group = group.storage_group if group else drive.storage_group if drive else ""
    size_bytes = hold.resources.of(VOLUME_SPACE)
    return DiskRequest(hold.request, storage_class, size_bytes, storage_group, claim=hold.claim)


def _disk_names(node: Node) -> Iterator[str]:
    yield from (f"drive/{node.name}/{drive.uuid}" for drive in node.drives)
    yield from (f"group/{node.name}/{group.name}" for group in node.volume_groups)
