"""A purchase checked in the cluster itself: placed by the policy, by a plan, by search; and after losses."""

import msgspec
import pytest

from builders import batch, cluster, node, pod, policy, size, volume, waiting
from ullage.engine.purchase.catalog import Catalog, DriveItem, Item
from ullage.engine.purchase.check import Check
from ullage.engine.purchase.offers import Market, Upgrade
from ullage.model.constraints import Affinity, Constraints, LabelSelector, PodAffinity, PodAffinityTerm

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


@pytest.mark.parametrize(
    "constraints", [Constraints(scheduling_gates=("wait",)), Constraints(resource_claims=("gpu",))]
)
def test_what_is_held_back_is_no_demand(constraints):
    _, asked = check([node("x", cpu="2")], batch(1, waiting("a", cpu="1", constraints=constraints)))
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


def on_disk(name, amount, storage_class):
    return waiting(name, cpu="1", volumes=(volume("d", amount, storage_class=storage_class, inline=True),))


def test_drives_for_a_node_that_is_there_are_part_of_the_cluster():
    _, asked = check(
        [node("x", cpu="8").with_drive("old", "HDD", "1Gi")], batch(2, on_disk("a", "4Gi", "HDDLVG"))
    )
    drives = (DriveItem("hdd", 1, "HDD", size("5Gi")),) * 2
    assert asked.of(()).unplaced == 2
    assert asked.of((), upgrades=[Upgrade("x", drives[:1])]).unplaced == 1
    assert asked.of((), upgrades=[Upgrade("x", drives)]).holds


def test_a_plan_is_followed_in_the_order_that_leaves_choosy_volumes_their_drive():
    # Placed first, the share takes the smaller drive, and the volume that needs it whole has none.
    parts = [node("x", cpu="8").with_drive("large", "HDD", "10Gi").with_drive("small", "HDD", "8Gi")]
    batches = batch(2, on_disk("a", "4Gi", "HDDLVG")), batch(1, on_disk("b", "7Gi", "HDD"))
    _, asked = check(parts, *batches)
    assert not asked.of((), searches=False).holds
    found = asked.of((), [{"x": 2}, {"x": 1}])
    assert (found.holds, found.certificate, [each.disks for each in found.outcomes]) == (
        True,
        "exact",
        [(), ()],
    )


def test_nodes_without_disks_for_it_are_no_way_out():
    away = PodAffinity((PodAffinityTerm("zone", LabelSelector({"app": "a"})),))
    alone = Constraints(affinity=Affinity(pod_anti_affinity=away))
    asks = on_disk("a", "4Gi", "HDDLVG")
    asks = msgspec.structs.replace(asks, labels={"app": "a"}, constraints=alone)
    parts = [
        node(name, cpu="8").with_drive(f"{name}-d", "HDD", amount).labelled({"zone": zone})
        for name, zone, amount in [("x1", "z1", "5Gi"), ("x2", "z1", "5Gi"), ("y", "z2", "1Gi")]
    ]
    _, asked = check(parts, batch(2, asks))
    found = asked.of(())
    assert (found.unplaced, found.is_final) == (1, True)
    larger = DriveItem("hdd", 1, "HDD", size("5Gi"))
    assert asked.of((), upgrades=[Upgrade("y", (larger,))]).holds
