"""Ganeti's remote interface (RAPI): a cluster from four documents, of a server or saved in a folder.

The hard thing is memory. Xen says what its control domain has; elsewhere the memory of a node's own is what
the kernel happens to use at the moment, so a stated amount is better. And an instance may run with less than
it may have: what it may have is what placement has to keep.
"""

import os
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, cast, get_args

import msgspec

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
    Status,
)
from ullage.sources.ganeti.json_fields import LISTED_MAX, Fields
from ullage.sources.ganeti.json_policy import read_policy
from ullage.sources.ganeti.rapi_server import RESPONSE_BYTES_MAX, fetch, parse_server

FILE_PREFIX: Final = "file://"
XEN: Final = frozenset(("xen-pvm", "xen-hvm"))
_GROUPS, _NODES, _INSTANCES, _INFO = "groups", "nodes", "instances", "info"
_PATHS: Final = {
    _GROUPS: "/2/groups?bulk=1",
    _NODES: "/2/nodes?bulk=1",
    _INSTANCES: "/2/instances?bulk=1",
    _INFO: "/2/info",
}


class MemoryRules(NamedTuple):
    """Which memory counts.

    `node_bytes` is what a node keeps for itself where neither Xen nor its own state says so, None for what it
    reports; `configured` takes the most that instances may have, not what running ones have now.
    """

    node_bytes: int | None = None
    configured: bool = False


HTOOLS_RULES: Final = MemoryRules()
OWN_RULES: Final = MemoryRules(1024 * MIB, configured=True)


def read_rapi(place: str, rules: MemoryRules = HTOOLS_RULES) -> GanetiCluster:
    """Return the cluster of a server, or of a folder with groups.json, nodes.json and so on."""
    folder = place.removeprefix(FILE_PREFIX)
    if folder != place or os.path.isdir(place):  # noqa: PTH112 - Path.is_dir raises where one may not look
        return cluster_of_documents(lambda name: _saved(folder, name), rules)
    server = parse_server(place)
    return cluster_of_documents(lambda name: fetch(server, _PATHS[name]), rules)


def cluster_of_documents(document: Callable[[str], bytes], rules: MemoryRules) -> GanetiCluster:
    """Return the cluster of documents that are asked for by name: groups, nodes, instances, info."""
    groups = [_group(each) for each in _listed(document(_GROUPS), _GROUPS)]
    node_fields = _listed(document(_NODES), _NODES)
    instance_fields = _listed(document(_INSTANCES), _INSTANCES)
    info = Fields(_decoded(document(_INFO), _INFO, dict), _INFO)
    hypervisor, master = info.text("default_hypervisor"), info.text("master")
    uuids = _names((each.uuid for each in groups), _GROUPS)
    nodes = [_node(each, uuids, hypervisor, master, rules) for each in node_fields]
    names = _names((each.name for each in nodes), _NODES)
    if master not in names:
        raise info.error(f"the master '{master}' is no node", remedy="save all documents at the same time")
    instances = [_instance(each, names, rules) for each in instance_fields]
    return GanetiCluster(
        groups=tuple(groups),
        nodes=tuple(nodes),
        instances=tuple(instances),
        tags=info.texts("tags"),
        policy=read_policy(info.within("ipolicy")),
    )


def _saved(folder: str, name: str) -> bytes:
    path = os.path.join(folder, f"{name}.json")  # noqa: PTH118 - messages name the path as it was written
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - see above
            data = file.read(RESPONSE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(str(reason), where=path, remedy=f"save {_PATHS[name]} of the server there") from None
    if len(data) > RESPONSE_BYTES_MAX:
        raise InputError(
            "the file is too large", where=path, remedy=f"the most is {RESPONSE_BYTES_MAX} bytes"
        )
    return data


def _decoded(data: bytes, name: str, kind: type) -> dict[str, object]:
    try:
        decoded = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InputError(f"this is no JSON: {error}", where=name, remedy="save it again") from None
    if not isinstance(decoded, kind):
        what = "an object" if kind is dict else "a list of objects (ask with ?bulk=1)"
        raise InputError("this is another document", where=name, remedy=f"give {what}")
    return cast("dict[str, object]", decoded)


def _listed(data: bytes, name: str) -> list[Fields]:
    """Return the objects of a list, each called by its name in errors."""
    objects = cast("list[object]", _decoded(data, name, list))
    if len(objects) > LISTED_MAX:
        raise InputError(f"it lists {len(objects)}", where=name, remedy=f"the most is {LISTED_MAX}")
    found = []
    for number, each in enumerate(objects, 1):
        if not isinstance(each, dict):
            raise InputError(f"number {number} is no object", where=name, remedy="ask with ?bulk=1")
        found.append(Fields(each, f"{name}: {each.get('name', f'number {number}')}"))
    return found


def _names(names: Iterable[str], what: str) -> frozenset[str]:
    listed = list(names)
    known = frozenset(listed)
    if len(known) < len(listed):
        raise InputError("a name is there twice", where=what, remedy="save the document again")
    return known


def _group(fields: Fields) -> GanetiGroup:
    policy = fields.choice("alloc_policy", "AllocPolicy", get_args(AllocationPolicy))
    return GanetiGroup(
        fields.text("name"),
        fields.text("uuid"),
        cast("AllocationPolicy", policy),
        tags=fields.texts("tags"),
        policy=read_policy(fields.within("ipolicy")),
    )


def _node(
    fields: Fields, groups: frozenset[str], hypervisor: str, master: str, rules: MemoryRules
) -> GanetiNode:
    name, group = fields.text("name"), fields.text("group.uuid")
    if group not in groups:
        raise fields.error(f"there is no group '{group}'", remedy="save all documents at the same time")
    parameters = fields.within("ndparams")
    exclusive = parameters.flag("exclusive_storage")
    live = not fields.flag("offline") and (not fields.has("vm_capable") or fields.flag("vm_capable"))
    spindles = 0 if exclusive else parameters.whole("spindle_count")
    node = GanetiNode(
        name,
        group,
        cpu_node_milli=0,
        offline=not live or fields.flag("drained"),
        master=name == master,
        spindles=spindles,
        exclusive_storage=exclusive,
        tags=fields.texts("tags"),
        hypervisor=hypervisor,
    )
    if not live:
        return node
    return msgspec.structs.replace(
        node,
        memory_bytes=int(fields.number("mtotal") * MIB),
        memory_node_bytes=_node_memory(fields, hypervisor, rules),
        memory_free_bytes=fields.whole("mfree", signed=True) * MIB,
        disk_bytes=int(fields.number("dtotal") * MIB) if fields.has("dtotal") else 0,
        disk_free_bytes=fields.whole("dfree", signed=True) * MIB if fields.has("dfree") else 0,
        cpu_milli=int(fields.number("ctotal") * 1000),
        cpu_node_milli=fields.whole("cnos") * 1000,
        spindles=fields.whole("sptotal") if exclusive else spindles,
        spindles_free=fields.whole("spfree", signed=True) if fields.has("spfree") else 0,
    )


def _node_memory(fields: Fields, hypervisor: str, rules: MemoryRules) -> int:
    """Return the memory that a node keeps for itself."""
    reported = fields.whole("mnode") * MIB
    if hypervisor in XEN or rules.node_bytes is None:
        return reported
    if fields.has("hv_state") and fields.within("hv_state").has(hypervisor):
        state = fields.within("hv_state").within(hypervisor)
        if state.has("mem_node"):
            return state.whole("mem_node") * MIB
    return rules.node_bytes


def _instance(fields: Fields, nodes: frozenset[str], rules: MemoryRules) -> Instance:
    parameters = fields.within("beparams")
    secondaries = fields.texts("snodes")
    primary, secondary = fields.text("pnode"), secondaries[0] if secondaries else ""
    for each in filter(None, (primary, secondary)):
        if each not in nodes:
            raise fields.error(f"there is no node '{each}'", remedy="save all documents at the same time")
    status = fields.choice("status", "InstanceStatus", get_args(Status))
    template = fields.choice("disk_template", "DiskTemplate", get_args(DiskTemplate))
    return Instance(
        fields.text("name"),
        _memory(fields, parameters, rules),
        _disks(fields),
        parameters.whole("vcpus") * 1000,
        primary,
        secondary,
        cast("Status", status),
        parameters.flag("auto_balance"),
        cast("DiskTemplate", template),
        tags=fields.texts("tags"),
        spindle_use=parameters.whole("spindle_use"),
        forthcoming=fields.flag("forthcoming") if fields.has("forthcoming") else False,
        disk_bytes=fields.whole("disk_usage") * MIB,
    )


def _memory(fields: Fields, parameters: Fields, rules: MemoryRules) -> int:
    """Return what a running instance has, else the most that it may have."""
    if not rules.configured and fields.has("oper_ram") and not isinstance(fields.value("oper_ram"), str):
        return fields.whole("oper_ram") * MIB
    return parameters.whole("memory" if parameters.has("memory") else "maxmem") * MIB


def _disks(fields: Fields) -> tuple[Disk, ...]:
    sizes = fields.items("disk.sizes")
    spindles = fields.items("disk.spindles") if fields.has("disk.spindles") else [None] * len(sizes)
    each = (Fields({"size": a, "spindles": b}, fields.owner) for a, b in zip(sizes, spindles, strict=False))
    return tuple(
        Disk(disk.whole("size") * MIB, disk.whole("spindles") if disk.has("spindles") else None)
        for disk in each
    )
