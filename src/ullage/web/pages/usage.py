"""What is really used of what is promised: by resource, who wastes most, who is at risk; forecast; advice.

Each of the views is a page of its own, since each reads everything that was recorded; whatever is named leads
to all that is known of it.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from ullage.model.errors import InputError
from ullage.render.json_text import to_yaml
from ullage.render.view import Chart, Mark, Page
from ullage.service.answer import Answer
from ullage.service.asked import read_cluster
from ullage.service.clock import told_time
from ullage.service.words import findings_block
from ullage.web.pages.answers import in_words, page_of
from ullage.web.pages.links import Links
from ullage.web.pages.observed import LASTING, marks_of
from ullage.web.pages.shell import Shell, draw, shell_of

if TYPE_CHECKING:
    from ullage.engine.usage.book import Book
    from ullage.model.cluster import Snapshot
    from ullage.model.resources import ResourceTypes
    from ullage.service.asked import Asked
    from ullage.service.usage_show import SubjectUsage, UsageReport

VIEWS: Final = {
    "use": "Use",
    "forecast": "Forecast",
    "ratio": "Advice on ratios",
    "requests": "Advice on requests",
}
ROWS_SHOWN: Final = 12
PATCHES_SHOWN: Final = 40
POINTS: Final = 160
DAYS_SHOWN: Final = 14
_WASTED: Final = ("memory", "cpu")


_NOTHING: Final[Mapping[str, Any]] = {
    "problem": "",
    "subject": "",
    "until": "",
    "answer": None,
    "marks": (),
    "plots": (),
    "wasted": None,
    "at_risk": (),
    "more_findings": 0,
    "patches": (),
    "unsimulated": (),
}
"""What a view leaves out."""


class Line(NamedTuple):
    """A workload in a list: how much of a resource it asks for, uses as a rule, and at most."""

    subject: str
    resource: str
    request: str
    limit: str
    used: str
    most: str
    amount: str
    share: str


class Patch(NamedTuple):
    """The ready patch of a workload, with what it gives back."""

    subject: str
    what: str
    text: str


def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG001 - as all pages
    """Return one view of what is used."""
    shell = shell_of(parameters)
    snapshot = read_cluster(asked)
    subject = parameters.get("subject", "")
    view = parameters.get("show", "use")
    view = view if view in VIEWS else "use"
    around: dict[str, Any] = {
        **_NOTHING,
        "links": Links(shell, snapshot, otherwise="#main"),
        "views": VIEWS,
        "view": "" if subject else view,
        "about": f"cluster {snapshot.name}, revision {snapshot.revision}, policy {snapshot.policy.name}",
    }
    try:
        found = _subject(asked, snapshot, subject) if subject else _VIEWS[view](asked, snapshot)
    except InputError as error:
        return draw("usage", shell, **{**around, "problem": error.what, "ways": ways_of(shell)})
    return draw("usage", shell, **{**around, **found, "command": asking(shell, found["words"])})


def asking(shell: Shell, path: str) -> str:
    """Return the command that asks this server the same: what was observed is known to it alone."""
    cluster = quote(shell.cluster, safe="")
    return f"curl -s {shlex.quote(f'{shell.origin}/v1/clusters/{cluster}/{path}')}"


def ways_of(shell: Shell) -> list[tuple[str, str]]:
    """Return how observations come to a server, each with what to type."""
    name = shell.cluster
    samples = f"{shell.origin}/v1/clusters/{name}/usage/samples"
    return [
        ("from the metrics API of the cluster", f"ullage serve -c {name}=kube --usage metrics"),
        ("from Prometheus", f"ullage serve -c {name}=kube --usage prometheus:http://prometheus:9090"),
        ("from a table", f"curl {samples} -H 'Content-Type: text/csv' --data-binary @usage.csv"),
    ]


def _use(asked: "Asked", snapshot: "Snapshot") -> dict[str, Any]:
    from ullage.service.observed import read_usage
    from ullage.service.usage_show import ShowQuestion, usage_report

    book = read_usage("", asked, snapshot)
    whole = usage_report(snapshot, book, ShowQuestion("", "", "cluster"), asked)
    report = usage_report(snapshot, book, ShowQuestion("", "", "workload"), asked)
    if not whole.subjects and not report.subjects:
        raise InputError("nothing was observed yet: only what is committed is recorded")
    types = snapshot.resource_types
    marks = [
        mark
        for each in whole.subjects
        for mark in marks_of(each.status.usage, each.promised.request, each.promised.limit, types)
    ]
    last = max((each.last_seconds for each in (*whole.subjects, *report.subjects)), default=0)
    findings = usage_report(snapshot, book, ShowQuestion(), asked).findings
    return {
        "words": "usage/show?by=workload",
        "marks": marks,
        "until": told_time(last),
        "wasted": wasted(report, types),
        "at_risk": at_risk(report, types),
        "findings": in_words(findings_block("", findings[:ROWS_SHOWN])),
        "more_findings": max(0, len(findings) - ROWS_SHOWN),
        "plots": [_chart(book, whole.subjects[0], each.resource, types) for each in marks],
        "unsimulated": report.not_simulated,
    }


def wasted(report: "UsageReport", types: "ResourceTypes") -> list[Line]:
    """Return the workloads that ask for most of what they do not use, of each resource."""
    found: list[Line] = []
    for resource in _WASTED:
        rows = [(row.promised.request.of(resource) - _used(row, resource), row) for row in report.subjects]
        rows = [(rest, row) for rest, row in rows if resource in row.status.usage and rest > 0]
        rows.sort(key=lambda each: (-each[0], each[1].status.subject))
        found += [_line(row, resource, rest, types) for rest, row in rows[: ROWS_SHOWN // 2]]
    return found


def at_risk(report: "UsageReport", types: "ResourceTypes") -> list[Line]:
    """Return the workloads that use more than they asked for, or nearly what they may; the worst first."""
    found = []
    for row in report.subjects:
        for resource in row.status.usage:
            most = row.status.usage[resource].max
            request, limit = row.promised.request.of(resource), row.promised.limit.get(resource)
            if most is None or not request:
                continue
            over = most.value / limit if limit else most.value / request
            if most.value > request or (limit and over >= 0.9):
                found.append((over, _line(row, resource, max(0, most.value - request), types)))
    found.sort(key=lambda each: (-each[0], each[1].subject))
    return [line for _, line in found[:ROWS_SHOWN]]


def _used(row: "SubjectUsage", resource: str) -> int:
    summary = row.status.usage.get(resource)
    if summary is None or summary.max is None:
        return 0
    return summary.percentiles.get(LASTING, summary.max).value


def _line(row: "SubjectUsage", resource: str, amount: int, types: "ResourceTypes") -> Line:
    show = types[resource].readable
    summary = row.status.usage[resource]
    request, limit = row.promised.request.of(resource), row.promised.limit.get(resource)
    used = _used(row, resource)
    return Line(
        row.status.subject,
        resource,
        show(request),
        "-" if limit is None else show(limit),
        show(used),
        "-" if summary.max is None else show(summary.max.value),
        show(amount),
        f"{100 * used / request:.0f}%" if request else "",
    )


def _subject(asked: "Asked", snapshot: "Snapshot", subject: str) -> dict[str, Any]:
    from ullage.service.observed import read_usage
    from ullage.service.usage_show import ShowQuestion, usage_report
    from ullage.service.usage_show_page import usage_show_page

    book = read_usage("", asked, snapshot)
    question = ShowQuestion("", subject)
    report = usage_report(snapshot, book, question, asked)
    types = snapshot.resource_types
    marks = [
        mark
        for each in report.subjects
        for mark in marks_of(each.status.usage, each.promised.request, each.promised.limit, types)
    ]
    with_slots = not subject.startswith("container/")
    plots = [_chart(book, report.subjects[0], each.resource, types) for each in marks] if with_slots else []
    found = page_of(Answer(lambda: usage_show_page(report, types, asked, question), dict))
    return {
        "words": f"usage/show?{urlencode({'subject': subject}, safe='/')}",
        "subject": subject,
        "marks": marks,
        "plots": plots,
        "answer": found,
        "unsimulated": report.not_simulated,
    }


def _chart(book: "Book", row: "SubjectUsage", resource: str, types: "ResourceTypes") -> Chart:
    """Return what a subject used of a resource over the last days, with what it asked for and may have."""
    from ullage.engine.usage.book import Stream
    from ullage.service.usage_told import peaks_of

    stream = Stream(row.status.subject, resource)
    points = peaks_of(book, stream, book.days(stream)[-1] - DAYS_SHOWN + 1, POINTS)
    words = ("committed", "allocatable") if row.status.subject == "cluster" else ("request", "limit")
    show = types[resource].readable
    marks = tuple(
        Mark(f"{word} {show(amounts[resource])}", amounts[resource])
        for word, amounts in zip(words, (row.promised.request, row.promised.limit), strict=True)
        if amounts.of(resource)
    )
    ends = (points[0][0], points[-1][0]) if len(points) > 1 else ()
    ticks = tuple(Mark(told_time(at)[:10], at) for at in ends)
    high = show(max(amount for _, amount in points))
    return Chart(resource, tuple(points), (), marks, ticks, high, f"peaks of what was used: up to {high}")


def _forecast(asked: "Asked", snapshot: "Snapshot") -> dict[str, Any]:
    from ullage.service.forecast import ForecastQuestion, forecast

    del snapshot
    return {**_answered(forecast(asked, ForecastQuestion())), "words": "forecast"}


def _ratio(asked: "Asked", snapshot: "Snapshot") -> dict[str, Any]:
    from ullage.service.advise_ratio import RatioQuestion, advise_ratio

    del snapshot
    return {**_answered(advise_ratio(asked, RatioQuestion())), "words": "advise/ratio"}


def _requests(asked: "Asked", snapshot: "Snapshot") -> dict[str, Any]:
    from ullage.service.advise_requests import RequestsQuestion, advise_requests

    answer = advise_requests(asked, RequestsQuestion())
    found = {**_answered(answer), "words": "advise/requests"}
    workloads: Sequence[Mapping[str, Any]] = answer.data()["workloads"]
    found["patches"] = [_patch(each) for each in workloads if each.get("patch")][:PATCHES_SHOWN]
    del snapshot
    return found


def _patch(workload: Mapping[str, Any]) -> Patch:
    parts = []
    for word, verb in (("freed", "gives back"), ("grown", "needs")):
        if workload.get(word):
            parts.append(f"{verb} {', '.join(f'{name} {amount}' for name, amount in workload[word].items())}")
    subject = f"workload/{workload['workload']}"
    return Patch(subject, "; ".join(parts), to_yaml(workload["patch"]))


def _answered(answer: "Answer") -> dict[str, Any]:
    found: Page = page_of(answer)
    return {"answer": found, "unsimulated": found.not_simulated}


_VIEWS: Final = {"use": _use, "forecast": _forecast, "ratio": _ratio, "requests": _requests}
