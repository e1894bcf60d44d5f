"""How many more of a size that shrinks as the cluster fills (`headroom --tiered`).

Virtual machines of Ganeti are placed by its own rule: with a standby where the first template of the policy
has one, and so that every node can still be lost; where none is named, from the largest size that the policy
allows. Workloads of other clusters are placed as `fit` does it, from the shape that is named.
"""

from typing import Final

import msgspec

from ullage.engine.balance.allocation import allocable
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy, is_redundant
from ullage.engine.balance.quick_ground import ground_of
from ullage.engine.balance.rebalance import fleet_of
from ullage.engine.balance.state import FailureKind
from ullage.engine.balance.tiered import Ground, NewSize, fill_tiered
from ullage.engine.placement.tiers import tiers_of
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.ganeti import InstancePolicy, Size
from ullage.model.resources import Resources
from ullage.model.settings import rules_for
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked
from ullage.service.held import columns_of
from ullage.service.wanted import PODS, parse_shape, wanted_shape
from ullage.service.words import several

CPU: Final = "cpu"
MEMORY: Final = "memory"
DISK: Final = "storage-space"
COUNT_MAX: Final = 100_000
"""Machines after which counting stops."""
WORDS: Final[dict[FailureKind, str]] = {
    "FailMem": "memory short",
    "FailDisk": "disk short",
    "FailCPU": "cpu short",
    "FailN1": "no room to lose a node",
    "FailTags": "tags",
    "FailMig": "migration",
    "FailDiskCount": "number of disks",
    "FailSpindles": "spindles short",
    "FailInternal": "not possible",
}


class TierStatus(Record, frozen=True):
    """How many of one size fit after all larger ones were placed, and on how many nodes."""

    requests: Resources
    more: int
    nodes: int


class TieredReport(Record, frozen=True):
    """The answer to `ullage headroom --tiered`.

    `placement` is how nodes are chosen, or the template of machines; `reasons` says how many nodes, or pairs
    of them, each reason closes at the end; `bounded` is false where counting stopped although more would fit.
    """

    cluster: str
    revision: int
    policy: str
    placement: str
    starts: tuple[Resources, ...]
    more: int
    bounded: bool
    tiers: tuple[TierStatus, ...]
    reasons: dict[str, int]
    refusal: str
    not_simulated: tuple[str, ...]


def tiered(snapshot: Snapshot, asked: Asked, shapes: tuple[str, ...], placement: str) -> Answer:
    """Answer how many more of a size that shrinks fit into a cluster; without a shape, of its policy's."""
    from ullage.service.headroom_page import tiered_page

    is_ganeti = snapshot.instance_policy is not None or any(node.host is not None for node in snapshot.nodes)
    if not shapes and not is_ganeti:
        raise InputError("no shape to start from is named", remedy="use --shape cpu=4,memory=8Gi")
    shape = shapes[0] if shapes else ""
    report = machine_tiers(snapshot, shape) if is_ganeti else shape_tiers(snapshot, shape, asked, placement)
    types = snapshot.resource_types
    return Answer(
        lambda: tiered_page(report, types, asked),
        lambda: versioned("TieredReport", report, types),
        bool(report.more),
        shortened=lambda: tiered_page(report, types, asked, shortened=True),
    )


def shape_tiers(snapshot: Snapshot, shape: str, asked: Asked, placement: str) -> TieredReport:
    """Return how many more of a shape fit as it shrinks."""
    types = snapshot.resource_types
    pods = any(PODS in node.capacity for node in snapshot.nodes)
    (batch,) = wanted_shape(shape, types, pods=pods).batches
    workload = msgspec.structs.replace(batch.workload, namespace=asked.namespace)
    chosen = placement or rules_for(snapshot.policy, types).placement
    found = tiers_of(columns_of(snapshot), workload, placement=chosen)
    return TieredReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        placement=chosen,
        starts=(workload.requests,),
        more=sum(tier.replicas for tier in found.tiers),
        bounded=found.bounded,
        tiers=tuple(TierStatus(each.requests, each.replicas, len(each.nodes)) for each in found.tiers),
        reasons=found.reasons,
        refusal=found.refusal,
        not_simulated=(
            "eviction of others, where priority would allow it",
            *snapshot.unknowns,
        ),
    )


def machine_tiers(snapshot: Snapshot, shape: str) -> TieredReport:
    """Return how many more machines fit, of a size or of the largest ones of the policy, as they shrink."""
    found = fleet_of(snapshot)
    fleet = Fleet(found.cluster, found.view._replace(ignores_load=False))
    sizes = _sizes(snapshot, fleet.cluster.policy, shape)
    sound = [
        number
        for number in range(len(fleet.cluster.groups))
        if not fleet.of_group(number).bad_hosts() and is_redundant(fleet.of_group(number))
    ]
    unsound = frozenset(range(len(fleet.cluster.groups))) - frozenset(sound)
    usable = {each for each in sound if fleet.cluster.groups[each].allocation != "unallocable"}
    targets = allocable(fleet, usable)
    ground = ground_of(fleet, targets, Redundancy(ignored_groups=unsound))
    reasons: dict[str, int] = {}
    if targets and (ground.pairs or sizes[0].template != "drbd"):
        for size in sizes:
            failures = fill_tiered(ground, size, COUNT_MAX)
            reasons = {
                WORDS[kind]: count for kind, count in sorted(failures.items(), key=lambda each: -each[1])
            }
    left_out = [fleet.cluster.groups[number].name for number in sorted(unsound)]
    return TieredReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        placement=sizes[0].template,
        starts=tuple(_requests(size) for size in sizes),
        more=len(ground.added),
        bounded=len(ground.added) < COUNT_MAX,
        tiers=_tiers(ground),
        reasons=reasons,
        refusal="" if usable else _unsound(left_out),
        not_simulated=(*([_unsound(left_out)] if usable and left_out else []), *snapshot.unknowns),
    )


def _unsound(groups: list[str]) -> str:
    if not groups:
        return "no group takes new instances"
    what = f"group{'' if len(groups) == 1 else 's'} {several(groups)}"
    return f"{what}: a node could not be lost as it is, so nothing is added (ullage check says why)"


def _sizes(snapshot: Snapshot, policy: InstancePolicy, shape: str) -> list[NewSize]:
    """Return the sizes to start from; what a shape does not name is as usual."""
    if not policy.templates or not policy.bounds:
        raise InputError(
            "the policy of the cluster allows no instances", where="instance policy", remedy="give it bounds"
        )
    if not shape:
        return [_new_size(policy, high) for _, high in policy.bounds]
    asked = parse_shape(shape, snapshot.resource_types)
    unknown = sorted(set(asked) - {CPU, MEMORY, DISK})
    if unknown:
        raise InputError(
            f"instances do not ask for {unknown[0]}",
            where="--shape",
            remedy=f"use {CPU}, {MEMORY} and {DISK}",
        )
    usual = _new_size(policy, policy.standard)
    return [
        usual._replace(
            memory_bytes=asked.get(MEMORY, usual.memory_bytes),
            disk_bytes=asked.get(DISK, usual.disk_bytes),
            cpu_milli=asked.get(CPU, usual.cpu_milli),
        )
    ]


def _new_size(policy: InstancePolicy, size: Size) -> NewSize:
    return NewSize(
        size.memory_bytes,
        size.disk_bytes,
        size.cpus * 1000,
        size.spindle_use,
        policy.standard.spindle_use,
        policy.templates[0],
    )


def _requests(size: NewSize) -> Resources:
    return Resources({CPU: size.cpu_milli, MEMORY: size.memory_bytes, DISK: size.disk_bytes})


def _tiers(ground: Ground) -> tuple[TierStatus, ...]:
    """Return machines by size, in the order in which they were placed."""
    places: dict[NewSize, list[int]] = {}
    for size, machine in ground.added:
        places.setdefault(size, []).append(ground.fleet.places[machine.number].primary)
    return tuple(
        TierStatus(_requests(size), len(primaries), len(set(primaries))) for size, primaries in places.items()
    )
