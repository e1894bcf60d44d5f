"""Which nodes could be switched off, as a report."""

from msgspec.structs import replace

from builders import cluster, node, pod
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.model.ganeti import MIB, InstancePolicy, Size
from ullage.service.balance import BalanceQuestion, balance_of
from ullage.service.squeeze import squeeze_report
from ullage.sources.ganeti.snapshot import snapshot_of

QUESTION = BalanceQuestion(squeeze=True)
USUAL = InstancePolicy(standard=Size(100 * MIB, 1, 100 * MIB))


def shared(*instances, memory=1000, names="abc", **fields):
    nodes = [ganeti_node(name, memory=memory, **fields.get(name, {})) for name in names]
    return snapshot_of(replace(ganeti_cluster(nodes, *instances), policy=USUAL))


def test_a_node_whose_instances_have_room_elsewhere():
    (group,) = squeeze_report(shared(instance("i", "a"), instance("j", "b")), QUESTION).groups
    assert len(group.off) == 2
    assert all(move.commands for move in group.moves)
    assert {move.from_node for move in group.moves} <= set(group.off)


def test_why_no_node_can_be_switched_off(asked):
    disks = shared(*(instance(f"i{name}", name, template="plain") for name in "abc"))
    answer = balance_of(disks, asked, QUESTION)
    assert not answer.yes
    assert answer.data()["groups"][0]["reason"].startswith("every node is the master, or holds disks")
    tight = shared(*(instance(f"i{name}", name, memory=500) for name in "abc"), memory=800)
    assert squeeze_report(tight, QUESTION).groups[0].reason.startswith("without one more node the others")
    full = shared(*(instance(f"i{name}", name, memory=500) for name in "abc"), memory=600)
    (group,) = squeeze_report(full, QUESTION).groups
    assert group.reason.endswith("no node can be switched on")
    assert group.moves == ()


def test_a_node_that_would_help_is_named():
    spare = {"offline": True, "tags": ("htools:standby:x",)}
    held = [instance(f"i{at}", name, memory=250) for at, name in enumerate("aab")]
    (group,) = squeeze_report(shared(*held, memory=600, c=spare), QUESTION).groups
    assert (group.off, group.on) == ((), ("c",))
    assert "switching nodes on helps" in group.reason
    assert [(move.to_node, move.gain) for move in group.moves] == [("c", None)]
    held = [instance(f"i{at}", name, memory=250) for at, name in enumerate("aabb")]
    (group,) = squeeze_report(shared(*held, memory=600, c=spare), QUESTION).groups
    assert "all that can be switched on are not enough" in group.reason


def test_pods_are_drained_for_good(asked):
    snapshot = cluster(
        node("a", cpu="4").holding(pod("w/x", cpu="1", owner="ReplicaSet/r")),
        node("b", cpu="4").in_group("g").holding(pod("w/y", cpu="1", owner="ReplicaSet/r")),
        node("c", cpu="4").holding(pod("w/bare", cpu="1")),
        unknowns=("tea",),
    )
    answer = balance_of(snapshot, asked, QUESTION)
    report = answer.data()
    assert (answer.yes, report["kind"]) == (True, "SqueezeReport")
    (group,) = report["groups"]
    assert (group["off"], len(group["moves"])) == (("a", "b"), 2)
    assert "tea" in report["notSimulated"]
    only = squeeze_report(snapshot, BalanceQuestion(squeeze=True, groups=("g",)))
    assert only.off == ("b",)


def test_no_pod_may_go():
    snapshot = cluster(node("a", cpu="4").holding(pod("w/bare", cpu="1")))
    (group,) = squeeze_report(snapshot, QUESTION).groups
    assert group.off == ()
    assert group.reason == "what runs on each node finds no place on the others, or may not go"
