"""A plan as a page."""

import pytest

from ullage.service.plan_record import FitPlan
from ullage.web.pages.plan import Placed, placed_of, plan_line, plan_page, words_of
from ullage.web.pages.shell import Shell
from ullage.web.plans import Kept, Plan

OUTCOME = {
    "workload": "web/<api>",
    "placed": 1,
    "replicas": 2,
    "nodes": [{"node": "n1", "replicas": 1}],
    "evicted": [{"workload": "batch/etl-0", "node": "n1"}],
}


REPORT = {"outcomes": [OUTCOME]}
ANSWER = FitPlan(REPORT, fits=True, atomic=False, step="", ledger_revision=2, at_seconds=0, hold_seconds=3600)


def plan(state="open", *, workloads=1, may=True):
    return Plan(
        id="1a",
        cluster="demo",
        state=state,
        made="2026-01-01T00:00:00Z",
        who="me",
        fits=True,
        may_be_committed=may,
        cluster_revision=1,
        ledger_revision=2,
        hold_seconds=3600,
        workloads=workloads,
        names=("web/<api>",),
    )


def drawn(told, scope="commit"):
    shell = Shell(cluster="demo", clusters=("demo",), scope=scope, path="/plans/1a")
    return plan_page(shell, Kept(told, ANSWER, {}, b"")).decode()


def test_what_is_placed_and_who_goes_for_it_is_told():
    assert list(placed_of(REPORT)) == [Placed("web/<api>", 1, 2, (("n1", 1),), ("batch/etl-0",))]
    html = drawn(plan())
    assert "1 of 2" in html
    assert "batch/etl-0" in html
    assert "<api>" not in html


@pytest.mark.parametrize(
    ("state", "scope", "may", "commits", "discards"),
    [
        ("open", "commit", True, True, True),
        ("refused", "commit", True, True, True),
        ("open", "commit", False, False, True),
        ("open", "plan", True, False, True),
        ("open", "read", True, False, False),
        ("committed", "commit", True, False, False),
        ("discarded", "commit", True, False, False),
    ],
)
def test_only_what_may_be_done_is_offered(state, scope, may, commits, discards):
    html = drawn(plan(state, may=may), scope)
    assert ("Commit it" in html, "Discard it" in html) == (commits, discards)


def test_many_workloads_are_told_in_a_few_words():
    assert words_of(plan(workloads=5)) == "web/<api>, 4 more"
    assert plan_line(plan()).what == "web/<api>"
