"""The outcome of a replay in groups of workloads: the same groups for two replays, so that they compare.

Waiting, evictions and use are sums over the workloads of a group. What lies within a min and what is borrowed
belongs to a quota, and goes to the group of the quota's name, or of the one that covered the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.quota.book import Book
from ullage.engine.quota.outcome import JobOutcome, Outcome
from ullage.model.cluster import Quota

ResourceSeconds = dict[str, int]
NO_OTHER_NAMES: Final[Mapping[str, str]] = {}


class Figures(NamedTuple):
    """What came of a group: counts, seconds in sum, and resource-seconds by name of the resource."""

    workloads: int
    finished: int
    waiting: int
    starts: int
    evicted: int
    took: int
    waited_seconds: int
    waited_longest_seconds: int
    delay_seconds: int
    used: ResourceSeconds
    lost: ResourceSeconds
    within: ResourceSeconds
    borrowed: ResourceSeconds


def renamed(own: Book, other: Book) -> dict[str, str]:
    """Return the quotas of another book that have a new name and cover what one of this book does, by it."""
    gone = [each for each in own.quotas if each.name not in other.index]
    covering = {covered: each.name for each in gone if any(covered := _covered(each))}
    new = (each for each in other.quotas if each.name not in own.index)
    return {covering[covered]: each.name for each in new if (covered := _covered(each)) in covering}


def _covered(quota: Quota) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(quota.namespaces), frozenset(quota.queues)


def figures_of(
    outcome: Outcome,
    book: Book,
    groups: Mapping[str, str],
    counts: Mapping[str, Mapping[str, int]],
    names: Mapping[str, str] = NO_OTHER_NAMES,
) -> dict[str, Figures]:
    """Return the figures of each group; `groups` and `counts` say where a workload belongs and what it is.

    `names` says how the quota of a group is called in this book, where it has another name.
    """
    jobs: dict[str, list[JobOutcome]] = {name: [] for name in sorted(set(groups.values()))}
    for job in outcome.jobs:
        jobs[groups[job.key]].append(job)
    for quota in book.quotas:
        if quota.name not in names.values():
            jobs.setdefault(quota.name, [])
    for name in names:
        jobs.setdefault(name, [])
    return {
        name: _figures(mine, counts, *_quota(outcome, book, names.get(name, name)))
        for name, mine in jobs.items()
    }


def total_of(figures: Iterable[Figures]) -> Figures:
    """Return the sum over groups."""
    each = list(figures)
    return Figures(
        workloads=sum(figure.workloads for figure in each),
        finished=sum(figure.finished for figure in each),
        waiting=sum(figure.waiting for figure in each),
        starts=sum(figure.starts for figure in each),
        evicted=sum(figure.evicted for figure in each),
        took=sum(figure.took for figure in each),
        waited_seconds=sum(figure.waited_seconds for figure in each),
        waited_longest_seconds=max((figure.waited_longest_seconds for figure in each), default=0),
        delay_seconds=sum(figure.delay_seconds for figure in each),
        used=_added(figure.used for figure in each),
        lost=_added(figure.lost for figure in each),
        within=_added(figure.within for figure in each),
        borrowed=_added(figure.borrowed for figure in each),
    )


def _quota(outcome: Outcome, book: Book, name: str) -> tuple[ResourceSeconds, ResourceSeconds]:
    """Return what a quota of a name used within its min and beyond it; where it names none, neither."""
    place = book.index.get(name)
    if place is None:
        return {}, {}
    use, least = outcome.quotas[place], book.own_mins[place]
    named = [index for index, bound in enumerate(least) if bound is not None]
    return (
        {book.resources[index]: use.within[index] for index in named},
        {book.resources[index]: use.beyond[index] for index in named},
    )


def _figures(
    jobs: Sequence[JobOutcome],
    counts: Mapping[str, Mapping[str, int]],
    within: ResourceSeconds,
    borrowed: ResourceSeconds,
) -> Figures:
    used: ResourceSeconds = {}
    lost: ResourceSeconds = {}
    for job in jobs:
        for name, amount in counts[job.key].items():
            used[name] = used.get(name, 0) + amount * job.held_seconds
            lost[name] = lost.get(name, 0) + amount * job.lost_seconds
    return Figures(
        workloads=len(jobs),
        finished=sum(job.end == "finished" for job in jobs),
        waiting=sum(job.end == "waits" for job in jobs),
        starts=sum(job.starts for job in jobs),
        evicted=sum(job.evictions for job in jobs),
        took=sum(job.took for job in jobs),
        waited_seconds=sum(job.waited_seconds for job in jobs),
        waited_longest_seconds=max((job.waited_seconds for job in jobs), default=0),
        delay_seconds=sum(job.delay_seconds for job in jobs),
        used=used,
        lost=lost,
        within=within,
        borrowed=borrowed,
    )


def _added(amounts: Iterable[ResourceSeconds]) -> ResourceSeconds:
    found: ResourceSeconds = {}
    for each in amounts:
        for name, amount in each.items():
            found[name] = found.get(name, 0) + amount
    return found
