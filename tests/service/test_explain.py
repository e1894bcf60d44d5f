"""The numbers of `explain`."""

import pytest
from hypothesis import given, settings

from builders import cluster, node, pod, policy
from strategies import snapshots
from ullage.model.errors import InputError
from ullage.model.resources import SSD_SPACE
from ullage.render import render
from ullage.service.asked import Asked
from ullage.service.explain import explain_node, explain_resource


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
