"""What is really used of what is promised: by resource, who wastes most, who is at risk; forecast; advice.

Each of the views is a page of its own, and whatever is named leads to all that is known of it. A view reads
no more than it tells, and is kept for as long as neither the cluster nor what is recorded has changed.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
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
from ullage.web.pages.kept_views import kept_view
from ullage.web.pages.links import Links
from ullage.web.pages.observed import UseMarks, marks_of
from ullage.web.pages.shell import Shell, draw, shell_of

if TYPE_CHECKING:
    from ullage.engine.usage.book import Book
    from ullage.model.cluster import Snapshot
    from ullage.model.resources import ResourceTypes
    from ullage.service.asked import Asked
    from ullage.service.usage_show import SubjectUsage

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
        found = _found(asked, snapshot, view, subject)
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


def _found(asked: "Asked", snapshot: "Snapshot", view: str, subject: str) -> Mapping[str, Any]:
    from ullage.service.observed import SERVER_REMEDY, recorded_file

    path = recorded_file(asked)
    if not path.exists():
        raise InputError("nothing was observed", remedy=SERVER_REMEDY)
    if subject:
        return _subject(asked, snapshot, path, subject)
    return kept_view(snapshot, path, view, lambda: _VIEWS[view](asked, snapshot, path))


def _use(asked: "Asked", snapshot: "Snapshot", path: Path) -> dict[str, Any]:
    from ullage.service.usage_overview import overview
    from ullage.stores.usage_parts import looking

    del asked
    with looking(path) as connection:
        found = overview(connection, snapshot, ROWS_SHOWN)
    whole = found.whole
    if not found.last_seconds:
        raise InputError("nothing was observed yet: only what is committed is recorded")
    types = snapshot.resource_types
    marks = _marks(whole, types)
    return {
        "words": "usage/show?by=workload",
        "marks": marks,
        "until": told_time(found.last_seconds),
        "wasted": wasted(found.workloads, types),
        "at_risk": at_risk(found.workloads, types),
        "findings": in_words(findings_block("", found.findings[:ROWS_SHOWN])),
        "more_findings": max(0, len(found.findings) - ROWS_SHOWN),
        "plots": [_chart(found.book, whole, each.resource, types) for each in marks if whole is not None],
        "unsimulated": snapshot.unknowns,
    }


def _marks(row: "SubjectUsage | None", types: "ResourceTypes") -> list[UseMarks]:
    return [] if row is None else marks_of(row.status.usage, row.promised.request, row.promised.limit, types)


def wasted(rows: "Sequence[SubjectUsage]", types: "ResourceTypes") -> list[Line]:
    """Return the workloads that ask for most of what they do not use, of each resource."""
    from ullage.service.usage_overview import WASTED, wasted_of

    found: list[Line] = []
    for resource in WASTED:
        amounts = [(wasted_of(row, resource), row) for row in rows if _most(row, resource) is not None]
        amounts = [each for each in amounts if each[0] > 0]
        amounts.sort(key=lambda each: (-each[0], each[1].status.subject))
        found += [_line(row, resource, amount, types) for amount, row in amounts[: ROWS_SHOWN // 2]]
    return found


def at_risk(rows: "Sequence[SubjectUsage]", types: "ResourceTypes") -> list[Line]:
    """Return the workloads that use more than they asked for, or nearly what they may; the worst first."""
    from ullage.service.usage_overview import risk_of

    found = []
    for row in rows:
        for resource in row.status.usage:
            most = _most(row, resource)
            share = None if most is None else risk_of(row.promised, resource, most)
            if most is not None and share is not None:
                above = max(0, most - row.promised.request.of(resource))
                found.append((share, _line(row, resource, above, types)))
    found.sort(key=lambda each: (-each[0], each[1].subject))
    return [line for _, line in found[:ROWS_SHOWN]]


def _most(row: "SubjectUsage", resource: str) -> int | None:
    summary = row.status.usage.get(resource)
    return None if summary is None or summary.max is None else summary.max.value


def _line(row: "SubjectUsage", resource: str, amount: int, types: "ResourceTypes") -> Line:
    from ullage.service.usage_overview import lasting_of

    show = types[resource].readable
    summary = row.status.usage[resource]
    request, limit = row.promised.request.of(resource), row.promised.limit.get(resource)
    used = lasting_of(row, resource)
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


def _subject(asked: "Asked", snapshot: "Snapshot", path: Path, subject: str) -> dict[str, Any]:
    from ullage.service.usage_show import ShowQuestion
    from ullage.service.usage_show_page import usage_show_page
    from ullage.service.usage_subject import subject_report

    report, book = subject_report(path, snapshot, subject)
    question = ShowQuestion("", subject)
    types = snapshot.resource_types
    (row,) = report.subjects
    marks = _marks(row, types)
    with_slots = not subject.startswith("container/")
    found = page_of(Answer(lambda: usage_show_page(report, types, asked, question), dict))
    return {
        "words": f"usage/show?{urlencode({'subject': subject}, safe='/')}",
        "subject": subject,
        "marks": marks,
        "plots": [_chart(book, row, each.resource, types) for each in marks] if with_slots else [],
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


def _forecast(asked: "Asked", snapshot: "Snapshot", path: Path) -> dict[str, Any]:
    from ullage.service.forecast import ForecastQuestion, forecast_of
    from ullage.service.forecast_bounds import DEFAULT_KINDS, bounds_of
    from ullage.service.held import columns_of
    from ullage.service.usage_part import read_part
    from ullage.stores.usage_parts import looking

    subjects = {each.subject for each in bounds_of(columns_of(snapshot), DEFAULT_KINDS)}
    with looking(path) as connection:
        book = read_part(connection, snapshot, sorted(subjects))
    if not len(book):
        raise InputError("nothing was observed")
    answer = forecast_of(snapshot, book, asked, ForecastQuestion())
    return {**_answered(answer), "words": "forecast"}


def _ratio(asked: "Asked", snapshot: "Snapshot", path: Path) -> dict[str, Any]:
    from ullage.service.advise_ratio import RatioQuestion, advise_ratio

    del snapshot, path
    return {**_answered(advise_ratio(asked, RatioQuestion())), "words": "advise/ratio"}


def _requests(asked: "Asked", snapshot: "Snapshot", path: Path) -> dict[str, Any]:
    from ullage.service.advise_requests import RequestsQuestion, advise_requests

    del snapshot, path
    answer = advise_requests(asked, RequestsQuestion())
    found = {**_answered(answer), "words": "advise/requests"}
    workloads: Sequence[Mapping[str, Any]] = answer.data()["workloads"]
    found["patches"] = [_patch(each) for each in workloads if each.get("patch")][:PATCHES_SHOWN]
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
