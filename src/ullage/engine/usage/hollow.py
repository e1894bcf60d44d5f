"""Findings from what is really used: promises that use makes hollow, and who uses more than it was promised.

Whoever uses more than its request has no promise for the rest: it is throttled where the resource is
compressible, and at risk otherwise; above its limit it may be terminated. What lasts counts for compressible
resources (a percentile), the most for others: memory that was needed once will be again. Only recent use
counts. Replicas are told as one.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.columns import Columns, Integers
from ullage.engine.placement.limit_ranges import containers_of
from ullage.engine.usage.book import WEEK_DAYS, Book, Stream
from ullage.engine.usage.owners import Crew, crews
from ullage.engine.usage.summaries import Figures
from ullage.engine.usage.summary import percentile
from ullage.model.cluster import Container, Workload
from ullage.model.resources import ResourceTypes
from ullage.model.usage import EVENTS, USAGE, kind_of
from ullage.model.verdict import Finding, Severity

RECENT_DAYS: Final = 7
LASTING: Final = Fraction(95, 100)
NEAR: Final = Fraction(95, 100)
"""From this share on, use is near a bound."""
UNSEEN: Final = -1
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


class Recent:
    """What was used in the last days of a book."""

    def __init__(self, book: Book) -> None:
        self.book = book
        span = book.span()
        self._since = span[1] - RECENT_DAYS + 1 if span is not None else 0

    def figures(self, subject: str, resource: str) -> Figures:
        """Return what a subject used of a resource."""
        stream = Stream(subject, resource, USAGE)
        # What is kept week by week stands under the first day of its week.
        late = [day for day in self.book.days(stream) if day + WEEK_DAYS > self._since]
        days = late if kind_of(subject) == "container" else [day for day in late if day >= self._since]
        return self.book.figures(stream, days)

    def resources(self, subject: str) -> list[str]:
        """Return the resources whose use was observed of a subject, in order."""
        return [each.resource for each in self.book.streams_of(subject) if each.measure == USAGE]


def observed_on(columns: Columns, book: Book) -> Integers:
    """Return what lasts of the recent use of every node, by resource; UNSEEN where nobody looked."""
    recent = Recent(book)
    found = np.full(columns.capacity.shape, UNSEEN, np.int64)
    for stream in book.streams("node", measure=USAGE):
        row = columns.node_index.get(stream.subject.partition("/")[2])
        column = columns.resource_index.get(stream.resource)
        if row is not None and column is not None:
            figures = recent.figures(stream.subject, stream.resource)
            if figures.points:
                found[row, column] = percentile(figures, LASTING)
    return found


def usage_findings(columns: Columns, book: Book) -> list[Finding]:
    """Return what is wrong with use, whatever was promised on nodes."""
    snapshot = columns.snapshot
    recent = Recent(book)
    found = [*_full_nodes(columns, recent)]
    for crew in crews(snapshot, ()):
        found += _of_crew(crew, recent, snapshot.resource_types)
    return found


def _full_nodes(columns: Columns, recent: Recent) -> Iterator[Finding]:
    """Yield nodes whose memory was nearly all in use, which the kernel ends by killing someone."""
    column = columns.resource_index.get(MEMORY)
    for row, node in enumerate(columns.nodes) if column is not None else ():
        capacity = int(columns.capacity[row, column])
        figures = recent.figures(f"node/{node.name}", MEMORY)
        if not figures.points or not capacity or figures.high < NEAR * capacity:
            continue
        show = columns.snapshot.resource_types[MEMORY].readable
        yield Finding(
            "usage-near-physical",
            "warning",
            f"node/{node.name}",
            f"node {node.name}: memory in use came to {show(figures.high)} of {show(capacity)} that it has",
            "move a workload away, or promise less of it (ullage advise ratio)",
        )


def uses_of(recent: Recent, pod: Workload) -> Iterator[Use]:
    """Yield what the containers of a pod use, or the pod as a whole of what nobody looked at inside."""
    key = f"{pod.namespace}/{pod.name}"
    parts: list[tuple[str, str, Container | Workload]] = [
        (f"container/{key}/{each.name}", each.name, each) for each in containers_of(pod)
    ]
    told: set[str] = set(EVENTS)
    for subject, part, asking in (*parts, (f"pod/{key}", "", pod)):
        for resource in recent.resources(subject):
            figures = recent.figures(subject, resource)
            if not figures.points or (resource in EVENTS if part else resource in told):
                continue
            told.add(resource)
            yield Use(
                pod.key,
                part,
                resource,
                asking.requests.of(resource),
                asking.limits.get(resource),
                percentile(figures, LASTING),
                figures.high,
            )


def _of_crew(crew: Crew, recent: Recent, types: ResourceTypes) -> Iterator[Finding]:
    """Yield what is wrong with the replicas of one workload, each thing once, by the one that uses most."""
    by_part: dict[tuple[str, str], list[Use]] = {}
    for pod in crew.pods:
        for use in uses_of(recent, pod):
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
    return not compressible and use.limit is not None and use.most >= NEAR * use.limit


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
