from fractions import Fraction

import pytest
from hypothesis import given, settings

from builders import (
    GPU,
    claim,
    cluster,
    container,
    entry,
    node,
    persistent_volume,
    pod,
    quota,
    resources,
    volume,
)
from strategies import snapshots
from ullage.model.admission import (
    DisruptionBudget,
    LimitRange,
    LimitRangeItem,
    Namespace,
    PriorityClass,
    ResourceQuota,
    RuntimeClass,
)
from ullage.model.checks import check_delta, check_snapshot, check_workload, unique
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.delta import Delta
from ullage.model.errors import InputError
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.storage import StorageCapacity, StorageClass, StorageDriver

TOO_LARGE = 2**63
NEGATIVE = Resources({"memory": -(1 << 30)})
N1 = node("n1", cpu=4, memory="8Gi")

BAD_ROWS = {
    "a node without a name": (Node(""), "node: the name is empty"),
    "a name with a control character": (Node("a\nb"), "control character"),
    "a name beyond 253 characters": (Node("n" * 254), "254 characters"),
    "a node without a group": (N1.in_group(""), "node n1: the group is empty"),
    "a negative capacity": (Node("n1", NEGATIVE), "node n1: capacity: memory is -1Gi; use 0 or more"),
    "a negative reserve": (N1.with_(reserve=NEGATIVE), "node n1: reserve: memory is -1Gi"),
    "a negative actual use": (N1.with_(actual=NEGATIVE), "node n1: actual: memory is -1Gi"),
    "a negative swap": (N1.with_(swap_bytes=-1), "node n1: swapBytes is -1"),
    "a factor of 0": (N1.with_(cpu_conversion_factor=Fraction(0)), "cpuConversionFactor is 0"),
    "a factor beyond reason": (N1.with_(cpu_conversion_factor=Fraction(10**7)), "cpuConversionFactor is"),
    "a drive too large": (N1.with_drive("d1", "HDD", "1Ti").with_drive("d2", "SSD", "-1"), "drive d2"),
    "a device with negative memory": (N1.with_gpus(1, memory="-1"), "device n1-gpu0: memoryBytes is -1"),
    "a group with more free than it has": (
        N1.with_volume_group("vg", "HDD", "1Gi", "2Gi"),
        "volume group vg: freeBytes 2147483648 is above its size 1073741824",
    ),
    "a group without extents": (N1.with_volume_group("vg", "HDD", "1Gi", extent_bytes=0), "extentBytes is 0"),
    "a negative request": (pod("web/a", cpu="-1"), "workload web/a: requests: cpu is -1"),
    "a negative limit": (pod("a", limits=NEGATIVE), "workload a: limits: memory is -1Gi"),
    "a negative overhead": (pod("a", overhead=NEGATIVE), "workload a: overhead: memory is -1Gi"),
    "a negative container request": (
        pod("a", containers=(container("c", cpu="-1"),)),
        "workload a: container c: requests: cpu is -1",
    ),
    "a negative container limit": (
        pod("a", containers=(container("c", limits={"cpu": "-1"}),)),
        "container c: limits: cpu is -1",
    ),
    "a negative volume": (pod("a", volumes=(volume("v", "-1"),)), "volume v: sizeBytes is -1"),
    "a priority beyond 64 bits": (pod("a", priority=TOO_LARGE), "priority does not fit 64 bits"),
    "a gang of fewer than none": (pod("a", gang="g", gang_min=-1), "gangMin is -1; use 0 or more"),
    "a time beyond 64 bits": (pod("a", created_seconds=TOO_LARGE), "createdSeconds does not fit 64 bits"),
    "a start beyond 64 bits": (pod("a", started_seconds=TOO_LARGE), "startedSeconds does not fit 64 bits"),
    "a workload without a name": (pod("web/"), "workload: the name is empty"),
    "a workload on an unknown node": (
        pod("web/a", node="n9"),
        "workload web/a: node 'n9' is none of the 0 nodes; add the node, correct the name",
    ),
    "an unknown standby": (pod("a", standby="n9"), "workload a: standby 'n9' is none of the 0 nodes"),
    "a quota without a name": (quota(""), "quota: the name is empty"),
    "a claim below zero": (claim("ml/data", "-1"), "claim ml/data: sizeBytes is -1"),
    "a volume below zero": (persistent_volume("pv", "-1"), "volume pv: sizeBytes is -1"),
    "a volume without a name": (persistent_volume("", "1"), "volume: the name is empty"),
    "a capacity below zero": (StorageCapacity("c", capacity_bytes=-1), "storage capacity c: capacityBytes"),
    "a largest volume below zero": (StorageCapacity("c", volume_bytes_max=-1), "volumeBytesMax is -1"),
    "a negative number of volumes": (N1.with_(attach_limits={"csi": -1}), "attachLimits: csi is -1"),
    "a negative bound": (
        LimitRange("l", "ml", (LimitRangeItem("Pod", min=NEGATIVE),)),
        "limit range ml/l: Pod: min: memory is -1Gi",
    ),
    "a negative upper bound": (LimitRange("l", "", (LimitRangeItem("Pod", max=NEGATIVE),)), "Pod: max"),
    "a negative default limit": (
        LimitRange("l", "", (LimitRangeItem("Pod", default_limits=NEGATIVE),)),
        "Pod: defaultLimits: memory is -1Gi",
    ),
    "a negative default request": (
        LimitRange("l", "", (LimitRangeItem("Pod", default_requests=NEGATIVE),)),
        "Pod: defaultRequests: memory is -1Gi",
    ),
    "a ratio of 0": (
        LimitRange("l", "", (LimitRangeItem("Pod", limit_request_ratio_max={"cpu": Fraction(0)}),)),
        "limit range l: Pod: limitRequestRatioMax: cpu is 0; use more than 0",
    ),
    "a quantity that is none": (
        ResourceQuota("q", "ml", hard={"pods": "many"}),
        "resource quota ml/q: hard: pods: quantity 'many'",
    ),
    "a negative quantity": (ResourceQuota("q", used={"pods": "-1"}), "resource quota q: used: pods is -1"),
    "a class value beyond 64 bits": (PriorityClass("p", TOO_LARGE), "priority class p: value does not fit"),
    "a runtime that gives back": (RuntimeClass("r", NEGATIVE), "runtime class r: overhead: memory is -1Gi"),
    "a budget in words": (
        DisruptionBudget("b", "web", min_available="half"),
        "disruption budget web/b: minAvailable is 'half'; write a number such as 2 or a share such as 50%",
    ),
    "a budget of less than nothing": (DisruptionBudget("b", max_unavailable="-1"), "maxUnavailable is '-1'"),
    "fewer disruptions than none": (
        DisruptionBudget("b", disruptions_allowed=-1),
        "disruptionsAllowed is -1",
    ),
    "a namespace without a name": (Namespace(""), "namespace: the name is empty"),
    "a class without a name": (StorageClass(""), "storage class: the name is empty"),
    "a driver without a name": (StorageDriver(""), "storage driver: the name is empty"),
    "a reservation below zero": (entry("r", "n1", cpu="-1"), "reservation r/r1@n1: resources: cpu is -1"),
    "a reservation without a name": (entry("", "n1"), "the reservation is empty"),
    "a capacity of no kind": (entry("r", "drv/n1/d"), "capacity 'drv/n1/d' is nothing that can be held; wr"),
    "a drive without its node": (entry("r", "drive/d"), "capacity 'drive/d' is nothing that can be held"),
    "an expiry beyond 64 bits": (
        entry("r", "node/n1", expires_seconds=TOO_LARGE),
        "expiresSeconds does not fit",
    ),
}


@pytest.mark.parametrize(("row", "said"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_no_snapshot_holds(row, said):
    with pytest.raises(InputError) as raised:
        cluster(row)
    assert said in str(raised.value)


def test_what_quotas_say_of_each_other_is_no_matter_of_a_snapshot():
    wrong = (quota("a", {"cpu": "-1"}, parent="b"), quota("b", {"cpu": "2"}, {"cpu": "1"}, parent="a"))
    assert len(cluster(*wrong).quotas) == 2


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((N1, node("n1", cpu=1)), "node n1: is there twice; remove or rename one"),
        ((N1, pod("web/a"), pod("web/b"), pod("web/a", cpu=1)), "workload web/a: is there twice"),
        ((quota("q"), quota("q")), "quota q: is there twice"),
    ],
)
def test_two_rows_of_one_key_are_an_error(rows, said):
    with pytest.raises(InputError) as raised:
        cluster(*rows)
    assert said in str(raised.value)


def test_a_group_that_only_a_node_names_is_created():
    snapshot = cluster(N1.in_group("gpu"), node("n2").in_group("general"))
    assert list(snapshot.groups.keys()) == ["general", "gpu"]


def test_a_waiting_workload_needs_no_node():
    assert len(cluster(pod("a", state="init")).workloads) == 1


def test_the_same_map_is_judged_once_and_others_still_are():
    good = resources(cpu=1)
    with pytest.raises(InputError, match="workload c: requests"):
        cluster(pod("a", requests=good), pod("b", requests=good), pod("c", requests=NEGATIVE))


@settings(max_examples=15)
@given(snapshots())
def test_a_checked_snapshot_passes_unchanged(snapshot):
    assert check_snapshot(snapshot) is snapshot


def test_a_delta_is_checked_row_by_row():
    types = ResourceTypes()
    good = Delta(nodes=(N1.record,), workloads=(pod("a", node="elsewhere"),))
    assert check_delta(good, types) is good
    with pytest.raises(InputError, match="node n1: is there twice"):
        check_delta(Delta(nodes=(N1.record, N1.record)), types)
    with pytest.raises(InputError, match="quota: the name is empty"):
        check_delta(Delta(quotas=(quota(""),)), types)


def test_a_workload_alone_is_checked():
    check_workload(pod("a", gpu=1), ResourceTypes())
    with pytest.raises(InputError, match=GPU):
        check_workload(pod("a", gpu=-1), ResourceTypes())


def test_a_table_of_rows_is_in_order_of_keys():
    assert list(unique([Workload("b"), Workload("a")], "workload").keys()) == ["a", "b"]


@pytest.mark.parametrize("revision", [-1, TOO_LARGE])
def test_a_revision_is_a_number_of_64_bits(revision):
    with pytest.raises(InputError, match="the revision is not a number"):
        check_snapshot(Snapshot(revision=revision))


def test_an_empty_snapshot_is_good():
    assert check_snapshot(Snapshot()) == Snapshot()
