"""A seeded cluster of any size from 10 to 100 000 nodes: `synthetic:nodes=1000,seed=7,fill=0.7`.

The hard part is speed together with truth: nothing may be over-committed, and 150 000 workloads should take a
second. So nodes are filled one after the other with replicas of deployments drawn by weight, until they are
as full as asked; how many replicas a deployment has follows from how often it was drawn.
"""

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Final, NamedTuple

import msgspec

from ullage.model.checks import check_snapshot, unique
from ullage.model.cluster import Device, Node, Quota, Snapshot, Taint, Workload
from ullage.model.constraints import UNCONSTRAINED, Constraints, Toleration
from ullage.model.drives import Drive
from ullage.model.errors import InputError
from ullage.model.resources import NOTHING, Resources
from ullage.model.settings import parse_fraction, print_fraction
from ullage.sources.synthetic_shapes import (
    APPLICATIONS,
    GIB,
    GPU_SIZES,
    MODELS,
    NODE_CLASSES,
    PLAIN_SIZES,
    NodeClass,
    Size,
    Weighted,
    below,
    heavy_tailed,
)

GPU: Final = "nvidia.com/gpu"
NODES_MAX: Final = 100_000
SEED_MAX: Final = 2**32 - 1
ZONES: Final = 3
RACK_NODES: Final = 24
POD_SLOTS: Final = 110
_ATTEMPTS_MAX: Final = 12
"""Draws that may find no room on a node before it counts as full."""
_TOLERATES_GPU: Final = Constraints(tolerations=(Toleration(GPU, "Exists", "", "NoSchedule"),))
_START_SECONDS: Final = 1_735_689_600  # 2025-01-01, so that ages are plausible and never change


class Options(msgspec.Struct, frozen=True):
    """What can be asked of the generator; `fill` is the share of a node's larger dimension in use."""

    nodes: int = 100
    seed: int = 1
    fill: Fraction = Fraction(7, 10)


class Deployment(NamedTuple):
    """Equal replicas: they share every map, so that a large cluster stays small."""

    name: str
    namespace: str
    owner: str
    size: Size
    requests: Resources
    limits: Resources
    labels: dict[str, str]
    constraints: Constraints
    priority: int
    created_seconds: int


def parse_options(text: str) -> Options:
    """Return the options written behind `synthetic:`, such as `nodes=1000,seed=7,fill=0.7`."""
    given: dict[str, int | Fraction] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        key, equals, value = part.partition("=")
        if not equals or key not in {"nodes", "seed", "fill"}:
            raise _bad_option(part, "is no option")
        if key in given:
            raise _bad_option(part, "is given twice")
        if key == "fill":
            given[key] = _fill(part, value)
        else:
            low, high = (1, NODES_MAX) if key == "nodes" else (0, SEED_MAX)
            if not value.isascii() or not value.isdigit() or len(value) > 10 or not low <= int(value) <= high:
                raise _bad_option(part, f"is not a whole number from {low} to {high}")
            given[key] = int(value)
    return msgspec.structs.replace(Options(), **given)


def _fill(part: str, value: str) -> Fraction:
    try:
        fill = parse_fraction(value)
    except InputError:
        fill = Fraction(-1)
    if not 0 <= fill <= 1:
        raise _bad_option(part, "is not a share from 0 to 1")
    return fill


def _bad_option(part: str, problem: str) -> InputError:
    return InputError(
        f"synthetic cluster: {part[:40]!r} {problem}", remedy="write synthetic:nodes=1000,seed=7,fill=0.7"
    )


def synthetic_snapshot(options: Options) -> Snapshot:
    """Return the cluster of these options; the same options give the same cluster everywhere."""
    random = Random(options.seed)  # noqa: S311 - a reproducible cluster, not a secret
    nodes = list(_nodes(random, options.nodes))
    teams = max(4, min(400, options.nodes // 25))
    plain = _deployments(random, teams, PLAIN_SIZES, APPLICATIONS, min(4000, 40 + options.nodes * 2))
    with_gpus = _deployments(random, teams, GPU_SIZES, MODELS, min(800, 12 + options.nodes // 4))
    counts: dict[str, int] = {}
    workloads: list[Workload] = []
    for node_class, node in nodes:
        choices = with_gpus if node_class.gpus else plain
        workloads += _filled(random, node, choices, options.fill, counts)
    waiting = [_replica(plain.draw(random), "", counts) for _ in range(options.nodes // 100 + 1)]
    return check_snapshot(
        Snapshot(
            name=f"synthetic:nodes={options.nodes},seed={options.seed},fill={print_fraction(options.fill)}",
            nodes=unique((node for _, node in nodes), "node"),
            workloads=unique([*workloads, *waiting], "workload"),
            quotas=unique(_quotas(workloads), "quota"),
        )
    )


def _nodes(random: Random, count: int) -> Iterator[tuple[NodeClass, Node]]:
    """Yield nodes rack by rack; a rack lies in one zone, and its nodes are of mixed classes."""
    classes = Weighted(NODE_CLASSES, [each.share for each in NODE_CLASSES])
    digits = max(4, len(str(count - 1)))
    for number in range(count):
        node_class = classes.draw(random)
        rack = number // RACK_NODES
        zone = f"zone-{'abc'[rack % ZONES]}"
        yield (
            node_class,
            _node(node_class, f"{node_class.name}-{number:0{digits}d}", f"rack-{rack:04d}", zone),
        )


def _node(node_class: NodeClass, name: str, rack: str, zone: str) -> Node:
    drives = [
        Drive(f"{name}-{kind.lower()}{number}", kind, size_gib * GIB)
        for kind, count, size_gib in node_class.drives
        for number in range(count)
    ]
    capacity = {
        "cpu": node_class.cpu_milli,
        "memory": node_class.memory_gib * GIB,
        "ephemeral-storage": 400 * GIB,
        "pods": POD_SLOTS,
    }
    if node_class.gpus:
        capacity[GPU] = node_class.gpus
    return Node(
        name,
        Resources(capacity),
        reserve=Resources({"cpu": 500, "memory": 2 * GIB}),
        group="gpu" if node_class.gpus else "general",
        domain=rack,
        labels={
            "kubernetes.io/hostname": name,
            "node.kubernetes.io/instance-type": node_class.name,
            "topology.kubernetes.io/zone": zone,
            "ullage.dev/rack": rack,
        },
        taints=(Taint(GPU, "present"),) if node_class.gpus else (),
        devices=tuple(
            Device(f"{name}-gpu{number}", GPU, node_class.gpu_model, node_class.gpu_memory_gib * GIB)
            for number in range(node_class.gpus)
        ),
        drives=tuple(drives),
    )


def _deployments(
    random: Random, teams: int, sizes: tuple[Size, ...], names: tuple[str, ...], count: int
) -> Weighted[Deployment]:
    """Return deployments of all teams; a few of them are drawn far more often than the others."""
    drawn = Weighted(sizes, [size.weight for size in sizes])
    deployments, weights = [], []
    for number in range(count):
        size = drawn.draw(random)
        requests = {"cpu": size.cpu_milli, "memory": size.memory_mib << 20, "pods": 1}
        if size.gpus:
            requests[GPU] = size.gpus
        bounded = below(random, 10) > 0
        name = f"{names[below(random, len(names))]}-{number}"
        team = f"team-{below(random, teams):03d}"
        deployments.append(
            Deployment(
                name,
                team,
                f"Deployment/{name}",
                size,
                Resources(requests),
                Resources({"memory": requests["memory"]}) if bounded else NOTHING,
                {"app": name, "team": team},
                _TOLERATES_GPU if size.gpus else UNCONSTRAINED,
                (0, 0, 0, 100, 1000)[below(random, 5)],
                _START_SECONDS + below(random, 300 * 86_400),
            )
        )
        weights.append(heavy_tailed(random, 1000))
    return Weighted(deployments, weights)


def _filled(
    random: Random, node: Node, choices: Weighted[Deployment], fill: Fraction, counts: dict[str, int]
) -> Iterator[Workload]:
    """Yield replicas until the node is as full as asked, or nothing more is found that fits it."""
    usable = node.capacity - (node.reserve or NOTHING)
    cpu, memory, gpus = usable["cpu"], usable["memory"], usable.of(GPU)
    # Neighbours differ: from nine tenths to eleven tenths of the share that was asked for.
    permille = min(1000, int(fill * (900 + below(random, 201))))
    cpu_left, memory_left = cpu * permille // 1000, memory * permille // 1000
    gpus_left, slots, missed = -(-gpus * permille // 1000), POD_SLOTS, 0
    while slots and missed < _ATTEMPTS_MAX:
        deployment = choices.draw(random)
        size = deployment.size
        asked = size.memory_mib << 20
        if size.cpu_milli > cpu_left or asked > memory_left or size.gpus > gpus_left:
            missed += 1
            continue
        cpu_left -= size.cpu_milli
        memory_left -= asked
        gpus_left -= size.gpus
        slots -= 1
        yield _replica(deployment, node.name, counts)


def _replica(deployment: Deployment, node: str, counts: dict[str, int]) -> Workload:
    number = counts.get(deployment.name, 0)
    counts[deployment.name] = number + 1
    return Workload(
        f"{deployment.name}-{number:05d}",
        deployment.namespace,
        node=node,
        state="ok" if node else "init",
        requests=deployment.requests,
        limits=deployment.limits,
        priority=deployment.priority,
        owner=deployment.owner,
        created_seconds=deployment.created_seconds,
        labels=deployment.labels,
        constraints=deployment.constraints,
    )


def _quotas(workloads: list[Workload]) -> Iterator[Quota]:
    """Yield a quota for each team: every third borrows a quarter, the others have some of theirs left."""
    used: dict[str, dict[str, int]] = {}
    for workload in workloads:
        of_team = used.setdefault(workload.namespace, {})
        for name, amount in workload.requests.items():
            of_team[name] = of_team.get(name, 0) + amount
    for position, team in enumerate(sorted(used)):
        share = Fraction(3, 4) if position % 3 == 0 else Fraction(5, 4)
        guaranteed = {
            name: int(amount * share) for name, amount in used[team].items() if name in {"cpu", "memory", GPU}
        }
        yield Quota(team, "ElasticQuota", (team,), Resources(guaranteed))
