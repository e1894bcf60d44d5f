"""One subject of usage: what `usage show` tells of it, read from a ledger without the rest."""

import sqlite3
from pathlib import Path
from typing import Final

from ullage.engine.usage.book import Book
from ullage.engine.usage.hollow import findings_about, findings_by
from ullage.engine.usage.promised import promised_to
from ullage.engine.usage.summary import status_of
from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.model.usage import Promised
from ullage.model.verdict import Finding
from ullage.service.asked import unknown
from ullage.service.held import columns_of
from ullage.service.observed import SERVER_REMEDY
from ullage.service.usage_part import read_part, unrecorded
from ullage.service.usage_show import SubjectUsage, UsageReport, last_seconds
from ullage.stores.usage_parts import looking, recorded_streams, recorded_subjects
from ullage.stores.usage_recent import StoredRecent

ALIKE_MAX: Final = 1000
"""So many are looked at for one that may have been meant."""


def subject_report(path: Path, snapshot: Snapshot, subject: str) -> tuple[UsageReport, Book]:
    """Return what is told of a subject, and all that is recorded of it."""
    with looking(path) as connection:
        book = read_part(connection, snapshot, [subject])
        status = status_of(book, subject)
        if status is None:
            raise nobody(connection, subject)
        promised = promised_of(connection, snapshot, subject)
        findings = _findings(connection, snapshot, subject, book)
    report = UsageReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        subjects=(SubjectUsage(status, promised, last_seconds(book, subject)),),
        findings=tuple(findings),
        not_simulated=snapshot.unknowns,
    )
    return report, book


def promised_of(connection: sqlite3.Connection, snapshot: Snapshot, subject: str) -> Promised:
    """Return what a subject was promised; of crowds, those of their pods of which anything is recorded."""
    columns = columns_of(snapshot)
    found = promised_to(columns, lambda pods: recorded_streams(connection, pods), subject)
    return found.get(subject, Promised())


def nobody(connection: sqlite3.Connection, subject: str) -> InputError:
    """Return the refusal to tell of somebody of whose use nothing is recorded."""
    if not recorded_subjects(connection, subjects_max=1):
        return InputError("nothing was observed", remedy=SERVER_REMEDY)
    beside = recorded_subjects(connection, subject.rpartition("/")[0], ALIKE_MAX)
    return unknown("observed subject", subject, beside)


def _findings(connection: sqlite3.Connection, snapshot: Snapshot, subject: str, book: Book) -> list[Finding]:
    """Return what is wrong with the use of a subject; with that of the cluster, whatever is wrong in it."""
    columns = columns_of(snapshot)
    if subject != "cluster":
        return findings_about(columns, StoredRecent(connection, book), subject)
    nodes = [f"node/{each.name}" for each in snapshot.nodes]
    return findings_by(columns, StoredRecent(connection, unrecorded(connection, snapshot, nodes)))
