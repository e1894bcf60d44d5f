"""A Ganeti cluster as a snapshot, so that every question can be asked of it.

The hard thing is what a node really has left. An instance takes memory only while it runs, processors unless
it is switched off, and disk only where that is on the node. The copy that drbd keeps on a second node, and
what else fills a disk there, is kept back as reserve, because no workload of that node holds it. An instance
that is still to come (forthcoming) is promised its place on both nodes already: it counts as if it ran, but
what nodes report as free is without it.
"""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from ullage.model.checks import check_snapshot, unique
from ullage.model.cluster import Group, Node, Snapshot, Workload
from ullage.model.ganeti import (
    LOCAL_TEMPLATES,
    OFFLINE,
    GanetiCluster,
    GanetiGroup,
    GanetiNode,
    Instance,
    InstancePolicy,
)
from ullage.model.ganeti_checks import RATIO_MAX
from ullage.model.policy import Layer, Policy
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.settings import UNLIMITED, print_fraction, rules_for
from ullage.sources.input_files import STANDARD_INPUT, read_files
from ullage.sources.limits import DEFAULT_LIMITS, Limits
from ullage.sources.places import one_line
from ullage.sources.policies import load_policy

PROFILE: Final = "ganeti"
KIND: Final = "Instance"
CPU: Final = "cpu"
MEMORY: Final = "memory"
DISK: Final = "storage-space"
SPINDLES: Final = "ganeti.org/spindles"
LOCATION: Final = "htools:nlocation:"


class GanetiSource:
    """A file in Ganeti's text format, a folder of documents of its remote interface, or a server of it."""

    def __init__(self, place: str, *, limits: Limits = DEFAULT_LIMITS, stdin: BinaryIO | None = None) -> None:
        self._place = place
        self._limits = limits
        self._stdin = stdin

    @property
    def name(self) -> str:
        """The name of the file or folder, or the address of the server without its password."""
        if "://" in self._place:
            from ullage.sources.ganeti.rapi_server import parse_server

            return one_line(parse_server(self._place).name)
        return STANDARD_INPUT if self._place == "-" else one_line(Path(self._place).name or self._place)

    @property
    def profile(self) -> str:
        """Nodes may be filled to their limit."""
        return PROFILE

    def read(self) -> Snapshot:
        """Return the cluster as it is now."""
        return snapshot_of(self._cluster(), self.name)

    def _cluster(self) -> GanetiCluster:
        if "://" in self._place or (self._place != "-" and Path(self._place).is_dir()):
            from ullage.sources.ganeti.rapi import OWN_RULES, read_rapi

            return read_rapi(self._place, OWN_RULES)
        from ullage.sources.ganeti.text import read_text

        (file,) = read_files(self._place, self._limits, stdin=self._stdin)
        return read_text(bytes(file.data).decode("utf-8-sig"), file.name, distinct=True)


def snapshot_of(cluster: GanetiCluster, name: str = "") -> Snapshot:
    """Return a cluster as a snapshot with its own policy: the profile, and over it the ratios it states."""
    groups = {group.uuid: group for group in cluster.groups}
    exclusive = frozenset(node.name for node in cluster.nodes if node.exclusive_storage)
    kept = _kept_back(cluster, exclusive)
    locations = tuple(f"{tag.removeprefix(LOCATION)}:" for tag in cluster.tags if tag.startswith(LOCATION))
    types = ResourceTypes()
    snapshot = Snapshot(
        name=name,
        policy=_policy(cluster, name, types),
        resource_types=types,
        nodes=unique(
            (_node(node, groups[node.group].name, kept[node.name], locations) for node in cluster.nodes),
            "node",
        ),
        groups=unique((_group(group) for group in cluster.groups), "group"),
        workloads=unique((_workload(each, exclusive) for each in cluster.instances), "instance"),
        tags=cluster.tags,
        instance_policy=_bounded(cluster.policy),
    )
    return check_snapshot(snapshot)


def _kept_back(cluster: GanetiCluster, exclusive: frozenset[str]) -> dict[str, Resources]:
    """Return, by node, the disk and spindles that are taken there by others than its own instances.

    Copies of instances that are still to come add to what a node reports: nothing of them is on it yet.
    """
    own = dict.fromkeys((node.name for node in cluster.nodes), 0)
    copies, coming, spindles = dict(own), dict(own), dict(own)
    for each in cluster.instances:
        if each.template not in LOCAL_TEMPLATES:
            continue
        if not each.forthcoming:
            own[each.primary] += each.disk_total_bytes
        if each.secondary:
            kept = coming if each.forthcoming else copies
            kept[each.secondary] += each.disk_total_bytes
            spindles[each.secondary] += each.spindles_total or 0
    found = {}
    for node in cluster.nodes:
        name = node.name
        others = max(copies[name], node.disk_bytes - node.disk_free_bytes - own[name])
        amounts = {DISK: others + coming[name]}
        if name in exclusive:
            amounts[SPINDLES] = spindles[name]
        found[name] = Resources(amounts)
    return found


def _node(node: GanetiNode, group: str, kept: Resources, locations: tuple[str, ...]) -> Node:
    domains = [tag for tag in node.tags if tag.startswith(locations)] if locations else []
    capacity = {CPU: node.cpu_milli, MEMORY: node.memory_bytes, DISK: node.disk_bytes}
    if node.exclusive_storage:
        capacity[SPINDLES] = node.spindles
    free = {MEMORY: node.memory_free_bytes, DISK: node.disk_free_bytes}
    return Node(
        node.name,
        Resources(capacity),
        reserve=Resources({CPU: node.cpu_node_milli, MEMORY: node.memory_node_bytes, **kept}),
        group=group,
        domain=domains[0] if domains else "",
        state="offline" if node.offline else "ready",
        labels=labels_of(node.tags),
        cpu_conversion_factor=node.cpu_speed,
        actual=Resources({name: capacity[name] - min(max(0, free[name]), capacity[name]) for name in free}),
        host=node,
    )


def _group(group: GanetiGroup) -> Group:
    policy = None if group.policy is None else _bounded(group.policy)
    return Group(group.name, labels_of(group.tags), msgspec.structs.replace(group, policy=policy))


def _workload(instance: Instance, exclusive: frozenset[str]) -> Workload:
    """Return an instance; one that is still to come holds its place, though nothing runs there yet."""
    requests = requests_of(instance, is_exclusive=instance.primary in exclusive)
    return Workload(
        instance.name,
        kind=KIND,
        node=instance.primary,
        standby=instance.secondary,
        state="paused" if instance.forthcoming else "ok",
        requests=requests,
        limits=Resources({name: requests.of(name) for name in (CPU, MEMORY)}),
        labels=labels_of(instance.tags),
        instance=instance,
    )


def requests_of(instance: Instance, *, is_exclusive: bool = False) -> Resources:
    """Return what an instance takes of its node; of one that is still to come, what it will take.

    Spindles are taken where storage is exclusive: elsewhere they only measure how busy disks may get.
    """
    amounts = {}
    if instance.status != OFFLINE:
        amounts[CPU] = instance.cpu_milli
    if instance.uses_memory or instance.forthcoming:
        amounts[MEMORY] = instance.memory_bytes
    if instance.template in LOCAL_TEMPLATES:
        amounts[DISK] = instance.disk_total_bytes
        if is_exclusive:
            amounts[SPINDLES] = instance.spindles_total or 0
    return Resources(amounts)


def labels_of(tags: Iterable[str]) -> dict[str, str]:
    """Return tags as labels: what stands after the last colon is the value; the first of a key counts."""
    labels: dict[str, str] = {}
    for tag in tags:
        key, colon, value = tag.rpartition(":")
        labels.setdefault(key if colon else tag, value if colon else "")
    return labels


def _policy(cluster: GanetiCluster, name: str, types: ResourceTypes) -> Policy:
    """Return the profile with the ratios of the cluster and its groups."""
    layer = Layer(
        f"cluster {name}" if name else "cluster",
        cluster=_ratios(cluster.policy),
        groups={group.name: _ratios(group.policy) for group in cluster.groups if group.policy is not None},
        stated=True,
    )
    policy = load_policy(PROFILE, types).with_layer(layer)
    for group in ("", *layer.groups):
        rules_for(policy, types, group)
    return policy


def _ratios(policy: InstancePolicy) -> dict[str, str]:
    ratios = {CPU: policy.cpu_ratio, MEMORY: policy.memory_ratio}
    return {f"{name}-ratio": _ratio(ratio) for name, ratio in ratios.items() if ratio is not None}


def _ratio(ratio: Fraction) -> str:
    return UNLIMITED if ratio < 0 else print_fraction(ratio)


def _bounded(policy: InstancePolicy) -> InstancePolicy:
    """Return a policy whose ratio of processors is not below zero: a negative one sets no bound."""
    return policy if policy.cpu_ratio >= 0 else msgspec.structs.replace(policy, cpu_ratio=Fraction(RATIO_MAX))
