"""A Ganeti cluster as a snapshot: what instances take, what is kept back, which ratios apply."""

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given, settings

from fleet_strategies import rare_kinds, seeds
from ganeti_clusters import random_cluster
from sources.ganeti.rapi_documents import documents, save
from ullage.engine.balance.of_snapshot import cluster_of
from ullage.engine.balance.rebalance import fleet_of
from ullage.engine.capacity.bounds import bounds_of
from ullage.engine.columns import Columns
from ullage.model.errors import InputError
from ullage.model.ganeti import (
    MIB,
    Disk,
    GanetiCluster,
    GanetiGroup,
    GanetiNode,
    Instance,
    InstancePolicy,
)
from ullage.model.resources import Resources
from ullage.model.settings import rules_for
from ullage.sources.documents import documents_of
from ullage.sources.ganeti.snapshot import SPINDLES, GanetiSource, labels_of, requests_of, snapshot_of
from ullage.sources.own_format import read_snapshot
from ullage.sources.own_text import snapshot_text
from ullage.sources.redact import redact
from ullage.sources.snapshot_file import snapshot_bytes, snapshot_of_bytes

GIB = 1024 * MIB


def node(name, **changed):
    return GanetiNode(
        **{
            "name": name,
            "group": "u",
            "memory_bytes": 64 * GIB,
            "memory_node_bytes": GIB,
            "memory_free_bytes": 50 * GIB,
            "disk_bytes": 100 * GIB,
            "disk_free_bytes": 70 * GIB,
            "cpu_milli": 8000,
        }
        | changed
    )


def instance(name, **changed):
    given = {"name": name, "memory_bytes": 4 * GIB, "disks": (Disk(10 * GIB),), "cpu_milli": 2000}
    return Instance(**given | {"primary": "n1", "secondary": "n2"} | changed)


def ganeti(*instances, nodes=None, tags=(), policy=None, group_policy=None):
    return GanetiCluster(
        groups=(GanetiGroup("default", "u", policy=group_policy),),
        nodes=nodes or (node("n1"), node("n2")),
        instances=instances,
        tags=tags,
        policy=policy or InstancePolicy(),
    )


@pytest.mark.parametrize(
    ("changed", "taken"),
    [
        ({}, {"cpu": 2000, "memory": 4 * GIB, "storage-space": 10 * GIB}),
        ({"status": "ADMIN_down"}, {"cpu": 2000, "storage-space": 10 * GIB}),
        ({"status": "ADMIN_offline"}, {"storage-space": 10 * GIB}),
        ({"status": "ERROR_nodedown"}, {"cpu": 2000, "memory": 4 * GIB, "storage-space": 10 * GIB}),
        ({"template": "ext", "secondary": ""}, {"cpu": 2000, "memory": 4 * GIB}),
        ({"template": "file", "secondary": ""}, {"cpu": 2000, "memory": 4 * GIB}),
        ({"disk_bytes": 11 * GIB}, {"cpu": 2000, "memory": 4 * GIB, "storage-space": 11 * GIB}),
    ],
)
def test_an_instance_takes_what_it_really_takes(changed, taken):
    assert requests_of(instance("i", **changed)) == Resources(taken)
    workload = snapshot_of(ganeti(instance("i", **changed))).workloads["i"]
    assert (workload.requests, workload.kind, workload.node) == (Resources(taken), "Instance", "n1")
    assert workload.limits == Resources({"cpu": taken.get("cpu", 0), "memory": taken.get("memory", 0)})


def test_a_node_keeps_back_its_own_needs_and_what_others_hold_on_its_disk():
    snapshot = snapshot_of(ganeti(instance("i")))
    first, second = snapshot.nodes
    assert first.capacity == Resources({"cpu": 8000, "memory": 64 * GIB, "storage-space": 100 * GIB})
    # 30 GiB are in use, 10 of them by the instance.
    assert first.reserve == Resources({"cpu": 1000, "memory": GIB, "storage-space": 20 * GIB})
    assert second.reserve.of("storage-space") == 30 * GIB
    assert first.actual == Resources({"memory": 14 * GIB, "storage-space": 30 * GIB})


def test_a_copy_is_kept_back_even_where_the_node_reports_its_disk_as_free():
    nodes = (node("n1"), node("n2", disk_free_bytes=100 * GIB))
    snapshot = snapshot_of(ganeti(instance("i"), nodes=nodes))
    assert snapshot.nodes["n2"].reserve.of("storage-space") == 10 * GIB


def test_spindles_are_a_resource_where_storage_is_exclusive():
    nodes = (node("n1", exclusive_storage=True, spindles=6), node("n2", exclusive_storage=True, spindles=6))
    snapshot = snapshot_of(ganeti(instance("i", disks=(Disk(GIB, 2), Disk(GIB, 1))), nodes=nodes))
    assert snapshot.nodes["n1"].capacity.of(SPINDLES) == 6
    assert snapshot.nodes["n2"].reserve.of(SPINDLES) == 3
    assert snapshot.workloads["i"].requests.of(SPINDLES) == 3
    assert SPINDLES not in snapshot_of(ganeti(instance("i"))).nodes["n1"].capacity


class TestStillToCome:
    """An instance that is reserved, and not created yet."""

    def test_it_holds_its_place_on_both_nodes(self):
        workload = snapshot_of(ganeti(instance("i", forthcoming=True, status="ADMIN_down"))).workloads["i"]
        assert (workload.state, workload.node, workload.standby) == ("paused", "n1", "n2")
        assert (workload.holds_capacity, workload.told_state) == (True, "forthcoming")
        assert workload.requests.of("memory") == 4 * GIB

    @pytest.mark.parametrize("template", ["drbd", "plain", "ext"])
    def test_its_disks_are_taken_of_what_nodes_report_free(self, template):
        secondary = "n2" if template == "drbd" else ""
        found = ganeti(instance("i"), instance("j", template=template, secondary=secondary, forthcoming=True))
        columns = Columns(snapshot_of(found))
        free = columns.free[:, columns.resource_index["storage-space"]] // GIB
        assert free.tolist() == [70 if template == "ext" else 60, 60 if template == "drbd" else 70]

    def test_copies_are_kept_back_beside_those_that_are_there(self):
        nodes = (node("n1"), node("n2", disk_free_bytes=100 * GIB))
        found = ganeti(instance("i"), instance("j", forthcoming=True), nodes=nodes)
        assert snapshot_of(found).nodes["n2"].reserve.of("storage-space") == 20 * GIB

    def test_its_spindles_are_kept_where_storage_is_exclusive(self):
        nodes = [node(name, exclusive_storage=True, spindles=6) for name in ("n1", "n2")]
        coming = instance("i", disks=(Disk(GIB, 2),), forthcoming=True)
        columns = Columns(snapshot_of(ganeti(coming, nodes=tuple(nodes))))
        assert columns.free[:, columns.resource_index[SPINDLES]].tolist() == [4, 4]


@given(seeds, rare_kinds)
@settings(max_examples=60)
def test_nodes_have_left_what_balancing_counts_with_all_that_is_to_come(seed, kind):
    """Only the memory of stopped instances is told apart: balancing keeps it for when they start."""
    cluster = random_cluster(seed, kind)
    snapshot = snapshot_of(cluster)
    fleet, columns = fleet_of(snapshot), Columns(snapshot)
    stopped = dict.fromkeys((each.name for each in cluster.nodes), 0)
    for each in cluster.instances:
        stopped[each.primary] += 0 if each.uses_memory or each.forthcoming else each.memory_bytes
    for host in fleet.hosts:
        later = fleet.states[host.number].later
        figures = columns.figures(columns.node_index[host.name])
        left = {
            name: each.bounds.capacity - each.bounds.reserve - each.committed
            for name, each in figures.items()
        }
        assert left["memory"] == later.memory_free + stopped[host.name]
        assert left["cpu"] == host.node.cpu_milli - later.cpu
        assert left["storage-space"] == later.disk_free
        if host.exclusive:
            assert left[SPINDLES] == later.spindles_free


@given(seeds, rare_kinds)
@settings(max_examples=30)
def test_the_fleet_of_a_snapshot_is_that_of_its_cluster(seed, kind):
    cluster = random_cluster(seed, kind._replace(forthcoming_share=0.5))
    there = {each.name: (each.primary, each.secondary, each.forthcoming) for each in cluster.instances}
    found = cluster_of(snapshot_of(cluster)).instances
    assert {each.name: (each.primary, each.secondary, each.forthcoming) for each in found} == there


def test_offline_nodes_groups_domains_and_labels_are_known():
    nodes = (node("n1", offline=True), node("n2", tags=("power:a", "rack:7")))
    snapshot = snapshot_of(ganeti(nodes=nodes, tags=("htools:nlocation:rack",)), "x")
    assert [each.state for each in snapshot.nodes] == ["offline", "ready"]
    assert [each.domain for each in snapshot.nodes] == ["", "rack:7"]
    assert snapshot.nodes["n2"].labels == {"power": "a", "rack": "7"}
    assert [each.swap_bytes for each in snapshot.nodes] == [None, None]
    assert {each.group for each in snapshot.nodes} == {"default"}
    assert snapshot.tags == ("htools:nlocation:rack",)


def test_a_tag_is_a_label_by_its_last_colon_and_the_first_of_a_key_counts():
    assert labels_of(("a:b:c", "a:b:d", "plain")) == {"a:b": "c", "plain": ""}


@pytest.mark.parametrize(
    ("cluster", "group", "memory", "cpu"),
    [
        ({}, None, Fraction(1), Fraction(4)),
        ({"memory_ratio": Fraction(3, 2)}, None, Fraction(3, 2), Fraction(4)),
        ({"memory_ratio": Fraction(3, 2)}, {"cpu_ratio": Fraction(2)}, Fraction(3, 2), Fraction(2)),
        ({}, {"memory_ratio": Fraction(5, 4)}, Fraction(5, 4), Fraction(4)),
        ({"cpu_ratio": Fraction(-1)}, None, Fraction(1), None),
    ],
)
def test_the_ratios_of_cluster_and_group_apply_over_the_profile(cluster, group, memory, cpu):
    found = snapshot_of(
        ganeti(
            policy=InstancePolicy(**cluster),
            group_policy=None if group is None else InstancePolicy(**group),
        )
    )
    rules = rules_for(found.policy, found.resource_types, "default")
    assert (rules.ratio("memory"), rules.ratio("cpu"), found.policy.name) == (memory, cpu, "ganeti")
    bounds = bounds_of(found.nodes["n1"], rules)
    assert bounds["memory"].limit == 63 * GIB * memory
    assert bounds["memory"].reserve_origin == "stated"


@pytest.mark.parametrize("ratio", [Fraction(0), Fraction(9, 10), Fraction("1.2345678901234567")])
def test_a_stated_ratio_says_how_much_may_be_promised_also_below_one(ratio):
    found = snapshot_of(ganeti(group_policy=InstancePolicy(cpu_ratio=ratio, memory_ratio=ratio)), "data")
    rules = rules_for(found.policy, found.resource_types, "default")
    assert (rules.ratio("memory"), rules.ratio("cpu")) == (ratio, ratio)
    limit = bounds_of(found.nodes["n1"], rules)["memory"].limit
    assert limit == 63 * GIB * ratio // 1
    host = fleet_of(found).hosts[0]
    assert (63 * GIB - host.memory_floor, host.cpu_most) == (limit, ratio * 8000 // 1)
    assert snapshot_of_bytes(snapshot_bytes(found), "f") == found


def test_instances_of_one_name_are_refused():
    with pytest.raises(InputError, match="instance i: is there twice"):
        snapshot_of(ganeti(instance("i"), instance("i")))


def test_files_hold_all_that_ganeti_says():
    policy = InstancePolicy(memory_ratio=Fraction(3, 2))
    snapshot = snapshot_of(ganeti(instance("i", tags=("a:1",)), tags=("t",), policy=policy), "x")
    assert snapshot_of_bytes(snapshot_bytes(snapshot), "f") == snapshot
    for form in ("yaml", "json"):
        (document,) = documents_of(snapshot_text(snapshot, form), "f")
        assert read_snapshot(document) == snapshot
    redacted = redact(snapshot, "seed")
    assert redacted.instance_policy == policy
    assert [each.host.memory_bytes for each in redacted.nodes] == [64 * GIB] * 2


def test_a_folder_is_read_with_our_rules_for_memory(tmp_path):
    save(tmp_path, documents())
    source = GanetiSource(str(tmp_path))
    snapshot = source.read()
    assert (source.name, snapshot.name) == (tmp_path.name, tmp_path.name)
    assert snapshot.nodes["node1"].reserve.of("memory") == 1024 * MIB
    assert snapshot.workloads["web1"].requests.of("memory") == 1024 * MIB


def test_a_text_file_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("\ufeffg|u|preferred|\n\n\n\n\n", encoding="utf-8")
    assert list(GanetiSource(str(path)).read().groups.keys()) == ["g"]


def test_a_snapshot_of_its_own_is_changed_by_a_delta_like_any_other():
    snapshot = snapshot_of(ganeti(instance("i")))
    moved = msgspec.structs.replace(snapshot.workloads["i"], node="n2", standby="n1")
    assert snapshot.workloads.changed([moved])["i"].instance.primary == "n1"
