from collections import Counter

import pytest

from ullage.engine.storage.extents import group_bytes, volume_bytes
from ullage.model.checks import check_snapshot
from ullage.model.resources import NOTHING
from ullage.sources.demo import DemoSource, demo_snapshot
from ullage.sources.documents import documents_of
from ullage.sources.own_format import read_own
from ullage.sources.own_text import snapshot_text
from ullage.sources.snapshot_file import snapshot_bytes, snapshot_of_bytes

GPU = "nvidia.com/gpu"
DEMO = demo_snapshot()


def held():
    sums = dict.fromkeys(DEMO.nodes.keys(), NOTHING)
    for workload in DEMO.workloads:
        if workload.holds_capacity:
            sums[workload.node] += workload.requests
    return sums


def free(node):
    return node.capacity - node.reserve - held()[node.name]


def test_it_is_a_good_snapshot_that_comes_back_exactly():
    assert check_snapshot(DEMO) is DEMO
    assert snapshot_of_bytes(snapshot_bytes(DEMO), "demo") == DEMO
    for form in ("yaml", "json"):
        (document,) = documents_of(snapshot_text(DEMO, form), "demo")
        assert read_own(document) == DEMO


def test_the_source_gives_the_cluster_and_its_profile():
    source = DemoSource()
    assert (source.name, source.profile) == ("demo", "kubernetes")
    assert source.read() == DEMO


def test_it_has_a_dozen_nodes_in_three_racks_and_two_groups():
    assert len(DEMO.nodes) == 12
    assert sorted(Counter(node.domain for node in DEMO.nodes).values()) == [4, 4, 4]
    assert list(DEMO.groups.keys()) == ["general", "gpu"]
    assert {device.model for node in DEMO.nodes for device in node.devices} >= {"NVIDIA-L4"}
    assert list(DEMO.quotas.keys()) == ["batch", "ml", "platform", "web"]


def test_one_node_is_promised_more_memory_than_it_has_and_nothing_else_is():
    short = {(node.name, name) for node in DEMO.nodes for name, amount in free(node).items() if amount < 0}
    assert short == {("s1", "memory")}


def test_one_node_uses_more_memory_than_was_promised_on_it():
    above = [
        node.name
        for node in DEMO.nodes
        if node.actual["memory"] - node.reserve["memory"] > held()[node.name].of("memory") * 6 // 5
        and node.actual["memory"] * 10 > node.capacity["memory"] * 9
    ]
    assert above == ["n3"]


def test_one_node_is_cordoned():
    assert [node.name for node in DEMO.nodes if node.state == "cordoned"] == ["n8"]


def test_one_drive_is_suspect():
    drives = [drive for node in DEMO.nodes for drive in node.drives]
    assert [drive.uuid for drive in drives if drive.health == "SUSPECT"] == ["s1-hdd-4"]
    assert {drive.drive_class for drive in drives} == {"HDD", "SSD", "NVME"}


def test_one_application_has_no_memory_limit():
    assert {each.owner for each in DEMO.workloads if "memory" not in each.limits} == {"StatefulSet/metrics"}


def test_a_pod_waits_that_would_fit_with_less_memory():
    waiting = DEMO.workloads["web/cache-0"]
    assert waiting.state == "init"
    general = [node for node in DEMO.nodes if node.group == "general" and node.state == "ready"]
    assert all(free(node)["memory"] < waiting.requests["memory"] for node in general)
    assert any(free(node)["memory"] > 0 and free(node)["cpu"] >= waiting.requests["cpu"] for node in general)


def test_free_gpus_are_enough_together_and_too_few_on_each_node():
    asked = DEMO.workloads["ml/finetune-0"].requests[GPU]
    left = [free(node).of(GPU) for node in DEMO.nodes if node.capacity.of(GPU)]
    assert sum(left) >= asked > max(left)


def test_a_team_uses_more_than_it_is_guaranteed():
    used = NOTHING
    for workload in DEMO.workloads:
        if workload.namespace == "batch" and workload.holds_capacity:
            used += workload.requests
    assert used["cpu"] > DEMO.quotas["batch"].min["cpu"]
    assert used["cpu"] <= DEMO.quotas["batch"].max["cpu"]


@pytest.mark.parametrize("rack", ["rack-1", "rack-2"])
def test_the_gpu_work_of_a_rack_could_not_go_elsewhere(rack):
    lost = sum((held()[node.name].of(GPU) for node in DEMO.nodes if node.domain == rack), 0)
    left = sum(free(node).of(GPU) for node in DEMO.nodes if node.domain != rack)
    assert lost > left


def test_every_volume_on_a_disk_serves_a_claim_of_its_size():
    volumes = [volume for node in DEMO.nodes for volume in node.placed_volumes]
    assert {volume.claim: volume.size_bytes for volume in volumes} == {
        claim.key: claim.size_bytes for claim in DEMO.claims
    }


def test_volume_groups_hold_what_their_volumes_and_drives_say():
    for node in DEMO.nodes:
        sizes = {drive.uuid: drive.size_bytes for drive in node.drives}
        for group in node.volume_groups:
            held = [each.size_bytes for each in node.placed_volumes if each.location == group.name]
            assert group.size_bytes == sum(group_bytes(sizes[uuid]) for uuid in group.drives)
            assert group.size_bytes - group.free_bytes == sum(map(volume_bytes, held))


def test_what_is_left_of_drives_with_a_volume_is_too_small_for_another():
    shares = {volume.location: volume.size_bytes for node in DEMO.nodes for volume in node.placed_volumes}
    groups = [group for node in DEMO.nodes for group in node.volume_groups if group.drive_class == "NVME"]
    assert len(groups) == 2
    assert all(group.free_bytes < shares[group.name] for group in groups)
