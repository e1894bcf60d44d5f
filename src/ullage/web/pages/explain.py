"""What stands behind a number: the answer to `explain` for a workload, a quota or a resource.

A workload under a quota has its risk told too, where the cluster is small enough to count that at once.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from ullage.model.errors import InputError
from ullage.render.view import Page, Text
from ullage.service.asked import read_cluster
from ullage.service.explain import explain
from ullage.service.quota_risk import quota_risk_of
from ullage.web.pages.answers import draw_answer
from ullage.web.pages.shell import shell_of, terminal

if TYPE_CHECKING:
    from ullage.model.cluster import Snapshot
    from ullage.service.asked import Asked

RISK_WORKLOADS_MAX: Final = 5000


def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG001 - as all pages
    """Return the explanation of a subject, such as quota/web."""
    subject = parameters.get("subject", "")
    answer = explain(asked, subject)
    snapshot = read_cluster(asked)
    found = with_risk(asked, snapshot, subject, (answer.shortened or answer.page)())
    title = subject.replace("/", " ", 1).capitalize()
    command = terminal(asked, f"explain {subject}")
    return draw_answer(shell_of(parameters), snapshot, title, found, command=command)


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
