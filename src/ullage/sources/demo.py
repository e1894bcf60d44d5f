"""The demo cluster: a small company's shared Kubernetes cluster with a few problems worth finding.

Twelve nodes in three racks; GPUs of two models, local drives, four teams with quotas. Everything is written
down here as tables, so that README and documentation can rely on every number.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ullage.engine.requests import effective_limits, effective_request
from ullage.engine.storage.extents import group_bytes, volume_bytes
from ullage.model.cluster import Container, Device, Group, Node, Quota, Snapshot, Taint, Volume, Workload
from ullage.model.constraints import UNCONSTRAINED, Constraints, Toleration
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.policy import Layer
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.storage import Claim
from ullage.model.table import Table
from ullage.sources.policies import load_policy

GPU: Final = "nvidia.com/gpu"
GIB: Final = 1 << 30
TERABYTE: Final = 10**12
A100: Final = "NVIDIA-A100-SXM4-40GB"
L4: Final = "NVIDIA-L4"
NVME_BYTES: Final = 960 * 10**9
NVME_VOLUMES: Final = {"n3": ("batch", "report-0", 500 * GIB), "n6": ("platform", "metrics-0", 600 * GIB)}
"""Who has a share of a node's NVMe drive: the rest of it is too small for another like it."""
BACKUP_BYTES: Final = 800 * 10**9
CREATED_SECONDS: Final = 1_767_225_600
"""The first workload started here; each later one a minute after the one before it."""

_TYPES: Final = ResourceTypes()
_GPU_TAINT: Final = Taint("nvidia.com/gpu", "present")
_ON_GPU_NODES: Final = Constraints(
    node_selector={"ullage.dev/group": "gpu"},
    tolerations=(Toleration(GPU, "Exists", effect="NoSchedule"),),
)


class Machine(NamedTuple):
    """A row of the table of nodes: name, rack, size, and what is in it."""

    name: str
    rack: str
    cpu: str
    memory: str
    gpus: int = 0
    model: str = ""
    in_use: str = ""


MACHINES: Final = (
    Machine("n1", "rack-1", "16", "64Gi", in_use="38Gi"),
    Machine("n2", "rack-1", "16", "64Gi", in_use="41Gi"),
    Machine("n3", "rack-1", "16", "64Gi", in_use="61Gi"),
    Machine("g1", "rack-1", "64", "512Gi", 8, A100, "180Gi"),
    Machine("n4", "rack-2", "16", "64Gi", in_use="35Gi"),
    Machine("n5", "rack-2", "16", "64Gi", in_use="40Gi"),
    Machine("n6", "rack-2", "16", "64Gi", in_use="33Gi"),
    Machine("g2", "rack-2", "64", "512Gi", 8, A100, "150Gi"),
    Machine("n7", "rack-3", "16", "64Gi", in_use="36Gi"),
    Machine("n8", "rack-3", "16", "64Gi", in_use="9Gi"),
    Machine("s1", "rack-3", "16", "64Gi", in_use="52Gi"),
    Machine("g3", "rack-3", "32", "128Gi", 4, L4, "44Gi"),
)
RESERVE: Final = {"cpu": "200m", "memory": "2Gi", "ephemeral-storage": "20Gi"}


class Deployment(NamedTuple):
    """A row of the table of workloads: replicas go to the nodes in order, round and round."""

    name: str
    namespace: str
    nodes: str
    replicas: int
    requests: dict[str, str]
    limits: dict[str, str]
    kind: str = "ReplicaSet"
    priority: int = 0


_ALL: Final = " ".join(machine.name for machine in MACHINES)
DEPLOYMENTS: Final = (
    Deployment("node-agent", "platform", _ALL, 12, {"cpu": "100m", "memory": "256Mi"}, {"memory": "512Mi"},
               "DaemonSet", 1000),
    Deployment("ingress", "platform", "n1 n4 n7", 3, {"cpu": "1", "memory": "1Gi"}, {"memory": "1Gi"},
               priority=1000),
    Deployment("dns", "platform", "n2 n5", 2, {"cpu": "200m", "memory": "256Mi"}, {"memory": "256Mi"},
               priority=1000),
    Deployment("metrics", "platform", "n6", 1, {"cpu": "2", "memory": "16Gi"}, {}, "StatefulSet", 1000),
    Deployment("shop", "web", "n1 n2 n4 n5 n7", 8, {"cpu": "1500m", "memory": "4Gi"}, {"memory": "4Gi"},
               priority=100),
    Deployment("api", "web", "n2 n3 n5 n6", 8, {"cpu": "2", "memory": "6Gi"}, {"cpu": "4", "memory": "8Gi"},
               priority=100),
    Deployment("search", "web", "n1 n4 n7", 3, {"cpu": "4", "memory": "20Gi"}, {"memory": "20Gi"},
               "StatefulSet", 100),
    Deployment("etl", "batch", "n1 n2 n3 n4 n5 n6 n7", 14, {"cpu": "1500m", "memory": "6Gi"},
               {"memory": "6Gi"}, "Job"),
    Deployment("report", "batch", "n3 n6 n8", 3, {"cpu": "1", "memory": "5Gi"}, {"memory": "5Gi"}, "Job"),
    Deployment("objects", "platform", "s1", 3, {"cpu": "3", "memory": "21Gi"}, {"memory": "21Gi"},
               "StatefulSet", 1000),
    Deployment("train", "ml", "g1", 3, {"cpu": "12", "memory": "96Gi", GPU: "2"},
               {"memory": "96Gi", GPU: "2"}, "Job", 10),
    Deployment("notebook", "ml", "g2", 5, {"cpu": "4", "memory": "48Gi", GPU: "1"},
               {"memory": "48Gi", GPU: "1"}, "StatefulSet"),
    Deployment("inference", "ml", "g3", 3, {"cpu": "6", "memory": "24Gi", GPU: "1"},
               {"memory": "24Gi", GPU: "1"}, priority=50),
    Deployment("finetune", "ml", "", 1, {"cpu": "16", "memory": "160Gi", GPU: "4"},
               {"memory": "160Gi", GPU: "4"}, "Job", 10),
    Deployment("cache", "web", "", 1, {"cpu": "2", "memory": "48Gi"}, {"memory": "48Gi"}, "StatefulSet", 100),
)  # fmt: skip
"""`finetune` and `cache` wait: no node has four free GPUs, or 48 GiB of free memory."""

QUOTAS: Final = (
    Quota("batch", "Quota", ("batch",), _TYPES.parse({"cpu": "20", "memory": "80Gi"}),
          _TYPES.parse({"cpu": "48", "memory": "160Gi"})),
    Quota("ml", "Quota", ("ml",), _TYPES.parse({"cpu": "64", "memory": "600Gi", GPU: "10"}),
          _TYPES.parse({GPU: "18"})),
    Quota("platform", "Quota", ("platform",), _TYPES.parse({"cpu": "20", "memory": "100Gi"})),
    Quota("web", "Quota", ("web",), _TYPES.parse({"cpu": "48", "memory": "160Gi"}),
          _TYPES.parse({"cpu": "64", "memory": "240Gi"})),
)  # fmt: skip


class DemoSource:
    """The source behind `-c demo`."""

    name = "demo"
    profile = "kubernetes"

    def read(self) -> Snapshot:
        """Return the demo cluster, with one node of spare kept in its general group."""
        return demo_snapshot()


def demo_snapshot() -> Snapshot:
    """Return the demo cluster."""
    policy = load_policy("kubernetes", _TYPES).with_layer(
        Layer("the demo's policy", groups={"general": {"spare-nodes": "1"}})
    )
    return Snapshot(
        name="demo",
        revision=1,
        policy=policy,
        nodes=Table(_node(machine) for machine in MACHINES),
        groups=Table((Group("general"), Group("gpu"))),
        workloads=Table(_workloads()),
        quotas=Table(QUOTAS),
        claims=Table(_claims()),
    )


def _node(machine: Machine) -> Node:
    amounts = {"cpu": machine.cpu, "memory": machine.memory, "ephemeral-storage": "220Gi", "pods": "110"}
    labels = {
        "kubernetes.io/hostname": machine.name,
        "topology.kubernetes.io/zone": machine.rack,
        "ullage.dev/group": "gpu" if machine.gpus else "general",
    }
    if machine.gpus:
        amounts[GPU] = str(machine.gpus)
        labels["nvidia.com/gpu.product"] = machine.model
    memory_bytes = (40 if machine.model == A100 else 24) * GIB
    return Node(
        machine.name,
        _TYPES.parse(amounts),
        _TYPES.parse(RESERVE),
        group="gpu" if machine.gpus else "general",
        domain=machine.rack,
        state="cordoned" if machine.name == "n8" else "ready",
        labels=labels,
        taints=(_GPU_TAINT,) if machine.gpus else (),
        swap_bytes=0,
        actual=_TYPES.parse({"memory": machine.in_use}),
        devices=tuple(
            Device(f"{machine.name}-gpu-{index}", GPU, machine.model, memory_bytes)
            for index in range(machine.gpus)
        ),
        drives=tuple(_drives(machine)),
        volume_groups=_volume_groups(machine),
        placed_volumes=_placed_volumes(machine),
    )


def _drives(machine: Machine) -> Iterator[Drive]:
    system = f"{machine.name}-system"
    yield Drive(system, "SSD", 480 * 10**9, system=True, clean=False, path="/dev/sda", model="MZ7L3480")
    if machine.name == "s1":
        for index in range(6):
            yield Drive(
                f"s1-hdd-{index}",
                "HDD",
                4 * TERABYTE,
                health="SUSPECT" if index == 4 else "GOOD",
                clean=index > 3,
                path=f"/dev/sd{'bcdefg'[index]}",
                model="ST4000NM",
            )
    elif not machine.gpus:
        yield Drive(
            f"{machine.name}-nvme-0",
            "NVME",
            NVME_BYTES,
            clean=machine.name not in NVME_VOLUMES,
            path="/dev/nvme0n1",
            model="MZQL2960",
        )


def _volume_groups(machine: Machine) -> tuple[VolumeGroup, ...]:
    """Return groups: on s1 one of three drives and one of one, elsewhere one for a shared NVMe drive."""
    if machine.name in NVME_VOLUMES:
        _, _, volume_size_bytes = NVME_VOLUMES[machine.name]
        size_bytes = group_bytes(NVME_BYTES)
        free_bytes = size_bytes - volume_bytes(volume_size_bytes)
        drive = f"{machine.name}-nvme-0"
        return (VolumeGroup(f"{machine.name}-data", "NVME", size_bytes, free_bytes, drives=(drive,)),)
    if machine.name != "s1":
        return ()
    one_bytes = group_bytes(4 * TERABYTE)
    drives = tuple(f"s1-hdd-{index}" for index in range(4))
    objects_bytes, backup_bytes = 3 * volume_bytes(3 * TERABYTE), volume_bytes(BACKUP_BYTES)
    return (
        VolumeGroup("objects", "HDD", 3 * one_bytes, 3 * one_bytes - objects_bytes, drives=drives[:3]),
        VolumeGroup("backup", "HDD", one_bytes, one_bytes - backup_bytes, drives=drives[3:]),
    )


def _placed_volumes(machine: Machine) -> tuple[PlacedVolume, ...]:
    """Return volumes with the claims that they serve; nobody uses that of backups at the moment."""
    if machine.name in NVME_VOLUMES:
        namespace, workload, size_bytes = NVME_VOLUMES[machine.name]
        claim = f"{namespace}/data-{workload}"
        return (PlacedVolume(f"pvc-{workload}", f"{machine.name}-data", size_bytes, claim),)
    if machine.name != "s1":
        return ()
    return (
        *(
            PlacedVolume(f"pvc-objects-{index}", "objects", 3 * TERABYTE, f"platform/data-objects-{index}")
            for index in range(3)
        ),
        PlacedVolume("pvc-backup", "backup", BACKUP_BYTES, "platform/backup"),
    )


def _claims() -> Iterator[Claim]:
    for index in range(3):
        yield Claim(f"data-objects-{index}", "platform", "HDDLVG", 3 * TERABYTE, bound=True)
    for namespace, workload, size_bytes in NVME_VOLUMES.values():
        yield Claim(f"data-{workload}", namespace, "NVMELVG", size_bytes, bound=True)
    yield Claim("backup", "platform", "HDDLVG", BACKUP_BYTES, bound=True)


def _workloads() -> Iterator[Workload]:
    started_seconds = CREATED_SECONDS
    for deployment in DEPLOYMENTS:
        nodes = deployment.nodes.split()
        container = Container(
            deployment.name,
            requests=_TYPES.parse(deployment.requests),
            limits=_TYPES.parse(deployment.limits),
        )
        pod = Resources({"pods": 1})
        for index in range(deployment.replicas):
            started_seconds += 60
            yield Workload(
                f"{deployment.name}-{index}",
                deployment.namespace,
                node=nodes[index % len(nodes)] if nodes else "",
                state="ok" if nodes else "init",
                requests=effective_request((container,)) + pod,
                limits=effective_limits((container,)),
                containers=(container,),
                priority=deployment.priority,
                owner=f"{deployment.kind}/{deployment.name}",
                created_seconds=started_seconds,
                labels={"app": deployment.name},
                constraints=_ON_GPU_NODES if GPU in deployment.requests else UNCONSTRAINED,
                volumes=_volumes(deployment, index),
            )


def _volumes(deployment: Deployment, index: int) -> tuple[Volume, ...]:
    if deployment.name == "objects":
        return (Volume("data", f"data-objects-{index}", "HDDLVG", 3 * TERABYTE),)
    name = f"{deployment.name}-{index}"
    return tuple(
        Volume("data", f"data-{name}", "NVMELVG", size_bytes)
        for _, workload, size_bytes in NVME_VOLUMES.values()
        if workload == name
    )
