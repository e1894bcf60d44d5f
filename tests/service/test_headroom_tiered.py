"""`headroom --tiered`: by Ganeti's rule for its clusters, by placement for all others."""

import re

import msgspec
import pytest

from builders import cluster, node
from ganeti_builders import ganeti_cluster, ganeti_group, ganeti_node, instance
from ullage.model.errors import InputError
from ullage.model.ganeti import MIB, InstancePolicy, Size
from ullage.model.policy import Layer
from ullage.service.asked import Asked
from ullage.service.headroom import HeadroomQuestion, headroom
from ullage.service.headroom_tiered import machine_tiers, shape_tiers, tiered
from ullage.service.htools.command_line import parse
from ullage.service.htools.hspace import run
from ullage.sources.ganeti.snapshot import snapshot_of
from ullage.sources.ganeti.text import read_text

ASKED = Asked("small.json")
POLICY = InstancePolicy(
    Size(128 * MIB, 1, 128 * MIB),
    ((Size(64 * MIB, 1, 1), Size(512 * MIB, 2, 1024 * MIB)),),
    templates=("drbd", "plain"),
)


def ganeti(*instances, nodes=("n1", "n2", "n3"), **group):
    found = ganeti_cluster(
        [ganeti_node(name) for name in nodes], *instances, groups=[ganeti_group("g", policy=POLICY, **group)]
    )
    return snapshot_of(msgspec.structs.replace(found, policy=POLICY))


def test_machines_start_from_the_largest_size_of_the_policy():
    report = machine_tiers(ganeti(), "")
    assert (report.placement, report.more, report.bounded) == (
        "drbd",
        sum(t.more for t in report.tiers),
        True,
    )
    assert dict(report.starts[0]) == {"cpu": 2000, "memory": 512 * MIB, "storage-space": 1024 * MIB}
    memory = [tier.requests["memory"] for tier in report.tiers]
    assert memory == sorted(memory, reverse=True)
    assert memory[0] == 512 * MIB
    assert len(memory) > 1
    assert "memory short" in report.reasons


def test_a_ganeti_cluster_without_nodes_is_one_all_the_same():
    answer = tiered(ganeti(nodes=()), ASKED, (), "")
    assert (answer.yes, answer.data()["more"]) == (False, 0)


def test_a_shape_leaves_what_it_does_not_name_as_usual():
    report = machine_tiers(ganeti(), "memory=256Mi")
    assert dict(report.starts[0]) == {"cpu": 1000, "memory": 256 * MIB, "storage-space": 128 * MIB}
    with pytest.raises(InputError, match=r"--shape: instances do not ask for nvidia.com/gpu"):
        machine_tiers(ganeti(), "nvidia.com/gpu=1")


@pytest.mark.parametrize(
    ("snapshot", "reason"),
    [
        (ganeti(instance("a", "n1", "n2", memory=700), instance("b", "n2", memory=600)), "group g: a node"),
        (ganeti(allocation="unallocable"), "no group takes new instances"),
        (ganeti(nodes=("n1",)), ""),
    ],
    ids=["not redundant", "unallocable", "one node"],
)
def test_nothing_is_added_where_a_node_could_not_be_lost(snapshot, reason):
    report = machine_tiers(snapshot, "")
    assert (report.more, report.tiers) == (0, ())
    assert report.refusal.startswith(reason)
    assert not tiered(snapshot, ASKED, (), "").yes


def test_a_group_that_is_not_redundant_blocks_no_other():
    nodes = [ganeti_node(f"{group}{at}", group) for group in "gh" for at in range(3)]
    found = ganeti_cluster(
        nodes,
        instance("a", "g0", "g1", memory=700),
        instance("b", "g1", memory=600),
        groups=[ganeti_group(name, policy=POLICY) for name in "gh"],
    )
    report = machine_tiers(snapshot_of(msgspec.structs.replace(found, policy=POLICY)), "")
    assert report.more > 0
    assert [note.split(":")[0] for note in report.not_simulated] == ["group g"]


def test_shapes_of_other_clusters_shrink_too():
    snapshot = cluster(node("a", cpu="4", memory="8Gi"), name="small")
    report = shape_tiers(snapshot, "cpu=3,memory=1Gi", ASKED, "")
    assert [(tier.requests["cpu"], tier.more, tier.nodes) for tier in report.tiers] == [
        (3000, 1, 1),
        (1000, 1, 1),
    ]
    assert (report.placement, report.more, report.reasons) == ("spread", 2, {"cpu short": 1})
    answer = tiered(snapshot, ASKED, ("cpu=3,memory=1Gi",), "pack")
    assert (answer.yes, answer.data()["kind"], answer.data()["placement"]) == (True, "TieredReport", "pack")


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({}, "no shape to start from is named"),
        ({"shapes": ("cpu=1", "cpu=2")}, "--tiered shrinks one shape"),
        ({"paths": ("a.yaml",)}, "--tiered shrinks one shape"),
        ({"shapes": ("cpu=1",), "together": True}, "--tiered shrinks one shape"),
    ],
)
def test_what_cannot_be_asked(question, message):
    with pytest.raises(InputError, match=message):
        headroom(Asked("demo"), HeadroomQuestion(**question, tiered=True))


@pytest.mark.parametrize(
    "name",
    [f"hspace-tiered{kind}" for kind in ("", "-ipolicy", "-mixed", "-vcpu", "-dualspec")],
)
def test_where_nodes_are_not_filled_exactly_it_is_what_hspace_says(shared, name):
    path = shared / "oracles" / "htools" / "data" / f"{name}.data"
    lines = run(parse("hspace", ["-t", str(path)])).stdout.partition("Tiered allocation results:")[2]
    said = re.findall(r"- +(\d+) instances of spec MEM (\d+), DSK (\d+), CPU (\d+)", lines)
    snapshot = snapshot_of(read_text(path.read_text(encoding="utf-8")))
    policy = snapshot.policy.with_layer(Layer("as htools", cluster={"fill": "below"}))
    report = machine_tiers(msgspec.structs.replace(snapshot, policy=policy), "")
    ours = [
        (
            tier.more,
            tier.requests["memory"] // MIB,
            tier.requests["storage-space"] // MIB,
            tier.requests["cpu"] // 1000,
        )
        for tier in report.tiers
    ]
    assert ours == [tuple(map(int, each)) for each in said]
