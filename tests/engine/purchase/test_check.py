"""A purchase checked in the cluster itself: placed by the policy, by a plan, by search; and after losses."""

from builders import batch, cluster, node, pod, policy, waiting
from ullage.engine.purchase.catalog import Catalog, Item
from ullage.engine.purchase.check import Check
from ullage.engine.purchase.offers import Market
from ullage.model.constraints import Constraints

SECONDS = 10


def check(parts, *batches, lost=0, **amounts):
    items = (Item("cpu", 1, node("cpu", **(amounts or {"cpu": "8"})).record),)
    market = Market(cluster(*parts, policy=policy()), Catalog(items))
    return market.offers, Check(market, batches, lost, SECONDS)


GANG = (batch(2, waiting("a", cpu="3")), batch(2, waiting("b", cpu="4")), batch(1, waiting("c", cpu="5")))


def test_what_the_policy_places_needs_no_search():
    offers, asked = check([], batch(2, waiting("a", cpu="8")))
    assert asked.of(offers).unplaced == 1
    found = asked.of(offers * 2)
    assert (found.holds, found.certificate, found.survey) == (True, "greedy", None)
    assert found.outcomes[0].nodes == (("cpu-new-1", 1), ("cpu-new-2", 1))


def test_what_fits_in_one_way_only_is_found_and_said():
    offers, asked = check([node("x", cpu="10")], *GANG, cpu="9")
    found = asked.of(offers)
    assert (found.holds, found.certificate) == (True, "exact")
    assert [dict(each.nodes) for each in found.outcomes] == [
        {"x": 2},
        {"cpu-new-1": 1, "x": 1},
        {"cpu-new-1": 1},
    ]


def test_a_plan_is_followed_where_it_holds():
    offers, asked = check([node("x", cpu="10")], *GANG, cpu="9")
    plan = [{"x": 2}, {"x": 1, "cpu-new-1": 1}, {"cpu-new-1": 1}]
    assert asked.of(offers, plan).certificate == "exact"
    assert asked.of(offers, [{"x": 2}, {"x": 2}, {"cpu-new-1": 1}]).holds


def test_what_has_no_place_by_any_search_is_final():
    offers, asked = check([node("x", cpu="9")], *GANG, cpu="9")
    found = asked.of(offers)
    assert (found.holds, found.is_final) == (False, True)
    assert found.badness == (found.unplaced, 0)


def test_equal_workloads_share_what_was_found_for_their_shape():
    one = [waiting(f"a{number}", cpu="3") for number in range(2)]
    offers, asked = check([node("x", cpu="10")], *(batch(1, each) for each in one), *GANG[1:], cpu="9")
    found = asked.of(offers)
    assert [each.placed for each in found.outcomes] == [1, 1, 2, 1]
    assert found.certificate == "exact"


def test_replicas_that_run_already_ask_for_nothing_new():
    runs = pod("web/site-1", cpu="2", owner="ReplicaSet/site-abc")
    asked_for = batch(3, waiting("web/site", kind="Deployment", cpu="2"))
    offers, asked = check([node("x", cpu="2").holding(runs)], asked_for, cpu="4", lost=1)
    assert [replicas for _, replicas in asked.demand] == [2]
    found = asked.of(offers * 2)
    assert found.holds
    assert dict(found.outcomes[0].nodes)["x"] == 1


def test_what_is_held_back_is_no_demand():
    gated = waiting("a", cpu="1", constraints=Constraints(scheduling_gates=("wait",)))
    _, asked = check([node("x", cpu="2")], batch(1, gated))
    assert asked.demand == []
    assert not asked.of(()).holds


def test_losses_are_looked_at_when_everything_is_placed():
    offers, asked = check(
        [node("x", cpu="8").holding(pod("old", cpu="6"))], batch(1, waiting("a", cpu="8")), lost=1
    )
    assert asked.of(()).survey is None
    two = asked.of(offers * 2)
    assert (two.unplaced, two.losers) == (0, 0)
    one = asked.of(offers)
    assert (one.holds, one.losers) == (False, 2)
    assert one.badness > two.badness
