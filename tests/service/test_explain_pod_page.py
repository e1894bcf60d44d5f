"""The page of `explain pod/P`."""

import msgspec
import pytest

from builders import cluster, node, pod, policy, quota, waiting
from ullage.model.constraints import Constraints, HostPort
from ullage.service.explain_pod import explain_pod, pod_report
from ullage.service.explain_pod_page import NODES_SHOWN, pod_page

PORT = Constraints(host_ports=(HostPort(80),))


def machines(count, **amounts):
    return [node(f"n{number:02}", **{"cpu": "4", "pods": 9, **amounts}) for number in range(count)]


@pytest.fixture(scope="module")
def page_of(asked):
    def page(snapshot, workload, *, shortened=False):
        report = pod_report(snapshot, workload)
        return pod_page(report, snapshot.resource_types, asked, shortened=shortened)

    return page


def blocks_of(page):
    return {block.title: block for block in page.blocks}


def test_the_verdict_counts_reasons_most_first(page_of):
    few = cluster(
        *machines(3, cpu="1"),
        node("gpu", cpu="8", pods=9).tainted("gpu"),
        policy=policy(),
    )
    page = page_of(few, waiting("web/new", cpu="2", pods=1))
    assert page.verdict.text == "web/new waits: 0/4 nodes take it: 3 size of the node (cpu), 1 taint gpu"
    assert page.verdict.tone == "no"


@pytest.mark.parametrize(
    ("change", "text", "tone"),
    [
        ({}, "web/new waits: 2/2 nodes take it, n00 first; the scheduler should place it soon", "yes"),
        (
            {"scheduler": "batch-scheduler"},
            "web/new waits: 2/2 nodes take it, n00 first; batch-scheduler should place it soon",
            "yes",
        ),
        (
            {"constraints": Constraints(scheduling_gates=("later",))},
            "web/new waits: held back by scheduling gates (later); without that 2/2 nodes take it",
            "no",
        ),
        (
            {"node": "n01"},
            "web/new waits: 1/2 nodes take it, n01 first; the scheduler should place it soon",
            "yes",
        ),
        ({"state": "error"}, "web/new is over, in state error: it will not be placed", "info"),
    ],
)
def test_the_verdict_of_each_state(page_of, change, text, tone):
    wanted = msgspec.structs.replace(waiting("web/new", cpu="1", pods=1), **change)
    page = page_of(cluster(*machines(2), policy=policy()), wanted)
    assert (page.verdict.text, page.verdict.tone) == (text, tone)


def test_shortened_it_shows_the_nearest_nodes_and_says_so(page_of):
    count = NODES_SHOWN + 5
    many = cluster(*machines(count), policy=policy())
    new = waiting("web/new", cpu="5", pods=1)
    short, whole = page_of(many, new, shortened=True), page_of(many, new)
    assert len(short.main_table.rows) == NODES_SHOWN
    assert f"the {NODES_SHOWN} nearest of {count} nodes, -o wide shows all" in short.main_table.caption
    assert len(whole.main_table.rows) == count
    assert "-o wide" not in whole.main_table.caption


def test_rules_are_told_where_they_bind(page_of):
    taken = cluster(
        node("a", cpu="4", pods=9).holding(pod("web/old", cpu="1", pods=1, constraints=PORT)),
        policy=policy(),
    )
    page = page_of(taken, waiting("web/new", cpu="1", pods=1, constraints=PORT))
    (rule,) = blocks_of(page)["Rules that bind it"].rows
    assert (rule.severity, rule.subject) == ("warning", "host port 80")
    assert rule.message == "port 80 of the node is taken by web/old on a (keeps it off 1 node)"
    free = cluster(node("a", cpu="4", pods=9), policy=policy())
    assert "Rules that bind it" not in blocks_of(page_of(free, waiting("web/new", constraints=PORT)))


def test_of_a_running_pod_every_rule_is_told_and_its_node_is_marked(asked):
    runs = pod("web/old", cpu="1", pods=1, constraints=PORT)
    whole = cluster(node("a", cpu="4", pods=9).holding(runs), node("b", cpu="4", pods=9), policy=policy())
    page = explain_pod(whole, "web/old", asked).page()
    assert page.verdict.text == "web/old runs on node a; 1/1 other nodes would take it"
    words = {row[0].text: row[1].text for row in page.main_table.rows}
    assert words == {"a": "it is there", "b": "yes"}
    assert [row.severity for row in blocks_of(page)["Rules that bind it"].rows] == ["info"]
    assert page.next_command == "ullage explain node/a -c small.json"


def test_the_sums_of_the_nearest_node_and_each_thing_that_helps(page_of):
    full = cluster(
        node("a", cpu="4", pods=9).holding(pod("web/old", cpu="3", pods=1)),
        policy=policy(),
    )
    blocks = blocks_of(page_of(full, waiting("web/new", cpu="2", pods=1)))
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in blocks["On node a, the nearest"].rows}
    assert rows["cpu"] == ["4", "0", "4", "3", "1", "2", "-1"]
    helps = [row.message for row in blocks["What would help"].rows]
    assert helps[0] == "lower the request of cpu to 1: it then fits"
    assert "evict web/old: it then fits" in helps


def test_without_a_bound_there_is_nothing_left_to_tell(page_of):
    endless = cluster(node("a", cpu="4", pods=9), policy=policy(cpu_ratio="unlimited"))
    blocks = blocks_of(page_of(endless, waiting("web/new", cpu="2", pods=1)))
    (cpu,) = [row for row in blocks["On node a, the first choice"].rows if row[0].text == "cpu"]
    assert [cell.text for cell in cpu[1:]] == ["4", "0", "no bound", "0", "no bound", "2", "no bound"]


@pytest.mark.parametrize(
    ("leaving", "text"),
    [
        ((), "0/1 nodes take it as they are; its quota lets it take the place of b/p1, b/p2"),
        (("p1", "p2"), "0/1 nodes take it as they are; it runs once b/p1, b/p2 are gone"),
        (
            ("p1",),
            (
                "0/1 nodes take it as they are; it runs once b/p1 is gone; "
                "its quota lets it take the place of b/p2"
            ),
        ),
    ],
)
def test_the_verdict_says_who_goes_and_who_is_waited_for(page_of, leaving, text):
    held = [pod(f"b/{name}", cpu="1", terminating=name in leaving) for name in ("p1", "p2")]
    quotas = (quota("a", {"cpu": "2"}), quota("b", {"cpu": "0"}))
    snapshot = cluster(node("n1", cpu="2").holding(*held), waiting("a/x", cpu="2"), *quotas)
    assert page_of(snapshot, snapshot.workloads["a/x"]).verdict.text == f"a/x waits: {text}"


def test_a_share_that_is_free_once_somebody_is_gone_is_waited_for(page_of):
    held = pod("a/p", cpu="1", terminating=True)
    snapshot = cluster(
        node("n1", cpu="9").holding(held), waiting("a/x", cpu="1"), quota("a", {}, {"cpu": "1"})
    )
    text = "a/x waits: 1/1 nodes take it as they are; it runs once a/p is gone"
    assert page_of(snapshot, snapshot.workloads["a/x"]).verdict.text == text
