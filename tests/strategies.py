"""Hypothesis strategies for every record of the model; what they draw passes the checks of a snapshot."""

from fractions import Fraction
from typing import Any

import msgspec
from hypothesis import strategies as st

from ullage.engine.requests import effective_request
from ullage.model.checks import check_snapshot, unique
from ullage.model.cluster import (
    Batch,
    Claim,
    Container,
    Device,
    Drive,
    Group,
    Node,
    Quota,
    Snapshot,
    Taint,
    Volume,
    VolumeGroup,
    Workload,
)
from ullage.model.constraints import (
    Affinity,
    Constraints,
    HostPort,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PreferredNodeTerm,
    Requirement,
    Toleration,
    TopologySpread,
    WeightedPodAffinityTerm,
)
from ullage.model.delta import Delta
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.policy import Layer, Policy
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import GPU_MEMORY, GPU_MILLI, Resources, ResourceType, ResourceTypes

LICENCES = ResourceType("example.com/licences", "licence")
BANDWIDTH = ResourceType("example.com/bandwidth", "byte per second", 6, is_compressible=True, quantization=7)
TYPES = ResourceTypes((LICENCES, BANDWIDTH))
RESOURCE_NAMES = (
    "cpu", "memory", "ephemeral-storage", "pods", "hugepages-2Mi", "attachable-volumes-csi", "nvidia.com/gpu",
    GPU_MEMORY, GPU_MILLI, LICENCES.name, BANDWIDTH.name,
)  # fmt: skip

# Words that YAML or a careless reader may take for something else come up often.
TRICKY = (
    "0", "1e3", "0o17", "0x1F", "0b1", "1_000", "12:30", "2001-01-01", "yes", "No", "on", "null", "~", "true",
    ".5", "-", "- a", "a: b", "#a", "{}", "[", "*a", "&a", "!a", "%a", "'", '"', "<<", "=", "y", "é", "日本",
    "\u2028", " a", "a ", "a\tb",
)  # fmt: skip
plain_text = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12)
texts = st.one_of(st.sampled_from(TRICKY), plain_text, st.text("abc-./_09", max_size=8))
NAME_CHARACTERS = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))
names = st.one_of(
    st.text("abcxyz-.0123", min_size=1, max_size=8), st.text(NAME_CHARACTERS, min_size=1, max_size=6)
)
label_maps = st.dictionaries(texts, texts, max_size=3)
sizes = st.one_of(st.integers(0, 1 << 44), st.integers(0, INT64_MAX))
seconds = st.none() | st.integers(0, 1 << 40)
fractions = st.builds(Fraction, st.integers(1, 999), st.integers(1, 999))


def optional(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | inner


def tuples_of(inner: st.SearchStrategy[Any], most: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(inner, max_size=most).map(tuple)


def resource_maps(amounts: st.SearchStrategy[int] = sizes, most: int = 4) -> st.SearchStrategy[Resources]:
    return st.dictionaries(st.sampled_from(RESOURCE_NAMES), amounts, max_size=most).map(Resources)


resources = resource_maps()
taints = st.builds(Taint, texts, texts, st.sampled_from(("NoSchedule", "PreferNoSchedule", "NoExecute")))
devices = st.builds(Device, texts, st.sampled_from(("nvidia.com/gpu", GPU_MILLI)), texts, sizes)
drive_classes = st.sampled_from(("HDD", "SSD", "NVME"))
drives = st.builds(
    Drive,
    uuid=texts,
    drive_class=drive_classes,
    size_bytes=sizes,
    health=st.sampled_from(("GOOD", "SUSPECT", "BAD", "UNKNOWN")),
    status=st.sampled_from(("ONLINE", "OFFLINE")),
    usage=st.sampled_from(("IN_USE", "RELEASING", "REMOVED")),
    system=st.booleans(),
    clean=st.booleans(),
    path=texts,
    model=texts,
)


@st.composite
def volume_groups(draw: st.DrawFn) -> VolumeGroup:
    size_bytes = draw(sizes)
    return VolumeGroup(
        draw(texts),
        draw(drive_classes),
        size_bytes,
        draw(st.integers(0, size_bytes)),
        draw(st.sampled_from((1, 4 << 20))),
        draw(tuples_of(texts)),
        draw(st.booleans()),
    )


def nodes(name: st.SearchStrategy[str] = names) -> st.SearchStrategy[Node]:
    return st.builds(
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
        drives=tuples_of(drives),
        volume_groups=tuples_of(volume_groups()),
        qualities=label_maps,
    )


groups = st.builds(Group, names, label_maps)
operators = st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
requirements = st.builds(Requirement, texts, operators, tuples_of(texts))
selector_terms = st.builds(NodeSelectorTerm, tuples_of(requirements), tuples_of(requirements, 1))
label_selectors = st.builds(LabelSelector, label_maps, tuples_of(requirements, 1))
weights = st.integers(1, 100)
node_affinities = st.builds(
    NodeAffinity,
    optional(st.builds(NodeSelector, tuples_of(selector_terms))),
    tuples_of(st.builds(PreferredNodeTerm, weights, selector_terms), 1),
)
pod_terms = st.builds(
    PodAffinityTerm,
    texts,
    optional(label_selectors),
    tuples_of(texts),
    optional(label_selectors),
    tuples_of(texts, 1),
    tuples_of(texts, 1),
)
pod_affinities = st.builds(
    PodAffinity, tuples_of(pod_terms, 1), tuples_of(st.builds(WeightedPodAffinityTerm, weights, pod_terms), 1)
)
affinities = st.builds(
    Affinity, optional(node_affinities), optional(pod_affinities), optional(pod_affinities)
)
spreads = st.builds(
    TopologySpread,
    st.integers(1, 5),
    texts,
    st.sampled_from(("DoNotSchedule", "ScheduleAnyway")),
    optional(label_selectors),
    optional(st.integers(1, 5)),
    st.sampled_from(("Honor", "Ignore")),
    st.sampled_from(("Honor", "Ignore")),
    tuples_of(texts, 1),
)
constraints = st.one_of(
    st.just(Constraints()),
    st.builds(
        Constraints,
        label_maps,
        optional(affinities),
        tuples_of(st.builds(Toleration, texts, st.sampled_from(("Equal", "Exists")), texts, texts), 1),
        tuples_of(spreads, 1),
        tuples_of(st.builds(HostPort, st.integers(1, 65535), st.sampled_from(("TCP", "UDP")), texts), 1),
        tuples_of(texts, 1),
    ),
)
parts = resource_maps(st.integers(0, 1 << 44))
containers = st.builds(Container, texts, st.sampled_from(("main", "init", "sidecar")), parts, resources)
volumes = st.builds(Volume, texts, texts, texts, sizes, st.booleans())
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
        qualities=label_maps,
    ).map(consistent)


batches = st.builds(Batch, workloads(), st.integers(0, 1000), st.booleans())
claims = st.builds(Claim, names, st.sampled_from(("", "ml")), texts, sizes, st.booleans())
ledger_entries = st.builds(
    LedgerEntry,
    reservation=names,
    request=texts,
    capacity=texts,
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


@st.composite
def quotas(draw: st.DrawFn, parents: tuple[str, ...] = ()) -> Quota:
    least = draw(resources)
    above = draw(resource_maps(st.integers(0, 1 << 40)))
    most = {name: min(INT64_MAX, least.of(name) + amount) for name, amount in above.items()}
    return Quota(
        draw(names),
        draw(st.sampled_from(("ElasticQuota", "CompositeElasticQuota", "Quota"))),
        draw(tuples_of(texts)),
        least,
        Resources(most),
        draw(st.sampled_from(("", *parents))),
        draw(optional(fractions)),
        draw(optional(resources)),
        draw(optional(resources)),
    )


@st.composite
def quota_trees(draw: st.DrawFn) -> tuple[Quota, ...]:
    """Quotas of which each has no parent or one drawn before it."""
    tree: dict[str, Quota] = {}
    for _ in range(draw(st.integers(0, 3))):
        drawn = draw(quotas(tuple(tree)))
        if drawn.name not in tree and drawn.parent != drawn.name:
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


@st.composite
def snapshots(draw: st.DrawFn, name: st.SearchStrategy[str] = names) -> Snapshot:
    drawn_nodes = by_key(draw(st.lists(nodes(name), max_size=3)))
    homes = st.sampled_from(("", *(each.name for each in drawn_nodes)))
    return check_snapshot(
        Snapshot(
            name=draw(texts),
            revision=draw(st.integers(0, 1 << 40)),
            policy=draw(policies),
            resource_types=TYPES,
            nodes=unique(drawn_nodes, "node"),
            groups=unique(by_key(draw(st.lists(groups, max_size=2))), "group"),
            workloads=unique(by_key(draw(st.lists(workloads(name, homes), max_size=4))), "workload"),
            quotas=unique(draw(quota_trees()), "quota"),
            reservations=unique(by_key(draw(st.lists(ledger_entries, max_size=2))), "reservation"),
            claims=unique(by_key(draw(st.lists(claims, max_size=2))), "claim"),
            unknowns=draw(tuples_of(texts)),
        )
    )


@st.composite
def deltas(draw: st.DrawFn) -> Delta:
    return Delta(
        revision=draw(optional(st.integers(0, 1 << 40))),
        nodes=by_key(draw(st.lists(nodes(), max_size=2))),
        groups=by_key(draw(st.lists(groups, max_size=2))),
        workloads=by_key(draw(st.lists(workloads(), max_size=2))),
        quotas=draw(quota_trees()),
        reservations=by_key(draw(st.lists(ledger_entries, max_size=2))),
        claims=by_key(draw(st.lists(claims, max_size=2))),
        dropped=draw(
            st.dictionaries(st.sampled_from(("nodes", "workloads", "claims")), tuples_of(names), max_size=2)
        ),
    )
