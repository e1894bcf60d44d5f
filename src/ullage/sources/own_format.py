"""Reading our own documents: Snapshot, Delta, WorkloadSet, Policy and ResourceTypes, as YAML or JSON.

The hard part is that amounts depend on resource types, which the same document may register: it is looked
at three times, for its kind, for its types, and for the rest. Unknown fields are ignored except in a policy,
wrong ones are reported with file and path; an unknown version is never guessed at.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from ullage.engine.quota.validation import refuse_errors, refuse_wrong
from ullage.model.checks import check_delta, check_snapshot, unique
from ullage.model.cluster import Node, Snapshot
from ullage.model.constraints import Record
from ullage.model.delta import BY_FILE_NAME, TABLE_FACTS, TABLES, Delta
from ullage.model.errors import InputError
from ullage.model.policy import Layer, Policy
from ullage.model.resources import ResourceTypes
from ullage.model.wire import API_VERSION
from ullage.sources.documents import Document, JsonDocument
from ullage.sources.limits import MIB
from ullage.sources.own_hooks import reading_hook
from ullage.sources.own_records import (
    KINDS,
    BareFields,
    BareSpec,
    DeltaDocument,
    Header,
    NodeEntry,
    PolicyDocument,
    PolicyFields,
    ResourceTypesDocument,
    SnapshotDocument,
    TypesHeader,
    WorkloadEntry,
    WorkloadSet,
    WorkloadSetDocument,
)
from ullage.sources.own_workloads import batch_of, completed, filled_in
from ullage.sources.places import shown

GROUP: Final = "ullage.dev/"
HAND_WRITTEN_BYTES_MAX: Final = 8 * MIB
"""JSON up to this size may have been written by people and is checked for keys that stand twice."""

_HEADER: Final = msgspec.json.Decoder(Header)
_BARE_FIELDS: Final = msgspec.json.Decoder(BareFields)
_POLICY_FIELDS: Final = msgspec.json.Decoder(PolicyFields)
_BUILT_IN_TYPES: Final = ResourceTypes()
Given = TypeVar("Given")
Wanted = TypeVar("Wanted")
OwnRecord = Snapshot | Delta | WorkloadSet | PolicyDocument | ResourceTypes


def read_header(document: Document) -> Header:
    """Return whose document it is and of which kind, without looking at the rest."""
    return document.decode(_HEADER)


def is_own(header: Header) -> bool:
    """Whether a document claims to be of our format, whatever its version."""
    return header.api_version is not None and header.api_version.startswith(GROUP)


def read_bare_types(document: Document) -> ResourceTypes | None:
    """Return the types of a document that is a bare `resourceTypes:`; None where it is something else."""
    fields = document.decode(_BARE_FIELDS)
    if fields.resource_requirement_spec is not None or fields.resource_capacity_spec is not None:
        return None
    if fields.resource_types is None:
        return None
    return _decode(document, TypesHeader, _BUILT_IN_TYPES).resource_types


def read_bare_spec(
    document: Document, types: ResourceTypes = _BUILT_IN_TYPES
) -> Snapshot | WorkloadSet | ResourceTypes | None:
    """Return what a document of the resource model's bare forms says; None where it is no such document.

    `resourceRequirementSpec` is one workload, `resourceCapacitySpec` a cluster of one node.
    """
    types = _with_own_types(document, types)
    spec = _decode(document, BareSpec, types)
    if spec.resource_requirement_spec is not None:
        entry = WorkloadEntry(name="workload", resource_requirement_spec=spec.resource_requirement_spec)
        batch = _placed(document, lambda each: batch_of(each, types), entry)
        return WorkloadSet(batches=(batch,), resource_types=types)
    if spec.resource_capacity_spec is not None:
        node = _node(NodeEntry(name="node", resource_capacity_spec=spec.resource_capacity_spec))
        return _placed(document, check_snapshot, Snapshot(nodes=unique([node], "node"), resource_types=types))
    return spec.resource_types


def read_own(document: Document, types: ResourceTypes = _BUILT_IN_TYPES) -> OwnRecord:
    """Return the content of a document of any of our kinds."""
    header = _checked_header(document)
    if header.kind == "Snapshot":
        return read_snapshot(document, types)
    if header.kind == "Delta":
        return read_delta(document, types)
    if header.kind == "WorkloadSet":
        return read_workload_set(document, types)
    if header.kind == "Policy":
        return read_policy_document(document)
    return read_resource_types(document, types)


def read_snapshot(document: Document, types: ResourceTypes = _BUILT_IN_TYPES) -> Snapshot:
    """Return a checked snapshot; types given beside it count as if the document registered them."""
    types = _types_of(document, types, "Snapshot")
    read = _decode(document, SnapshotDocument, types)
    _check_policy(document)
    rows = {name: getattr(read, name) for name in TABLES}
    rows["nodes"] = tuple(_node(entry) for entry in read.nodes)
    tables = {name: _unique_rows(document, name, rows[name]) for name in TABLES}
    snapshot = Snapshot(
        name=read.name,
        revision=read.revision,
        policy=read.policy,
        resource_types=types,
        unknowns=read.unknowns,
        tags=read.tags,
        instance_policy=read.instance_policy,
        taken_seconds=read.taken_seconds,
        **tables,
    )
    workloads = _placed(document, lambda each: completed(each, types), snapshot.workloads)
    if workloads:
        snapshot = msgspec.structs.replace(snapshot, workloads=snapshot.workloads.changed(workloads))
    return _placed(document, _checked, snapshot)


def _check_policy(document: Document) -> None:
    """Refuse a field that the policy of a snapshot does not have: it would be thought to be in force."""
    policy = document.decode(_POLICY_FIELDS).policy
    parts: list[tuple[Mapping[str, object], type[Record], tuple[str | int, ...]]] = [(policy, Policy, ())]
    layers = policy.get("layers")
    for place, layer in enumerate(layers if isinstance(layers, list) else ()):
        parts.append((layer, Layer, ("layers", place)))
    for fields, record, path in parts:
        for name in fields:
            if name not in record.__struct_encode_fields__:
                raise document.error(
                    f"the policy of a snapshot has no field {shown(name)!r}",
                    path=("policy", *path, name),
                    remedy="write layers: [{origin: WHO, cluster: {SETTING: VALUE}}], or use --policy FILE",
                )


def _checked(snapshot: Snapshot) -> Snapshot:
    """Return a checked snapshot; quotas that contradict each other are refused, as somebody wrote them."""
    refuse_errors(snapshot.quotas, snapshot.resource_types)
    return check_snapshot(snapshot)


def read_delta(document: Document, types: ResourceTypes = _BUILT_IN_TYPES) -> Delta:
    """Return a delta whose rows are checked each on its own; types are those of the snapshot it is for."""
    types = _types_of(document, types, "Delta")
    read = _decode(document, DeltaDocument, types)
    unknown = sorted(set(read.dropped) - set(BY_FILE_NAME))
    if unknown:
        remedy = f"use {', '.join(BY_FILE_NAME)}"
        raise document.error(f"{unknown[0]!r} is no table", path=("dropped", unknown[0]), remedy=remedy)
    dropped = {BY_FILE_NAME[name]: keys for name, keys in read.dropped.items()}
    rows = {name: getattr(read, name) for name in TABLES}
    changed = {workload.key: workload for workload in filled_in(read.workloads, types)}
    rows["workloads"] = tuple(changed.get(row.key, row) for row in read.workloads)
    delta = Delta(revision=read.revision, dropped=dropped, **rows)
    return _placed(document, lambda each: _checked_delta(each, types), delta)


def _checked_delta(delta: Delta, types: ResourceTypes) -> Delta:
    for quota in delta.quotas:
        refuse_wrong(quota, types)
    return check_delta(delta, types)


def read_workload_set(document: Document, types: ResourceTypes = _BUILT_IN_TYPES) -> WorkloadSet:
    """Return the batches of a set, each with its effective request."""
    types = _types_of(document, types, "WorkloadSet")
    read = _decode(document, WorkloadSetDocument, types)
    batches = []
    for position, entry in enumerate(read.workloads):
        try:
            batches.append(batch_of(entry, types))
        except InputError as error:
            raise error.at(document.where(("workloads", position))) from None
    return WorkloadSet(name=read.name, atomic=read.atomic, batches=tuple(batches), resource_types=types)


def read_policy_document(document: Document) -> PolicyDocument:
    """Return a policy file as it stands; policies.py follows what it inherits."""
    _check_document(document, "Policy")
    return _decode(document, PolicyDocument, _BUILT_IN_TYPES)


def read_resource_types(document: Document, types: ResourceTypes = _BUILT_IN_TYPES) -> ResourceTypes:
    """Return the types given, and those that the document adds."""
    types = _types_of(document, types, "ResourceTypes")
    _decode(document, ResourceTypesDocument, types)
    return types


def _unique_rows(document: Document, name: str, rows: tuple[Any, ...]) -> Any:
    """Return rows as a table, or say where the second of two equal keys stands."""
    try:
        return unique(rows, TABLE_FACTS[name].singular)
    except InputError as error:
        first: dict[str, int] = {}
        second = next(n for n, row in enumerate(rows) if first.setdefault(row.key, n) != n)
        raise error.at(document.where((TABLE_FACTS[name].file_name, second))) from None


def _checked_header(document: Document, wanted: str = "") -> Header:
    """Return the header if the document is of our format, of a version and a kind that are known."""
    header = read_header(document)
    if not is_own(header):
        found = "no apiVersion" if header.api_version is None else f"apiVersion {header.api_version!r}"
        raise document.error(found, remedy=f"write apiVersion: {API_VERSION}")
    if header.api_version != API_VERSION:
        raise document.error(
            f"apiVersion {header.api_version!r} is not known to this version of ullage",
            path=("apiVersion",),
            remedy=f"use a newer ullage, or write the file as {API_VERSION}",
        )
    if header.kind not in KINDS or (wanted and header.kind != wanted):
        raise document.error(
            f"kind is {header.kind!r}",
            path=("kind",) if header.kind is not None else (),
            remedy=f"write kind: {wanted}" if wanted else f"use one of {', '.join(KINDS)}",
        )
    return header


def _check_document(document: Document, kind: str) -> None:
    """Refuse a document of another kind, and one in which a key stands twice."""
    _checked_header(document, kind)
    if isinstance(document, JsonDocument) and len(document.data) <= HAND_WRITTEN_BYTES_MAX:
        document.reject_duplicate_keys()


def _types_of(document: Document, types: ResourceTypes, kind: str) -> ResourceTypes:
    """Return the registry by which the amounts of a document are read."""
    _check_document(document, kind)
    return _with_own_types(document, types)


def _with_own_types(document: Document, types: ResourceTypes) -> ResourceTypes:
    """Return the types given, and those that the document registers."""
    own = _decode(document, TypesHeader, types).resource_types
    if not own.added():
        return types
    try:
        return ResourceTypes((*types.added(), *own.added()))
    except InputError as error:
        raise error.at(document.where(("resourceTypes",))) from None


def _decode(document: Document, wanted: type[Wanted], types: ResourceTypes) -> Wanted:
    return document.decode(msgspec.json.Decoder(wanted, dec_hook=reading_hook(types)))


def _placed(document: Document, check: Callable[[Given], Wanted], record: Given) -> Wanted:
    """Run a check; what it refuses is named with the file that it stands in."""
    try:
        return check(record)
    except InputError as error:
        raise error.at(document.source) from None


def _node(entry: NodeEntry) -> Node:
    """Return an entry as a node; the resource model's total is allocatable, so nothing of it is kept back."""
    node = Node(**{name: getattr(entry, name) for name in Node.__struct_fields__})
    if entry.resource_capacity_spec is None:
        return node
    total = entry.resource_capacity_spec.total
    return msgspec.structs.replace(node, capacity=total, reserve=total * 0)
