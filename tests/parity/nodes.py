"""The nodes of a random case: sizes near what pods ask for, and the few labels and taints that rules need."""

from parity.drawing import HOSTNAME, OLD_ZONE, RACK, ZONE, Drawing, Object

NODES_MIN, NODES_MAX = 2, 10
TAINT_KEYS = ("dedicated", "drain")
TAINT_VALUES = ("", "yes", "no")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
CORDON = "node.kubernetes.io/unschedulable"
DISKS = ("ssd", "hdd")
SIZES = ("1", "2", "3", "0", "007", "large")
EXTENDED = ("example.com/widget", "nvidia.com/gpu")
HUGE = "hugepages-2Mi"


def node_names(draw: Drawing) -> list[str]:
    return [f"n{number}" for number in range(draw.number(NODES_MIN, NODES_MAX))]


def draw_node(draw: Drawing, name: str) -> Object:
    allocatable = _allocatable(draw)
    capacity = dict(allocatable)
    status: Object = {"allocatable": allocatable, "capacity": capacity}
    if draw.chance(0.3):
        capacity["cpu"] = "8"
    elif draw.chance(0.05):
        del status["allocatable"]
    elif draw.chance(0.03):
        allocatable["memory"] = "0"
    elif draw.chance(0.03):
        del allocatable[draw.one(sorted(allocatable))]
    spec: Object = {}
    if draw.wants("unschedulable", 0.3):
        spec["unschedulable"] = True
    if taints := _taints(draw):
        spec["taints"] = taints
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": _labels(draw, name)},
        "spec": spec,
        "status": status,
    }


def _allocatable(draw: Drawing) -> dict[str, str]:
    found = {
        "cpu": draw.one(("1", "2", "2.5", "4")) if "cpu" in draw.on else "8",
        "memory": draw.one(("1Gi", "2Gi", "3Gi", "4Gi")) if "memory" in draw.on else "16Gi",
        "pods": str(draw.number(1, 4)) if draw.wants("pod count", 0.7) else "30",
    }
    if draw.wants("ephemeral storage", 0.8):
        found["ephemeral-storage"] = draw.one(("1Gi", "2Gi", "3Gi"))
    for name in EXTENDED:
        if draw.wants("extended resource", 0.6):
            found[name] = str(draw.number(0, 3))
    if draw.wants("huge pages", 0.7):
        found[HUGE] = draw.one(("2Mi", "4Mi", "8Mi"))
    return found


def _labels(draw: Drawing, name: str) -> dict[str, str]:
    """Draw labels; where a rule over them is wanted, some nodes lack one."""
    by_topology = draw.on & {"topology spread", "pod affinity", "pod anti-affinity"}
    missing = 0.12 if by_topology else 0.02
    found = {}
    if not draw.chance(missing):
        found[HOSTNAME] = draw.one(("n0", name)) if draw.chance(missing) else name
    if not draw.chance(missing):
        found[ZONE] = draw.one(("a", "b", "c"))
    if "zones of volumes" in draw.on and draw.chance(0.2):
        found[OLD_ZONE] = draw.one(("a", "b"))
    if draw.chance(0.7):
        found[RACK] = draw.one(("r1", "r2"))
    if draw.chance(0.7):
        found["disk"] = draw.one(DISKS)
    if draw.chance(0.7):
        found["size"] = draw.one(SIZES)
    return found


def _taints(draw: Drawing) -> list[Object]:
    found = []
    for key in TAINT_KEYS:
        if draw.wants("taints", 0.35):
            taint = {"key": key, "effect": draw.one(EFFECTS)}
            if value := draw.one(TAINT_VALUES):
                taint["value"] = value
            found.append(taint)
    if draw.wants("unschedulable", 0.1):
        found.append({"key": CORDON, "effect": "NoSchedule"})
    return found
