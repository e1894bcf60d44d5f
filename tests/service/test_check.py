"""What `check` finds."""

from xml.etree import ElementTree as ET

import msgspec
import pytest

from builders import cluster, node, pod, policy
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.of_snapshot import is_of_machines
from ullage.model.admission import DisruptionBudget
from ullage.model.constraints import LabelSelector
from ullage.model.errors import InputError
from ullage.render.junit import render
from ullage.service.check import (
    NOT_SIMULATED,
    OF_MACHINES,
    OTHER_PLACEMENTS,
    CheckQuestion,
    check_of,
    check_report,
)
from ullage.service.status import status_report
from ullage.sources.ganeti.snapshot import snapshot_of
from ullage.sources.ganeti.text import read_text


def owned(name, cpu, **fields):
    return pod(
        name, cpu=cpu, memory="1Gi", limits=pod("x", memory="1Gi").requests, owner="ReplicaSet/r", **fields
    )


TIGHT = cluster(
    node("a", cpu="4", memory="8Gi").in_domain("one").holding(owned("w/large", "4")),
    node("b", cpu="4", memory="8Gi").in_domain("one").holding(owned("w/mid", "2")),
    node("c", cpu="4", memory="8Gi").in_domain("two").holding(owned("w/small", "1")),
    name="tight",
    policy=policy(),
)


def report_of(snapshot, asked, **question):
    answer = check_of(snapshot, asked, CheckQuestion(**question))
    return answer, answer.data()


def codes(report):
    return [(each["code"], each["severity"]) for check in report["checks"] for each in check["findings"]]


def test_a_cluster_as_it_is(asked):
    answer, report = report_of(TIGHT, asked)
    assert (answer.yes, report["kind"], report["passed"]) == (True, "CheckReport", True)
    assert [check["name"] for check in report["checks"]] == [
        "over-commitment", "spare nodes", "nodes", "drives", "quotas", "workloads",
    ]  # fmt: skip
    assert codes(report) == []
    assert (report["loss"], report["surveys"]) == (None, ())


def test_every_finding_of_status_belongs_to_a_check(small, asked):
    _, report = report_of(small, asked)
    of_status = {each.code for each in status_report(small).findings}
    assert of_status <= {code for code, _ in codes(report)}
    assert not report["passed"]


def test_a_loss_with_losers_is_an_error(asked):
    answer, report = report_of(TIGHT, asked, lose=("node/a",))
    assert not answer.yes
    assert codes(report) == [("loss-unplaced", "error")]
    assert report["checks"][-1]["name"] == "loss of node a"
    loss = report["loss"]
    assert (loss["nodes"], loss["replaced"]) == (("a",), 0)
    assert loss["losers"][0]["workload"] == "w/large"
    assert "cpu short by 1" in loss["losers"][0]["reason"]


def test_a_loss_without_losers_tells_the_moves(asked):
    answer, report = report_of(TIGHT, asked, lose=("node/b",))
    assert answer.yes
    assert report["loss"]["moves"] == (
        {"action": "move", "subject": "w/mid", "toNode": "c", "fromNode": "b"},
    )


def test_any_node(asked):
    answer, report = report_of(TIGHT, asked, nodes_lost=1)
    (survey,) = report["surveys"]
    assert not answer.yes
    assert (survey["losses"], survey["kinds"], survey["tried"], survey["failingLosses"]) == (3, 3, 3, 1)
    assert survey["worst"][0]["nodes"] == ("a",)
    assert "moves" not in survey["worst"][0]
    assert report["checks"][-1]["detail"] == (
        "3 losses, 3 kinds, all tried; 1 of 1 failing kind looked at exactly"
    )


def test_the_policy_says_how_many_nodes_of_a_group_may_be_lost(asked):
    spare = policy(groups={"pair": {"spare-nodes": "1"}})
    parts = [
        node(name, cpu="4", memory="8Gi").in_group("pair").holding(owned(f"w/{name}", "1")) for name in "ab"
    ]
    lone = node("c", cpu="9", memory="8Gi").holding(owned("w/big", "9"))
    snapshot = cluster(*parts, lone, policy=spare)
    _, report = report_of(snapshot, asked)
    (survey,) = report["surveys"]
    assert (survey["group"], survey["nodes"], survey["losses"], survey["failingKinds"]) == ("pair", 2, 2, 0)
    assert report["checks"][-1]["name"] == "loss of any 1 node of group pair"
    assert report_of(snapshot, asked, nodes_lost=0)[1]["surveys"] == ()
    assert report_of(snapshot, asked, lose=("node/a",))[1]["surveys"] == ()


def test_budgets_and_pods_without_an_owner(asked):
    label = {"labels": {"app": "web"}}
    snapshot = cluster(
        node("a", cpu="9", memory="8Gi").holding(owned("w/one", "1", **label), owned("w/two", "1", **label)),
        node("b", cpu="9", memory="8Gi").holding(pod("w/bare", cpu="1")),
        DisruptionBudget(
            "web", "w", LabelSelector({"app": "web"}), max_unavailable="1", disruptions_allowed=1
        ),
        DisruptionBudget("all", "w", LabelSelector({"app": "web"}), min_available="2", disruptions_allowed=1),
        policy=policy(),
    )
    answer, report = report_of(snapshot, asked, lose=("node/a",))
    assert answer.yes
    assert [check["name"] for check in report["checks"]][-2:] == ["disruption budgets", "loss of node a"]
    assert codes(report) == [
        ("memory-unbounded", "info"),
        ("no-owner", "info"),
        ("budget-differs", "info"),
        ("loss-breaks-budget", "warning"),
        ("loss-breaks-budget", "warning"),
    ]
    assert report["budgets"][1] == {
        "name": "w/web", "expected": 2, "healthy": 2, "desired": 1, "allowed": 1, "stated": 1,
    }  # fmt: skip
    bare = report_of(snapshot, asked, lose=("node/b",))[1]
    assert ("loss-not-restarted", "warning") in codes(bare)
    assert bare["loss"]["notRestarted"] == ("w/bare",)


def test_junit_has_one_case_for_each_check_and_fails_with_the_errors(asked):
    answer, report = report_of(TIGHT, asked, nodes_lost=1)
    (suite,) = ET.fromstring(render(answer.suite()))  # noqa: S314 - we wrote it ourselves
    assert [case.get("name") for case in suite] == [check["name"] for check in report["checks"]]
    failed = [case for case in suite if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["loss of any 1 node"]
    assert failed[0].find("failure").get("type") == "loss-unplaced"
    assert failed[0].find("system-out").text == report["checks"][-1]["detail"]


def test_the_question_may_say_how_nodes_are_chosen(asked):
    assert report_of(TIGHT, asked, placement="pack")[1]["placement"] == "pack"


def test_losses_are_tried_without_preferences_unless_these_are_asked_for(asked):
    weighing = msgspec.structs.replace(TIGHT, policy=policy(placement="preferences"))
    report = report_of(weighing, asked, nodes_lost=1)[1]
    assert report["placement"] == "spread"
    assert any("--placement preferences" in each for each in report["notSimulated"])
    report = report_of(weighing, asked, nodes_lost=1, placement="preferences")[1]
    assert report["placement"] == "preferences"
    assert not any("--placement preferences" in each for each in report["notSimulated"])


PACKED = cluster(
    node("a", cpu="12", memory="8Gi").holding(
        *(owned(f"w/p{number}", size) for number, size in enumerate("33222"))
    ),
    node("b", cpu="6", memory="8Gi"),
    node("c", cpu="6", memory="8Gi"),
    name="packed",
    policy=policy(),
)
OTHERS = "placements other than one after the other, the most important and largest first"


def test_a_loss_that_another_placement_survives_is_no_error(asked):
    answer, report = report_of(PACKED, asked, lose=("node/a",))
    assert answer.yes
    assert codes(report) == [("loss-exact-only", "warning")]
    loss = report["loss"]
    assert (loss["replaced"], loss["losers"], loss["certificate"]) == (5, (), "exact")
    assert loss["certificateNote"] == "found by exact search"
    assert {(step["subject"], step["toNode"]) for step in loss["moves"]} == {
        ("w/p0", "b"), ("w/p1", "b"), ("w/p2", "c"), ("w/p3", "c"), ("w/p4", "c"),
    }  # fmt: skip
    assert report["checks"][-1]["detail"] == "5 of 5 workloads placed anew by exact search"
    assert OTHERS not in report["notSimulated"]


def test_a_survey_counts_what_another_placement_survives_no_longer_as_failing(asked):
    answer, report = report_of(PACKED, asked, nodes_lost=1)
    (survey,) = report["surveys"]
    assert answer.yes
    assert (survey["failingKinds"], survey["failingLosses"], survey["lookedAtExactly"]) == (0, 0, 1)
    assert (survey["worst"], [each["nodes"] for each in survey["saved"]]) == ((), [("a",)])
    assert report["checks"][-1]["detail"].endswith("1 of 1 failing kind looked at exactly, 1 saved by that")


def test_without_an_exact_look_losers_stay_losers(asked):
    answer, report = report_of(PACKED, asked, lose=("node/a",), exact_seconds=0)
    assert not answer.yes
    assert codes(report) == [("loss-unplaced", "error")]
    assert (report["loss"]["certificate"], report["loss"]["replaced"]) == ("unknown", 4)
    assert "certificateNote" not in report["loss"]
    assert report["checks"][-1]["detail"] == "4 of 5 workloads placed anew"
    assert OTHERS in report["notSimulated"]
    survey = report_of(PACKED, asked, nodes_lost=1, exact_seconds=0)[1]["surveys"][0]
    assert (survey["failingKinds"], survey["lookedAtExactly"], survey["saved"]) == (1, 0, ())


def test_a_loss_that_is_proven_to_cost_someone_says_so(asked):
    _, report = report_of(TIGHT, asked, lose=("node/a",))
    assert report["loss"]["certificate"] == "impossible"
    assert report["loss"]["certificateNote"] == "the nodes take at most 0 of 1, each node for itself"
    assert OTHERS not in report["notSimulated"]


def test_more_nodes_than_there_are_cannot_be_lost(asked):
    with pytest.raises(InputError, match="9 nodes cannot be lost of 2"):
        report_of(cluster(node("a"), node("b")), asked, nodes_lost=9)


NODES = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3")]


def checked(snapshot, **question):
    return check_report(snapshot, CheckQuestion(balances=False, **question))


@pytest.fixture(scope="module")
def example(pytestconfig):
    path = pytestconfig.rootpath / "examples" / "overcommitted.data"
    return snapshot_of(read_text(path.read_text(encoding="utf-8"), path.name))


class TestExample:
    def test_a_mirrored_instance_does_not_start_where_it_has_no_disk(self, example):
        report = checked(example, lose=("node/node2",))
        assert not report.passed
        assert [(each.subject, each.to_node) for each in report.loss.moves] == [("cache", "node3")]
        assert [(each.workload, each.node) for each in report.loss.losers] == [("db", "node2")]
        assert report.loss.certificate == "impossible"
        assert report.checks[-1].detail == "1 of 2 workloads placed anew; proven: no placement holds all"

    def test_not_every_node_may_be_lost(self, example):
        (survey,) = checked(example, nodes_lost=1).surveys
        assert (survey.losses, survey.failing_losses) == (4, 2)
        assert {each.nodes: [loser.workload for loser in each.losers] for each in survey.worst} == {
            ("node2",): ["db"],
            ("node4",): ["test"],
        }

    def test_an_instance_goes_with_both_its_nodes(self, example):
        report = checked(example, lose=("node/node1", "node/node3"))
        assert {each.workload for each in report.loss.losers} == {"web1", "mail"}
        assert {(each.subject, each.to_node) for each in report.loss.moves} == {
            ("web2", "node4"),
            ("build", "node4"),
        }


def test_what_is_not_simulated_is_told_of_machines():
    found = snapshot_of(ganeti_cluster(NODES, instance("a", "n1")))
    report = checked(found, lose=("node/n1",))
    assert report.not_simulated == OF_MACHINES
    assert report.passed


def test_only_a_choice_of_hosts_may_have_other_placements():
    shared = ganeti_cluster(NODES, instance("a", "n1", memory=900), instance("b", "n2", memory=500),
                            instance("c", "n3", memory=500))  # fmt: skip
    report = checked(snapshot_of(shared), lose=("node/n1",))
    assert report.loss.certificate == "unknown"
    assert OTHER_PLACEMENTS in report.not_simulated
    local = snapshot_of(ganeti_cluster(NODES, instance("a", "n1", template="plain")))
    assert OTHER_PLACEMENTS not in checked(local, nodes_lost=1).not_simulated


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        (snapshot_of(ganeti_cluster(NODES, instance("a", "n1"))), True),
        (snapshot_of(ganeti_cluster(NODES)), True),
        (cluster(node("n1", cpu="1")), False),
        (cluster(node("n1", cpu="1").holding(pod("a", cpu="1"))), False),
        (cluster(node("n1", cpu="1").with_(host=NODES[0]).holding(pod("a", cpu="1"))), False),
    ],
)
def test_only_clusters_of_ganeti_alone_are_of_machines(snapshot, expected):
    assert is_of_machines(snapshot) is expected


def test_pods_with_a_standby_are_placed_by_their_rules_and_use_what_is_held():
    pair = cluster(
        node("n1", memory="10").holding(pod("a", memory="6", standby="n2", owner="ReplicaSet/r")),
        node("n2", memory="10").holding(pod("b", memory="4", standby="n1", owner="ReplicaSet/r")),
    )
    report = checked(pair, lose=("node/n1",))
    assert [(each.subject, each.to_node) for each in report.loss.moves] == [("a", "n2")]
    assert report.not_simulated == NOT_SIMULATED
