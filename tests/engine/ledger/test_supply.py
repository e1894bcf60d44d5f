"""What capacities offer is what is free beside all promises, and what the ledger holds already."""

import pytest

from builders import cluster, entry, node, pod, policy, quota, resources
from ullage.engine.columns import Columns
from ullage.engine.ledger.promises import with_promises
from ullage.engine.ledger.supply import cache_capacity, supply_of
from ullage.model.drives import ThinPool
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.resources import SSD_SPACE, Resources

GIB = 1 << 30


def supplied(snapshot, *entries, names=None):
    columns = Columns(with_promises(snapshot, entries))
    return {each.name: each for each in supply_of(columns, entries, names)}


def held(capacity="node/n1", state="RESERVED", **more):
    fields = more or {"cpu": "2"}
    return entry("Pod/shop/a/1", capacity, owner="shop/a", request="compute", state=state, **fields)


NODE = node("n1", cpu="8", memory="8Gi")


@pytest.mark.parametrize(
    ("there", "entries", "offers"),
    [
        (cluster(NODE), (), "8"),
        (cluster(NODE.holding(pod("shop/b", cpu="3"))), (), "5"),
        (cluster(NODE.holding(pod("shop/b", cpu="3"))), (held(),), "5"),
        (cluster(NODE.holding(pod("shop/a", cpu="2"))), (held(),), "8"),
        (cluster(NODE.holding(pod("shop/a", cpu="2"))), (held(state="BOUND"),), "8"),
        (cluster(NODE.holding(pod("shop/a", cpu="3"))), (held(),), "7"),
        (cluster(NODE.holding(pod("shop/b", cpu="9"))), (held(),), "0"),
        (cluster(NODE.cordoned()), (held(),), "2"),
        (cluster(NODE.reserving(cpu="1")), (), "7"),
    ],
    ids=[
        "all", "beside others", "promised", "came true", "in use", "has more", "too full", "closed",
        "beside its reserve",
    ],
)  # fmt: skip
def test_a_node_offers_its_limit_but_for_what_others_have(there, entries, offers):
    assert supplied(there, *entries)["node/n1"].offers.of("cpu") == resources(cpu=offers)["cpu"]


def test_a_limit_that_must_not_be_filled_offers_a_step_less():
    offers = supplied(cluster(NODE, policy=policy(fill="below")))["node/n1"].offers
    assert offers.of("cpu") == 7999


def test_what_the_policy_does_not_bound_is_unbounded_but_for_closed_nodes():
    there = cluster(NODE, node("n2", cpu="8").cordoned(), policy=policy(cpu_ratio="unlimited"))
    found = supplied(there)
    assert (found["node/n1"].unbounded, "cpu" in found["node/n1"].offers) == (("cpu",), False)
    assert found["node/n2"].unbounded == ()


def test_a_quota_offers_its_max_but_for_what_others_use():
    there = cluster(
        NODE.holding(pod("shop/b", cpu="3", memory="1Gi")),
        quota("shop", {"memory": "2Gi"}, {"cpu": "5"}),
        quota("free", {"cpu": "1"}),
    )
    found = supplied(there, held(), held("quota/shop"))
    assert found["quota/shop"].offers == Resources({"cpu": 2000})
    assert "memory" in found["quota/shop"].unbounded
    assert found["quota/free"].offers == Resources()
    assert "cpu" in found["quota/free"].unbounded


def test_disks_offer_what_neither_volumes_nor_others_reservations_have():
    there = cluster(
        NODE.with_drive("d1", "HDD", "10Gi").with_volume_group("vg", "HDD", "8Gi", "6Gi"),
        entry("theirs", "group/n1/vg", resources=Resources({VOLUME_SPACE: GIB})),
        entry("whole", "drive/n1/d1", resources=Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: 100 * GIB})),
    )
    found = supplied(there, held("group/n1/vg", resources=Resources({VOLUME_SPACE: GIB})))
    assert found["group/n1/vg"].offers == Resources({VOLUME_SPACE: 5 * GIB})
    assert found["drive/n1/d1"].offers == Resources({WHOLE_DRIVE: 0, VOLUME_SPACE: 0})


def test_only_what_is_named_is_told():
    assert set(supplied(cluster(NODE, quota("shop", {"cpu": "1"})), names={"quota/shop"})) == {"quota/shop"}


ZOS = policy(storage_mode="zos")


@pytest.mark.parametrize(
    ("has_gibibytes", "beyond_gibibytes"),
    [(0, 0), (5, 0), (30, 20)],
    ids=["new", "within its reserve", "grown"],
)
def test_a_cache_offers_its_reserve_what_it_has_beyond_and_what_the_pool_has_free(
    has_gibibytes, beyond_gibibytes
):
    pool = node("n1", {SSD_SPACE: "100Gi"}).reserving({SSD_SPACE: "10Gi"})
    there = cluster(pool.holding(pod("shop/b", {SSD_SPACE: "40Gi"})), policy=ZOS)
    entries = [
        entry("cache/n1", name, owner="node n1", resources=Resources({SSD_SPACE: amount * GIB}))
        for name, amount in ((cache_capacity("n1"), has_gibibytes), ("node/n1", beyond_gibibytes))
    ]
    found = supplied(there, *entries)
    assert found[cache_capacity("n1")].offers == Resources({SSD_SPACE: 60 * GIB})
    assert found["node/n1"].offers == Resources({SSD_SPACE: 50 * GIB})


@pytest.mark.parametrize(
    "there", [cluster(NODE, policy=ZOS), cluster(node("n1", {SSD_SPACE: "10Gi"}))], ids=["no SSD", "not zos"]
)
def test_there_is_no_cache_without_an_ssd_or_by_other_policies(there):
    assert cache_capacity("n1") not in supplied(there)


def test_disks_offer_what_the_policy_of_their_node_leaves():
    groups = [
        node(name).with_volume_group("vg", "HDD", "8Gi", "6Gi", thin_pools=(ThinPool("slim", 2 << 30),))
        for name in ("n1", "n2")
    ]
    rules = {"n1": {"volume-group-spare": "1Gi", "thin-pool-ratio": "2"}}
    supply = supplied(cluster(*groups, policy=policy(nodes=rules)))
    offers = {name: supply[f"group/{name}"].offers.of(VOLUME_SPACE) >> 30 for name in (
        "n1/vg", "n1/vg/slim", "n2/vg", "n2/vg/slim",
    )}  # fmt: skip
    assert offers == {"n1/vg": 5, "n1/vg/slim": 4, "n2/vg": 6, "n2/vg/slim": 0}
