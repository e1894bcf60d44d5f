"""What is really used of a cluster at a glance: the whole, who wastes most, who is at risk, what is wrong.

A ledger may hold months of a hundred thousand pods. So most is told from sums and largest amounts, and
histograms are read only of workloads that may be among the first of a list. The hard thing is to know that
without them: what is used for nearly all of the time cannot be far below what the mean and the most tell.
"""

import sqlite3
from bisect import insort
from collections.abc import Mapping
from typing import Final, NamedTuple

from ullage.engine.usage.book import Book
from ullage.engine.usage.buckets import EXACT_BELOW
from ullage.engine.usage.hollow import findings_by
from ullage.engine.usage.promised import promised_to_workloads
from ullage.engine.usage.summary import status_of
from ullage.model.cluster import Snapshot
from ullage.model.usage import LASTING, Promised, fraction_of
from ullage.model.verdict import Finding
from ullage.service.held import columns_of
from ullage.service.usage_part import unrecorded
from ullage.service.usage_show import SubjectUsage, last_seconds
from ullage.service.usage_subject import promised_of
from ullage.stores.usage_parts import Extent, extents_of, read_subjects, recorded_streams
from ullage.stores.usage_recent import StoredRecent

CLUSTER: Final = "cluster"
_SHARE: Final = fraction_of(LASTING)
RISKY: Final = 0.9
"""From this share of its limit on, a workload is at risk."""
WASTED: Final = ("memory", "cpu")


class Overview(NamedTuple):
    """What is used; `book` is of the whole, and of workloads there are those that lists are made of."""

    whole: SubjectUsage | None
    workloads: tuple[SubjectUsage, ...]
    book: Book
    findings: list[Finding]
    last_seconds: int


def overview(connection: sqlite3.Connection, snapshot: Snapshot, lines_max: int) -> Overview:
    """Return what is used, with the workloads of the first lines of each list."""
    promised = promised_to_workloads(snapshot, lambda pods: recorded_streams(connection, pods))
    nodes = [f"node/{each.name}" for each in snapshot.nodes]
    added = unrecorded(connection, snapshot, [CLUSTER, *promised, *nodes])
    used = _Used(connection, added, promised)
    whole = used.told(CLUSTER, promised_of(connection, snapshot, CLUSTER))
    return Overview(
        whole,
        tuple(used.first(lines_max)),
        used.book(CLUSTER),
        findings_by(columns_of(snapshot), StoredRecent(connection, added)),
        max(used.last_seconds, 0 if whole is None else whole.last_seconds),
    )


def wasted_of(row: SubjectUsage, resource: str) -> int:
    """Return how much of a resource somebody asks for and does not use as a rule; below 0 where it does."""
    return row.promised.request.of(resource) - lasting_of(row, resource)


def risk_of(promised: Promised, resource: str, most: int) -> float | None:
    """Return the share of its limit, or its request, that somebody came to; None where there is no risk."""
    request, limit = promised.request.of(resource), promised.limit.get(resource)
    if not request:
        return None
    share = most / limit if limit else most / request
    return share if most > request or (limit and share >= RISKY) else None


def lasting_of(row: SubjectUsage, resource: str) -> int:
    """Return what somebody uses of a resource as a rule."""
    summary = row.status.usage.get(resource)
    used = None if summary is None else summary.as_a_rule
    return 0 if used is None else used.value


def least_lasting(extent: Extent) -> int:
    """Return what is used as a rule at the least: if the rest of the time it were the most that was used."""
    rest = extent.points - -(-_SHARE.numerator * extent.points // _SHARE.denominator)
    least = max(0, extent.total - rest * extent.high) // (extent.points - rest)
    return max(extent.low, least - least // EXACT_BELOW - 1)  # as far as buckets tell


class _Used:
    """What workloads used that were promised something."""

    def __init__(self, connection: sqlite3.Connection, added: Book, promised: Mapping[str, Promised]) -> None:
        self._connection = connection
        self._added = added
        self._promised = promised
        self._extents = {subject: self._extents_of(subject) for subject in promised}

    @property
    def last_seconds(self) -> int:
        """When any of them was observed last."""
        every = (each for found in self._extents.values() for each in found.values())
        return max((each.last_seconds for each in every), default=0)

    def first(self, lines_max: int) -> list[SubjectUsage]:
        """Return the workloads of the first lines: who wastes most of a resource, and who is most at risk."""
        found = {row.status.subject: row for resource in WASTED for row in self._wasted(resource, lines_max)}
        for subject in self._at_risk(lines_max):
            row = found.get(subject) or self.told(subject, self._promised[subject])
            if row is not None:
                found[subject] = row
        return [found[subject] for subject in sorted(found)]

    def told(self, subject: str, promised: Promised) -> SubjectUsage | None:
        """Return what a subject used beside what it was promised; None where nothing was observed."""
        book = self.book(subject)
        status = status_of(book, subject)
        return None if status is None else SubjectUsage(status, promised, last_seconds(book, subject))

    def book(self, subject: str) -> Book:
        """Return all that is known of a subject."""
        book = read_subjects(self._connection, [subject])
        for row in self._added.rows(subject):
            book.put(row)
        return book

    def _at_risk(self, lines_max: int) -> list[str]:
        """Return the subjects of the first lines."""
        risks = [
            (-share, subject)
            for subject, extents in self._extents.items()
            for resource, extent in extents.items()
            if (share := risk_of(self._promised[subject], resource, extent.high)) is not None
        ]
        return [subject for _, subject in sorted(risks)[:lines_max]]

    def _wasted(self, resource: str, lines_max: int) -> list[SubjectUsage]:
        """Return who wastes most of a resource; nobody is looked at who cannot be among them."""
        bounds = [
            (least_lasting(extents[resource]) - self._promised[subject].request.of(resource), subject)
            for subject, extents in self._extents.items()
            if resource in extents
        ]
        found: list[tuple[int, str, SubjectUsage]] = []
        for bound, subject in sorted(bounds):
            if bound >= 0 or (len(found) >= lines_max and bound > found[lines_max - 1][0]):
                break
            row = self.told(subject, self._promised[subject])
            if row is not None:
                insort(found, (-wasted_of(row, resource), subject, row))
        return [row for _, _, row in found[:lines_max]]

    def _extents_of(self, subject: str) -> dict[str, Extent]:
        found = extents_of(self._connection, subject)
        for stream in self._added.streams_of(subject):
            figures = self._added.figures(stream)
            if figures.points:
                found[stream.resource] = Extent(*figures[:4], figures.last_seconds)
        return found
