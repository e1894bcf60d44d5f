"""Batches under quotas: what runs at once, for whom others go, what is refused and why."""

import msgspec
import pytest

from builders import batch, cluster, node, pod, quota, waiting
from quota_judge import Pod, World
from quota_worlds import asking, cluster_of
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import FitAnswer, fit
from ullage.model.cluster import Batch, Snapshot
from ullage.model.policy import Layer, Policy
from ullage.model.resources import GPU_MEMORY

MIG = "nvidia.com/mig-1g.10gb"


def seed(kind: str) -> Snapshot:
    """The example of nos: A uses its 40 GB, B borrows 30, C lends them all."""
    mins = {"A": "40", "B": "10", "C": "30"}
    quotas = [quota(name, {GPU_MEMORY: least}, kind=kind) for name, least in mins.items()]
    held = [pod(f"{team}/p{number}", {MIG: "1"}) for team in "AB" for number in range(4)]
    return cluster(node("n1", {MIG: "8"}).holding(*held), *quotas)


def judged(snapshot: Snapshot, *batches: Batch, **options) -> FitAnswer:
    return fit(Columns(snapshot), batches, **options)


@pytest.mark.parametrize(
    ("kind", "replicas", "evicted", "against"),
    [
        ("ElasticQuota", 1, ["B/p1"], ""),
        ("ElasticQuota", 2, ["B/p1"], "60 of nos.nebuly.com/gpu-memory where 55 is its own"),
        ("Quota", 2, ["B/p1", "B/p2"], ""),
        ("Quota", 3, ["B/p1", "B/p2"], "70 of nos.nebuly.com/gpu-memory where 64 is its own"),
    ],
)
def test_the_example_of_nos_in_both_modes(kind, replicas, evicted, against):
    (outcome,) = judged(seed(kind), batch(replicas, waiting("A/new", {MIG: "1"}))).outcomes
    assert [each.workload for each in outcome.evicted] == evicted
    assert outcome.placed == len(evicted)
    assert outcome.fewest_proven
    if against:
        assert against in outcome.refusal.reason
    else:
        assert outcome.refusal is None


def test_steps_evict_before_they_place():
    plan = judged(seed("Quota"), batch(1, waiting("A/new", {MIG: "1"}))).plan
    assert [(step.action, step.subject) for step in plan.steps] == [("evict", "B/p1"), ("place", "A/new")]
    assert plan.steps[0].evidence == "over-quota in quota B"


def test_all_or_none_evicts_nobody_where_not_all_can_run():
    (outcome,) = judged(seed("Quota"), batch(3, waiting("A/new", {MIG: "1"}), atomic=True)).outcomes
    assert (outcome.placed, outcome.evicted) == (0, ())


def test_no_victim_serves_two():
    asked = [batch(1, waiting(f"A/new{number}", {MIG: "1"})) for number in range(2)]
    first, second = judged(seed("Quota"), *asked).outcomes
    assert [each.workload for each in (*first.evicted, *second.evicted)] == ["B/p1", "B/p2"]


@pytest.mark.parametrize("there", [(), (pod("c/p", cpu="3"),)], ids=["empty", "in use"])
def test_who_claims_its_min_is_not_put_off_with_room_that_nobody_can_have(there):
    """B borrows all of the open node: what a cordoned one has left is not B's to be entitled to."""
    snapshot = cluster(
        node("n1", cpu="4").holding(*(pod(f"b/p{number}", cpu="1") for number in range(4))),
        node("n2", cpu="9").holding(*there).cordoned(),
        quota("a", {"cpu": "4"}), quota("b", {"cpu": "0"}), quota("c", {"cpu": "3"}),
    )  # fmt: skip
    (outcome,) = judged(snapshot, batch(2, waiting("a/new", cpu="1"))).outcomes
    assert (outcome.placed, [each.workload for each in outcome.evicted]) == (2, ["b/p0", "b/p1"])


def test_what_a_quota_forbids_is_refused_although_nodes_have_room():
    bound = quota("a", {"cpu": "1"}, {"cpu": "3"})
    snapshot = cluster(node("n1", cpu="99"), bound)
    (outcome,) = judged(snapshot, batch(5, waiting("a/p", cpu="1"))).outcomes
    assert outcome.placed == 3
    assert outcome.refusal.reason.startswith("quota a would use more than its max, 1 of cpu beyond 3")
    assert outcome.certificate == "impossible"


def test_workloads_without_a_quota_are_judged_as_ever():
    (outcome,) = judged(seed("Quota"), batch(1, waiting("x/new", {MIG: "1"}, priority=9))).outcomes
    assert (outcome.placed, outcome.evicted) == (0, ())


@pytest.mark.parametrize(("grown", "placed"), [("3", 1), ("4", 0)])
def test_a_workload_that_grows_stays_within_its_quota(grown, placed):
    snapshot = cluster(node("n1", cpu="99").holding(pod("a/p", cpu="2")), quota("a", {}, {"cpu": "3"}))
    (outcome,) = judged(snapshot, batch(1, pod("a/p", cpu=grown))).outcomes
    assert (outcome.action, outcome.placed) == ("resize", placed)


def test_replicas_that_run_already_are_not_counted_twice():
    held = pod("a/web-1", cpu="2", owner="Deployment/web")
    snapshot = cluster(node("n1", cpu="99").holding(held), quota("a", {}, {"cpu": "4"}))
    (outcome,) = judged(snapshot, batch(2, waiting("a/web", kind="Deployment", cpu="2"))).outcomes
    assert outcome.placed == 2


def test_who_borrows_is_told_who_could_claim_it_back():
    (outcome,) = judged(seed("Quota"), batch(2, waiting("A/new", {MIG: "1"}))).outcomes
    assert outcome.over_quota == 2
    assert [(each.claimants, dict(each.could_claim)) for each in outcome.threats] == [
        (("C",), {GPU_MEMORY: 30})
    ]


def test_who_stays_within_min_has_nobody_to_fear():
    snapshot = cluster(node("n1", cpu="9"), quota("a", {"cpu": "4"}), quota("b", {"cpu": "4"}))
    (outcome,) = judged(snapshot, batch(4, waiting("a/p", cpu="1"))).outcomes
    assert (outcome.over_quota, outcome.threats) == (0, ())
    (more,) = judged(snapshot, batch(5, waiting("a/p", cpu="1"))).outcomes
    assert more.over_quota == 1


def crowd(running: int, asking: int) -> FitAnswer:
    """Return what becomes of replicas of a that ask for the place of those of b, which is guaranteed half."""
    held = [pod(f"b/p{number:03}", cpu="1", created_seconds=number) for number in range(running)]
    snapshot = cluster(
        node("n1", cpu=str(running)).holding(*held),
        quota("a", {"cpu": str(running // 2)}),
        quota("b", {"cpu": str(running // 2)}),
    )
    return judged(snapshot, batch(asking, waiting("a/p", cpu="1")), names_remedies=False)


def test_evicting_stops_after_a_stated_number_of_replicas(monkeypatch):
    monkeypatch.setattr("ullage.engine.quota.judging.EVICTING_MAX", 3)
    (outcome,) = crowd(10, 5).outcomes
    assert outcome.placed == 3
    assert "victims were looked for only for 3 replicas" in outcome.refusal.reason


@pytest.mark.parametrize("asking", [1, 4, 5, 6, 9])
def test_for_many_at_once_as_many_go_as_for_one_after_the_other(monkeypatch, asking):
    (one_by_one,) = crowd(10, asking).outcomes
    monkeypatch.setattr("ullage.engine.quota.judging.ONE_BY_ONE_MAX", 1)
    (at_once,) = crowd(10, asking).outcomes
    assert at_once.placed == one_by_one.placed == min(asking, 5)
    assert sorted(each.workload for each in at_once.evicted) == sorted(
        each.workload for each in one_by_one.evicted
    )


def test_a_gang_is_judged_on_its_sum():
    held = [pod(f"b/p{number}", cpu="1") for number in range(4)]
    snapshot = cluster(
        node("n1", cpu="2").holding(*held[:2]),
        node("n2", cpu="2").holding(*held[2:]),
        quota("a", {"cpu": "3"}),
        quota("b", {"cpu": "1"}),
    )
    asked = waiting("a/p", cpu="1")
    (whole,) = judged(snapshot, batch(3, asked, atomic=True)).outcomes
    assert (whole.placed, len(whole.evicted), whole.fewest_proven) == (3, 3, True)
    (too_many,) = judged(snapshot, batch(4, asked, atomic=True)).outcomes
    assert (too_many.placed, too_many.evicted) == (0, ())
    assert "quota a would pass its entitlement, 4 of cpu where 3 is its own" in too_many.refusal.reason


def test_under_several_quotas_the_one_that_has_least_has_the_next_turn():
    snapshot = cluster(node("n1", cpu="3"), quota("a", {"cpu": "2"}), quota("b", {"cpu": "2"}))
    asked = [batch(1, waiting(f"{team}/p{number}", cpu="1")) for team in "ba" for number in range(3)]
    found = judged(snapshot, *asked).outcomes
    assert [each.subject for each in found] == ["a/p0", "b/p0", "a/p1", "b/p1", "a/p2", "b/p2"]
    assert [each.placed for each in found] == [1, 1, 1, 0, 0, 0]


def young(run_min: int, *started: int, **fields) -> Snapshot:
    """A is guaranteed what B holds; B's pods started at these seconds, and it is 1000."""
    held = [pod(f"b/p{each}", cpu="1", started_seconds=each, created_seconds=each) for each in started]
    policy = Policy(layers=(Layer("test", cluster={"quota-run-min": str(run_min)}),))
    quotas = quota("a", {"cpu": str(len(held))}), quota("b", {"cpu": "0"})
    machine = node("n1", cpu=str(len(held))).holding(*held)
    return cluster(machine, *quotas, **{"taken_seconds": 1000, "policy": policy, **fields})


@pytest.mark.parametrize(
    ("run_min", "evicted", "spared"),
    [
        (0, ["b/p990"], []),
        (10, ["b/p990"], []),
        (11, ["b/p500"], [("b/p990", "n1", "b", 1)]),
        (600, ["b/p100"], [("b/p990", "n1", "b", 590)]),
    ],
)
@pytest.mark.parametrize("atomic", [False, True])
def test_who_ran_for_less_than_the_minimum_is_spared_and_named(run_min, evicted, spared, atomic):
    snapshot = young(run_min, 100, 500, 990)
    (outcome,) = judged(snapshot, batch(1, waiting("a/new", cpu="1"), atomic=atomic)).outcomes
    assert [each.workload for each in outcome.evicted] == evicted
    assert [tuple(each) for each in outcome.spared] == spared


@pytest.mark.parametrize("asking", [1, 2])
def test_where_all_are_spared_it_is_refused_until_they_ran_long_enough(asking):
    """For two that stand together the search for gangs decides, and by the same rule."""
    (outcome,) = judged(young(600, 700, 990), batch(asking, waiting("a/new", cpu="1"), atomic=True)).outcomes
    assert (outcome.placed, outcome.evicted) == (0, ())
    names = "b/p700, b/p990" if asking == 2 else "b/p990"
    assert f"{names} ran for less than 600 s and would be evicted for it in 590 s" in outcome.refusal.reason
    assert [each.workload for each in outcome.spared] == names.split(", ")


def test_who_is_not_wanted_anyway_is_not_called_spared():
    (outcome,) = judged(young(600, 100, 990), batch(1, waiting("b/new", cpu="1"))).outcomes
    assert (outcome.placed, outcome.spared) == (0, ())


def departing(*names: str, cpu: str = "4", mins: tuple[str, str] = ("4", "0"), **bounds) -> Snapshot:
    """B holds four; those that are named are on their way out."""
    held = [
        pod(f"b/p{number}", cpu="1", created_seconds=number, terminating=f"p{number}" in names)
        for number in range(4)
    ]
    quotas = quota("a", {"cpu": mins[0]}, **bounds), quota("b", {"cpu": mins[1]})
    return cluster(node("n1", cpu=cpu).holding(*held), *quotas)


def test_who_is_on_the_way_out_is_waited_for_before_anybody_goes():
    (outcome,) = judged(departing("p0", "p1"), batch(1, waiting("a/new", cpu="1"))).outcomes
    assert (outcome.placed, outcome.evicted, outcome.refusal) == (1, (), None)
    assert [(each.workload, each.node, each.quota) for each in outcome.waits_for] == [("b/p1", "n1", "b")]


def test_who_goes_goes_beside_those_that_are_waited_for():
    (outcome,) = judged(departing("p0"), batch(2, waiting("a/new", cpu="1"))).outcomes
    assert [each.workload for each in outcome.waits_for] == ["b/p0"]
    assert [each.workload for each in outcome.evicted] == ["b/p3"]


@pytest.mark.parametrize("atomic", [False, True])
def test_nobody_more_goes_from_a_quota_that_gives_enough_already(atomic):
    """B is entitled to two of four, and two of its four are on their way out."""
    snapshot = departing("p0", "p1", mins=("2", "2"))
    (two,) = judged(snapshot, batch(2, waiting("a/new", cpu="1"), atomic=atomic)).outcomes
    assert (two.placed, two.evicted, len(two.waits_for)) == (2, (), 2)
    (three,) = judged(snapshot, batch(3, waiting("a/new", cpu="1"), atomic=atomic)).outcomes
    assert (three.placed, three.evicted) == ((0, ()) if atomic else (2, ()))


def test_who_is_not_in_the_way_is_not_waited_for():
    """There is room beside it."""
    (outcome,) = judged(departing("p0", cpu="5"), batch(1, waiting("a/new", cpu="1"))).outcomes
    assert (outcome.placed, outcome.waits_for) == (1, ())


@pytest.mark.parametrize(("held", "waits_for"), [("1", []), ("2", ["c/x"])])
def test_who_leaves_elsewhere_is_waited_for_where_the_right_to_evict_hangs_on_it(held, waits_for):
    """A is guaranteed 2, and two fifths of what others leave unused: with C's pod gone that is one more."""
    away = node("n2", cpu="4").holding(pod("a/p", cpu=held), pod("c/x", cpu="2", terminating=True))
    mins = {"a": "2", "b": "0", "c": "2", "d": "1"}
    snapshot = cluster(
        node("n1", cpu="1").holding(pod("b/p", cpu="1")),
        away.with_(state="cordoned"),
        *(quota(name, {"cpu": least}, kind="ElasticQuota") for name, least in mins.items()),
    )
    (outcome,) = judged(snapshot, batch(1, waiting("a/new", cpu="1"))).outcomes
    assert [each.workload for each in outcome.evicted] == ["b/p"]
    assert [each.workload for each in outcome.waits_for] == waits_for


def test_a_bound_that_falls_when_somebody_is_gone_is_waited_for():
    held = [pod(f"a/p{number}", cpu="1", terminating=number > 0) for number in range(3)]
    snapshot = cluster(node("n1", cpu="9").holding(*held), quota("a", {}, {"cpu": "3"}))
    (outcome,) = judged(snapshot, batch(2, waiting("a/new", cpu="1"))).outcomes
    assert (outcome.placed, [each.workload for each in outcome.waits_for]) == (2, ["a/p1", "a/p2"])
    (one,) = judged(snapshot, batch(1, waiting("a/new", cpu="1"))).outcomes
    assert (one.placed, [each.workload for each in one.waits_for]) == (1, ["a/p2"])


def test_what_one_waits_for_serves_no_other():
    asked = [batch(1, waiting(f"a/new{number}", cpu="1")) for number in range(2)]
    first, second = judged(departing("p0"), *asked).outcomes
    assert [each.workload for each in first.waits_for] == ["b/p0"]
    assert (second.waits_for, [each.workload for each in second.evicted]) == ((), ["b/p3"])


def test_what_is_refused_waits_for_nobody():
    (outcome,) = judged(departing("p0"), batch(1, waiting("a/new", cpu="9"))).outcomes
    assert (outcome.placed, outcome.waits_for) == (0, ())


def with_gang(least: int, kind: str = "Quota", entitled: str = "0", **fields: object) -> Snapshot:
    """Return a node full of a gang of b, of which so many are enough; one place of it is a's."""
    held = [
        pod(f"b/w{number}", cpu="1", created_seconds=number, gang="g", gang_min=least, **fields)
        for number in range(4)
    ]
    quotas = quota("a", {"cpu": "4"}, kind=kind), quota("b", {"cpu": entitled}, kind=kind)
    return cluster(node("n1", cpu="4").holding(*held), *quotas)


@pytest.mark.parametrize("kind", ["ElasticQuota", "Quota"])
@pytest.mark.parametrize(
    ("least", "asking", "gone"),
    [(0, 1, 4), (4, 1, 4), (3, 1, 1), (3, 2, 4), (2, 2, 2), (2, 3, 4)],
)
@pytest.mark.parametrize("atomic", [False, True])
def test_a_gang_that_runs_goes_whole_unless_enough_of_it_are_left(kind, least, asking, gone, atomic):
    (outcome,) = judged(
        with_gang(least, kind), batch(asking, waiting("a/new", cpu="1"), atomic=atomic)
    ).outcomes
    assert (outcome.placed, len(outcome.evicted)) == (asking, gone)
    assert ("b/g" in {each.gang for each in outcome.evicted}) is (gone == 4)
    assert outcome.fewest_proven


@pytest.mark.parametrize(("kind", "labels"), [("ElasticQuota", {"in-quota", "over-quota"}), ("Quota", None)])
def test_a_gang_goes_whole_where_a_part_of_it_is_over_quota(kind, labels):
    """It is one workload that uses more than its quota's min; the part within it is lost with the rest."""
    (outcome,) = judged(with_gang(0, kind, entitled="2"), batch(1, waiting("a/new", cpu="1"))).outcomes
    assert len(outcome.evicted) == 4
    if labels:
        assert {each.label for each in outcome.evicted} == labels
    reasons = {step.evidence for step in outcome.steps() if step.action == "evict"}
    assert all(each.endswith("with all of gang b/g") for each in reasons)


def test_others_go_rather_than_a_gang():
    snapshot = with_gang(0)
    alone = [pod(f"b/p{number}", cpu="1", node="n2", created_seconds=0) for number in range(3)]
    snapshot = cluster(*snapshot.nodes, node("n2", cpu="3"), *snapshot.workloads, *alone, *snapshot.quotas)
    (outcome,) = judged(snapshot, batch(3, waiting("a/new", cpu="1"), atomic=True)).outcomes
    assert [each.workload for each in outcome.evicted] == ["b/p0", "b/p1", "b/p2"]


def test_a_gang_of_which_one_is_spared_stays():
    snapshot = young(600, 100, 500, 990)
    held = [msgspec.structs.replace(each, gang="g") for each in snapshot.workloads]
    snapshot = msgspec.structs.replace(snapshot, workloads=type(snapshot.workloads)(held))
    (outcome,) = judged(snapshot, batch(1, waiting("a/new", cpu="1"))).outcomes
    assert (outcome.placed, outcome.evicted) == (0, ())
    assert [each.workload for each in outcome.spared] == ["b/p500", "b/p990"]


def test_what_is_changed_for_one_is_enough_for_those_refused_before_it():
    snapshot = cluster(node("n1", cpu="9"), quota("c", {"cpu": "0"}, {"cpu": "0"}))
    asked = [batch(1, waiting(f"c/w{number}", cpu="2")) for number in range(3)]
    found = judged(snapshot, *asked).outcomes
    remedies = [outcome.refusal.remedies[0] for outcome in found]
    assert [dict(each.bounds) for each in remedies] == [{"cpu": 2000}, {"cpu": 4000}, {"cpu": 6000}]
    assert [each.text.partition(" (")[2] for each in remedies] == [
        "",
        "c/w0 runs then too)",
        "c/w0 and 1 more run then too)",
    ]
    for number, each in enumerate(remedies):
        raised = quota("c", {"cpu": "0"}, {"cpu": f"{each.bounds['cpu']}m"})
        again = judged(cluster(node("n1", cpu="9"), raised), *asked).outcomes
        assert [outcome.placed for outcome in again] == [1] * (number + 1) + [0] * (2 - number)


def test_after_many_that_were_refused_the_change_is_for_one_alone(monkeypatch):
    monkeypatch.setattr("ullage.engine.quota.judging.BESIDE_MAX", 1)
    snapshot = cluster(node("n1", cpu="9"), quota("c", {"cpu": "0"}, {"cpu": "0"}))
    found = judged(snapshot, *(batch(1, waiting(f"c/w{number}", cpu="2")) for number in range(3))).outcomes
    (remedy,) = found[2].refusal.remedies
    assert dict(remedy.bounds) == {"cpu": 2000}
    assert remedy.text.endswith("(if c/w0 and 1 more, refused before it, are not asked for)")


def test_one_for_whom_no_change_helps_takes_nothing_from_those_after_it():
    snapshot = cluster(node("n1", cpu="4"), quota("c", {"cpu": "0"}, {"cpu": "0"}))
    large, small = batch(1, waiting("c/large", cpu="5")), batch(1, waiting("c/small", cpu="2"))
    found = judged(snapshot, large, small).outcomes
    assert found[0].refusal.remedies == ()
    assert found[1].refusal.remedy == "raise the max of quota c: cpu to 2"


HARD = World(
    "nos",
    {"A": {"cpu": 4, "memory": 2}, "B": {"cpu": 3}, "C": {"memory": 2}},
    {},
    {"n0": {"cpu": 22, "memory": 23}, "n1": {"cpu": 32, "memory": 28}},
    [
        Pod("p0", "B", {"cpu": 4, "memory": 3}, "n1", 0, 1, (0, 1)),
        Pod("p1", "A", {"cpu": 2, "memory": 0}, "n1", 5, 2),
        Pod("p2", "B", {"cpu": 4, "memory": 3}, "n1", 5, 1),
        Pod("p3", "A", {"cpu": 2, "memory": 3}, "n0", 0, 0, (0, 1)),
    ],
    {},
    (0, 1),
)
"""A world in which only a search of all sets finds victims for a claim of C; nodes have room as it is."""


@pytest.mark.parametrize(
    ("gang", "together"), [("", False), ("", True), ("g", False)], ids=["alone", "atomic", "gang"]
)
def test_what_quotas_refuse_without_a_proof_is_not_placed_by_an_exact_search_of_room(
    monkeypatch, gang, together
):
    for name in ("STEPS", "STEPS_MIN", "STEPS_A_SECOND"):
        monkeypatch.setattr(f"ullage.engine.quota.claims.{name}", 1)
    monkeypatch.setattr("ullage.engine.quota.gang_victims.CANDIDATES_MAX", 0)
    amounts = [{"cpu": 1, "memory": 2}, {"cpu": 2, "memory": 0}, {"cpu": 2, "memory": 0}]
    members = [Pod(f"new{number}", "C", each, "", 9, 9) for number, each in enumerate(amounts)]
    asked = [batch(1, asking(each, gang=gang)) for each in members]
    outcomes = judged(cluster_of(HARD), *asked, exact_seconds=2, atomic=together).outcomes
    refused = [each for each in outcomes if each.refusal and "quotas together" in each.refusal.reason]
    assert refused
    assert all(not each.placed for each in refused)
    assert {(each.certificate, each.certificate_note) for each in refused} == {("unknown", "")}
