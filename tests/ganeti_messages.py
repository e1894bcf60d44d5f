"""Allocator messages from clusters, and random requests by seed, as Ganeti sends them to its allocator.

A message knows three states of an instance and no choice about balancing, so a cluster is first made such.
Nodes that are offline have no sizes there; drained ones have. Kept away from where the real allocator is
wrong: after the first of several instances on dedicated nodes it forgets all other groups.
"""

from random import Random
from typing import Any

from msgspec.structs import replace

from ganeti_clusters import Kind, random_cluster, random_kind
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

Json = dict[str, Any]
STATES = {"running": "up", "ERROR_up": "up", "ADMIN_offline": "offline"}
KVM_BYTES = 4096 * MIB
MODES = ("primary-only", "secondary-only", "all")
NETWORKS = ("network-0", "network-1")
ALLOCATED = ("drbd", "drbd", "ext", "plain", "rbd", "diskless")


def sendable(cluster: GanetiCluster) -> GanetiCluster:
    """Return a cluster that a message can hold as it is."""
    instances = []
    for each in cluster.instances:
        state = STATES.get(each.status, "down")
        status = {"up": "running", "down": "ADMIN_down", "offline": "ADMIN_offline"}[state]
        instances.append(replace(each, status=status, auto_balance=True))
    nodes = []
    for node in cluster.nodes:
        peers: dict[str, int] = {}
        for each in instances:
            if each.secondary == node.name and each.status != "ADMIN_offline":
                peers[each.primary] = peers.get(each.primary, 0) + each.memory_bytes
        equal = node.memory_free_bytes == max(peers.values(), default=0)
        nodes.append(replace(node, memory_free_bytes=node.memory_free_bytes - MIB) if equal else node)
    return replace(cluster, instances=tuple(instances), nodes=tuple(nodes))


def with_exclusive_storage(cluster: GanetiCluster, random: Random) -> GanetiCluster:
    """Return a cluster whose nodes keep spindles for one instance each."""
    instances = tuple(
        replace(each, disks=tuple(Disk(disk.size_bytes, random.randint(1, 2)) for disk in each.disks))
        for each in cluster.instances
    )
    used: dict[str, int] = {}
    for each in instances:
        if each.template in LOCAL_TEMPLATES:
            for name in (each.primary, each.secondary):
                used[name] = used.get(name, 0) + (each.spindles_total or 0)
    low = [Size(size * MIB, 1, size * 20 * MIB) for size in (256, 1024, 4096)]
    high = Size(65536 * MIB, 16, 1048576 * MIB, 16, 8, 12)
    policy = InstancePolicy(bounds=tuple((each, high) for each in low))
    nodes = tuple(
        replace(
            node,
            exclusive_storage=True,
            spindles=used.get(node.name, 0) + 8,
            spindles_free=random.randint(1, 8),
        )
        for node in cluster.nodes
    )
    groups = tuple(replace(group, policy=policy) for group in cluster.groups)
    return replace(cluster, instances=instances, nodes=nodes, groups=groups)


def on_kvm(cluster: GanetiCluster) -> GanetiCluster:
    """Return a cluster on KVM, where a node is taken to need more memory than it says, and has that too."""
    nodes = tuple(
        replace(each, hypervisor="kvm", memory_bytes=each.memory_bytes + KVM_BYTES - each.memory_node_bytes)
        for each in cluster.nodes
    )
    return replace(cluster, nodes=nodes)


def message_of(cluster: GanetiCluster, request: Json, *, drained: bool = False) -> Json:
    """Return a message; nodes that are offline are drained instead where that is asked for."""
    return {
        "version": 2,
        "cluster_name": "cluster",
        "cluster_tags": list(cluster.tags),
        "enabled_hypervisors": [cluster.nodes[0].hypervisor or "xen-pvm"] if cluster.nodes else [],
        "ipolicy": {},
        "nodegroups": {group.uuid: _group(group) for group in cluster.groups},
        "nodes": {node.name: _node(node, drained=drained) for node in cluster.nodes},
        "instances": {each.name: _instance(each) for each in cluster.instances},
        "request": request,
    }


def _group(group: GanetiGroup) -> Json:
    policy = group.policy or InstancePolicy()
    stated = {} if policy.memory_ratio is None else {"memory-ratio": float(policy.memory_ratio)}
    return {
        "name": group.name,
        "alloc_policy": group.allocation,
        "networks": list(group.networks),
        "tags": list(group.tags),
        "ipolicy": {
            "minmax": [{"min": _size(low), "max": _size(high)} for low, high in policy.bounds],
            "std": _size(policy.standard),
            "disk-templates": list(policy.templates),
            "vcpu-ratio": float(policy.cpu_ratio),
            "spindle-ratio": float(policy.spindle_ratio),
            **stated,
        },
    }


def _size(size: Size) -> Json:
    return {
        "memory-size": size.memory_bytes // MIB,
        "cpu-count": size.cpus,
        "disk-size": size.disk_bytes // MIB,
        "disk-count": size.disks,
        "nic-count": size.nics,
        "spindle-use": size.spindle_use,
    }


def _node(node: GanetiNode, *, drained: bool) -> Json:
    sizes = {
        "total_memory": node.memory_bytes // MIB,
        "reserved_memory": node.memory_node_bytes // MIB,
        "free_memory": node.memory_free_bytes // MIB,
        "total_disk": node.disk_bytes // MIB,
        "free_disk": node.disk_free_bytes // MIB,
        "total_cpus": node.cpu_milli // 1000,
        "reserved_cpus": node.cpu_node_milli // 1000,
        "total_spindles": node.spindles,
        "free_spindles": node.spindles_free,
    }
    if node.offline and not drained:
        sizes = dict.fromkeys(sizes)
    return {
        "group": node.group,
        "offline": node.offline and not drained,
        "drained": node.offline and drained,
        "vm_capable": True,
        "ndparams": {"spindle_count": node.spindles, "exclusive_storage": node.exclusive_storage},
        "tags": list(node.tags),
        **sizes,
    }


def _instance(each: Instance) -> Json:
    return {
        **described(each),
        "nodes": [each.primary, each.secondary] if each.secondary else [each.primary],
        "admin_state": STATES.get(each.status, "down"),
        "forthcoming": each.forthcoming,
    }


def described(each: Instance) -> Json:
    """Return what a message says of an instance, whether it is there or asked for."""
    disks = [{"size": disk.size_bytes // MIB, "spindles": disk.spindles} for disk in each.disks]
    return {
        "memory": each.memory_bytes // MIB,
        "vcpus": each.cpu_milli // 1000,
        "disks": disks,
        "disk_space_total": each.disk_total_bytes // MIB,
        "disk_template": each.template,
        "spindle_use": each.spindle_use,
        "tags": list(each.tags),
        "nics": [{"mode": "bridged", "network": network} for network in each.networks],
    }


def wanted(random: Random, cluster: GanetiCluster, name: str) -> Json:
    """Return an instance that is asked for."""
    template = random.choice(ALLOCATED)
    spindles = random.randint(1, 3) if cluster.nodes[0].exclusive_storage else None
    disks = tuple(Disk(random.randint(1024, 40000) * MIB, spindles) for _ in range(random.choice((1, 1, 2))))
    tags = (f"service:{random.randrange(4)}", f"rack:{random.randrange(3)}")[: random.randrange(3)]
    instance = Instance(
        name,
        random.choice((64, 256, 1024, 3000, 8192, 20000)) * MIB,
        () if template == "diskless" else disks,
        1000 * random.choice((1, 2, 4, 9)),
        template=template,
        tags=tags,
        networks=(random.choice(NETWORKS),) if random.random() < 0.3 else (),
    )
    return {"name": name, **described(instance), "required_nodes": 2 if template == "drbd" else 1}


def random_request(random: Random, cluster: GanetiCluster) -> Json:
    """Return a request about a cluster."""
    instances = cluster.instances
    kind = random.choice(
        ("allocate", "allocate", "relocate", "node-evacuate", "change-group", "multi-allocate", "secondary")
    )
    if kind == "relocate":
        each = random.choice(instances)
        leaves = each.secondary if each.template == "drbd" else each.primary
        return {"type": kind, "name": each.name, "required_nodes": 1, "relocate_from": [leaves]}
    chosen = [each.name for each in random.sample(instances, random.randint(1, min(4, len(instances))))]
    if kind == "node-evacuate":
        return {"type": kind, "instances": chosen, "evac_mode": random.choice(MODES)}
    if kind == "change-group" and len(cluster.groups) > 1:
        groups = [random.choice(cluster.groups).name] if random.random() < 0.3 else []
        return {"type": kind, "instances": chosen, "target_groups": groups}
    if kind == "multi-allocate":
        dedicated = cluster.nodes[0].exclusive_storage
        count = 1 if dedicated and len(cluster.groups) > 1 else random.randint(1, 3)
        many = [wanted(random, cluster, f"new-{number}") for number in range(count)]
        if random.random() < 0.3 and not dedicated:
            return {"type": kind, "instances": many, "group_name": random.choice(cluster.groups).uuid}
        return {"type": kind, "instances": many}
    if kind == "secondary":
        single = [each.name for each in instances if not each.secondary and each.template != "diskless"]
        if single:
            return {"type": "allocate-secondary", "name": random.choice(single)}
    request = {"type": "allocate", **wanted(random, cluster, "new")}
    if random.random() < 0.3:
        request["group_name"] = random.choice(cluster.groups).name
    if random.random() < 0.3:
        nodes = [node.name for node in cluster.nodes]
        request["restrict-to-nodes"] = random.sample(nodes, min(len(nodes), 3))
    return request


def random_message(seed: int, nodes_max: int = 7, instances_max: int = 18) -> tuple[Json, list[str]]:
    """Return the message of a seed, and options to give beside it."""
    random = Random(f"message {seed}")  # noqa: S311 - seeded cases, no secrets
    kind: Kind = random_kind(seed, nodes_max, instances_max)
    cluster = sendable(random_cluster(seed, kind))
    if random.random() < 0.2:
        cluster = with_exclusive_storage(cluster, random)
    if random.random() < 0.2:
        cluster = on_kvm(cluster)
    if random.random() < 0.2:
        share = random.random()
        instances = (replace(each, forthcoming=random.random() < share) for each in cluster.instances)
        cluster = replace(cluster, instances=tuple(instances))
    policies = [
        random.choice(("preferred", "preferred", "last_resort", "unallocable")) for _ in cluster.groups
    ]
    groups = []
    for group, allocation in zip(cluster.groups, policies, strict=True):
        networks = tuple(each for each in NETWORKS if random.random() < 0.8)
        groups.append(replace(group, allocation=allocation, networks=networks))
    cluster = replace(cluster, groups=tuple(groups))
    drained = random.random() < 0.5
    options = []
    if random.random() < 0.5 or any(node.offline for node in cluster.nodes):
        options.append("--no-capacity-checks")
    if random.random() < 0.2:
        options.append("--ignore-soft-errors")
    return message_of(cluster, random_request(random, cluster), drained=drained), options
