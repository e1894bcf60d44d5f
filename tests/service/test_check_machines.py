"""What `check` says of virtual machines: findings with numbers, groups before and after a balance."""

import re

import msgspec
import pytest

from builders import cluster, node, pod, policy
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.model.policy import Layer
from ullage.service.check import CheckQuestion, check_report
from ullage.service.check_machines import NO_MACHINES, machines_of
from ullage.service.htools.command_line import parse
from ullage.service.htools.hcheck import run
from ullage.sources.ganeti.snapshot import snapshot_of
from ullage.sources.ganeti.text import read_text

HCHECK = {
    "N1_FAIL": "cannot_take_over",
    "CONFLICT_TAGS": "tag_conflicts",
    "OFFLINE_PRI": "primaries_offline",
    "OFFLINE_SEC": "standbys_offline",
    "GN1_FAIL": "cannot_be_emptied",
}
NODES = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3")]
SHORT = ganeti_cluster(
    NODES,
    instance("a", "n1", "n2", memory=700),
    instance("b", "n2", memory=500),
    instance("c", "n3", memory=100),
)


def told(found, **question):
    machines = machines_of(snapshot_of(found), **{"balances": False, **question})
    return {
        name: [(each.code, each.message) for each in findings] for name, findings in machines.findings.items()
    }


def test_clusters_without_machines_have_nothing_to_say():
    pods = cluster(node("a", memory="8Gi").holding(pod("w", memory="4Gi")), node("b").offline())
    assert machines_of(pods, balances=True) == NO_MACHINES
    report = check_report(pods, CheckQuestion())
    assert report.redundancy is None
    assert [each.name for each in report.checks] == [
        "over-commitment", "spare nodes", "nodes", "drives", "quotas", "workloads",
    ]  # fmt: skip


def test_pods_with_a_ratio_have_a_check_of_swap():
    pods = cluster(node("a", memory="8Gi"), policy=policy(memory_ratio="1.5"))
    found = {each.name: each for each in check_report(pods, CheckQuestion()).checks}
    assert [each.code for each in found["swap"].findings] == ["swap-unknown"]


def test_who_cannot_take_over_from_whom_and_by_how_much():
    found = told(SHORT)
    ((code, message),) = found["failover to standbys"]
    assert code == "takeover-short"
    assert message == (
        "node n2 cannot take over from n1: memory short by 200Mi (needs 700Mi, free 500Mi), a soft violation"
    )
    assert found["evacuation"] == [
        (
            "evacuation-blocked",
            "1 node (n1) cannot be emptied: standbys of what runs there are too full or offline",
        )
    ]


def test_a_hard_violation_says_that_nothing_is_free():
    found = ganeti_cluster(NODES, instance("a", "n1", memory=1100), instance("b", "n2", "n1", memory=200))
    ((_, message),) = told(found)["failover to standbys"]
    assert message == (
        "node n1 cannot take over from n2: memory short by 300Mi (needs 200Mi, free 0, 100Mi over its "
        "limit), a hard violation"
    )


def test_a_node_that_cannot_be_emptied_says_what_is_free_elsewhere():
    found = ganeti_cluster(NODES, *(instance(name, name, memory=700) for name in ("n1", "n2", "n3")))
    code, message = told(found)["evacuation"][0]
    assert code == "evacuation-short"
    assert message == (
        "node n1 cannot be emptied: 1 instance with 700Mi of memory, 600Mi free on 2 other nodes of its "
        "group, at most 300Mi on one"
    )


def test_memory_in_use_that_no_record_explains():
    found = ganeti_cluster(NODES, instance("a", "n1", memory=100))
    nodes = (msgspec.structs.replace(found.nodes[0], memory_free_bytes=-50 << 20), *found.nodes[1:])
    assert told(msgspec.structs.replace(found, nodes=nodes))["failover to standbys"] == [
        (
            "memory-unexplained",
            "node n1: memory short by 50Mi, because 950Mi are in use that no record explains",
        )
    ]


def test_tags_locations_and_offline_nodes_name_their_machines():
    racks = [("n1", "rack:1", False), ("n2", "rack:1", False), ("n3", "rack:2", True)]
    found = ganeti_cluster(
        [ganeti_node(name, tags=(tag,), offline=offline) for name, tag, offline in racks],
        instance("a", "n1", "n2", tags=("svc:web",)),
        instance("b", "n1", tags=("svc:web", "rack:2")),
        instance("c", "n2", tags=("svc:web",)),
        instance("d", "n3", "n1"),
        instance("e", "n1", "n3"),
        instance("f", "n2", "n3"),
        tags=("htools:nlocation:rack", "htools:iextags:svc", "htools:desiredlocation:rack"),
    )
    said = told(found)
    assert said["tags and locations"] == [
        ("tag-conflict", "node n1 has a, b, which tag svc:web keeps apart"),
        ("location-shared", "a has primary n1 and standby n2, both in rack:1"),
        ("location-unmet", "b would like to be in rack:2 and is not"),
        ("location-together", "a, b, c, which tag svc:web keeps apart, are all in rack:1"),
    ]
    assert said["offline nodes"] == [
        ("primary-offline", "1 instance (d) has its primary on node n3, offline"),
        ("standby-offline", "2 instances (e, f) have their standby on node n3, offline"),
    ]


def test_groups_are_told_as_they_are_and_after_a_balance():
    redundancy = machines_of(snapshot_of(SHORT), balances=True).redundancy
    (now,), (after,) = redundancy.now, redundancy.after_balance
    assert (now.group, now.moves, now.nodes, now.cannot_take_over, now.cannot_be_emptied) == ("g", 0, 3, 1, 1)
    assert (after.group, after.cannot_take_over, after.cannot_be_emptied) == ("g", 0, 0)
    assert after.moves > 0
    assert after.score < now.score
    whole, whole_after = redundancy.cluster
    assert (whole.moves, whole.nodes, whole.cannot_take_over, whole.cannot_be_emptied) == (0, 3, 1, 1)
    assert (whole_after.moves, whole_after.cannot_take_over) == (after.moves, 0)
    assert machines_of(snapshot_of(SHORT), balances=False).redundancy.after_balance == ()


def test_what_nodes_keep_for_failover_counts_as_used_memory():
    snapshot = snapshot_of(SHORT)
    layer = Layer("ours", cluster={"memory-ratio": "1.5"}, nodes={"n2": {"swap": "100Mi"}})
    snapshot = msgspec.structs.replace(snapshot, policy=snapshot.policy.with_layer(layer))
    checks = {each.name: each for each in check_report(snapshot, CheckQuestion()).checks}
    assert [(each.code, each.subject) for each in checks["swap"].findings] == [
        ("swap-unknown", "cluster"),
        ("swap-short", "node/n2"),
        ("swap-overrun", "node/n2"),
    ]


@pytest.mark.parametrize(("fill", "failing"), [("exact", 0), ("below", 1)])
def test_the_policy_says_whether_a_node_may_be_filled_exactly(fill, failing):
    found = ganeti_cluster(NODES, instance("a", "n1", "n2", memory=500), instance("b", "n2", memory=500))
    snapshot = snapshot_of(found)
    layer = Layer("ours", cluster={"fill": fill})
    snapshot = msgspec.structs.replace(snapshot, policy=snapshot.policy.with_layer(layer))
    (now,) = machines_of(snapshot, balances=False).redundancy.now
    assert now.cannot_take_over == failing


def test_where_nodes_are_not_filled_exactly_the_numbers_are_those_of_hcheck(shared):
    compared = 0
    for path in sorted((shared / "oracles" / "htools" / "data").glob("*.data")):
        if path.stem in {"invalid-node", "hroller-full", "multiple-tags"}:  # a bad one, two of one name twice
            continue
        snapshot = snapshot_of(read_text(path.read_text(encoding="utf-8"), path.name))
        layer = Layer("as htools", cluster={"fill": "below"})
        snapshot = msgspec.structs.replace(snapshot, policy=snapshot.policy.with_layer(layer))
        found = machines_of(snapshot, balances=False).redundancy
        said = run(parse("hcheck", ["-t", str(path), "--machine-readable", "--no-simulation"])).stdout
        theirs = dict(re.findall(r"HCHECK_INIT_CLUSTER_(\w+)=(\d+)", said))
        ours = {key: str(getattr(found.cluster[0], field) if found else 0) for key, field in HCHECK.items()}
        assert ours == {key: theirs[key] for key in HCHECK}, path.name
        compared += 1
    assert compared > 40
