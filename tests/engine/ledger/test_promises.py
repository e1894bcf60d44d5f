"""Questions count what is promised: once, on its node, under its namespace, and nobody evicts it."""

import msgspec
import pytest

from builders import batch, claim, cluster, entry, node, pod, quota, resources, waiting
from ullage.engine.columns import Columns
from ullage.engine.ledger.promises import with_promises
from ullage.engine.placement.fit import fit
from ullage.engine.quota.use import quota_use
from ullage.engine.redundancy.budgets import Budgets
from ullage.engine.redundancy.drain import drain
from ullage.engine.redundancy.losses import Losses
from ullage.engine.redundancy.together import not_needed
from ullage.model.admission import DisruptionBudget, ResourceQuota
from ullage.model.constraints import LabelSelector
from ullage.model.drives import PlacedVolume
from ullage.model.ledger import VOLUME_SPACE
from ullage.model.resources import Resources

ROOM = (node("n1", cpu="4", memory="8Gi"), node("n2", cpu="4", memory="8Gi"))


def held(owner="shop/a", where="n1", reservation="", **more):
    name = reservation or f"Pod/{owner}/1"
    return entry(name, f"node/{where}", owner=owner, request="compute", **{"cpu": "3", **more})


def taken(snapshot, where="n1"):
    columns = Columns(snapshot)
    row = columns.node_index[where]
    return dict(zip(columns.resources, columns.promised[row].tolist(), strict=True))["cpu"]


def test_without_promises_it_is_the_same_cluster():
    there = cluster(*ROOM)
    assert with_promises(there) is there


@pytest.mark.parametrize("state", ["RESERVED", "BOUND"])
def test_what_is_held_of_a_node_is_taken_of_it(state):
    found = with_promises(cluster(*ROOM), [held(state=state)])
    (stands,) = found.workloads
    assert (stands.key, stands.kind, stands.node) == ("shop/a", "Reservation", "n1")
    assert taken(found) == 3000


@pytest.mark.parametrize("state", ["WAITING", "RELEASED", "REJECTED", "EXPIRED", "REQUESTED"])
def test_what_holds_nothing_takes_nothing(state):
    assert not len(with_promises(cluster(*ROOM), [held(state=state)]).workloads)


def test_the_reservations_of_the_source_count_as_well():
    assert taken(with_promises(cluster(*ROOM, held()))) == 3000


def test_the_same_entry_of_source_and_ledger_counts_once():
    assert taken(with_promises(cluster(*ROOM, held()), [held(cpu="2")])) == 2000


@pytest.mark.parametrize(("has", "counts"), [("3", 3000), ("1", 3000), ("4", 4000)])
def test_a_promise_that_came_true_counts_as_its_workload_the_larger_of_both(has, counts):
    there = cluster(ROOM[0].holding(pod("shop/a", cpu=has)), ROOM[1])
    assert taken(with_promises(there, [held()])) == counts


def test_one_that_runs_elsewhere_leaves_the_promise_where_it_is_until_it_is_bound():
    there = cluster(ROOM[0], ROOM[1].holding(pod("shop/a", cpu="3")))
    assert taken(with_promises(there, [held()])) == 3000
    assert taken(with_promises(there, [held(state="BOUND")])) == 0


def test_one_that_waits_stands_where_it_is_promised_with_all_that_it_is():
    there = cluster(*ROOM, waiting("shop/a", cpu="3", labels={"app": "a"}))
    (stands,) = with_promises(there, [held()]).workloads
    assert (stands.node, stands.state, stands.kind, stands.labels["app"]) == ("n1", "ok", "Pod", "a")
    assert stands.promised


def test_each_replica_has_a_key_of_its_own():
    entries = [held(reservation=f"Job/shop/a/{number}", cpu="1") for number in (1, 2, 3)]
    entries.append(held(reservation="r-9", cpu="1"))
    there = cluster(ROOM[0], ROOM[1].holding(pod("shop/a-2", cpu="1")))
    found = with_promises(there, entries)
    assert len(found.workloads) == 5
    assert taken(found) == 4000


def test_what_is_promised_on_an_unknown_node_is_said_and_not_counted():
    found = with_promises(cluster(*ROOM), [held(where="n9")])
    assert not len(found.workloads)
    assert found.unknowns == ("promises on nodes that the cluster does not have: n9",)


def test_what_is_not_known_of_it_is_said():
    assert with_promises(cluster(*ROOM), [held()]).unknowns == (
        "rules between pods (affinity, spread, ports) for 1 reservation whose workloads are not there yet",
    )


def test_quotas_count_it_also_those_of_queues():
    queued = quota("queue", {"cpu": "4"}, namespaces=(), queues=("shop/q",))
    there = cluster(*ROOM, quota("shop", {"cpu": "4"}), queued)
    use = {
        each.quota.name: each.used.of("cpu") for each in quota_use(Columns(with_promises(there, [held()])))
    }
    assert use == {"shop": 3000, "queue": 0}
    entries = [held(), entry("Pod/shop/a/1", "quota/queue", owner="shop/a", cpu="3")]
    use = {each.quota.name: each.used.of("cpu") for each in quota_use(Columns(with_promises(there, entries)))}
    assert use == {"shop": 0, "queue": 3000}


@pytest.mark.parametrize("used", [{}, {"requests.cpu": "0"}])
def test_quotas_of_kubernetes_count_it_whatever_they_state(used):
    there = cluster(*ROOM, ResourceQuota("q", "shop", hard={"requests.cpu": "4"}, used=used))
    asked = [batch(1, waiting("shop/b", cpu="2"))]
    assert fit(Columns(there), asked).fits
    assert not fit(Columns(with_promises(there, [held(where="n2")])), asked).fits


def test_a_budget_does_not_take_it_for_something_that_runs():
    budget = DisruptionBudget("all", "shop", LabelSelector(), min_available="1")
    there = cluster(ROOM[0].holding(pod("shop/b", cpu="1")), ROOM[1], budget)
    (found,) = Budgets(with_promises(there, [held()])).all
    assert found.healthy == 1


def test_nobody_evicts_it():
    there = cluster(node("n1", cpu="4"), quota("rich", {"cpu": "4"}), quota("shop", {"cpu": "0"}), revision=1)
    asked = [batch(1, waiting("rich/w", cpu="4", priority=9))]
    runs = cluster(node("n1", cpu="4").holding(pod("shop/a", cpu="3")), *there.quotas)
    assert fit(Columns(runs), asked).outcomes[0].evicted
    found = fit(Columns(with_promises(there, [held()])), asked)
    assert not found.fits
    assert not found.outcomes[0].evicted
    assert all(not remedy.evicted for refusal in found.plan.refusals for remedy in refusal.remedies)


def test_a_drain_says_that_it_is_in_the_way():
    columns = Columns(with_promises(cluster(*ROOM), [held()]))
    found = drain(columns, ["n1"])
    (refusal,) = found.refusals
    assert "promised on node n1" in refusal.reason
    assert "ledger show --capacity node/n1" in refusal.remedy
    assert not_needed(columns, ["n1", "n2"]).nodes == ("n2",)


def test_what_is_lost_with_a_node_needs_no_other_and_is_no_daemon():
    columns = Columns(with_promises(cluster(*ROOM), [held(), held("shop/b", "n2")]))
    found = Losses(columns).of(["n1"])
    assert (found.daemons, found.moves, found.losers) == (0, (), ())


def disk(state="RESERVED", where="drive/n1/d1", **more):
    fields = {"owner": "shop/a", "request": "a-data", **more}
    return entry("Pod/shop/a/1", where, state=state, resources=Resources({VOLUME_SPACE: 1 << 30}), **fields)


def disks(*volumes, free="10Gi"):
    made = ROOM[0].with_drive("d1", "HDD", "10Gi").with_drive("d2", "HDD", "10Gi")
    made = made.with_volume_group("vg", "HDD", "10Gi", free, drives=("d1",))
    return cluster(made.with_(placed_volumes=volumes), ROOM[1], claim("shop/a-data", "1Gi"))


@pytest.mark.parametrize(
    ("there", "before", "after"),
    [
        (disks(), "RESERVED", "RESERVED"),
        (disks(PlacedVolume("lv", "vg", 1 << 30, claim="shop/a-data")), "RESERVED", "BOUND"),
        (disks(PlacedVolume("lv", "vg", 1 << 30, owner="shop/a")), "RESERVED", "BOUND"),
        (disks(PlacedVolume("lv", "d2", 1 << 30, owner="shop/a")), "RESERVED", "RESERVED"),
        (disks(PlacedVolume("lv", "vg", 1 << 30)), "RESERVED", "RESERVED"),
        (disks(PlacedVolume("lv", "vg", 1 << 30, claim="shop/a-data")), "BOUND", "BOUND"),
        (disks(), "BOUND", "RESERVED"),
    ],
    ids=["to come", "for its claim", "of its owner", "elsewhere", "of nobody", "in use", "lost"],
)
def test_a_disk_is_held_until_its_volume_is_there(there, before, after):
    (found,) = with_promises(there, [disk(before)]).reservations
    assert found.state == after


@pytest.mark.parametrize(
    "with_it",
    [cluster(ROOM[0].holding(pod("shop/a"))), cluster(*ROOM, waiting("shop/a"))],
    ids=["it runs", "it waits"],
)
def test_a_volume_that_is_not_made_is_held_though_its_owner_is_there(with_it):
    there = msgspec.structs.replace(disks(), workloads=with_it.workloads)
    (found,) = with_promises(there, [disk("BOUND")]).reservations
    assert (found.state, found.resources) == ("RESERVED", disk().resources)


def test_of_a_volume_that_is_smaller_than_promised_the_rest_is_held():
    small = PlacedVolume("lv", "vg", (1 << 30) - (256 << 20), claim="shop/a-data")
    (found,) = with_promises(disks(small), [disk("BOUND")]).reservations
    assert (found.state, found.resources) == ("RESERVED", Resources({VOLUME_SPACE: 256 << 20}))


def test_the_amounts_are_those_of_the_entry_and_not_of_the_quota():
    found = with_promises(cluster(*ROOM), [held(), entry("Pod/shop/a/1", "quota/q", owner="shop/a", cpu="9")])
    assert taken(found) == resources(cpu="3")["cpu"]
