"""Every number behind a node or a resource, term by term, with where each rule comes from.

Workloads are explained in explain_pod.py, quotas in explain_quota.py.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from ullage.engine.capacity.admission import terms_of
from ullage.engine.capacity.summary import Summary, summarise_groups, total
from ullage.engine.columns import Columns
from ullage.engine.storage.disk_terms import DiskTerms
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.policy import effective_settings
from ullage.model.resources import Resources, ResourceType, canonical_name
from ullage.model.settings import RATIO_SUFFIX, RESERVE_SUFFIX
from ullage.model.usage import UsageSummary
from ullage.model.verdict import Terms
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_cluster, unknown
from ullage.service.disks_list import disks_on
from ullage.service.explain_pod import explain_pod
from ullage.service.explain_quota import explain_quota
from ullage.service.held import columns_of
from ullage.service.observed import read_usage
from ullage.service.used import ContentionStatus, UsedHolding, contention_on, usage_of, used_holdings

if TYPE_CHECKING:
    from ullage.engine.usage.book import Book

KINDS: Final = ("node", "pod", "quota", "resource")
LARGEST_SHOWN: Final = 10
SWAP: Final = "swap"


class Explained(Record, frozen=True):
    """The terms of one resource, and the settings of the policy that they follow from.

    `standby_for` is the node whose failure would need all that is held for failover.
    """

    terms: Terms
    reserve_rule: str
    ratio_rule: str
    counts_actual: bool
    standby_for: str = ""


class Holding(Record, frozen=True):
    """A workload on a node, what it is promised, and what else its source says of it."""

    workload: str
    kind: str
    state: str
    node: str
    requests: Resources
    qualities: Mapping[str, str]


class NodeExplanation(Record, frozen=True):
    """The answer to `ullage explain node/N`.

    `swap_bytes` is what counts as its swap, None where nobody tells; `swap_rule` the setting of the policy
    that it follows from, empty where the source tells. `disks` are told unless one resource is asked about.
    Where usage is asked for, `usage` is that of the node, `used` that of its workloads, and `contention` says
    who gets what if all want the most they used.
    """

    cluster: str
    revision: int
    policy: str
    node: Node
    swap_bytes: int | None
    swap_rule: str
    resources: tuple[Explained, ...]
    workloads: tuple[Holding, ...]
    not_simulated: tuple[str, ...]
    disks: tuple[DiskTerms, ...] = ()
    usage: Mapping[str, UsageSummary] = {}
    used: tuple[UsedHolding, ...] = ()
    contention: tuple[ContentionStatus, ...] = ()


class ResourceExplanation(Record, frozen=True):
    """The answer to `ullage explain resource/R`; `largest` are the workloads that are promised most."""

    cluster: str
    revision: int
    policy: str
    type: ResourceType
    total: Summary
    nodes: tuple[Terms, ...]
    largest: tuple[Holding, ...]
    workloads: int
    not_simulated: tuple[str, ...]


def explain(asked: Asked, subject: str, only: str = "", usage: str = "") -> Answer:
    """Answer what stands behind a node (perhaps one resource of it), a pod, a quota or a resource.

    `usage` is a source of what is really used, if any.
    """
    kind, _, name = subject.partition("/")
    if kind not in KINDS or not name:
        remedy = "write node/NAME, pod/NAME, quota/NAME or resource/NAME"
        raise InputError(f"{subject!r} cannot be explained", remedy=remedy)
    if only and kind != "node":
        why = (
            f"{subject} is one resource" if kind == "resource" else f"a {kind} is explained with all of them"
        )
        raise InputError("--resource is for nodes", remedy=f"leave it out: {why}")
    snapshot = read_cluster(asked)
    book = read_usage(usage, asked, snapshot) if usage and kind in {"node", "pod"} else None
    if kind == "node":
        return explain_node(snapshot, name, asked, only, book)
    if kind == "quota":
        return explain_quota(snapshot, name, asked)
    if kind == "pod":
        return explain_pod(snapshot, name, asked, book)
    return explain_resource(snapshot, name, asked)


def explain_node(
    snapshot: Snapshot, name: str, asked: Asked, only: str = "", book: "Book | None" = None
) -> Answer:
    """Answer what stands behind the numbers of a node, and where usage is known, who uses what there."""
    from ullage.service.explain_page import node_page

    columns = columns_of(snapshot)
    row = columns.node_index.get(name)
    if row is None:
        raise unknown("node", name, columns.node_index)
    figures_here = columns.figures(row)
    if only:
        wanted = _known_resource(only, figures_here)
        figures_here = {wanted: figures_here[wanted]}
    rules = columns.rules_of(columns.nodes[row])
    node = columns.nodes[row]
    settings = effective_settings(snapshot.policy, node.group, node.name)
    origins = {_canonical_key(key): f"{key}={value.text} ({value.origin})" for key, value in settings.items()}
    report = NodeExplanation(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        node=node,
        swap_bytes=rules.swap_bytes if node.swap_bytes is None else node.swap_bytes,
        swap_rule=origins.get(SWAP, "") if node.swap_bytes is None else "",
        resources=tuple(
            Explained(
                terms_of(name, resource, figures),
                origins.get(resource + RESERVE_SUFFIX, ""),
                origins.get(resource + RATIO_SUFFIX, ""),
                rules.committed == "actual",
                columns.standbys.held_for(name) if figures.standby else "",
            )
            for resource, figures in figures_here.items()
        ),
        workloads=tuple(_holding(each, columns) for each in snapshot.workloads if each.node == name),
        not_simulated=snapshot.unknowns,
        disks=() if only else disks_on(columns, node),
    )
    if book is not None:
        report = _with_usage(report, columns, book)
    types = snapshot.resource_types
    return Answer(
        lambda: node_page(report, types, asked), lambda: versioned("NodeExplanation", report, types)
    )


def _with_usage(report: NodeExplanation, columns: Columns, book: "Book") -> NodeExplanation:
    name = report.node.name
    here = [each for each in columns.snapshot.workloads if each.node == name]
    names = {each.terms.resource for each in report.resources}
    usage = {key: each for key, each in usage_of(book, f"node/{name}").items() if key in names}
    contention = contention_on(columns, book, columns.node_index[name])
    return msgspec.structs.replace(
        report,
        usage=usage,
        used=used_holdings(book, here, names),
        contention=tuple(each for each in contention if each.resource in names),
    )


def explain_resource(snapshot: Snapshot, name: str, asked: Asked) -> Answer:
    """Answer what a resource is, who has it and who holds most of it."""
    from ullage.service.explain_page import resource_page

    columns = columns_of(snapshot)
    resource = _spelled(name, columns.resources)
    holders = [
        each for each in snapshot.workloads if each.holds_capacity and columns.taken(each).of(resource)
    ]
    holders.sort(key=lambda each: (-columns.taken(each)[resource], each.key))
    report = ResourceExplanation(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        type=snapshot.resource_types[resource],
        total=total(summarise_groups(columns), snapshot.name),
        nodes=tuple(
            terms_of(node.name, resource, figures[resource])
            for row, node in enumerate(columns.nodes)
            if resource in (figures := columns.figures(row))
        ),
        largest=tuple(_holding(each, columns) for each in holders[:LARGEST_SHOWN]),
        workloads=len(holders),
        not_simulated=snapshot.unknowns,
    )
    types = snapshot.resource_types
    return Answer(
        lambda: resource_page(report, types, asked), lambda: versioned("ResourceExplanation", report, types)
    )


def _known_resource(name: str, known: Collection[str]) -> str:
    """Return the one spelling of a resource that is known here."""
    resource = _spelled(name, known)
    if resource not in known:
        raise unknown("resource", resource, known)
    return resource


def _spelled(name: str, known: Collection[str]) -> str:
    """Return the one spelling of a resource, whether anything here has it or not."""
    try:
        return canonical_name(name)
    except InputError:
        raise unknown("resource", name, known) from None


def _holding(workload: Workload, columns: Columns) -> Holding:
    taken = columns.taken(workload)
    return Holding(workload.key, workload.kind, workload.told_state, workload.node, taken, workload.qualities)


def _canonical_key(key: str) -> str:
    """Return a setting's key with the one spelling of the resource in it."""
    for suffix in (RATIO_SUFFIX, RESERVE_SUFFIX):
        if key.endswith(suffix):
            return canonical_name(key.removesuffix(suffix)) + suffix
    return key
