"""A second look at what was refused: found by exact search, proven impossible, or not known."""

import msgspec
import pytest

from builders import batch, cluster, node, pod, policy, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import ANOTHER_ORDER, BESIDE_OTHERS, fit
from ullage.model.constraints import Affinity, Constraints, LabelSelector, PodAffinity, PodAffinityTerm

SECONDS = 10
TOGETHER = Constraints(
    affinity=Affinity(pod_affinity=PodAffinity((PodAffinityTerm("zone", LabelSelector({"app": "a"})),)))
)
GANG = (
    batch(2, waiting("web/a", cpu="3", gang="g")),
    batch(2, waiting("web/b", cpu="4", gang="g")),
    batch(1, waiting("web/c", cpu="5", gang="g")),
)


def ask(nodes, *batches, seconds=SECONDS, **options):
    columns = Columns(cluster(*nodes, policy=policy()))
    return fit(columns, batches, exact_seconds=seconds, **options)


def zones():
    return [
        node(name, cpu=cpu).labelled({"zone": zone})
        for name, zone, cpu in (("x", "one", "8"), ("y", "two", "6"), ("z", "two", "6"))
    ]


def together(replicas):
    return batch(replicas, waiting("web/a", cpu="2", labels={"app": "a"}, constraints=TOGETHER))


def certificates(answer):
    return [each.certificate for each in answer.outcomes]


def test_a_batch_gets_the_zone_that_holds_all_of_it():
    without = ask(zones(), together(6), seconds=0)
    assert ([each.placed for each in without.outcomes], certificates(without)) == ([4], ["unknown"])
    found = ask(zones(), together(6))
    (outcome,) = found.outcomes
    assert found.fits
    assert (outcome.certificate, outcome.placed, outcome.state) == ("exact", 6, "ok")
    assert outcome.nodes == (("y", 3), ("z", 3))
    assert outcome.verdict.admitted
    assert [step.count for step in found.plan.steps] == [3, 3]


def test_what_comes_after_is_judged_beside_what_was_found():
    found = ask(zones(), together(6), batch(5, waiting("web/later", cpu="2")))
    assert [each.placed for each in found.outcomes] == [6, 4]
    assert found.outcomes[1].nodes == (("x", 4),)


def test_what_cannot_be_placed_is_proven_and_stands_as_before():
    found = ask(zones(), together(7), batch(1, waiting("web/later", cpu="6")))
    (refused, later) = found.outcomes
    assert (refused.certificate, refused.placed) == ("impossible", 4)
    assert refused.refusal.count == 3
    assert refused.certificate_note == "no placement of all of them exists"
    assert later.placed == 1


def test_a_gang_is_placed_in_the_one_way_that_there_is():
    nodes = [node("x", cpu="10"), node("y", cpu="9")]
    assert not ask(nodes, *GANG, seconds=0).fits
    found = ask(nodes, *GANG)
    assert found.fits
    assert certificates(found) == ["exact"] * 3
    short = ask([node("x", cpu="10"), node("y", cpu="8")], *GANG)
    assert certificates(short).count("impossible") == 1
    assert not any(each.placed for each in short.outcomes)


def test_several_batches_are_searched_for_together():
    loose = [batch(each.replicas, msgspec.structs.replace(each.workload, gang="")) for each in GANG]
    nodes = [node("x", cpu="10"), node("y", cpu="9")]
    assert ask(nodes, *loose).fits
    assert ask(nodes, *loose, atomic=True).fits


def test_what_can_never_fit_keeps_no_others_from_being_searched_for():
    loose = [batch(each.replicas, msgspec.structs.replace(each.workload, gang="")) for each in GANG]
    nodes = [node("x", cpu="10"), node("y", cpu="9"), node("z", cpu="1")]
    never = batch(1, waiting("web/never", cpu="11"))
    gated = batch(1, waiting("web/gated", cpu="1", constraints=Constraints(scheduling_gates=("wait",))))
    partly = batch(2, waiting("web/partly", cpu="1", constraints=Constraints(node_selector={"only": "z"})))
    nodes[2] = nodes[2].labelled({"only": "z"})
    found = {each.subject: each for each in ask(nodes, never, gated, partly, *loose).outcomes}
    assert [found[each.key].certificate for each in loose] == ["exact"] * 3
    assert [found[each.key].placed for each in (never, gated, partly)] == [0, 0, 1]
    assert found["web/partly"].nodes == (("z", 1),)
    assert found["web/partly"].refusal.count == 1
    assert found["web/never"].certificate_note != BESIDE_OTHERS


def test_two_batches_of_one_name_are_judged_each_for_itself():
    twice = [batch(1, waiting("web/a", cpu=cpu)) for cpu in ("3", "5")]
    assert [each.placed for each in ask([node("x", cpu="4")], *twice).outcomes] == [1, 0]


def test_a_proof_beside_others_is_no_proof_alone():
    found = ask([node("x", cpu="4")], batch(1, waiting("a", cpu="3")), batch(2, waiting("b", cpu="2")))
    refused = found.outcomes[1]
    assert (refused.certificate, refused.certificate_note) == ("impossible", BESIDE_OTHERS)
    alone = ask([node("x", cpu="3")], batch(1, waiting("a", cpu="1")), batch(2, waiting("b", cpu="2")))
    assert alone.outcomes[1].certificate == "impossible"
    assert alone.outcomes[1].certificate_note != BESIDE_OTHERS


def hosts(*sizes):
    return [node(name, cpu=cpu).labelled({"host": name}) for name, cpu in sizes]


def follower(cpu):
    near = PodAffinity((PodAffinityTerm("host", LabelSelector({"app": "leader"})),))
    return batch(
        1, waiting("follower", cpu=cpu, constraints=Constraints(affinity=Affinity(pod_affinity=near)))
    )


LEADER = batch(1, waiting("leader", cpu="2", labels={"app": "leader"}))


def test_what_the_joint_search_does_not_decide_is_no_proof_beside_others(monkeypatch):
    monkeypatch.setattr("ullage.engine.placement.exact.UNKNOWNS_MAX", 0)
    nodes = [node("x", cpu="10"), node("y", cpu="9")]
    loose = [batch(each.replicas, msgspec.structs.replace(each.workload, gang="")) for each in GANG]
    refused = [each for each in ask(nodes, *loose).outcomes if each.refusal]
    assert {each.certificate for each in refused} == {"unknown"}
    for each in refused:
        assert each.certificate_note.startswith(f"{BESIDE_OTHERS} it has no place, but they might stand")
        assert "unknowns are too many for an exact search" in each.certificate_note


@pytest.mark.parametrize(
    ("batches", "said"),
    [
        ([batch(1, waiting("a", cpu=cpu)) for cpu in ("3", "2")], "two of them have one name"),
        (
            [
                *(batch(1, waiting(f"{index}", cpu="1m")) for index in range(100)),
                batch(1, waiting("a", cpu="3")),
            ],
            "101 are too many to be searched for together",
        ),
        (
            [batch(1, pod("runs", cpu="9", node="x")), *(batch(1, waiting(name, cpu="2")) for name in "ab")],
            "what runs already, or is refused for what it is, is not searched for",
        ),
    ],
    ids=["of one name", "too many", "one runs"],
)
def test_what_was_not_searched_for_together_is_no_proof_beside_others(batches, said):
    snapshot = cluster(node("x", cpu="4").holding(pod("runs", cpu="1")), policy=policy())
    found = fit(Columns(snapshot), batches, exact_seconds=SECONDS)
    refused = found.outcomes[-1]
    assert refused.refusal is not None
    assert refused.certificate == "unknown"
    assert said in refused.certificate_note


@pytest.mark.parametrize("atomic", [False, True])
def test_where_the_exact_search_does_not_decide_other_orders_are_tried(monkeypatch, atomic):
    monkeypatch.setattr("ullage.engine.placement.exact.UNKNOWNS_MAX", 0)
    asked = [batch(1, waiting("other", cpu="3")), LEADER, follower("4")]
    nodes = hosts(("x", "6"), ("y", "5"))
    assert not ask(nodes, *asked, seconds=0).fits
    found = ask(nodes, *asked, atomic=atomic)
    assert found.fits
    assert [(each.subject, each.nodes) for each in found.outcomes] == [
        ("other", (("y", 1),)), ("leader", (("x", 1),)), ("follower", (("x", 1),)),
    ]  # fmt: skip
    assert {each.certificate_note for each in found.outcomes} == {ANOTHER_ORDER}


def test_what_is_placed_in_another_order_keeps_every_rule(monkeypatch):
    monkeypatch.setattr("ullage.engine.placement.exact.UNKNOWNS_MAX", 0)
    asked = [batch(1, waiting("other", cpu="3")), LEADER, follower("5")]
    assert not ask(hosts(("x", "6"), ("y", "5")), *asked).fits


def test_one_shape_without_rules_is_refused_for_good_at_once():
    found = ask([node("x", cpu="4")], batch(3, waiting("a", cpu="2")))
    (outcome,) = found.outcomes
    assert (outcome.certificate, outcome.placed) == ("impossible", 2)
    assert outcome.certificate_note == "the nodes take at most 2 of 3, each node for itself"


def test_one_alone_is_refused_for_good_when_every_node_was_tried():
    elsewhere = PodAffinity((PodAffinityTerm("zone", LabelSelector({"app": "other"})),))
    near = Constraints(affinity=Affinity(pod_affinity=elsewhere))
    found = ask(zones(), batch(1, waiting("web/b", cpu="1", constraints=near)))
    assert certificates(found) == ["impossible"]


@pytest.mark.parametrize(
    "constraints", [Constraints(scheduling_gates=("wait",)), Constraints(resource_claims=("gpu",))]
)
def test_what_is_refused_for_what_it_is_needs_no_search(constraints):
    found = ask([node("x", cpu="4")], batch(1, waiting("a", cpu="2", constraints=constraints)))
    assert certificates(found) == ["impossible"]
    assert not found.outcomes[0].certificate_note
