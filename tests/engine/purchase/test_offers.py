"""New nodes: where they go, what they are called, which labels they get and what runs on each of them."""

import msgspec

from builders import cluster, node, pod, policy, size, tolerating
from ullage.engine.purchase.catalog import Catalog, DriveItem, Item
from ullage.engine.purchase.offers import HOST_LABEL, Market, Upgrade, counts_of, is_within
from ullage.model.constraints import (
    Affinity,
    Constraints,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
)
from ullage.model.resources import Resources

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"


def item(name="cpu", price=1, record=None, count_max=None):
    return Item(name, price, record or node(name, cpu="8").record, count_max)


def pinned(name, node_name, *, expressions=(), **parts):
    """A daemon's pod as its controller makes it: tied to its node by a field."""
    term = NodeSelectorTerm(expressions, (Requirement("metadata.name", "In", (node_name,)),))
    affinity = Affinity(node_affinity=NodeAffinity(NodeSelector((term,))))
    return pod(name, owner="DaemonSet/agent", constraints=Constraints(affinity=affinity), **parts)


def site(name, zone, **amounts):
    return node(name, **amounts).in_domain(zone).labelled({ZONE: zone, REGION: "r", HOST_LABEL: name})


def market(*parts, items=None):
    return Market(cluster(*parts, policy=policy()), Catalog(tuple(items or [item()])))


def test_an_item_is_offered_in_every_domain_unless_it_names_one():
    shop = market(
        site("a", "z1"), site("b", "z2"), items=[item(), item("fixed", 2, node("f").in_domain("z2").record)]
    )
    assert [(each.item.name, each.domain) for each in shop.offers] == [
        ("cpu", "z1"),
        ("cpu", "z2"),
        ("fixed", "z2"),
    ]
    assert [each.domain for each in market(node("a", cpu="1")).offers] == [""]


def test_a_new_node_says_where_it_is_as_its_neighbours_do():
    shop = market(site("a", "z1").labelled({"disk": "fast", "rack": "z1"}), site("b", "z2"))
    (new, _) = shop.nodes(shop.offers)
    assert new.name == "cpu-new-1"
    assert new.domain == "z1"
    assert new.labels == {ZONE: "z1", REGION: "r", "rack": "z1", HOST_LABEL: "cpu-new-1"}


def test_labels_that_neighbours_disagree_about_are_left_out():
    shop = market(site("a", "z1"), site("b", "z1").labelled({REGION: "s"}))
    assert shop.nodes(shop.offers)[0].labels == {ZONE: "z1", HOST_LABEL: "cpu-new-1"}
    assert shop.place_labels == {ZONE}


def test_names_that_the_cluster_has_are_passed_over():
    shop = market(node("cpu-new-1", cpu="1"))
    assert [each.name for each in shop.nodes(shop.offers * 2)] == ["cpu-new-2", "cpu-new-3"]


def test_a_node_takes_as_many_pods_as_a_kubelet_does_where_pods_are_counted():
    assert market(node("a", pods=10)).nodes(market(node("a", pods=10)).offers)[0].capacity.of("pods") == 110
    shop = market(node("a", cpu="1"))
    assert "pods" not in shop.nodes(shop.offers)[0].capacity


def test_devices_are_named_after_their_node():
    shop = market(node("a"), items=[item(record=node("g").with_gpus(2).record)])
    (new,) = shop.nodes(shop.offers)
    assert [each.id for each in new.devices] == ["cpu-new-1-g-gpu0", "cpu-new-1-g-gpu1"]


def test_domains_with_the_fewest_nodes_come_first():
    shop = market(site("a", "z1"), site("b", "z1"), site("c", "z2"))
    assert [each.domain for each in shop.spread([shop.offers] * 4)] == ["z2", "z1", "z2", "z1"]
    first = shop.by_price([])[0]
    assert (first.domain, shop.by_price([first, first])[0].domain) == ("z2", "z1")


def test_daemons_start_on_new_nodes_too():
    old = node("a", cpu="8").holding(pinned("sys/agent-x", "a", cpu="1"))
    shop = market(old)
    after = shop.with_nodes(shop.nodes(shop.offers))
    assert after.workloads["sys/agent-cpu-new-1"].node == "cpu-new-1"
    assert after.workloads["sys/agent-cpu-new-1"].requests == Resources({"cpu": 1000})
    assert "default" in after.groups


def test_daemons_keep_off_what_they_do_not_tolerate_or_select():
    tainted = item(record=node("t", cpu="8").tainted("gpu").record)
    old = node("a", cpu="8").holding(pinned("sys/agent-x", "a", cpu="1"))
    shop = market(old, items=[tainted])
    assert len(shop.with_nodes(shop.nodes(shop.offers)).workloads) == 1
    tolerant = pinned("sys/agent-x", "a", cpu="1")
    tolerant = msgspec.structs.replace(
        tolerant, constraints=tolerating("gpu", constraints=tolerant.constraints)
    )
    shop = market(node("a", cpu="8").holding(tolerant), items=[tainted])
    assert len(shop.with_nodes(shop.nodes(shop.offers)).workloads) == 2
    choosy = pinned("sys/agent-x", "a", expressions=(Requirement("disk", "Exists"),), cpu="1")
    shop = market(node("a", cpu="8").labelled({"disk": "x"}).holding(choosy))
    assert len(shop.with_nodes(shop.nodes(shop.offers)).workloads) == 1


def test_a_lost_node_leaves_what_is_to_be_placed_anew():
    shop = market(
        node("a", cpu="8").holding(
            pod("web", cpu="1"),
            pod("ending", terminating=True),
            pod("agent", owner="DaemonSet/agent"),
        ),
        node("b", cpu="8").holding(pod("other", cpu="1")),
    )
    after, anew = shop.without(["a"])
    assert [(each.name, each.node, each.state) for each in anew] == [("web", "", "init")]
    assert list(after.snapshot.nodes.keys()) == ["b"]
    assert list(after.snapshot.workloads.keys()) == ["other"]


def test_counts_are_kept_within_what_there_is():
    shop = market(node("a"), items=[item(count_max=2)])
    (offer,) = shop.offers
    assert counts_of([offer, offer]) == {"cpu": 2}
    assert is_within([offer] * 2, {"cpu": offer.item})
    assert not is_within([offer] * 3, {"cpu": offer.item})
    assert is_within([offer] * 3, {"cpu": offer.item._replace(count_max=None)})


HDD = DriveItem("hdd", 1, "HDD", size("4Gi"))
SSD = DriveItem("ssd", 1, "SSD", size("1Gi"))


def test_drives_of_new_nodes_are_named_after_them_and_no_two_alike():
    shop = market(node("a"), items=[item(record=node("g").with_drive("hdd-0", "HDD", "9Gi").record)])
    (offer,) = shop.offers
    new = shop.nodes([offer._replace(drives=(HDD, HDD, SSD)), offer])
    assert [(each.uuid, each.drive_class, each.size_bytes) for each in new[0].drives] == [
        ("cpu-new-1-hdd-0", "HDD", size("9Gi")),
        ("cpu-new-1-hdd-new1", "HDD", size("4Gi")),
        ("cpu-new-1-hdd-new2", "HDD", size("4Gi")),
        ("cpu-new-1-ssd-new1", "SSD", size("1Gi")),
    ]
    assert [each.uuid for each in new[1].drives] == ["cpu-new-2-hdd-0"]


def test_nodes_that_are_there_get_the_drives_of_their_upgrades():
    shop = market(node("a").with_drive("old", "HDD", "1Gi"), node("b"))
    after = shop.with_nodes([], upgrades=[Upgrade("a", (HDD,))])
    assert [each.uuid for each in after.nodes["a"].drives] == ["old", "a-hdd-new1"]
    assert after.nodes["b"].drives == ()


def test_drives_are_counted_wherever_they_go():
    shop = market(node("a"))
    (offer,) = shop.offers
    counts = counts_of([offer, offer._replace(drives=(HDD, SSD))], [Upgrade("a", (HDD, HDD))])
    assert counts == {"cpu": 2, "hdd": 3, "ssd": 1}
