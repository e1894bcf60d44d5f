"""Ganeti's allocator protocol: one JSON message that holds the whole cluster and what is asked of it.

The hard thing is what a node that cannot be asked looks like: its sizes are null, so they are read only
where it is online and may hold instances. The order of objects is that of the message, which decides ties.
"""

from fractions import Fraction
from typing import Final, NamedTuple, cast, get_args

import msgspec

from ullage.engine.balance.requests import (
    Allocate,
    AllocateMany,
    AllocateStandby,
    ChangeGroup,
    Evacuate,
    EvacuationMode,
    Relocate,
    Request,
    Wanted,
)
from ullage.model.errors import InputError
from ullage.model.ganeti import (
    MIB,
    AllocationPolicy,
    Disk,
    DiskTemplate,
    GanetiCluster,
    GanetiGroup,
    GanetiNode,
    Instance,
    InstancePolicy,
    Status,
)
from ullage.sources.ganeti.json_fields import Fields
from ullage.sources.ganeti.json_policy import read_memory_ratio, read_policy

CHARACTERS_MAX: Final = 256 << 20
HYPERVISORS: Final = ("kvm", "xen-pvm", "chroot", "xen-hvm", "fake", "lxc")
NIC_MODES: Final = ("bridged", "routed", "openvswitch")
_STATUS: Final[dict[str, Status]] = {"offline": "ADMIN_offline", "down": "ADMIN_down", "up": "running"}
_POLICY_KEYS: Final = ("disk-templates", "minmax", "spindle-ratio", "std", "vcpu-ratio", "memory-ratio")


class Message(NamedTuple):
    """The cluster of a message and what is asked."""

    cluster: GanetiCluster
    request: Request


def read_message(content: str) -> Message:
    """Return what a message says; errors say which part of it is wrong."""
    message = Fields(_decoded(content), "invalid iallocator message")
    asked = Fields(message.within("request").values, "invalid request dict")
    groups = tuple(_group(uuid, fields) for uuid, fields in message.named("nodegroups", "group"))
    uuids = frozenset(group.uuid for group in groups)
    nodes = tuple(_node(name, fields, uuids) for name, fields in message.named("nodes", "node"))
    names = frozenset(node.name for node in nodes)
    instances = tuple(
        _instance(name, fields, names) for name, fields in message.named("instances", "instance")
    )
    tags = message.texts("cluster_tags")
    hypervisor = _hypervisor(message)
    nodes = tuple(msgspec.structs.replace(node, hypervisor=hypervisor) for node in nodes)
    policy = InstancePolicy(memory_ratio=_cluster_ratio(message))
    return Message(GanetiCluster(groups, nodes, instances, tags, policy), _request(asked))


def read_cluster(content: str, name: str = "") -> GanetiCluster:
    """Return the cluster of a message whatever is asked; errors name the file as `name`."""
    try:
        return read_message(content).cluster
    except InputError as error:
        raise (error.at(name) if name else error) from None


def _decoded(content: str) -> dict[str, object]:
    where = "Parsing input IAllocator message"
    if len(content) > CHARACTERS_MAX:
        raise InputError("it is too large", where=where, remedy=f"the most is {CHARACTERS_MAX} characters")
    if content.lstrip()[:1] not in {"{", "["}:
        what = "Invalid JSON: a JSON text a serialized object or array at the top level."
        raise InputError(what, where=where)
    try:
        decoded = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError) as error:
        raise InputError(f"Malformed JSON: {error}", where=where) from None
    if not isinstance(decoded, dict):
        raise InputError("Unable to read JSObject", where=where)
    return decoded


def _hypervisor(message: Fields) -> str:
    """Return the first hypervisor in use: the message does not say which one a node has."""
    key = "enabled_hypervisors"
    if not message.has(key):
        return ""
    names = [message.one_of(key, each, "Hypervisor", HYPERVISORS) for each in message.texts(key)]
    return names[0] if names else ""


def _group(uuid: str, fields: Fields) -> GanetiGroup:
    return GanetiGroup(
        fields.text("name"),
        uuid,
        cast("AllocationPolicy", fields.choice("alloc_policy", "AllocPolicy", get_args(AllocationPolicy))),
        networks=fields.texts("networks"),
        policy=_policy(fields.within("ipolicy")),
        tags=fields.texts("tags"),
    )


def _policy(fields: Fields) -> InstancePolicy:
    policy = read_policy(fields)
    superfluous = sorted(set(fields.values).difference(_POLICY_KEYS))
    if superfluous:
        listed = ", ".join(superfluous[:10])
        raise fields.error(f"Superfluous dictionary keys: {listed}", remedy=f"use {', '.join(_POLICY_KEYS)}")
    return policy


def _cluster_ratio(message: Fields) -> Fraction | None:
    """Return the memory ratio that the cluster states for its groups; the rest of its policy is not used."""
    return read_memory_ratio(message.within("ipolicy")) if message.has("ipolicy") else None


def _node(name: str, fields: Fields, groups: frozenset[str]) -> GanetiNode:
    offline, drained, group = fields.flag("offline"), fields.flag("drained"), fields.text("group")
    capable = fields.flag("vm_capable") if fields.has("vm_capable") else True
    if group not in groups:
        raise InputError(f"Unknown group '{group}' for node {name}")
    parameters = Fields(fields.within("ndparams").values, fields.owner)
    tags = fields.texts("tags") if fields.has("tags") else ()
    exclusive = parameters.flag("exclusive_storage")
    live = not offline and capable
    spindles = 0 if exclusive else parameters.whole("spindle_count")
    if not live:
        return GanetiNode(
            name,
            group,
            cpu_node_milli=0,
            offline=True,
            spindles=spindles,
            exclusive_storage=exclusive,
            tags=tags,
        )
    return GanetiNode(
        name,
        group,
        memory_bytes=round(fields.number("total_memory") * MIB),
        memory_node_bytes=fields.whole("reserved_memory") * MIB,
        memory_free_bytes=fields.whole("free_memory", signed=True) * MIB,
        disk_bytes=round(fields.number("total_disk") * MIB),
        disk_free_bytes=fields.whole("free_disk", signed=True) * MIB,
        cpu_milli=round(fields.number("total_cpus") * 1000),
        cpu_node_milli=fields.whole("reserved_cpus") * 1000,
        offline=drained,
        spindles=fields.whole("total_spindles") if exclusive else spindles,
        spindles_free=fields.whole("free_spindles", signed=True),
        exclusive_storage=exclusive,
        tags=tags,
    )


def _instance(name: str, fields: Fields, nodes: frozenset[str]) -> Instance:
    base = _base_instance(name, fields)
    places = fields.texts("nodes")
    if not places:
        raise InputError(f"empty node list for instance {name}")
    for place in places[:2]:
        if place not in nodes:
            raise InputError(f"Unknown node '{place}' for instance {name}")
    primary, secondary = places[0], places[1] if len(places) > 1 else ""
    if primary == secondary:
        raise fields.error(f"'{primary}' is its node twice", remedy="its copy is on another node")
    return msgspec.structs.replace(base, primary=primary, secondary=secondary)


def _base_instance(name: str, fields: Fields, *, wanted: bool = False) -> Instance:
    """Return what an instance of the cluster and one that is asked for have in common.

    One that is wanted may have sizes below zero: no policy allows these, and the answer says so.
    """
    disks = tuple(
        Disk(
            each.whole("size", signed=wanted) * MIB, each.whole("spindles") if each.has("spindles") else None
        )
        for each in fields.objects("disks")
    )
    template = fields.choice("disk_template", "DiskTemplate", get_args(DiskTemplate))
    networks = []
    for nic in fields.objects("nics"):
        if nic.has("mode") and nic.text("mode") not in NIC_MODES:
            raise InputError(f"invalid NIC mode in instance {name}", remedy=f"use {', '.join(NIC_MODES)}")
        if nic.has("network"):
            networks.append(nic.text("network"))
    state = fields.values.get("admin_state")
    return Instance(
        name,
        fields.whole("memory", signed=wanted) * MIB,
        disks,
        fields.whole("vcpus", signed=wanted) * 1000,
        status=_STATUS.get(state, "running") if isinstance(state, str) else "running",
        template=cast("DiskTemplate", template),
        tags=fields.texts("tags"),
        spindle_use=fields.whole("spindle_use", signed=wanted),
        forthcoming=fields.values.get("forthcoming") is True,
        networks=tuple(networks),
        disk_bytes=fields.whole("disk_space_total") * MIB,
    )


def _request(fields: Fields) -> Request:
    kind = fields.text("type")
    if kind == "allocate":
        restricted = fields.texts("restrict-to-nodes") if fields.has("restrict-to-nodes") else None
        return Allocate(_wanted(fields, fields), restricted)
    if kind == "relocate":
        name = fields.text("name")
        return Relocate(name, fields.whole("required_nodes", signed=True), fields.texts("relocate_from"))
    if kind == "change-group":
        return ChangeGroup(_instances(fields), fields.texts("target_groups"))
    if kind == "node-evacuate":
        mode = fields.choice("evac_mode", "EvacMode", get_args(EvacuationMode))
        return Evacuate(_instances(fields), cast("EvacuationMode", mode))
    if kind == "multi-allocate":
        return AllocateMany(tuple(_wanted(each, fields) for each in fields.objects("instances")))
    if kind == "allocate-secondary":
        return AllocateStandby(fields.text("name"))
    known = "allocate, relocate, change-group, node-evacuate, multi-allocate or allocate-secondary"
    raise InputError(f"Invalid request type '{kind}'", remedy=f"use {known}")


def _wanted(fields: Fields, request: Fields) -> Wanted:
    """Return an instance that is asked for; its group is its own, else that of the whole request."""
    name = fields.text("name")
    owner = fields if fields.has("group_name") else request
    group = owner.text("group_name") if owner.has("group_name") else None
    hosts = fields.whole("required_nodes", signed=True)
    described = Fields(fields.values, f"invalid data for instance '{name}'")
    return Wanted(_base_instance(name, described, wanted=True), hosts, group)


def _instances(fields: Fields) -> tuple[str, ...]:
    names = fields.texts("instances")
    if len(set(names)) < len(names):
        raise fields.error("key 'instances' names an instance twice", remedy="name each once")
    return names
