"""What every question starts from: a cluster, read from its source, under the policy that applies to it."""

import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

import msgspec

from ullage.model.cluster import Batch, Node, Snapshot
from ullage.model.constraints import Record, Requirement
from ullage.model.errors import InputError
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.policy import PROFILE_NAMES, Policy
from ullage.model.resources import ResourceTypes
from ullage.model.table import Table
from ullage.service.held import Held, held
from ullage.service.selector import parse_selector, selects, with_node_requirements

if TYPE_CHECKING:
    from ullage.sources.protocol import Source


class Asked(Record, frozen=True):
    """The cluster that is asked about: where it is, which policy applies, which part of it is meant.

    `ledger` has the promises that count beside what runs; without one, those of the source do. It may have
    the name of the cluster: where a server answers for both. `observed` is the file in which use is recorded,
    where that is not the ledger's.
    """

    cluster: str = ""
    policy: str = ""
    namespace: str = ""
    selector: str = ""
    types: tuple[str, ...] = ()
    context: str = ""
    kubeconfig: str = ""
    as_user: str = ""
    ledger: str = ""
    observed: str = ""

    def under_own_policy(self) -> "Asked":
        """Return the same whole cluster under the policy that is its own."""
        return msgspec.structs.replace(self, policy="", namespace="", selector="")

    def command(self, words: str) -> str:
        """Return a command line that asks something else of the same cluster."""
        parts = ["ullage", words]
        types = (("--types", path) for path in self.types)
        live = (("--context", self.context), ("--kubeconfig", self.kubeconfig), ("--as", self.as_user))
        ledger = "" if self.ledger == self.cluster else self.ledger
        named = (("-c", self.cluster), ("--policy", self.policy), *types, *live, ("--ledger", ledger))
        for option, value in named:
            if value:
                parts += [option, shlex.quote(value)]
        return " ".join(parts)


def read_cluster(asked: Asked, *, needs_nodes: bool = True) -> Snapshot:
    """Return the snapshot of the cluster as questions see it: with every promise, the wanted part of it.

    A question that has something to say without nodes may not need them: see read_whole.
    """
    return selected(read_everybody(asked, needs_nodes=needs_nodes), asked.selector)


def read_everybody(asked: Asked, *, needs_nodes: bool = True) -> Snapshot:
    """Return the whole cluster with every promise: quotas count everybody, whichever nodes are meant."""
    from ullage.engine.ledger.promises import with_promises

    kept = held(asked.cluster)
    if kept is not None:
        from ullage.service.held_promises import everybody

        return everybody(kept, read_whole(asked), asked)
    promised: Sequence[LedgerEntry] = ()
    if asked.ledger:
        from ullage.service.ledger_file import live_entries

        promised = live_entries(asked.ledger, asked)
    whole = standing(read_whole(asked, needs_nodes=needs_nodes))
    return with_promises(whole, promised)


def standing(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot without reservations of its own that had ended when it was taken, or have by now."""
    if not snapshot.reservations:
        return snapshot
    from ullage.service.clock import now_seconds
    from ullage.service.ledger_file import alive

    at_seconds = now_seconds() if snapshot.taken_seconds is None else snapshot.taken_seconds
    kept = alive(snapshot.reservations, at_seconds)
    if len(kept) == len(snapshot.reservations):
        return snapshot
    return msgspec.structs.replace(snapshot, reservations=Table(kept))


def read_as_it_is(asked: Asked) -> Snapshot:
    """Return the wanted part of the cluster as its source tells it, with nothing added to what runs."""
    return selected(read_whole(asked), asked.selector)


def read_whole(asked: Asked, *, needs_nodes: bool = True) -> Snapshot:
    """Return the snapshot of the whole cluster, its policy filled in.

    Where none is named, it is the one of the current kube context. Of a live cluster whose nodes may not be
    listed, the namespace that is meant is read if no nodes are needed; otherwise that is an InputError. One
    that is held is not read again.
    """
    kept = held(asked.cluster)
    if kept is not None:
        return _whole_held(kept, asked)
    types = read_types(asked.types)
    source = _source(asked, types, needs_nodes=needs_nodes)
    return _settled(_told(source), asked, types, source.profile)


def read_to_hold(name: str, asked: Asked) -> Held:
    """Return a cluster as its source tells it, to be held and asked about by a name."""
    types = read_types(asked.types)
    source = _source(asked, types, needs_nodes=True)
    return Held(name, with_types(_told(source), types), source.profile)


def _source(asked: Asked, types: ResourceTypes, *, needs_nodes: bool) -> "Source":
    from ullage.sources.opening import Live, Options, default_cluster, open_source

    cluster = asked.cluster or default_cluster()
    if not cluster:
        raise InputError(
            "no cluster is named, and there is no kubeconfig",
            remedy="use -c FILE, -c demo, or set ULLAGE_CLUSTER (try: ullage status -c demo)",
        )
    live = Live(
        context=asked.context,
        kubeconfig=asked.kubeconfig,
        as_user=asked.as_user,
        namespace=asked.namespace,
        needs_nodes=needs_nodes,
    )
    return open_source(cluster, options=Options(types=types, live=live))


def _told(source: "Source") -> Snapshot:
    """Return what a source tells, under a name."""
    snapshot = source.read()
    return snapshot if snapshot.name else msgspec.structs.replace(snapshot, name=source.name)


def _whole_held(kept: Held, asked: Asked) -> Snapshot:
    """Return a cluster that is held, under the policy that is meant; files may change, and are read."""

    def make() -> Snapshot:
        return _settled(kept.snapshot, asked, read_types(asked.types), kept.profile)

    if asked.types or asked.policy not in {"", *PROFILE_NAMES}:
        return make()
    return kept.kept(("policy", asked.policy), make)


def _settled(snapshot: Snapshot, asked: Asked, types: ResourceTypes, profile: str) -> Snapshot:
    """Return a cluster with its types and its policy filled in."""
    snapshot = with_types(snapshot, types)
    return msgspec.structs.replace(snapshot, policy=policy_for(asked.policy, snapshot, profile))


def read_types(paths: Sequence[str]) -> ResourceTypes:
    """Return the resource types that the documents of these files register."""
    types = ResourceTypes()
    if paths:
        from ullage.sources.documents import read_documents
        from ullage.sources.own_format import read_resource_types
        from ullage.sources.type_documents import is_types_document, types_of_documents

        for path in paths:
            for document in read_documents(path):
                if is_types_document(document):
                    types = types_of_documents((document,), types)
                else:
                    types = read_resource_types(document, types)
    return types


def with_types(snapshot: Snapshot, types: ResourceTypes) -> Snapshot:
    """Return the snapshot with these types too; amounts that were counted in other steps are refused."""
    known = snapshot.resource_types
    new = [each for each in types.added() if known[each.name] != each]
    if not new:
        return snapshot
    try:
        both = ResourceTypes((*known.added(), *types.added()))
    except InputError as error:
        raise error.at("--types") from None
    used = {name for node in snapshot.nodes for name in node.capacity}
    used.update(name for workload in snapshot.workloads for name in workload.requests)
    for each in new:
        if each.name in used and each.internal_scale_exponent != known[each.name].internal_scale_exponent:
            raise InputError(
                f"{snapshot.name or 'the cluster'} counts {each.name} in other steps already",
                where="--types",
                remedy="register the type in the cluster's own document",
            )
    return msgspec.structs.replace(snapshot, resource_types=both)


def policy_for(named: str, snapshot: Snapshot, profile: str) -> Policy:
    """Return the policy the user names, else the snapshot's own, else the one of its source.

    What a source states itself lies over the profile, and under what the user wrote.
    """
    from ullage.sources.policies import load_policy

    if named:
        policy = load_policy(named, snapshot.resource_types)
        stated = [layer for layer in snapshot.policy.layers if layer.stated]
        base = [layer for layer in policy.layers if layer.built_in]
        written = [layer for layer in policy.layers if not layer.built_in]
        return msgspec.structs.replace(policy, layers=(*base, *stated, *written))
    if snapshot.policy.layers:
        return snapshot.policy
    return load_policy(profile, snapshot.resource_types)


def selected(snapshot: Snapshot, selector: str) -> Snapshot:
    """Return the snapshot with only the nodes whose labels match, and what runs on them or waits."""
    wanted = parse_selector(selector)
    if not wanted:
        return snapshot
    nodes = _meant(snapshot, selector, wanted)
    names = {node.name for node in nodes}
    kept = [each for each in snapshot.workloads if not each.node or each.node in names]
    return msgspec.structs.replace(snapshot, nodes=Table(nodes), workloads=Table(kept))


def read_meant(asked: Asked) -> Snapshot:
    """Return the cluster in which only nodes that are meant take what is asked about.

    Where there are quotas, the others are in it too, as they are: quotas divide them, and what runs there
    counts and stays where it is.
    """
    whole = read_everybody(asked)
    meant = selected(whole, asked.selector)
    has_quotas = len(whole.quotas) or len(whole.resource_quotas)
    is_all = len(whole.nodes) == len(meant.nodes)
    if is_all or not has_quotas or any(node.host is not None for node in whole.nodes):
        return meant
    from ullage.engine.placement.node_rules import NOT_MEANT
    from ullage.engine.redundancy.drain import OF_THE_NODE

    closed = [
        msgspec.structs.replace(node, taints=(*node.taints, NOT_MEANT))
        for node in whole.nodes
        if node.name not in meant.nodes
    ]
    staying = [
        msgspec.structs.replace(each, owner=f"{OF_THE_NODE}{each.node}")
        for each in whole.workloads
        if each.node and each.node not in meant.nodes
    ]
    nodes, workloads = whole.nodes.changed(closed), whole.workloads.changed(staying)
    return msgspec.structs.replace(whole, nodes=nodes, workloads=workloads)


def placed_within(snapshot: Snapshot, selector: str, batches: Iterable[Batch]) -> tuple[Batch, ...]:
    """Return batches that go to no nodes but those whose labels match, as if each had asked for them."""
    wanted = parse_selector(selector)
    if not wanted:
        return tuple(batches)
    _meant(snapshot, selector, wanted)
    found = []
    for batch in batches:
        constraints = with_node_requirements(batch.workload.constraints, wanted)
        workload = msgspec.structs.replace(batch.workload, constraints=constraints)
        found.append(msgspec.structs.replace(batch, workload=workload))
    return tuple(found)


def _meant(snapshot: Snapshot, selector: str, wanted: tuple[Requirement, ...]) -> list[Node]:
    nodes = [node for node in snapshot.nodes if selects(wanted, node.labels)]
    if not nodes:
        raise InputError(
            f"none of {len(snapshot.nodes)} nodes matches {selector!r}",
            where="-l",
            remedy="ullage status -o json shows the nodes",
        )
    return nodes


def check_namespace(snapshot: Snapshot, namespace: str) -> None:
    """Refuse a namespace of which the cluster knows nothing."""
    if not namespace:
        return
    known = {each.namespace for each in snapshot.workloads if each.namespace}
    known.update(name for quota in snapshot.quotas for name in quota.namespaces)
    if namespace not in known:
        raise unknown("namespace", namespace, known)


def unknown(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error for a name that the cluster does not have, with the nearest that it has."""
    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.5) or names[:3]
    remedy = f"did you mean {' or '.join(near)}?" if near else "the cluster has none"
    return InputError(f"no {kind} {name!r}", remedy=remedy)
