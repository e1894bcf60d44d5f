"""Hypothesis strategies for every record of the model; what they draw passes the checks of a snapshot."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from constraint_strategies import (
    TYPES,
    constraints,
    fractions,
    label_maps,
    names,
    optional,
    resource_maps,
    resources,
    seconds,
    sizes,
    texts,
    tuples_of,
)
from ganeti_strategies import ganeti_groups, ganeti_instances, ganeti_nodes, ganeti_policies
from object_strategies import OBJECT_ROWS
from ullage.engine.quota.validation import findings
from ullage.engine.requests import effective_request
from ullage.model.checks import check_snapshot, unique
from ullage.model.cluster import (
    Batch,
    Container,
    Device,
    Group,
    Node,
    Outage,
    Quota,
    Snapshot,
    Taint,
    Volume,
    Workload,
)
from ullage.model.delta import TABLE_FACTS, TABLES, Delta
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.policy import Layer, Policy
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import GPU_MILLI, Resources

taints = st.builds(Taint, texts, texts, st.sampled_from(("NoSchedule", "PreferNoSchedule", "NoExecute")))
devices = st.builds(Device, texts, st.sampled_from(("nvidia.com/gpu", GPU_MILLI)), texts, sizes)
drive_classes = st.sampled_from(("HDD", "SSD", "NVME"))
storage_groups = st.sampled_from(("", "fast", "a b"))
drives = st.builds(
    Drive,
    uuid=names,
    drive_class=drive_classes,
    size_bytes=sizes,
    health=st.sampled_from(("GOOD", "SUSPECT", "BAD", "UNKNOWN")),
    status=st.sampled_from(("ONLINE", "OFFLINE")),
    usage=st.sampled_from(("IN_USE", "RELEASING", "REMOVED")),
    system=st.booleans(),
    clean=st.booleans(),
    path=texts,
    model=texts,
    storage_group=storage_groups,
    tainted=st.booleans(),
    cold=st.booleans(),
)


@st.composite
def volume_groups(draw: st.DrawFn) -> VolumeGroup:
    size_bytes = draw(sizes)
    return VolumeGroup(
        draw(names),
        draw(drive_classes),
        size_bytes,
        draw(st.integers(0, size_bytes)),
        draw(st.sampled_from((1, 4 << 20))),
        draw(tuples_of(texts)),
        draw(st.booleans()),
        draw(storage_groups),
        draw(st.booleans()),
    )


@st.composite
def with_volumes(draw: st.DrawFn, inner: st.SearchStrategy[Node]) -> Node:
    """A node with volumes on its drives and in its groups, where it has any."""
    node = draw(inner)
    places = [each.uuid for each in node.drives] + [each.name for each in node.volume_groups]
    if not places:
        return node
    volume = st.builds(PlacedVolume, names, st.sampled_from(places), sizes, texts, texts, st.booleans())
    return msgspec.structs.replace(node, placed_volumes=draw(differing(volume, "name")))


def differing(inner: st.SearchStrategy[Any], field: str) -> st.SearchStrategy[tuple[Any, ...]]:
    """A few records, of which no two have the same name."""
    return st.lists(inner, max_size=2, unique_by=lambda each: getattr(each, field)).map(tuple)


def nodes(name: st.SearchStrategy[str] = names) -> st.SearchStrategy[Node]:
    described = st.builds(
        Node,
        name=name,
        capacity=resources,
        reserve=optional(resources),
        group=st.sampled_from(("default", "gpu", "a b")),
        domain=texts,
        state=st.sampled_from(("ready", "cordoned", "offline")),
        labels=label_maps,
        taints=tuples_of(taints),
        swap_bytes=optional(sizes),
        cpu_conversion_factor=fractions,
        actual=optional(resources),
        devices=tuples_of(devices),
        drives=differing(drives, "uuid"),
        volume_groups=differing(volume_groups(), "name"),
        attach_limits=st.dictionaries(texts, sizes, max_size=2),
        qualities=label_maps,
        host=optional(ganeti_nodes),
    )
    return with_volumes(described)


groups = st.builds(Group, names, label_maps, optional(ganeti_groups))
parts = resource_maps(st.integers(0, 1 << 44))
containers = st.builds(Container, texts, st.sampled_from(("main", "init", "sidecar")), parts, resources)
flags = st.booleans()
volumes = st.builds(Volume, texts, texts, texts, sizes, flags, texts, storage_groups, flags, flags)
workload_states = st.sampled_from(("init", "ok", "error", "paused", "deleted"))


nowhere = st.just("")


def in_whole_steps(amounts: Resources) -> Resources:
    """Amounts that can be handed out: the nearest below, where the type has steps."""
    steps = {name: TYPES[name].quantization for name in amounts}
    return Resources({name: amount // steps[name] * steps[name] for name, amount in amounts.items()})


def consistent(workload: Workload) -> Workload:
    """A workload that asks for whole steps, and for no less than its containers together."""
    containers = tuple(
        msgspec.structs.replace(each, requests=in_whole_steps(each.requests)) for each in workload.containers
    )
    overhead = in_whole_steps(workload.overhead)
    requests = in_whole_steps(workload.requests).larger(effective_request(containers, overhead))
    return msgspec.structs.replace(workload, containers=containers, overhead=overhead, requests=requests)


outages = st.builds(Outage, texts, st.integers(0, 1000), st.booleans(), seconds)


def workloads(
    name: st.SearchStrategy[str] = names, node: st.SearchStrategy[str] = nowhere
) -> st.SearchStrategy[Workload]:
    return st.builds(
        Workload,
        name=name,
        namespace=st.sampled_from(("", "web", "ml")),
        kind=st.sampled_from(("Pod", "zmachine")),
        node=node,
        standby=node,
        state=workload_states,
        requests=resources,
        limits=resources,
        containers=tuples_of(containers),
        overhead=resource_maps(st.integers(0, 1 << 44), most=1),
        priority=st.integers(-(1 << 31), 1 << 31),
        owner=texts,
        created_seconds=seconds,
        terminating=st.booleans(),
        labels=label_maps,
        constraints=constraints,
        volumes=tuples_of(volumes, 1),
        scheduler=texts,
        preempts=st.booleans(),
        gang=texts,
        gang_min=st.integers(0, 1000),
        priority_class=texts,
        runtime_class=texts,
        qualities=label_maps,
        instance=optional(ganeti_instances),
        host_path=st.booleans(),
        started_seconds=seconds,
        outages=tuples_of(outages, 1),
    ).map(consistent)


batches = st.builds(Batch, workloads(), st.integers(0, 1000), st.booleans())
capacity_names = st.one_of(
    st.builds("{}/{}/{}".format, st.sampled_from(("drive", "group")), names, names),
    st.builds("{}/{}".format, st.sampled_from(("node", "quota", "cache")), names),
)
ledger_entries = st.builds(
    LedgerEntry,
    reservation=names,
    request=texts,
    capacity=capacity_names,
    owner=texts,
    resources=resources,
    state=st.sampled_from(("REQUESTED", "WAITING", "RESERVED", "BOUND", "RELEASED", "REJECTED", "EXPIRED")),
    paused=st.booleans(),
    created_seconds=seconds,
    expires_seconds=seconds,
    queue_position=optional(st.integers(0, 1000)),
    blocked_by=texts,
    reason=texts,
)


queues = st.builds("{}/{}".format, st.sampled_from(("ml", "web")), st.sampled_from(("main", "b.c", "d")))


@st.composite
def quotas(draw: st.DrawFn, parents: tuple[str, ...] = ()) -> Quota:
    least = draw(resources)
    above = draw(resource_maps(st.integers(0, 1 << 40)))
    most = {name: min(INT64_MAX, least.of(name) + amount) for name, amount in above.items()}
    return Quota(
        draw(names),
        draw(st.sampled_from(("ElasticQuota", "CompositeElasticQuota", "Quota"))),
        draw(tuples_of(texts)) or (draw(names),),
        least,
        Resources(most),
        draw(st.sampled_from(("", *parents))),
        draw(optional(fractions)),
        draw(optional(resources)),
        draw(optional(resources)),
        draw(tuples_of(queues)),
    )


@st.composite
def quota_trees(draw: st.DrawFn) -> tuple[Quota, ...]:
    """Quotas of which each has no parent or one drawn before it, and with which nothing is wrong together."""
    tree: dict[str, Quota] = {}
    for _ in range(draw(st.integers(0, 3))):
        drawn = draw(quotas(tuple(tree)))
        together = (*tree.values(), drawn)
        if drawn.name not in tree and all(each.severity != "error" for each in findings(together, None)):
            tree[drawn.name] = drawn
    return tuple(tree.values())


setting_values = {
    "memory-ratio": ("1", "1.5", "unlimited"),
    "cpu-ratio": ("4", "4/3"),
    "memory-reserve": ("1Gi", "10%, at least 2Gi"),
    "committed": ("promised", "actual"),
    "spare-nodes": ("0", "1"),
    "swap": ("8Gi", "unknown"),
    "admission-order": ("", "volume zmachine"),
}
setting_maps = st.fixed_dictionaries(
    {}, optional={key: st.sampled_from(values) for key, values in setting_values.items()}
)
scoped_settings = st.dictionaries(names, setting_maps, max_size=2)
layers = st.builds(Layer, names, st.booleans(), setting_maps, scoped_settings, scoped_settings)
policies = st.builds(Policy, names, tuples_of(layers))


def by_key(drawn: list[Any]) -> tuple[Any, ...]:
    """Drawn rows without those whose key came before."""
    return tuple({row.key: row for row in drawn}.values())


PLAIN_ROWS = {"groups": groups, "reservations": ledger_entries, **OBJECT_ROWS}
"""Rows that refer to no other row by a name that a check looks up."""


@st.composite
def plain_rows(draw: st.DrawFn) -> dict[str, tuple[Any, ...]]:
    """Rows of the tables in which any row may stand; few tables have any."""
    filled = draw(st.sets(st.sampled_from(sorted(PLAIN_ROWS)), max_size=4))
    return {name: by_key(draw(st.lists(PLAIN_ROWS[name], max_size=2))) for name in sorted(filled)}


@st.composite
def snapshots(draw: st.DrawFn, name: st.SearchStrategy[str] = names) -> Snapshot:
    drawn_nodes = by_key(draw(st.lists(nodes(name), max_size=3)))
    homes = st.sampled_from(("", *(each.name for each in drawn_nodes)))
    rows = {
        **draw(plain_rows()),
        "nodes": drawn_nodes,
        "workloads": by_key(draw(st.lists(workloads(name, homes), max_size=4))),
        "quotas": draw(quota_trees()),
    }
    return check_snapshot(
        Snapshot(
            name=draw(texts),
            revision=draw(st.integers(0, 1 << 40)),
            policy=draw(policies),
            resource_types=TYPES,
            unknowns=draw(tuples_of(texts)),
            tags=draw(tuples_of(texts)),
            instance_policy=draw(optional(ganeti_policies)),
            taken_seconds=draw(seconds),
            **{table: unique(each, TABLE_FACTS[table].singular) for table, each in rows.items()},
        )
    )


@st.composite
def deltas(draw: st.DrawFn) -> Delta:
    return Delta(
        revision=draw(optional(st.integers(0, 1 << 40))),
        nodes=by_key(draw(st.lists(nodes(), max_size=2))),
        workloads=by_key(draw(st.lists(workloads(), max_size=2))),
        quotas=draw(quota_trees()),
        dropped=draw(st.dictionaries(st.sampled_from(TABLES), tuples_of(names), max_size=2)),
        **draw(plain_rows()),
    )
