"""Findings from what is really used: promises that use makes hollow, and who uses more than it was promised.

Whoever uses more than its request has no promise for the rest: it is throttled where the resource is
compressible, and at risk otherwise; above its limit it may be terminated. What lasts counts for compressible
resources (a percentile), the most for others, with the peaks that the source noted between its looks: memory
that was needed once will be again. Only recent use counts. Replicas are told as one.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Final, NamedTuple, Protocol

import numpy as np

from ullage.engine.columns import Columns, Integers
from ullage.engine.placement.limit_ranges import containers_of
from ullage.engine.usage.book import WEEK_DAYS, Book, Stream
from ullage.engine.usage.levels import MISSING
from ullage.engine.usage.owners import Crew, crew_of, crews
from ullage.engine.usage.summaries import Figures
from ullage.engine.usage.summary import percentile
from ullage.model.cluster import Container, Node, Workload
from ullage.model.resources import ResourceTypes
from ullage.model.usage import EVENTS, MAX_USAGE, USAGE, kind_of
from ullage.model.verdict import Finding, Severity

RECENT_DAYS: Final = 7
LASTING: Final = Fraction(95, 100)
NEAR: Final = Fraction(95, 100)
"""From this share on, use is near a bound."""
UNSEEN: Final = -1
MEASURED: Final = (USAGE, MAX_USAGE)
"""What was used at moments, and the most between them."""
MEMORY: Final = "memory"


class Use(NamedTuple):
    """What one part of a pod uses of a resource, against what it was promised and may have at most."""

    pod: str
    part: str
    resource: str
    request: int
    limit: int | None
    lasting: int
    most: int

    def is_over_request(self, types: ResourceTypes) -> bool:
        """Whether it uses more than it was promised, as far as that matters."""
        return self.counted(types) > self.request

    def counted(self, types: ResourceTypes) -> int:
        """Return what counts of its use."""
        return self.lasting if types[self.resource].is_compressible else self.most


class RecentUse(Protocol):
    """What was used in the last days, whoever knows it."""

    def resources(self, subject: str) -> list[str]:
        """Return the resources whose use was ever observed of a subject, in order."""

    def most(self, subject: str, resource: str) -> int | None:
        """Return the most that a subject used of a resource, by noted peaks too; None for nothing of late."""

    def lasting(self, subject: str, resource: str) -> int:
        """Return what lasts of it."""


class Recent:
    """What was used in the last days of a book; where it is a part of more, that may end later."""

    def __init__(self, book: Book, last_day: int | None = None) -> None:
        self.book = book
        span = book.span()
        last = last_day if last_day is not None or span is None else span[1]
        self._since = since_of(last)

    def figures(self, subject: str, resource: str, measure: str = USAGE) -> Figures:
        """Return what a subject used of a resource."""
        stream = Stream(subject, resource, measure)
        first = first_day_of(subject, self._since)
        return self.book.figures(stream, [day for day in self.book.days(stream) if day >= first])

    def resources(self, subject: str) -> list[str]:
        """Return the resources whose use was observed of a subject, in order."""
        known = [each.resource for each in self.book.streams_of(subject) if each.measure in MEASURED]
        return [*dict.fromkeys(known)]

    def most(self, subject: str, resource: str) -> int | None:
        """Return the most that a subject used of a resource; None where nothing was observed of late."""
        every = (self.figures(subject, resource, each) for each in MEASURED)
        return max((each.high for each in every if each.points), default=None)

    def lasting(self, subject: str, resource: str) -> int:
        """Return what lasts of it; of whom only peaks were noted, what lasts of those."""
        used = self.figures(subject, resource)
        if not used.is_spread_known:
            return self._lasting_peak(Stream(subject, resource))
        return percentile(used if used.points else self.figures(subject, resource, MAX_USAGE), LASTING)

    def _lasting_peak(self, stream: Stream) -> int:
        """Return what lasts of the peaks of a crowd of which only these are known: it used no more."""
        days = [day for day in self.book.days(stream) if day >= self._since]
        slots = np.concatenate([self.book.slots(stream, day, 1) for day in days])
        seen = np.sort(slots[slots != MISSING])
        return int(seen[-(-LASTING.numerator * len(seen) // LASTING.denominator) - 1])


def since_of(last_day: int | None) -> int:
    """Return the first of the days that count where something was observed last on a day."""
    return 0 if last_day is None else last_day - RECENT_DAYS + 1


def first_day_of(subject: str, since: int) -> int:
    """Return under which day the first of those days is kept that count of a subject.

    What is kept week by week stands under the first day of its week.
    """
    return since - WEEK_DAYS + 1 if kind_of(subject) == "container" else since


def observed_on(columns: Columns, book: Book) -> Integers:
    """Return what lasts of the recent use of every node, by resource; UNSEEN where nobody looked."""
    recent = Recent(book)
    found = np.full(columns.capacity.shape, UNSEEN, np.int64)
    for stream in book.streams("node", measure=USAGE):
        row = columns.node_index.get(stream.subject.partition("/")[2])
        column = columns.resource_index.get(stream.resource)
        if row is None or column is None or not recent.figures(stream.subject, stream.resource).points:
            continue
        found[row, column] = recent.lasting(stream.subject, stream.resource)
    return found


def usage_findings(columns: Columns, book: Book) -> list[Finding]:
    """Return what is wrong with use, whatever was promised on nodes."""
    return findings_by(columns, Recent(book))


def findings_by(columns: Columns, recent: RecentUse) -> list[Finding]:
    """Return the same, by whoever knows what was used."""
    snapshot = columns.snapshot
    found = [*_full_nodes(columns, recent, columns.nodes)]
    for crew in crews(snapshot, ()):
        found += _of_crew(crew, recent, snapshot.resource_types)
    return found


def findings_about(columns: Columns, recent: RecentUse, subject: str) -> list[Finding]:
    """Return what is wrong with the use of a node or a workload; nobody else has findings."""
    snapshot = columns.snapshot
    kind, _, name = subject.partition("/")
    if kind == "node":
        return [*_full_nodes(columns, recent, [each for each in columns.nodes if each.name == name])]
    crew = crew_of(snapshot, *name.split("/", 1)) if kind == "workload" and "/" in name else None
    return [] if crew is None else [*_of_crew(crew, recent, snapshot.resource_types)]


def _full_nodes(columns: Columns, recent: RecentUse, nodes: Iterable[Node]) -> Iterator[Finding]:
    """Yield nodes whose memory was nearly all in use, which the kernel ends by killing someone."""
    column = columns.resource_index.get(MEMORY)
    for node in nodes if column is not None else ():
        capacity = int(columns.capacity[columns.node_index[node.name], column])
        most = recent.most(f"node/{node.name}", MEMORY)
        if most is None or not capacity or not _is_near(most, capacity):
            continue
        show = columns.snapshot.resource_types[MEMORY].readable
        yield Finding(
            "usage-near-physical",
            "warning",
            f"node/{node.name}",
            f"node {node.name}: memory in use came to {show(most)} of {show(capacity)} that it has",
            "move a workload away, or promise less of it (ullage advise ratio)",
        )


def uses_of(recent: RecentUse, pod: Workload, *, only_high: bool = False) -> Iterator[Use]:
    """Yield what the containers of a pod use, or the pod as a whole of what nobody looked at inside.

    Only what is high may be wanted: above the request, or near the limit.
    """
    key = f"{pod.namespace}/{pod.name}"
    parts: list[tuple[str, str, Container | Workload]] = [
        (f"container/{key}/{each.name}", each.name, each) for each in containers_of(pod)
    ]
    told: set[str] = set(EVENTS)
    for subject, part, asking in (*parts, (f"pod/{key}", "", pod)):
        for resource in recent.resources(subject):
            known = resource in EVENTS if part else resource in told
            most = None if known else recent.most(subject, resource)
            if most is None:
                continue
            told.add(resource)
            request, limit = asking.requests.of(resource), asking.limits.get(resource)
            if not only_high or _is_high(most, request, limit):
                yield Use(pod.key, part, resource, request, limit, recent.lasting(subject, resource), most)


def _is_high(most: int, request: int, limit: int | None) -> bool:
    return most > request or (limit is not None and _is_near(most, limit))


def _is_near(most: int, bound: int) -> bool:
    return most * NEAR.denominator >= NEAR.numerator * bound  # as integers: it is asked of everybody


def _of_crew(crew: Crew, recent: RecentUse, types: ResourceTypes) -> Iterator[Finding]:
    """Yield what is wrong with the replicas of one workload, each thing once, by the one that uses most."""
    by_part: dict[tuple[str, str], list[Use]] = {}
    for pod in crew.pods:
        for use in uses_of(recent, pod, only_high=True):
            by_part.setdefault((use.part, use.resource), []).append(use)
    for _, uses in sorted(by_part.items()):
        over_limit = [each for each in uses if each.limit is not None and each.most > each.limit]
        if over_limit:
            yield _finding("usage-over-limit", crew, over_limit, types)
            continue
        near = [each for each in uses if _is_near_limit(each, types)]
        if near:
            yield _finding("usage-near-limit", crew, near, types)
        over_request = [each for each in uses if each.is_over_request(types)]
        if over_request:
            yield _finding("usage-over-request", crew, over_request, types)


def _is_near_limit(use: Use, types: ResourceTypes) -> bool:
    compressible = types[use.resource].is_compressible
    return not compressible and use.limit is not None and _is_near(use.most, use.limit)


_WORDS: Final = {
    "usage-over-limit": ("above its limit", "it may be terminated"),
    "usage-near-limit": ("near its limit", "it may be killed there, and what it needs is not known"),
    "usage-over-request": ("above its request", "it is the first to be evicted when its node runs short"),
}
_THROTTLED: Final = {
    "usage-over-limit": "it is throttled",
    "usage-over-request": "it is throttled when its node is busy",
}


def _finding(code: str, crew: Crew, uses: list[Use], types: ResourceTypes) -> Finding:
    worst = max(uses, key=lambda each: (each.counted(types), each.pod))
    kind = types[worst.resource]
    bound = worst.request if code == "usage-over-request" else worst.limit or 0
    where, consequence = _WORDS[code]
    if kind.is_compressible:
        consequence = _THROTTLED[code]
    severity: Severity = "info" if kind.is_compressible else "warning"
    part = f", container {worst.part}" if worst.part and len(containers_of(crew.newest)) > 1 else ""
    count = f"{len(uses)} of {len(crew.pods)} pods" if len(crew.pods) > 1 else "its pod"
    used = kind.readable(worst.counted(types) if code == "usage-over-request" else worst.most)
    return Finding(
        code,
        severity,
        f"workload/{crew.owner.subject}",
        f"workload {crew.owner.subject}{part}: {count} used {worst.resource} {where}, {worst.pod} {used} of "
        f"{kind.readable(bound)}: {consequence}",
        "ullage advise requests says what it should ask for",
    )
