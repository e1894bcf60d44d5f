"""What stands behind a number: the answer to `explain` for a workload, a quota or a resource.

A workload under a quota has its risk told too, where the cluster is small enough to count that at once.
"""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from ullage.model.errors import InputError
from ullage.render.view import Page, Text
from ullage.service.asked import read_cluster
from ullage.service.explain import explain
from ullage.service.explain_pod import explain_pod
from ullage.service.quota_risk import quota_risk_of
from ullage.web.pages.answers import draw_answer, page_of
from ullage.web.pages.kept import kept_status
from ullage.web.pages.meanings import Meaning, quota_meanings, resource_meanings
from ullage.web.pages.observed import recorded_of, subjects_of
from ullage.web.pages.quotas import kept_quotas
from ullage.web.pages.shell import shell_of, terminal

if TYPE_CHECKING:
    from ullage.model.cluster import Snapshot
    from ullage.service.answer import Answer
    from ullage.service.asked import Asked

RISK_WORKLOADS_MAX: Final = 5000


def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG001 - as all pages
    """Return the explanation of a subject, such as quota/web."""
    subject = parameters.get("subject", "")
    snapshot = read_cluster(asked)
    answer = explained(asked, snapshot, subject)
    found = with_risk(asked, snapshot, subject, page_of(answer))
    title = subject.replace("/", " ", 1).capitalize()
    shell = shell_of(parameters)
    command = terminal(shell, f"explain {shlex.quote(subject)}")
    meanings = meanings_of(asked, subject)
    return draw_answer(shell, snapshot, title, found, command=command, meanings=meanings)


def explained(asked: "Asked", snapshot: "Snapshot", subject: str) -> "Answer":
    """Return the explanation of a subject; of a workload with what it uses, where that was observed."""
    kind, _, name = subject.partition("/")
    workload = snapshot.workloads.get(name) if kind == "pod" else None
    book = None if workload is None else recorded_of(asked, subjects_of(workload))
    return explain(asked, subject) if book is None else explain_pod(snapshot, name, asked, book)


def meanings_of(asked: "Asked", subject: str) -> list[Meaning]:
    """Return the terms of a resource or a quota that figures of other pages lead to; none of a workload."""
    kind, _, name = subject.partition("/")
    if kind == "resource":
        snapshot, report = kept_status(asked)
        is_there = name in report.total.capacity
        return resource_meanings(report.total, name, snapshot.resource_types) if is_there else []
    if kind == "quota":
        snapshot, _ = kept_status(asked)
        quota = next(each for each in kept_quotas(snapshot).quotas if each.name == name)
        return quota_meanings(quota, snapshot.resource_types)
    return []


def with_risk(asked: "Asked", snapshot: "Snapshot", subject: str, page: Page) -> Page:
    """Return the page of a workload with who could claim its place; other pages as they are."""
    is_small = len(snapshot.workloads) <= RISK_WORKLOADS_MAX
    if not subject.startswith("pod/") or not snapshot.quotas or not is_small:
        return page
    try:
        risk = quota_risk_of(snapshot, asked, subject).page()
    except InputError:  # it waits, or it is under no quota: there is nothing to claim
        return page
    told = Text("Its risk", (risk.verdict.text,))
    return msgspec.structs.replace(page, blocks=(*page.blocks, told, *risk.blocks))
