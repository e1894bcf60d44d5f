"""The numbers of `fit`."""

import msgspec
import pytest

from builders import BUILT_IN_TYPES, batch, claim, cluster, node, pod, policy, quota, volume
from ullage.model.constraints import Constraints, HostPort
from ullage.model.errors import InputError
from ullage.model.resources import GPU_MILLI
from ullage.service.fit import FitQuestion, fit, fit_of
from ullage.service.wanted import Wanted


@pytest.fixture(scope="module")
def roomy():
    return cluster(
        node("a", cpu="4", memory="8Gi").holding(pod("web/old", cpu="2", memory="2Gi")),
        node("b", cpu="4", memory="8Gi"),
        quota("web", {"cpu": "1"}),
        claim("web/data", "1Gi"),
        name="roomy",
        policy=policy(),
        unknowns=("tea",),
    )


def wants(*batches, atomic=False):
    return Wanted(batches, atomic, BUILT_IN_TYPES, ("a note",))


def test_what_fits_is_a_yes_with_its_nodes_and_terms(roomy, asked):
    answer = fit_of(roomy, wants(batch(2, pod("web/new", cpu="1", memory="1Gi"))), asked)
    report = answer.data()
    assert answer.yes
    assert report["fits"]
    (outcome,) = report["outcomes"]
    assert (outcome["placed"], outcome["state"], outcome["action"]) == (2, "ok", "place")
    assert sum(each["replicas"] for each in outcome["nodes"]) == 2
    assert outcome["verdict"]["node"] == "b"
    assert [term["free"] for term in outcome["verdict"]["terms"]] == ["4", "8Gi"]
    assert sum(step.get("count", 1) for step in report["plan"]["steps"]) == 2


def test_what_does_not_fit_is_a_no_with_its_shortfall(roomy, asked):
    answer = fit_of(roomy, wants(batch(3, pod("web/new", cpu="3", memory="1Gi"))), asked)
    (outcome,) = answer.data()["outcomes"]
    assert not answer.yes
    assert (outcome["placed"], outcome["refusal"]["count"]) == (1, 2)
    (short,) = outcome["refusal"]["shortfalls"]
    assert (short["resource"], short["requested"], short["free"], short["missing"]) == ("cpu", "3", "2", "1")


def test_one_failure_leaves_nothing_where_all_or_none_is_wanted(roomy, asked):
    asked_for = (batch(1, pod("web/small", cpu="1")), batch(1, pod("web/huge", cpu="100")))
    partly = fit_of(roomy, wants(*asked_for), asked).data()
    none = fit_of(roomy, wants(*asked_for, atomic=True), asked).data()
    assert [each["placed"] for each in partly["outcomes"]] == [1, 0]
    assert [each["placed"] for each in none["outcomes"]] == [0, 0]
    assert "steps" not in none["plan"]


def test_a_workload_that_runs_is_resized_by_what_it_grows(roomy, asked):
    report = fit_of(roomy, wants(batch(1, pod("web/old", cpu="4", memory="2Gi"))), asked).data()
    (outcome,) = report["outcomes"]
    assert (outcome["action"], outcome["held"], outcome["placed"]) == (
        "resize",
        {"cpu": "2", "memory": "2Gi"},
        1,
    )


def test_what_is_left_aside_is_named_with_how_much_it_concerns(roomy, asked):
    plain = fit_of(roomy, wants(batch(1, pod("ml/p", cpu="1"))), asked).data()["notSimulated"]
    assert list(plain) == [
        "affinity between pods, spread and host ports",
        "quotas",
        "volumes",
        "eviction of others",
        "a note",
        "tea",
    ]
    port = Constraints(host_ports=(HostPort(80),))
    concerned = pod("web/p", cpu="1", constraints=port, volumes=(volume("v", "1Gi"),))
    named = fit_of(roomy, wants(batch(1, concerned)), asked).data()["notSimulated"]
    assert list(named[:3]) == [
        "affinity between pods, spread and host ports (1 workload concerned)",
        "quotas (1 of 1 concerned)",
        "volumes (1 workload concerned)",
    ]


def test_a_question_without_workloads_is_refused(roomy, asked):
    with pytest.raises(InputError, match="no workload"):
        fit_of(roomy, wants(), asked)


def test_standard_input_is_read_once(asked):
    with pytest.raises(InputError, match="standard input cannot be cluster and workloads"):
        fit(msgspec.structs.replace(asked, cluster="-"), FitQuestion(paths=("-",)))


def test_shares_of_devices_are_said_to_be_summed(asked):
    shares = cluster(node("g", {GPU_MILLI: "2000"}), policy=policy())
    wanted = wants(batch(1, pod("ml/p", {GPU_MILLI: "1500"})))
    first = fit_of(shares, wanted, asked).data()["notSimulated"][0]
    assert first == (
        "on which device shares of ullage.dev/gpu-milli lie: "
        "they are summed over a node's devices (1 workload concerned)"
    )
