"""What a book tells of a group of nodes, as peaks of its parts at the same moments, without gaps.

Parts are workloads, where most of what is promised is of workloads whose use is known; else whole nodes, less
their reserve. Slots are as short as the observations allow, an hour at best. What a part used while it was
not observed is taken to be much: what its like used then, else the most it ever used at that time of day. A
workload of which nothing is known is taken to use all that it was promised.

The hard thing is peaks that a source noted between its looks. Those of workloads need not fall together. What
a node noted itself did: there they count only as far as the node shows them, and elsewhere in full.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from ullage.engine.columns import Columns
from ullage.engine.redundancy.daemons import is_daemon
from ullage.engine.usage.book import COARSE_SECONDS, Book, Stream
from ullage.engine.usage.buckets import Integers
from ullage.engine.usage.homes import pod_subject, workload_subject
from ullage.engine.usage.levels import DAY_SECONDS, MISSING
from ullage.engine.usage.owners import Owner, owner_of
from ullage.engine.usage.ratio_nodes import ANYWHERE, Evidence
from ullage.engine.usage.rising import DAY_KNOWN, DAYS_MAX
from ullage.model.cluster import Workload
from ullage.model.usage import MAX_USAGE, USAGE

MEMORY: Final = "memory"
LOOKED_AT: Final = ("node", "pod", "workload")
"""Kinds of subjects whose peaks of memory are all that is looked at."""
DAY_HOURS: Final = DAY_SECONDS // COARSE_SECONDS
SLOT_HOURS: Final = (1, 2, 3, 4, 6, 8, 12, 24)
DENSE: Final = 0.8
"""Slots are long enough when so many of them have an observation."""
MOST: Final = 0.8
ENOUGH: Final = 0.5
NO_DAY: Final = "no day was observed for the most part"
Parts = Literal["workloads", "nodes"]


class GroupEvidence(NamedTuple):
    """The evidence of a group: who the parts are, how long a slot is, and how much of the promises is known.

    Without evidence `lacking` says what is missing.
    """

    parts: Parts
    names: tuple[str, ...]
    evidence: Evidence | None
    slot_hours: int
    known: float
    lacking: str = ""


Hours = dict[int, Integers]
"""Peaks by hour of each day on which anything was observed."""


class _Members(NamedTuple):
    """The nodes of a group by row of the columns, and what is promised on them to whom."""

    rows: Sequence[int]
    workloads: Sequence[Workload]
    requests: Integers
    column: int


class _Seen(NamedTuple):
    """What was observed: of workloads, of all that have one owner together, and of nodes themselves.

    `pods_noted` and `nodes_noted` are the peaks that their source noted between its looks.
    """

    pods: Sequence[Hours]
    pods_noted: Sequence[Hours]
    crews: Mapping[Owner, Hours]
    nodes: Sequence[Hours]
    nodes_noted: Sequence[Hours]
    known: float


def group_evidence(book: Book, columns: Columns, group: str) -> GroupEvidence:
    """Return what a book tells of a group."""
    members = _members(columns, group)
    if not members.rows:
        return GroupEvidence("nodes", (), None, 0, 0.0, "no node of it works")
    if not members.requests.sum():
        return GroupEvidence("workloads", (), None, 0, 0.0, "nothing is promised there")
    seen = _seen(book, columns, members)
    observed = sum(map(bool, seen.nodes))
    by_nodes = observed / len(members.rows)
    if seen.known >= MOST or (seen.known >= ENOUGH and by_nodes < ENOUGH):
        return _of_workloads(columns, members, seen)
    if by_nodes >= ENOUGH:
        return _of_nodes(columns, members, seen)
    nodes = f"only {observed} of {len(members.rows)} nodes were observed"
    lacking = f"{nodes}, and workloads with {seen.known:.0%} of what is promised"
    return GroupEvidence("workloads", (), None, 0, seen.known, lacking)


def _seen(book: Book, columns: Columns, members: _Members) -> _Seen:
    names = [pod_subject(each) for each in members.workloads]
    noted = [_hours(book, each, MAX_USAGE) for each in names]
    pods = [_hours(book, each) or peaks for each, peaks in zip(names, noted, strict=True)]
    owners = [owner_of(each) for each in members.workloads]
    crews = {owner: _hours(book, workload_subject(owner)) for owner in dict.fromkeys(owners)}
    of_known = sum(
        int(request)
        for request, pod, owner in zip(members.requests, pods, owners, strict=True)
        if pod or crews[owner]
    )
    sums = _sums_by_node(columns, members, pods)
    nodes, nodes_noted = [], []
    for row in members.rows:
        subject = f"node/{columns.nodes[row].name}"
        hours, peaks = _hours(book, subject), _hours(book, subject, MAX_USAGE)
        nodes.append(_larger(hours if _is_more(hours, sums.get(row, {})) else {}, peaks))
        nodes_noted.append(peaks)
    return _Seen(pods, noted, crews, nodes, nodes_noted, of_known / int(members.requests.sum()))


def _members(columns: Columns, group: str) -> _Members:
    column = columns.resource_index.get(MEMORY)
    rows = [
        row
        for row, node in enumerate(columns.nodes)
        if node.group == group
        and node.state != "offline"
        and column is not None
        and columns.allocatable[row, column] > 0
    ]
    names = {columns.nodes[row].name for row in rows}
    workloads = [
        each
        for each in columns.snapshot.workloads
        if each.node in names and each.holds_capacity and not each.promised
    ]
    requests = np.array([columns.taken(each).of(MEMORY) for each in workloads], np.int64)
    return _Members(rows, workloads, requests, -1 if column is None else column)


def _hours(book: Book, subject: str, measure: str = USAGE) -> Hours:
    stream = Stream(subject, MEMORY, measure)
    found: Hours = {}
    for day in book.days(stream)[-DAYS_MAX - 1 :]:
        slots = book.slots(stream, day, 1)
        peaks = slots.reshape(DAY_HOURS, -1).max(axis=1)
        if (peaks != MISSING).any():
            found[day] = peaks
    return found


def _larger(one: Hours, other: Hours) -> Hours:
    """Return the larger peak of each hour."""
    nothing = np.full(DAY_HOURS, MISSING)
    days = sorted({*one, *other})
    return {day: np.maximum(one.get(day, nothing), other.get(day, nothing)) for day in days}


def _sums_by_node(columns: Columns, members: _Members, pods: Sequence[Hours]) -> dict[int, Hours]:
    """Return what known workloads of each node used together, by row."""
    found: dict[int, Hours] = {}
    for workload, hours in zip(members.workloads, pods, strict=True):
        sums = found.setdefault(columns.node_index[workload.node], {})
        for day, peaks in hours.items():
            sums[day] = sums.get(day, np.zeros(DAY_HOURS, np.int64)) + np.maximum(peaks, 0)
    return found


def _is_more(node: Hours, sums: Hours) -> bool:
    """Whether a node was observed itself: a sum over some of its pods is never more than their peaks."""
    nothing = np.zeros(DAY_HOURS, np.int64)
    return any((peaks > sums.get(day, nothing)).any() for day, peaks in node.items())


def _of_workloads(columns: Columns, members: _Members, seen: _Seen) -> GroupEvidence:
    days, hours = _grid([each for each in (*seen.pods, *seen.crews.values()) if each])
    if not days:
        return GroupEvidence("workloads", (), None, hours, seen.known, NO_DAY)
    owners = [owner_of(each) for each in members.workloads]
    sizes = Counter(owners)
    like = {}
    for owner, together in seen.crews.items():
        slots = _slots(together, days, hours)
        like[owner] = np.where(slots == MISSING, MISSING, -(-slots // sizes[owner]))
    used = np.array(
        [
            _without_gaps(_slots(pod, days, hours), like[owner], int(request), DAY_HOURS // hours)
            for pod, owner, request in zip(seen.pods, owners, members.requests, strict=True)
        ],
        np.int64,
    )
    uses = _with_noted(columns, members, seen, used, lambda part: _slots(part, days, hours))
    places = {columns.nodes[row].name: place for place, row in enumerate(members.rows)}
    own = [places[each.node] if is_daemon(each) else ANYWHERE for each in members.workloads]
    evidence = Evidence(
        members.requests,
        uses,
        np.array(own, np.int64),
        columns.allocatable[list(members.rows), members.column],
        _swap(columns, members),
        _beyond(columns, members, uses, [_slots(each, days, hours) for each in seen.nodes]),
        DAY_HOURS // hours,
        np.array(days, np.int64),
    )
    return GroupEvidence("workloads", tuple(each.subject for each in owners), evidence, hours, seen.known)


def _with_noted(
    columns: Columns, members: _Members, seen: _Seen, used: Integers, slots: Callable[[Hours], Integers]
) -> Integers:
    """Return what workloads use with noted peaks: on a node that noted its own, as far as it shows them.

    Of each workload there the same part is kept of what its peak is above its use, so that all come to the
    peak of the node together: never less than was used, and never more than the peaks.
    """
    if not any(seen.pods_noted):
        return used
    found = used.copy()
    there = _workloads_by_node(members)
    for row, of_node in zip(members.rows, map(slots, seen.nodes_noted), strict=True):
        here = there.get(columns.nodes[row].name, [])
        if not here:
            continue
        above = np.array([np.maximum(slots(seen.pods_noted[each]) - used[each], 0) for each in here])
        shown = of_node - int(columns.reserve[row, members.column]) - used[here].sum(axis=0)
        part = np.clip(shown / np.maximum(above.sum(axis=0), 1), 0.0, 1.0)
        found[here] += np.ceil(above * np.where(of_node == MISSING, 1.0, part)).astype(np.int64)
    return found


def _workloads_by_node(members: _Members) -> dict[str, list[int]]:
    there: dict[str, list[int]] = {}
    for number, workload in enumerate(members.workloads):
        there.setdefault(workload.node, []).append(number)
    return there


def _beyond(columns: Columns, members: _Members, uses: Integers, nodes: Sequence[Integers]) -> Integers:
    """Return what is used on each node above its reserve and by none of its workloads."""
    there = _workloads_by_node(members)
    found = np.zeros((len(members.rows), uses.shape[1]), np.int64)
    for place, row in enumerate(members.rows):
        known = uses[there.get(columns.nodes[row].name, [])].sum(axis=0)
        rest = nodes[place] - int(columns.reserve[row, members.column]) - known
        found[place] = np.where(nodes[place] == MISSING, 0, np.maximum(rest, 0))
    return found


def _swap(columns: Columns, members: _Members) -> Integers:
    """Return the swap of each node; what is not known is none."""
    found = []
    for row in members.rows:
        node = columns.nodes[row]
        stated = columns.rules_of(node).swap_bytes if node.swap_bytes is None else node.swap_bytes
        found.append(stated or 0)
    return np.array(found, np.int64)


def _of_nodes(columns: Columns, members: _Members, seen: _Seen) -> GroupEvidence:
    """Return nodes as parts: what each was promised in all, and what it used above its reserve."""
    promised, reserve = columns.promised[:, members.column], columns.reserve[:, members.column]
    chosen = [
        (row, each) for row, each in zip(members.rows, seen.nodes, strict=True) if each and promised[row] > 0
    ]
    known = len(chosen) / len(members.rows)
    days, hours = _grid([each for _, each in chosen])
    if not days:
        return GroupEvidence("nodes", (), None, hours, known, NO_DAY)
    nobody = np.full(len(days) * (DAY_HOURS // hours), MISSING)
    uses = [
        _without_gaps(_slots(each, days, hours), nobody, 0, DAY_HOURS // hours) - int(reserve[row])
        for row, each in chosen
    ]
    rows = [row for row, _ in chosen]
    evidence = Evidence(
        promised[rows],
        np.maximum(np.array(uses, np.int64), 0),
        np.full(len(rows), ANYWHERE, np.int64),
        columns.allocatable[list(members.rows), members.column],
        _swap(columns, members),
        np.zeros((len(members.rows), len(nobody)), np.int64),
        DAY_HOURS // hours,
        np.array(days, np.int64),
    )
    names = tuple(f"node/{columns.nodes[row].name}" for row in rows)
    return GroupEvidence("nodes", names, evidence, hours, known)


def _grid(parts: Sequence[Hours]) -> tuple[list[int], int]:
    """Return the days that were observed for the most part, and how many hours a slot has."""
    every = sorted({day for part in parts for day in part})[-DAYS_MAX - 1 :]
    hours = next((each for each in SLOT_HOURS if _density(parts, each) >= DENSE), SLOT_HOURS[-1])
    days = [day for day in every if _density(parts, hours, day) >= DAY_KNOWN]
    return days[-DAYS_MAX:], hours


def _density(parts: Sequence[Hours], hours: int, day: int | None = None) -> float:
    """Return the share of slots that have an observation: of the days that a part has, or of one day."""
    chosen = [peaks for part in parts for peaks in _of_day(part, day)]
    if not chosen:
        return 0.0
    slots = np.array(chosen).reshape(len(chosen), DAY_HOURS // hours, hours).max(axis=2)
    return float(np.mean(slots != MISSING))


def _of_day(part: Hours, day: int | None) -> Iterable[Integers]:
    if day is None:
        return part.values()
    return (part[day],) if day in part else ()


def _slots(part: Hours, days: Sequence[int], hours: int) -> Integers:
    """Return the peaks of a part in slots of so many hours, MISSING where nothing was observed."""
    nothing = np.full(DAY_HOURS, MISSING)
    peaks = np.array([part.get(day, nothing) for day in days])
    found: Integers = peaks.reshape(-1, hours).max(axis=1)
    return found


def _without_gaps(peaks: Integers, like: Integers, promised: int, day_slots: int) -> Integers:
    """Return peaks with something in every slot, rather too much than too little."""
    seen = np.flatnonzero(peaks != MISSING)
    if not len(seen):
        return np.where(like == MISSING, promised, like)
    found = peaks.copy()
    outside = np.ones(len(peaks), np.bool_)
    outside[seen[0] : seen[-1] + 1] = False
    found = np.where(outside & (found == MISSING), like, found)
    by_time = peaks.reshape(-1, day_slots).max(axis=0)
    by_time = np.where(by_time == MISSING, peaks.max(), by_time)
    return np.where(found == MISSING, np.tile(by_time, len(peaks) // day_slots), found)
