"""One cycle of a scheduler: all that waits, judged together, and what is to be done about each of it.

Workloads that are alike and that no quota counts are judged as one batch, which is what makes thousands of
them quick; under quotas each has a turn of its own. The hard thing is what becomes of those for whom others
must go first: they are nominated for their node and wait, and their place is held for them in every cycle
until they have it. So is who was placed into the rest of what those leave (able_now.py).
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.able_now import able_now
from ullage.engine.placement.bench import Bench
from ullage.engine.placement.fit import fit
from ullage.engine.placement.gang_remedies import explained_gang, is_lacking
from ullage.engine.placement.gangs import HELD_BACK, GangKey, gang_key
from ullage.engine.placement.gathering import gathered, gathering
from ullage.engine.placement.nominations import at_places, early, kept_places
from ullage.engine.placement.outcome import ChosenVolume, Evicted, Outcome, Served
from ullage.engine.placement.running import Running
from ullage.engine.quota.book import NO_QUOTA, Book
from ullage.engine.quota.validation import in_force
from ullage.model.cluster import Batch, Workload
from ullage.model.plan import Refusal


class Bound(NamedTuple):
    """A workload that can run on a node now.

    `disks` serve its volumes there, `chosen` are the free volumes that its claims get; for all other claims
    that have no volume one is made there.
    """

    workload: str
    node: str
    disks: tuple[Served, ...] = ()
    chosen: tuple[ChosenVolume, ...] = ()


class Nominated(NamedTuple):
    """A workload that can run on a node later: once those to evict are gone, or those that leave already.

    One of which neither is said waits for others of its gang, who do.
    """

    workload: str
    node: str
    evicted: tuple[Evicted, ...] = ()
    waits_for: tuple[str, ...] = ()


class Unplaced(NamedTuple):
    """A workload that has no place, and why."""

    workload: str
    refusal: Refusal


class Cycle(NamedTuple):
    """What is to be done for all that waits."""

    bound: tuple[Bound, ...] = ()
    nominated: tuple[Nominated, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()


def schedule(
    columns: Columns,
    waiting: Sequence[Workload],
    *,
    nominated: Mapping[str, str] | None = None,
    names_remedies: bool = True,
) -> Cycle:
    """Return what becomes of workloads that wait.

    Those that were `nominated` before, for a node or for none that is known, have the first turns, but for
    more important ones that priority alone would give their places to.
    """
    nominated = nominated or {}
    book = Book(in_force(columns.snapshot.quotas))
    groups = {
        members[0].key: members for members in _alike(sorted(waiting, key=_turn), book, frozenset(nominated))
    }
    batches = [Batch(members[0], len(members)) for members in groups.values()]
    first = early(batches, nominated, {key for key in groups if _is_counted(groups[key][0], book)})
    places = kept_places(columns, first)
    answer = fit(
        columns,
        at_places(batches, places),
        names_remedies=names_remedies,
        first=first.turns(places),
        by_priority=True,
    )
    bound: list[Bound] = []
    waits: list[Nominated] = []
    unplaced: list[Unplaced] = []
    for outcome in answer.outcomes:
        members = groups[outcome.subject]
        placed = list(_placed(outcome))
        elsewhere = tuple(each for each in outcome.evicted if each.node not in placed)  # with their gangs
        for member, node in zip(members, placed, strict=False):
            gone = tuple(each for each in outcome.evicted if each.node == node)
            if gone or len(members) == 1:
                gone, elsewhere = (*gone, *elsewhere), ()
            leaving = tuple(
                each.workload for each in outcome.waits_for if len(members) == 1 or each.node == node
            )
            if gone or leaving:
                waits.append(Nominated(member.key, node, gone, leaving))
            else:
                alone = len(members) == 1  # whoever has volumes is
                disks, chosen = (outcome.disks, outcome.chosen) if alone else ((), ())
                bound.append(Bound(member.key, node, disks, chosen))
        for member in members[len(placed) :]:
            refusal = outcome.refusal or Refusal(outcome.subject, 1, HELD_BACK)
            unplaced.append(Unplaced(member.key, msgspec.structs.replace(refusal, subject=member.key)))
    unplaced = _waiting_for_others(columns, waiting, unplaced)
    bound, later = _runs_now(columns, groups, bound, waits)
    waits += later
    bound, held = _with_their_gangs(columns, waiting, bound, waits)
    return Cycle(tuple(bound), (*waits, *held), tuple(unplaced))


def explain(columns: Columns, refused: Sequence[Workload], kinds_max: int) -> dict[str, Refusal | None]:
    """Return why workloads have no place, and what would help each of them by itself, or all of its gang.

    It is None of who would have a place then. Those that are alike are told the same. Only so many kinds are
    looked at: the others are not in the answer. Of a gang all are to be given that wait; one that is not
    complete yet is told only what it waits for.
    """
    told: dict[str, Refusal | None] = {}
    waits_for = gathering(refused, columns.snapshot)
    for each in refused:
        if gang_key(each) in waits_for:
            told[each.key] = Refusal(each.key, 1, waits_for[gang_key(each)])
    refused = [each for each in refused if each.key not in told]
    if not refused:
        return told
    bench = Bench(columns)
    gangs: dict[GangKey | None, list[Workload]] = {}
    for each in sorted(refused, key=_turn):
        gangs.setdefault(gang_key(each), []).append(each)
    alone = gangs.pop(None, [])
    lacking = [members for members in gangs.values() if is_lacking(bench, members)]
    alone += [each for members in gangs.values() if members not in lacking for each in members]
    kinds = list(_alike(alone, Book(()), ()))[:kinds_max]
    found = {
        each.workload: each.refusal for each in schedule(columns, [members[0] for members in kinds]).unplaced
    }
    for members in kinds:
        own = found.get(members[0].key)
        for each in members:
            told[each.key] = own and msgspec.structs.replace(own, subject=each.key)
    for members in lacking[: kinds_max - len(kinds)]:
        told |= explained_gang(bench, members)
    return told


def _waiting_for_others(
    columns: Columns, waiting: Sequence[Workload], unplaced: Sequence[Unplaced]
) -> list[Unplaced]:
    """Return who has no place; of gangs that are not complete yet they are told what they wait for."""
    asked = {each.key: each for each in waiting if each.gang} if unplaced else {}
    waits_for = gathering(list(asked.values()), columns.snapshot)
    return [
        each._replace(refusal=gathered(each.refusal, asked[each.workload], waits_for))
        if each.workload in asked
        else each
        for each in unplaced
    ]


def _runs_now(
    columns: Columns,
    groups: Mapping[str, Sequence[Workload]],
    bound: Sequence[Bound],
    waits: Sequence[Nominated],
) -> tuple[list[Bound], list[Nominated]]:
    """Return who runs now, and who does once those are gone who go for others: those on its node, or all."""
    if not waits or not bound:
        return list(bound), []
    asked = {each.key: (subject, each) for subject, members in groups.items() for each in members}
    able = able_now(columns, [(*asked[each.workload], each.node) for each in bound])
    go = {each.workload: each.node for one in waits for each in one.evicted}
    go |= {key: columns.snapshot.workloads[key].node for one in waits for key in one.waits_for}
    runs, later = [], []
    for each in bound:
        found = able.get(each.workload)
        if found is None:
            there = tuple(key for key, node in go.items() if node == each.node)
            later.append(Nominated(each.workload, each.node, waits_for=there or tuple(go)))
        elif each.disks or each.chosen:
            runs.append(each._replace(disks=found.disks, chosen=found.chosen))
        else:
            runs.append(each)
    return runs, later


def _with_their_gangs(
    columns: Columns, waiting: Sequence[Workload], bound: Sequence[Bound], waits: Sequence[Nominated]
) -> tuple[list[Bound], list[Nominated]]:
    """Return who runs now, and who is held back because too few of its gang can run now."""
    gang_of = {each.key: each for each in waiting if each.gang}
    late = {gang_key(gang_of[each.workload]) for each in waits if each.workload in gang_of}
    if not late:
        return list(bound), []
    running = Running(columns.snapshot)
    ready = Counter(gang_key(gang_of[each.workload]) for each in bound if each.workload in gang_of)

    def is_held(key: str) -> bool:
        one = gang_of.get(key)
        if one is None or gang_key(one) not in late:
            return False
        together = ready[gang_key(one)] + len(running.gang_of(one))
        return not one.gang_min or together < one.gang_min

    held = [Nominated(each.workload, each.node) for each in bound if is_held(each.workload)]
    return [each for each in bound if not is_held(each.workload)], held


def _turn(workload: Workload) -> tuple[int, int, str]:
    """Say whose turn is first: the most important, then who waits longest, then the name."""
    return -workload.priority, workload.created_seconds or 0, workload.key


def _alike(waiting: Sequence[Workload], book: Book, alone: Collection[str]) -> Iterator[list[Workload]]:
    """Yield workloads that are judged as one, in the order of the first of each."""
    groups: dict[tuple[object, ...], list[Workload]] = {}
    for each in waiting:
        one_of_many = not (_is_counted(each, book) or each.volumes or each.gang or each.key in alone)
        parts = (
            each.namespace, each.kind, each.owner, each.priority, each.preempts, each.admitted, each.node,
            id(each.requests), id(each.limits), id(each.labels), id(each.constraints),
        )  # fmt: skip
        groups.setdefault(parts if one_of_many else (each.key,), []).append(each)
    yield from groups.values()


def _is_counted(workload: Workload, book: Book) -> bool:
    return bool(book.quotas) and book.place_of(workload.namespace, workload.labels) != NO_QUOTA


def _placed(outcome: Outcome) -> Iterator[str]:
    """Yield the node of each replica that has one."""
    for node, count in outcome.nodes:
        yield from (node for _ in range(count))
