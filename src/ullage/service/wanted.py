"""The workloads that somebody asks about: manifests, our own sets, one shape, or those that wait already."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ullage.engine.requests import with_defaults
from ullage.model.checks import REPLICAS_MAX
from ullage.model.cluster import Batch, Snapshot, Workload
from ullage.model.constraints import Constraints, Toleration
from ullage.model.delta import TABLES, Delta, apply
from ullage.model.errors import InputError
from ullage.model.resources import NOTHING, Resources, ResourceTypes
from ullage.model.storage import Claim

if TYPE_CHECKING:
    from ullage.sources.documents import Document

PODS: Final = "pods"
QUOTAS: Final = "quotas"
SHAPE_NAME: Final = "workload"
SHAPE_RESOURCES_MAX: Final = 100
SHAPE_ALONE: Final = (
    "a standby of what is asked for: a shape is judged as an instance without one "
    "(headroom --tiered places instances of the policy's first template, with theirs)"
)


class Wanted(NamedTuple):
    """What is asked for: batches, whether all or none is wanted, and what reading them did not settle.

    `objects` are claims, classes and other rows that come with the workloads.
    """

    batches: tuple[Batch, ...]
    atomic: bool
    types: ResourceTypes
    notes: tuple[str, ...] = ()
    objects: Delta = Delta()


class Choice(NamedTuple):
    """Which workloads are asked about: files, or one shape; neither means those that wait."""

    paths: tuple[str, ...] = ()
    shape: str = ""
    replicas: int | None = None
    pod_template: str = ""

    def check(self, standard_input: Sequence[str] = ()) -> None:
        """Refuse what contradicts itself; `standard_input` are the other inputs that may be `-`."""
        if self.paths and self.shape:
            raise InputError(
                "-f and --shape are both given", remedy="use either -f FILE or --shape cpu=4,memory=8Gi"
            )
        if self.replicas is not None and not self.paths and not self.shape:
            raise InputError(
                "--replicas is given without workloads", remedy="name them with -f FILE or --shape RESOURCES"
            )
        if (*standard_input, *self.paths).count("-") > 1:
            raise InputError(
                "standard input cannot be cluster and workloads", remedy="use a file for one of them"
            )

    def wanted(self, snapshot: Snapshot, namespace: str) -> Wanted:
        """Return the workloads that are meant, of a cluster that was read."""
        if self.shape:
            pods = any(PODS in node.capacity for node in snapshot.nodes)
            found = wanted_shape(self.shape, snapshot.resource_types, pods=pods, namespace=namespace)
            found = found._replace(notes=shape_notes(snapshot))
        elif self.paths:
            found = read_wanted(self.paths, snapshot, namespace=namespace, pod_template=self.pod_template)
        else:
            found = wanted_waiting(snapshot, namespace)
        return with_replicas(found, self.replicas)


def parse_shape(text: str, types: ResourceTypes) -> Resources:
    """Return the resources of a shape such as `cpu=4,memory=8Gi`."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > SHAPE_RESOURCES_MAX:
        raise InputError(
            f"more than {SHAPE_RESOURCES_MAX} resources", where="--shape", remedy="name fewer of them"
        )
    pairs = []
    for part in parts:
        name, equal, amount = part.partition("=")
        if not equal or not name.strip():
            raise InputError(
                f"{part!r} is no resource with its amount",
                where="--shape",
                remedy="write RESOURCE=AMOUNT,..., for example cpu=4,memory=8Gi",
            )
        pairs.append((name.strip(), amount.strip()))
    try:
        shape = types.parse(pairs)
    except InputError as error:
        raise error.at("--shape") from None
    for name, value in shape.items():
        if value < 0:
            raise InputError(f"{name} is {types[name].print(value)}", where="--shape", remedy="use 0 or more")
    return shape


def wanted_shape(text: str, types: ResourceTypes, *, pods: bool = False, namespace: str = "") -> Wanted:
    """Return one workload of a shape, under the quotas of a namespace; where nodes count pods it is one.

    It tolerates taints that are named after a resource it asks for, as Kubernetes adds on admission.
    """
    shape = with_defaults(parse_shape(text, types), NOTHING, types)
    tolerated = tuple(Toleration(name, "Exists") for name, amount in shape.items() if "/" in name and amount)
    if pods and PODS not in shape:
        shape += Resources({PODS: 1})
    constraints = Constraints(tolerations=tolerated)
    workload = Workload(SHAPE_NAME, namespace, state="init", requests=shape, constraints=constraints)
    return Wanted((Batch(workload),), atomic=False, types=types)


def shape_notes(snapshot: Snapshot) -> tuple[str, ...]:
    """Return what a shape leaves open in a cluster of instances, which may have a standby."""
    return (SHAPE_ALONE,) if any(node.host is not None for node in snapshot.nodes) else ()


def wanted_waiting(snapshot: Snapshot, namespace: str = "") -> Wanted:
    """Return the workloads that wait in a cluster, each on its own: by priority, then the oldest first."""
    waiting = [
        each
        for each in snapshot.workloads
        if each.state == "init" and (not namespace or each.namespace == namespace)
    ]
    waiting.sort(key=lambda each: (-each.priority, each.created_seconds or 0, each.key))
    return Wanted(tuple(Batch(each) for each in waiting), atomic=False, types=snapshot.resource_types)


def read_wanted(
    paths: Sequence[str], snapshot: Snapshot, *, namespace: str = "", pod_template: str = ""
) -> Wanted:
    """Return the workloads of files and folders: Kubernetes manifests, our own sets, bare requirements."""
    from ullage.sources.documents import read_documents
    from ullage.sources.kubernetes.manifests import ManifestReader
    from ullage.sources.kubernetes.object_kinds import known_of
    from ullage.sources.own_format import read_header

    own = _OwnDocuments(snapshot.resource_types)
    reader = ManifestReader(
        snapshot.resource_types,
        nodes=snapshot.nodes,
        known=known_of(snapshot),
        namespace=namespace,
        pod_template=pod_template,
        own=own.batches_of,
    )
    bare: list[Batch] = []
    for path in paths:
        for document in read_documents(path):
            header = read_header(document)
            if header.api_version is None and header.kind is None:
                bare += own.bare_batches_of(document)
            else:
                reader.take(document)
    found = reader.manifests()
    return Wanted((*found.batches, *bare), own.atomic, own.types, found.warnings, found.objects)


class _OwnDocuments:
    """Our own documents among the files: their batches, whether one wants all or none, and their types."""

    def __init__(self, types: ResourceTypes) -> None:
        self.types = types
        self.atomic = False

    def batches_of(self, document: "Document") -> Sequence[Batch]:
        """Return the batches of a document that names our format."""
        from ullage.sources.own_format import read_own, read_workload_set
        from ullage.sources.own_records import WorkloadSet

        found = read_own(document, self.types)
        if isinstance(found, ResourceTypes):
            self.types = found
            return ()
        if not isinstance(found, WorkloadSet):
            found = read_workload_set(document, self.types)
        self.atomic = self.atomic or found.atomic
        self.types = found.resource_types
        return found.batches

    def bare_batches_of(self, document: "Document") -> Sequence[Batch]:
        """Return the batch of a document that is nothing but a requirement."""
        from ullage.sources.own_format import read_bare_spec
        from ullage.sources.own_records import WorkloadSet

        found = read_bare_spec(document)
        if isinstance(found, WorkloadSet):
            return found.batches
        raise document.error("no apiVersion and no kind", remedy="name a manifest or a WorkloadSet")


def with_objects(snapshot: Snapshot, objects: Delta) -> Snapshot:
    """Return a cluster with the rows that come with workloads; those that it has already stay as they are.

    But quotas are as they would be after these objects were applied, and so are the sizes and classes of
    claims: they are what is asked for.
    """
    new = {
        name: tuple(
            row for row in getattr(objects, name) if name == QUOTAS or row.key not in getattr(snapshot, name)
        )
        for name in TABLES
    }
    new["claims"] += tuple(_changed_claims(snapshot, objects))
    if not any(new.values()):
        return snapshot
    added = msgspec.structs.replace(Delta(), **new)
    return msgspec.structs.replace(apply(snapshot, added), revision=snapshot.revision)


def _changed_claims(snapshot: Snapshot, objects: Delta) -> Iterator[Claim]:
    for row in objects.claims:
        known = snapshot.claims.get(row.key)
        if known is not None:
            changed = msgspec.structs.replace(
                known,
                size_bytes=row.size_bytes or known.size_bytes,
                storage_class=row.storage_class or known.storage_class,
            )
            if changed != known:
                yield changed


def with_replicas(wanted: Wanted, replicas: int | None) -> Wanted:
    """Return the same workloads with another number of replicas each."""
    if replicas is None:
        return wanted
    if not 0 <= replicas <= REPLICAS_MAX:
        raise InputError(f"{replicas} replicas", where="--replicas", remedy=f"use 0 to {REPLICAS_MAX}")
    batches = tuple(msgspec.structs.replace(batch, replicas=replicas) for batch in wanted.batches)
    return wanted._replace(batches=batches)
