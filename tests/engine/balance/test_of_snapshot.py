"""Snapshots of any source in Ganeti's words; those of Ganeti come back as they were, in order of names."""

from fractions import Fraction

import msgspec
import pytest

from builders import claim, cluster, node, pod, volume
from ullage.engine.balance.facts import View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move, Moved
from ullage.engine.balance.of_snapshot import cluster_of
from ullage.model.cluster import Snapshot
from ullage.model.constraints import NodeSelector, NodeSelectorTerm, Requirement
from ullage.model.ganeti import MIB, GanetiCluster
from ullage.model.policy import Layer, Policy
from ullage.model.storage import PersistentVolume
from ullage.model.table import Table
from ullage.sources.demo import DemoSource
from ullage.sources.ganeti.snapshot import snapshot_of
from ullage.sources.ganeti.text import read_text

GIB = 1024 * MIB
TEXT = """default|u|preferred|t:1|net
other|v|last_resort|

node2|65536|1024|50000|4194304|4000000|32|M|u|16|rack:1|N|3|2|1.5
node1|65536|1024|-5|4194304|4000000|32|N|u
node3|65536|1024|60000|4194304|4000000|32|Y|v

web|2048|20480|2|running|Y|node1|node2|drbd|a:1
db|2048|20480|2|ADMIN_down|N|node2||plain|
soon|2048|20480|2|running|Y|node1|node2|drbd||1|-|Y

htools:nlocation:rack

|128,1,1024,1,1,1|1,1,1,1,1,1;99,9,9,9,9,9|drbd|8.0|32.0|1.5
other|128,1,1024,1,1,1|1,1,1,1,1,1;99,9,9,9,9,9|drbd|2.0|32.0|1.25
"""


def in_order(found: GanetiCluster) -> GanetiCluster:
    """A cluster in order of names, with the policy of the cluster where a group states none."""
    return msgspec.structs.replace(
        found,
        groups=tuple(
            msgspec.structs.replace(each, policy=each.policy or found.policy)
            for each in sorted(found.groups, key=lambda group: group.name)
        ),
        nodes=tuple(sorted(found.nodes, key=lambda each: each.name)),
        instances=tuple(sorted(found.instances, key=lambda each: each.name)),
    )


def test_a_snapshot_of_ganeti_comes_back_as_it_was():
    before = read_text(TEXT)
    assert cluster_of(snapshot_of(before)) == in_order(before)


def test_real_files_come_back_as_they_were(shared):
    compared = 0
    for path in sorted((shared / "oracles" / "htools" / "data").glob("*.data")):
        if path.stem in {"invalid-node", "hroller-full", "multiple-tags"}:  # a bad one, two of one name twice
            continue
        before = read_text(path.read_text(encoding="utf-8"), path.name)
        assert cluster_of(snapshot_of(before)) == in_order(before), path.name
        compared += 1
    assert compared > 40


def test_what_the_snapshot_knows_better_counts():
    snapshot = snapshot_of(read_text(TEXT))
    moved = msgspec.structs.replace(snapshot.workloads["web"], node="node2", standby="node1")
    lost = msgspec.structs.replace(snapshot.nodes["node1"], state="offline")
    policy = snapshot.policy.with_layer(
        Layer("ours", cluster={"memory-ratio": "2"}, nodes={"node2": {"memory-reserve": "2Gi"}})
    )
    found = cluster_of(
        msgspec.structs.replace(
            snapshot,
            nodes=snapshot.nodes.changed([lost]),
            workloads=snapshot.workloads.changed([moved]),
            policy=policy,
        )
    )
    web = found.instances[-1]
    assert (web.name, web.primary, web.secondary) == ("web", "node2", "node1")
    assert [each.offline for each in found.nodes] == [True, False, True]
    assert found.nodes[1].memory_node_bytes == 2 * GIB
    assert found.policy.memory_ratio == Fraction(2)
    assert [each.policy.memory_ratio for each in found.groups] == [Fraction(2), Fraction(5, 4)]


def test_an_instance_whose_second_node_is_not_seen_stays_where_it_is():
    snapshot = snapshot_of(read_text(TEXT))
    kept = Table([snapshot.nodes["node1"]])
    workloads = Table([each for each in snapshot.workloads if each.name == "web"])
    (web,) = cluster_of(msgspec.structs.replace(snapshot, nodes=kept, workloads=workloads)).instances
    assert (web.primary, web.secondary, web.template) == ("node1", "", "plain")


def test_pods_are_instances_that_may_go_anywhere_unless_they_belong_to_their_node():
    here = NodeSelector((NodeSelectorTerm((Requirement("kubernetes.io/hostname", "In", ("n1",)),)),))
    zone = NodeSelector((NodeSelectorTerm((Requirement("zone", "In", ("a",)),)),))
    labels = [{"kubernetes.io/hostname": name, "zone": "a"} for name in ("n1", "n2")]
    snapshot = cluster(
        node("n1", cpu="4", memory="8Gi").labelled(labels[0]),
        node("n2", cpu="4", memory="8Gi").labelled(labels[1]),
        pod("a/free", node="n1", cpu="1", memory="1Gi"),
        pod("a/daemon", node="n1", owner="DaemonSet/d"),
        pod("a/local", node="n1", volumes=(volume("v", "1Gi", claim="here"),)),
        pod("a/zonal", node="n1", volumes=(volume("v", "1Gi", claim="zone"),)),
        pod("a/waits"),
        claims=Table([claim("a/here", "1Gi", volume="pv-here"), claim("a/zone", "1Gi", volume="pv-zone")]),
        volumes=Table(
            [PersistentVolume("pv-here", node_affinity=here), PersistentVolume("pv-zone", node_affinity=zone)]
        ),
    )
    found = cluster_of(snapshot)
    assert {each.name: each.template for each in found.instances} == {
        "a/free": "ext",
        "a/daemon": "plain",
        "a/local": "plain",
        "a/zonal": "ext",
    }
    free = next(each for each in found.instances if each.name == "a/free")
    assert (free.memory_bytes, free.cpu_milli, free.primary) == (GIB, 1000, "n1")


STANDBY_NODES = [node(name, cpu="8", memory="8Gi") for name in ("n1", "n2", "n3")]


def test_a_workload_of_any_source_may_have_a_standby():
    found = cluster_of(
        cluster(
            *STANDBY_NODES,
            pod("daemon", node="n1", standby="n2", owner="DaemonSet/d", memory="1Gi"),
            pod("mirrored", node="n1", standby="n2", memory="1Gi"),
            pod("same", node="n1", standby="n1", memory="1Gi"),
            pod("waits", standby="n2", memory="1Gi"),
        )
    )
    assert [(each.name, each.template, each.primary, each.secondary) for each in found.instances] == [
        ("daemon", "plain", "n1", "n2"),
        ("mirrored", "drbd", "n1", "n2"),
        ("same", "ext", "n1", ""),
    ]


@pytest.mark.parametrize("exact", [False, True])
def test_a_standby_of_any_source_keeps_memory_and_takes_over(exact):
    """Nothing is said of disks or spindles there, so none are short."""
    many = [pod(f"vm{at:02}", node="n1", standby="n2", memory="100Mi") for at in range(40)]
    fleet = Fleet(cluster_of(cluster(*STANDBY_NODES, *many)), View(exact=exact))
    assert [state.reserved // MIB for state in fleet.states] == [0, 4000, 0]
    for move in (Move("f"), Move("r", 2)):
        assert isinstance(fleet.try_move(0, move), Moved)


def test_nodes_of_other_sources_have_capacity_reserve_and_domain():
    policy = Policy("ours", (Layer("ours", cluster={"memory-reserve": "1Gi", "cpu-ratio": "2"}),))
    found = cluster_of(
        cluster(
            node("n1", cpu="4", memory="8Gi").in_domain("rack-1").offline(),
            pod("a", node="n1", cpu="1", memory="2Gi"),
            policy=policy,
        )
    )
    (only,) = found.nodes
    assert (only.memory_bytes, only.memory_node_bytes, only.memory_free_bytes) == (8 * GIB, GIB, 5 * GIB)
    assert (only.cpu_milli, only.offline, only.tags) == (4000, True, ("domain:rack-1",))
    assert found.tags == ("htools:nlocation:domain",)
    assert [each.policy.cpu_ratio for each in found.groups] == [Fraction(2)]
    assert found.policy.memory_ratio is None


def test_a_ratio_without_bound_is_the_largest():
    policy = Policy("ours", (Layer("ours", cluster={"memory-ratio": "unlimited"}),))
    found = cluster_of(cluster(node("n1", memory="8Gi"), policy=policy))
    assert found.policy.memory_ratio == 1_000_000


def test_the_order_of_instances_does_not_change_how_a_cluster_is_scored():
    found = cluster_of(DemoSource().read())
    mixed = msgspec.structs.replace(found, instances=found.instances[::-1])
    view = View(exact=True)
    assert Fleet(mixed, view).score() == pytest.approx(Fleet(found, view).score())


def test_an_empty_snapshot_is_an_empty_cluster():
    found = cluster_of(Snapshot())
    assert (found.groups, found.nodes, found.instances, found.tags) == ((), (), (), ())
