"""The numbers of `explain`."""

import msgspec
import pytest
from hypothesis import given, settings

from builders import cluster, node, pod, policy
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from strategies import snapshots
from ullage.engine.columns import Columns
from ullage.engine.placement.reasons import reasons_of
from ullage.engine.trial import Trial
from ullage.model.delta import Delta, apply
from ullage.model.errors import InputError
from ullage.model.resources import SSD_SPACE
from ullage.render import render
from ullage.service.asked import Asked
from ullage.service.bars import resource_bars
from ullage.service.check import CheckQuestion, check_report
from ullage.service.explain import explain_node, explain_resource
from ullage.service.explain_pod import explain_pod
from ullage.service.fit import fit_of
from ullage.service.headroom import HeadroomQuestion, headroom_of, headroom_report
from ullage.service.headroom_tiered import machine_tiers
from ullage.service.status import status_of, status_report
from ullage.service.wanted import SHAPE_ALONE, Choice, shape_notes, wanted_shape
from ullage.sources.ganeti.snapshot import snapshot_of


def terms_of(answer, resource):
    return next(each for each in answer.data()["resources"] if each["terms"]["resource"] == resource)


def test_every_term_of_a_node_with_its_rule(small, asked):
    memory = terms_of(explain_node(small, "a1", asked), "memory")
    assert memory["terms"] == {
        "node": "a1", "resource": "memory", "capacity": "32Gi", "reserve": "2Gi", "reserveOrigin": "stated",
        "allocatable": "30Gi", "ratio": "1", "promised": "24Gi", "actual": None, "committed": "24Gi",
        "limit": "30Gi", "free": "6Gi",
    }  # fmt: skip
    assert memory["ratioRule"] == "memory-ratio=1 (ours, node a1)"
    assert terms_of(explain_node(small, "g1", asked), "memory")["ratioRule"] == "memory-ratio=1.5 (ours)"


def test_one_resource_alone(small, asked):
    report = explain_node(small, "a1", asked, "kubernetes.io/cpu").data()
    assert [each["terms"]["resource"] for each in report["resources"]] == ["cpu"]


def test_what_runs_on_a_node(small, asked):
    assert [each["workload"] for each in explain_node(small, "a1", asked).data()["workloads"]] == [
        "ml/job",
        "web/front",
    ]


def test_a_resource_over_all_nodes(small, asked):
    report = explain_resource(small, "memory", asked).data()
    assert report["type"] == {"name": "memory", "units": "byte"}
    assert [each["node"] for each in report["nodes"]] == ["a1", "a2", "g1"]
    assert [each["workload"] for each in report["largest"]] == ["web/front", "ml/train", "ml/job"]
    assert report["workloads"] == 3


def test_a_bad_resource_name_is_only_unknown(small, asked):
    with pytest.raises(InputError, match="no resource 'gpu'"):
        explain_resource(small, "gpu", asked)


@settings(max_examples=15)
@given(snapshots())
def test_any_node_and_any_resource_can_be_explained(snapshot):
    asked = Asked("any")
    try:
        answers = [explain_node(snapshot, node.name, asked) for node in snapshot.nodes]
        named = {name for node in snapshot.nodes for name in node.capacity}
        answers += [explain_resource(snapshot, name, asked) for name in sorted(named)]
    except InputError:
        return
    for answer in answers:
        for output in ("table", "json", "csv"):
            assert render(answer.page(), answer.data(), output, width=80)


def test_what_a_kind_takes_besides_is_counted_as_promised_to_it(asked):
    machine = pod("vm", cpu="2", memory="8Gi", kind="zmachine")
    rules = policy(consumption="by-kind", machine_root_large="2Gi")
    snapshot = cluster(node("n1", {SSD_SPACE: "9Gi"}, cpu="8", memory="16Gi").holding(machine), policy=rules)
    report = explain_node(snapshot, "n1", asked).data()
    assert report["workloads"][0]["requests"][SSD_SPACE] == "2Gi"


ASKED = Asked("ganeti:two.data")
GIB = 1 << 30
PAIR = [ganeti_node("n1", memory=8192), ganeti_node("n2", memory=8192)]
BOTH = (instance("a", "n1", "n2", memory=4096), instance("b", "n2", "n1", memory=4096))
FULL = snapshot_of(ganeti_cluster(PAIR, *BOTH))
ROOMY = snapshot_of(
    ganeti_cluster(
        [*PAIR, ganeti_node("n3", memory=8192)],
        *BOTH,
        instance("c", "n3", memory=1024),
        instance("d", "n1", memory=2048),
    )
)
SHAPE = "memory=4Gi,cpu=1"


def wanted(snapshot, shape=SHAPE):
    return Choice(shape=shape).wanted(snapshot, "")


def more(snapshot, shape=SHAPE):
    asked = wanted_shape(shape, snapshot.resource_types)
    return headroom_report(Columns(snapshot), asked, HeadroomQuestion((shape,)))


class TestTwoNodesThatStandByForEachOther:
    def test_no_face_promises_what_failover_needs(self):
        (found,) = more(FULL).workloads
        assert (found.more, found.reasons) == (0, {"memory held for failover": 2})
        assert not fit_of(FULL, wanted(FULL), ASKED).yes
        assert machine_tiers(FULL, SHAPE).more == 0
        assert [each.free.of("memory") for each in status_report(FULL).nodes] == [0, 0]

    def test_what_they_refuse_would_break_redundancy(self):
        crowded = snapshot_of(ganeti_cluster(PAIR, *BOTH, instance("c", "n1", memory=4096)))
        assert check_report(FULL, CheckQuestion(balances=False)).passed
        assert not check_report(crowded, CheckQuestion(balances=False)).passed

    def test_what_is_left_is_promised_to_the_last_byte(self):
        nodes = [ganeti_node("n1", memory=9216), ganeti_node("n2", memory=9216)]
        snapshot = snapshot_of(ganeti_cluster(nodes, *BOTH))
        assert [each.more for each in more(snapshot, "memory=1Gi").workloads] == [2]
        assert [each.more for each in more(snapshot, "memory=1073741825").workloads] == [0]


class TestFaces:
    def test_status_tells_it_of_nodes_and_of_all(self, read):
        report = status_report(ROOMY)
        assert [each.standby.of("memory") // GIB for each in report.nodes] == [4, 4, 0]
        assert [each.free.of("memory") // GIB for each in report.nodes] == [0, 0, 7]
        assert report.total.standby.of("memory") == 8 * GIB
        answer = status_of(ROOMY, ASKED)
        text = read(answer, width=140)
        assert "memory 46% promised, 8Gi held for failover, 7Gi can still be promised" in text
        assert "standby is held free for failover" in text
        assert answer.data()["nodes"][0]["standby"] == {"memory": "4Gi"}
        assert "standby" not in answer.data()["nodes"][2]
        (row,) = resource_bars("t", report.total, ["memory"], ROOMY.resource_types).rows
        assert {part.word: part.part // GIB for part in row.segments}["standby"] == 8

    def test_the_fullest_node_is_full_with_what_it_holds(self):
        lopsided = snapshot_of(
            ganeti_cluster(PAIR, instance("a", "n1", "n2", memory=4096), instance("b", "n2", memory=512))
        )
        assert status_of(lopsided, ASKED).page().next_command.startswith("ullage explain node/n2")
        nodes = explain_resource(lopsided, "memory", ASKED).page().blocks[2]
        assert [row[0].text for row in nodes.rows] == ["n2", "n1"]
        assert [row[2].text for row in nodes.rows] == ["4Gi", "-"]

    def test_terms_of_the_whole_have_it_where_it_is(self, read):
        text = read(status_of(ROOMY, ASKED, "resource"), width=140)
        assert "committed  standby" in text

    def test_explain_subtracts_it_and_says_for_whom(self, read):
        answer = explain_node(ROOMY, "n2", ASKED)
        assert answer.data()["resources"][1]["standbyFor"] == "n1"
        assert answer.data()["resources"][1]["terms"]["standby"] == "4Gi"
        block = next(each for each in answer.page().blocks if each.title == "memory")
        assert [(term.operator, term.name, term.amount) for term in block.lines[-2:]] == [
            ("-", "committed", "4Gi"),
            ("-", "standby", "4Gi"),
        ]
        assert block.lines[-1].explanation == "held free for failover: needed if n1 fails"
        assert (block.result.amount, block.result.explanation) == ("0", "")
        assert "memory 50% committed, 4Gi held for failover, 0 free" in read(answer, width=140)

    def test_explain_says_what_failover_lacks(self):
        block = next(
            each for each in explain_node(ROOMY, "n1", ASKED).page().blocks if each.title == "memory"
        )
        assert block.result.explanation == "short by 2Gi of what failover needs"

    def test_fit_shows_it_beside_the_other_terms(self, read):
        text = read(fit_of(FULL, wanted(FULL), ASKED), width=140)
        assert "free 0 of 8Gi after 4Gi held for failover" in text
        assert "standby is held for failover; free = limit - committed - standby" in text
        report = fit_of(FULL, wanted(FULL), ASKED).data()
        (outcome,) = report["outcomes"]
        assert outcome["refusal"]["shortfalls"][0]["standby"] == "4Gi"

    def test_explain_of_a_workload_shows_it(self, read):
        waits = msgspec.structs.replace(FULL.workloads["a"], name="c", node="", standby="", state="init")
        snapshot = apply(FULL, Delta(workloads=(waits,)))
        text = read(explain_pod(snapshot, "c", ASKED), width=140)
        assert "memory held for failover" in text
        assert "free = limit - committed - standby; standby is held for failover" in text


COMING = snapshot_of(
    ganeti_cluster(
        [ganeti_node(name, memory=8192) for name in ("n1", "n2", "n3")],
        instance("a", "n3", memory=6144),
        instance("f", "n1", "n2", memory=6144, forthcoming=True),
    )
)


class TestStillToCome:
    """An instance that is not created yet holds its node and its standby in every answer."""

    def test_no_face_promises_its_place_again(self):
        report = status_report(COMING)
        assert [each.free.of("memory") // GIB for each in report.nodes] == [2, 2, 2]
        assert [each.committed.of("memory") // GIB for each in report.nodes] == [6, 0, 6]
        assert [each.standby.of("memory") // GIB for each in report.nodes] == [0, 6, 0]
        assert not fit_of(COMING, wanted(COMING), ASKED).yes
        (found,) = more(COMING, "memory=2Gi").workloads
        assert (found.more, len(found.nodes)) == (3, 3)

    def test_status_counts_it_apart_and_nobody_waits(self, read):
        answer = status_of(COMING, ASKED, "workload")
        assert "; 1 instance forthcoming: promised, not created yet" in read(answer, width=300)
        assert answer.data()["workloads"] == {"forthcoming": 1, "ok": 1}
        assert [each["state"] for each in answer.data()["listed"]] == ["ok", "forthcoming"]
        assert not [each for each in answer.data()["findings"] if each["code"] == "pending"]
        assert not Choice().wanted(COMING, "").batches

    def test_explain_says_where_it_is_reserved(self, read):
        text = read(explain_pod(COMING, "f", ASKED), width=300)
        assert text.splitlines()[0] == (
            "f is forthcoming: reserved on node n1, its standby on n2, not created yet; "
            "1/2 other nodes would take it: 1 memory short"
        )
        assert "reserved there" in text
        assert "its standby, which is reserved on n2: nodes are judged without one" in text
        assert "scheduler" not in text

    def test_one_without_a_standby_names_only_its_node(self):
        alone = snapshot_of(ganeti_cluster(PAIR, instance("f", "n1", forthcoming=True)))
        verdict = explain_pod(alone, "f", ASKED).page().verdict.text
        assert verdict.startswith("f is forthcoming: reserved on node n1, not created yet; ")

    def test_explain_of_its_node_counts_it(self, read):
        text = read(explain_node(COMING, "n1", ASKED), width=300)
        assert text.startswith("node n1 is ready with 1 workload, 1 of them forthcoming; ")
        block = next(
            each for each in explain_node(COMING, "n1", ASKED).page().blocks if each.title == "memory"
        )
        assert block.lines[-1].explanation.startswith("promised to 1 workload; ")


class TestShapes:
    def test_a_shape_of_a_cluster_of_instances_has_no_standby_and_says_so(self):
        assert shape_notes(FULL) == (SHAPE_ALONE,) == wanted(FULL).notes
        assert SHAPE_ALONE in fit_of(ROOMY, wanted(ROOMY), ASKED).data()["notSimulated"]
        assert (
            SHAPE_ALONE in headroom_of(ROOMY, wanted(ROOMY), ASKED, HeadroomQuestion()).data()["notSimulated"]
        )

    def test_elsewhere_nothing_is_said_of_it(self, small):
        assert shape_notes(small) == () == wanted(small).notes


def test_a_node_lacks_memory_only_where_even_what_is_held_would_not_do():
    snapshot = cluster(
        node("n1", memory="10").holding(pod("a", memory="4", standby="n2")), node("n2", memory="10")
    )
    trial = Trial(Columns(snapshot))
    assert reasons_of(trial, trial.shape_of(pod("w", memory="7"))).tally() == {
        "memory held for failover": 1, "memory short": 1,
    }  # fmt: skip
    assert reasons_of(trial, trial.shape_of(pod("v", memory="11"))).tally() == {"memory short": 2}


def test_clusters_without_standbys_say_nothing_of_it(small, asked, read):
    answers = [
        status_of(small, asked),
        explain_node(small, "a1", asked),
        explain_resource(small, "memory", asked),
        fit_of(small, wanted(small), asked),
        explain_pod(small, "web/later", asked),
    ]
    for answer in answers:
        assert "standby" not in read(answer, width=300)
        assert "standby" not in read(answer, output="json").lower()
