"""The numbers of `fit`."""

import msgspec
import pytest

from builders import BUILT_IN_TYPES, batch, claim, cluster, node, pod, policy, quota
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


def test_what_is_left_aside_is_named(roomy, asked):
    plain = fit_of(roomy, wants(batch(1, pod("ml/p", cpu="1"))), asked).data()["notSimulated"]
    assert list(plain) == ["eviction of others, where priority would allow it", "a note", "tea"]
    under_a_quota = fit_of(roomy, wants(batch(1, pod("web/p", cpu="1"))), asked).data()["notSimulated"]
    assert list(under_a_quota) == ["a note", "tea"]


def test_a_question_without_workloads_is_refused(roomy, asked):
    with pytest.raises(InputError, match="no workload"):
        fit_of(roomy, wants(), asked)


def test_standard_input_is_read_once(asked):
    with pytest.raises(InputError, match="standard input cannot be cluster and workloads"):
        fit(msgspec.structs.replace(asked, cluster="-"), FitQuestion(paths=("-",)))


@pytest.mark.parametrize(
    ("running", "asked_for", "said"),
    [
        ({GPU_MILLI: "300"}, {GPU_MILLI: "500"}, True),
        ({GPU_MILLI: "300"}, {"cpu": "1"}, False),
        ({"cpu": "1"}, {GPU_MILLI: "500"}, False),
    ],
)
def test_devices_of_running_shares_are_said_to_be_assumed_where_that_matters(asked, running, asked_for, said):
    shares = cluster(node("g", {GPU_MILLI: "2000"}, cpu="8").holding(pod("ml/r", running)), policy=policy())
    left_aside = fit_of(shares, wants(batch(1, pod("ml/p", asked_for))), asked).data()["notSimulated"]
    line = (
        "on which devices running shares lie: the source does not say, best fit is assumed "
        "(1 workload concerned)"
    )
    assert (line in left_aside) == said


def test_a_refusal_says_whether_it_is_proven(roomy, asked, read):
    refused = fit_of(roomy, wants(batch(3, pod("web/new", cpu="3"))), asked)
    (outcome,) = refused.data()["outcomes"]
    assert outcome["certificate"] == "impossible"
    assert outcome["certificateNote"] == "the nodes take at most 1 of 3, each node for itself"
    assert "impossible, proven" in " ".join(read(refused).split())
    unasked = fit_of(roomy, wants(batch(3, pod("web/new", cpu="3"))), asked, FitQuestion(exact_seconds=0))
    assert unasked.data()["outcomes"][0]["certificate"] == "unknown"
    assert "proven" not in read(unasked)


def test_a_proof_speaks_of_things_as_they_stand_while_somebody_is_on_the_way_out(asked, read):
    busy = cluster(node("n1", cpu="4").holding(pod("web/old", cpu="4", terminating=True)), policy=policy())
    text = " ".join(read(fit_of(busy, wants(batch(1, pod("web/new", cpu="3"))), asked)).split())
    assert "impossible before anyone is gone, proven" in text
    assert "wait until web/old (n1) is gone: it then fits" in text
