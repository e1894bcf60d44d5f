"""What the containers of a random pod ask for: few small amounts, so that exact fits are common."""

from parity.drawing import Drawing, Object
from parity.nodes import EXTENDED, HUGE

CPU_MILLI = {"250m": 250, "0.5": 500, "1": 1000, "1.5": 1500, "2": 2000}
CPU = tuple(CPU_MILLI)
MEMORY_MIB = {"512Mi": 512, "1Gi": 1024, "1.5Gi": 1536, "2147483648": 2048}
MEMORY = tuple(MEMORY_MIB)
PORTS = (8080, 8081)
ADDRESSES = ("", "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::")  # noqa: S104 - drawn, nothing listens here
OVERHEADS = {
    "sandbox-small": {"cpu": "250m"},
    "sandbox-large": {"cpu": "1", "memory": "1Gi"},
}


def runtime_classes() -> list[Object]:
    """Return the classes that pods with overhead name; admission wants them to say the same."""
    return [
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": name},
            "handler": "sandbox",
            "overhead": {"podFixed": overhead},
        }
        for name, overhead in OVERHEADS.items()
    ]


def draw_containers(draw: Drawing) -> Object:
    """Draw containers and all else of a spec that says what a pod takes."""
    pod_level = draw.wants("pod-level resources", 0.5)
    spec: Object = {
        "containers": [_container(draw, f"main-{number}", limits=not pod_level) for number in _count(draw)]
    }
    if draw.wants("init containers", 0.6):
        steps = [_container(draw, f"step-{number}", limits=not pod_level) for number in _count(draw)]
        for step in steps:
            if draw.wants("sidecars", 0.5):
                step["restartPolicy"] = "Always"
        spec["initContainers"] = steps
    if draw.wants("host ports", 0.6):
        _add_ports(draw, spec)
    if pod_level:
        spec["resources"] = _pod_level(draw, [*spec["containers"], *spec.get("initContainers", ())])
    if draw.wants("overhead", 0.5):
        name = draw.one(sorted(OVERHEADS))
        spec |= {"runtimeClassName": name, "overhead": OVERHEADS[name]}
    return spec


def _count(draw: Drawing) -> range:
    return range(draw.number(1, 2) if draw.chance(0.3) else 1)


def _container(draw: Drawing, name: str, *, limits: bool) -> Object:
    requests: dict[str, str] = {}
    both: dict[str, str] = {}
    if draw.wants("cpu", 0.7):
        requests["cpu"] = draw.one(CPU)
    if draw.wants("memory", 0.7):
        requests["memory"] = draw.one(MEMORY)
    if draw.wants("ephemeral storage", 0.6):
        requests["ephemeral-storage"] = draw.one(("512Mi", "1Gi", "2Gi"))
    if draw.wants("extended resource", 0.4):
        both[draw.one(EXTENDED)] = str(draw.number(0, 2))
    if draw.wants("huge pages", 0.4):
        both[HUGE] = draw.one(("2Mi", "4Mi"))
        requests.setdefault("cpu", "250m")
    resources: Object = {}
    if requests or both:
        resources["requests"] = {**requests, **both}
    if both:
        resources["limits"] = dict(both)
    if limits and requests and draw.chance(0.15):
        resources = {"limits": {**requests, **both}}
    return {"name": name, "image": "example.com/image", **({"resources": resources} if resources else {})}


def _pod_level(draw: Drawing, containers: list[Object]) -> Object:
    """Draw requests of the pod as a whole, never below what its containers come to at most."""
    asked = [each.get("resources", {}).get("requests", {}) for each in containers]
    cpu_milli = sum(CPU_MILLI[each["cpu"]] for each in asked if "cpu" in each)
    memory_mib = sum(MEMORY_MIB[each["memory"]] for each in asked if "memory" in each)
    whole = {
        "cpu": f"{cpu_milli + draw.one((250, 500, 1000))}m",
        "memory": f"{memory_mib + draw.one((512, 1024))}Mi",
    }
    chosen = {name: whole[name] for name in draw.some(("cpu", "memory"), 1, 2)}
    form = draw.number(0, 2)
    if form == 0:
        return {"requests": chosen}
    if form == 1:
        return {"limits": chosen}
    return {"requests": chosen, "limits": chosen}


def _add_ports(draw: Drawing, spec: Object) -> None:
    """Give containers ports, no two of a pod alike; on the host's network both numbers are one."""
    on_host = draw.wants("host network", 0.3)
    if on_host:
        spec["hostNetwork"] = True
    taken = set()
    for container in [*spec["containers"], *spec.get("initContainers", ())]:
        ports = []
        for _ in range(draw.number(0, 2)):
            port, protocol = draw.one(PORTS), draw.one(("TCP", "TCP", "UDP"))
            address = draw.one(ADDRESSES)
            if (port, protocol, address) in taken:
                continue
            taken.add((port, protocol, address))
            drawn: Object = {"containerPort": port, "protocol": protocol}
            if not on_host or draw.chance(0.5):
                drawn["hostPort"] = port
            if address:
                drawn["hostIP"] = address
            ports.append(drawn)
        if ports:
            container["ports"] = ports
