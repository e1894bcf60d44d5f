"""Random small clusters with pods that wait: `case(seed)`, the same one for the same seed.

A case is about some kinds of constraints: one alone, a few, or all of them. The hard thing is to make rules
bite: amounts, labels and ports come from a handful of values, so that some nodes take a pod and others do
not.
"""

import copy
import random
from dataclasses import dataclass, field

from parity.drawing import NAMESPACES, Drawing, Object
from parity.nodes import draw_node, node_names
from parity.pods import draw_pod, draw_running
from parity.requests import runtime_classes
from parity.storage import Storage

RUNNING_MAX = 25
PENDING_MIN, PENDING_MAX = 3, 12
SIZES = ("cpu", "memory", "pod count", "ephemeral storage", "extended resource", "huge pages")
SHARES = ("init containers", "sidecars", "overhead", "pod-level resources")
NODE_KINDS = ("node name", "unschedulable", "taints", "node selector", "node affinity")
NEIGHBOURS = ("host ports", "host network", "topology spread", "pod affinity", "pod anti-affinity")
STATES = (
    "policies of spread",
    "label keys of affinity",
    "terminating pods",
    "finished pods",
    "scheduling gates",
)
VOLUMES = (
    "bound volumes", "zones of volumes", "waiting claims", "storage capacity", "allowed topologies",
    "static volumes", "immediate claims", "missing claims", "single-pod claims", "attach limits",
    "inline volumes", "odd claims",
)  # fmt: skip
KINDS = (*SIZES, *SHARES, *NODE_KINDS, *NEIGHBOURS, *STATES, *VOLUMES)
OFTEN = (*NEIGHBOURS, "policies of spread", "terminating pods", "storage capacity", "waiting claims")
TEAMS = {"default": {"team": "red"}, "blue": {"team": "violet"}, "green": {}}
ALONG = {  # kinds that mean little without others
    "sidecars": ("init containers", "cpu"),
    "init containers": ("cpu",),
    "overhead": ("cpu",),
    "pod-level resources": ("cpu", "memory"),
    "host network": ("host ports",),
    "policies of spread": ("topology spread", "taints", "node selector"),
    "label keys of affinity": ("pod anti-affinity",),
    "terminating pods": ("topology spread", "cpu"),
    "finished pods": ("cpu",),
    "zones of volumes": ("bound volumes",),
    "storage capacity": ("waiting claims",),
    "allowed topologies": ("waiting claims",),
    "attach limits": ("bound volumes", "waiting claims"),
    "inline volumes": ("attach limits",),
    "single-pod claims": ("bound volumes",),
}


@dataclass(frozen=True)
class Case:
    """A cluster and pods to be placed on it in order; `kinds` are the constraints that it has."""

    seed: int
    objects: list[Object]
    pods: list[Object]
    kinds: frozenset[str] = field(default=frozenset())


def case(seed: int, among: tuple[str, ...] = KINDS) -> Case:
    """Return the case of a seed, about kinds that are drawn from those named."""
    chance = random.Random(seed)  # noqa: S311 - chosen to be repeatable
    draw = Drawing(chance, _kinds(chance, among))
    nodes = node_names(draw)
    node_objects = [draw_node(draw, name) for name in nodes]
    storage = Storage(draw, nodes)
    running = [draw_running(draw, f"run-{number}", nodes) for number in range(_running_count(draw))]
    for pod in running:
        storage.mount(pod)
    pending = _pending(draw, nodes, storage)
    classes = runtime_classes() if "overhead" in draw.on else []
    objects = [*_namespaces(), *node_objects, *classes, *storage.objects(), *running]
    return Case(seed, objects, pending, frozenset(draw.met))


def _kinds(chance: random.Random, among: tuple[str, ...]) -> frozenset[str]:
    """Choose one kind, a few or all."""
    form = chance.random()
    count = 1 if form < 0.3 else chance.randint(2, 5)
    bowl = [*among, *(kind for kind in among if kind in OFTEN)]
    chosen = among if form >= 0.85 else chance.sample(bowl, min(count, len(bowl)))
    along = {other for kind in chosen for other in ALONG.get(kind, ()) if other in among}
    deeper = {other for kind in along for other in ALONG.get(kind, ()) if other in among}
    return frozenset((*chosen, *along, *deeper))


def _pending(draw: Drawing, nodes: list[str], storage: Storage) -> list[Object]:
    """Draw the pods that wait; some are replicas of the one before."""
    found: list[Object] = []
    replicas = draw.one((0.0, 0.3, 0.8))
    for number in range(draw.number(PENDING_MIN, PENDING_MAX)):
        name = f"new-{number}"
        if found and draw.chance(replicas):
            found.append(copy.deepcopy(found[-1]))
            found[-1]["metadata"]["name"] = name
        else:
            found.append(draw_pod(draw, name, nodes))
            storage.mount(found[-1])
    return found


def _running_count(draw: Drawing) -> int:
    return 0 if draw.chance(0.1) else draw.number(1, RUNNING_MAX)


def _namespaces() -> list[Object]:
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": TEAMS[name]}}
        for name in NAMESPACES
    ]
