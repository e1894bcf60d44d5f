"""Small Ganeti clusters in MiB: what nodes report free follows from the instances on them."""

from typing import Any

from msgspec.structs import replace

from ullage.model.ganeti import (
    LOCAL_TEMPLATES,
    MIB,
    Disk,
    GanetiCluster,
    GanetiGroup,
    GanetiNode,
    Instance,
    InstancePolicy,
    Size,
)

SMALL = InstancePolicy(bounds=((Size(1, 1, 1, 0), Size(1 << 60, 99, 1 << 60, 16, 8, 99)),))


def ganeti_node(name: str, group: str = "g", *, memory: int = 1000, **fields: Any) -> GanetiNode:
    return GanetiNode(
        name, group, memory * MIB, disk_bytes=10_000 * MIB, cpu_milli=64_000, cpu_node_milli=0, **fields
    )


def instance(
    name: str, primary: str = "", secondary: str = "", *, memory: int = 100, **fields: Any
) -> Instance:
    fields.setdefault("template", "drbd" if secondary else "ext")
    return Instance(name, memory * MIB, (Disk(100 * MIB),), 1000, primary, secondary, **fields)


def ganeti_group(name: str, **fields: Any) -> GanetiGroup:
    return GanetiGroup(name, name, policy=fields.pop("policy", SMALL), **fields)


def ganeti_cluster(
    nodes: list[GanetiNode],
    *instances: Instance,
    groups: list[GanetiGroup] | None = None,
    tags: tuple[str, ...] = (),
) -> GanetiCluster:
    named = groups or [ganeti_group(name) for name in dict.fromkeys(node.group for node in nodes)]
    return GanetiCluster(tuple(named), tuple(_measured(node, instances) for node in nodes), instances, tags)


def _measured(node: GanetiNode, instances: tuple[Instance, ...]) -> GanetiNode:
    used = sum(each.memory_bytes for each in instances if each.primary == node.name and each.uses_memory)
    disk = sum(
        each.disk_total_bytes
        for each in instances
        if node.name in {each.primary, each.secondary}
        and each.template in LOCAL_TEMPLATES
        and not each.forthcoming
    )
    return replace(
        node,
        memory_free_bytes=node.memory_bytes - node.memory_node_bytes - used,
        disk_free_bytes=node.disk_bytes - disk,
    )
