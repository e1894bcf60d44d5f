"""Who uses what: every subject that was observed, against what it asked for and what it may have."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ullage.engine.usage.book import Book
from ullage.engine.usage.decaying import status_with_prediction
from ullage.engine.usage.hollow import usage_findings
from ullage.engine.usage.promised import NAMESPACED, promise_of, promised_to, seen_in
from ullage.engine.usage.summary import status_of
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.usage import KINDS, USAGE, Promised, ResourceStatus, kind_of
from ullage.model.verdict import Finding
from ullage.model.wire import to_builtins
from ullage.service.answer import Answer
from ullage.service.asked import Asked, check_namespace, read_cluster, unknown
from ullage.service.held import columns_of
from ullage.service.observed import read_usage
from ullage.sources.usage_documents import status_document, status_list

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_KINDS: Final = ("node", "workload")


class ShowQuestion(NamedTuple):
    """Which subjects: one that is named, those of a kind, or nodes and workloads."""

    usage: str = ""
    subject: str = ""
    by: str = ""


class SubjectUsage(Record, frozen=True):
    """What a subject uses by resource, and what it was promised; `last_seconds` is its last observation."""

    status: ResourceStatus
    promised: Promised
    last_seconds: int


class UsageReport(Record, frozen=True):
    """Everything that `ullage usage` knows."""

    cluster: str
    revision: int
    policy: str
    subjects: tuple[SubjectUsage, ...]
    findings: tuple[Finding, ...]
    not_simulated: tuple[str, ...]


def usage_show(asked: Asked, question: ShowQuestion) -> Answer:
    """Answer who uses what."""
    from ullage.service.usage_show_page import usage_show_page

    snapshot = read_cluster(asked)
    check_namespace(snapshot, asked.namespace)
    book = read_usage(question.usage, asked, snapshot)
    report = usage_report(snapshot, book, question, asked)
    types = snapshot.resource_types
    return Answer(
        lambda: usage_show_page(report, types, asked, question),
        lambda: _data(with_predictions(report, book), snapshot),
        shortened=lambda: usage_show_page(report, types, asked, question, shortened=True),
    )


def usage_report(snapshot: Snapshot, book: Book, question: ShowQuestion, asked: Asked) -> UsageReport:
    """Return every number of the answer."""
    if question.by and question.by not in KINDS:
        raise InputError(f"no kind {question.by!r}", where="--by", remedy=f"use one of {', '.join(KINDS)}")
    columns = columns_of(snapshot)
    promised = promised_to(columns, seen_in(book))
    subjects = _meant(book, question, asked, promised)
    found = {each.subject for each in subjects}
    return UsageReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        subjects=tuple(
            SubjectUsage(each, promise_of(each.subject, book, promised), last_seconds(book, each.subject))
            for each in subjects
        ),
        findings=tuple(each for each in usage_findings(columns, book) if _is_about(each, question, found)),
        not_simulated=snapshot.unknowns,
    )


def with_predictions(report: UsageReport, book: Book) -> UsageReport:
    """Return a report whose statuses say what use to expect, too."""
    subjects = []
    for each in report.subjects:
        status = status_with_prediction(book, each.status.subject)
        subjects.append(each if status is None else msgspec.structs.replace(each, status=status))
    return msgspec.structs.replace(report, subjects=tuple(subjects))


def _meant(
    book: Book, question: ShowQuestion, asked: Asked, promised: Mapping[str, Promised]
) -> list[ResourceStatus]:
    """Return the statuses of the subjects that are asked about."""
    known = sorted({*book.stated, *(stream.subject for stream in book.streams())})
    if question.subject:
        if question.subject not in known:
            raise unknown("observed subject", question.subject, known)
        chosen = [question.subject]
    else:
        kinds = (question.by,) if question.by else DEFAULT_KINDS
        chosen = [each for each in known if kind_of(each) in kinds and _is_in(each, asked, promised)]
        if not chosen and not question.by:
            chosen = [each for each in known if _is_in(each, asked, promised)]
    return [status for status in (status_of(book, each) for each in chosen) if status is not None]


def _is_in(subject: str, asked: Asked, promised: Mapping[str, Promised]) -> bool:
    """Whether a subject is of the namespace and on the nodes that are meant."""
    kind = kind_of(subject)
    if asked.namespace:
        return kind in NAMESPACED and subject.split("/")[1] == asked.namespace
    return not asked.selector or subject in promised


def _is_about(finding: Finding, question: ShowQuestion, shown: set[str]) -> bool:
    """Whether a finding is about what is asked for; what is wrong with pods is told of their workload."""
    if question.subject:
        return finding.subject in shown or question.subject == "cluster"
    kind = "workload" if question.by in {"pod", "container"} else question.by
    return not kind or kind_of(finding.subject) == kind


def last_seconds(book: Book, subject: str) -> int:
    """Return when use of a subject was last observed; 0 where it never was."""
    if subject in book.stated:
        return book.stated[subject].taken_seconds or 0
    streams = [each for each in book.streams_of(subject) if each.measure == USAGE]
    return max((book.figures(each).last_seconds for each in streams), default=0)


def _data(report: UsageReport, snapshot: Snapshot) -> Any:
    """Return the statuses as documents of the resource model, with what is wrong beside them."""
    types = snapshot.resource_types

    def documents() -> "Iterator[dict[str, Any]]":
        for each in report.subjects:
            yield status_document(each.status, types, each.last_seconds or None, each.promised)

    return status_list(
        [*documents()],
        cluster=report.cluster,
        revision=report.revision,
        policy=report.policy,
        findings=to_builtins(report.findings, types),
        notSimulated=[*report.not_simulated],
    )
