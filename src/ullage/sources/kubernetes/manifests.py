"""Manifests to batches: the pods that objects ask for, as one workload and a number of replicas each.

The hard thing is that the objects of a file belong together: a pod's claim, its RuntimeClass and its
PriorityClass may stand behind it, so batches are made when all has been read. Replicas are not expanded
here: a batch of a million is one record. A batch is named after its object (and its template, where there
are several); its replica number 3 is called NAME-3 by whoever lists it. A DaemonSet has as many replicas as
nodes that it matches; without nodes to count it has none, and a warning says so.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from ullage.model.checks import REPLICAS_MAX, check_workload
from ullage.model.cluster import Batch, Claim, Node, Volume, Workload
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.documents import Document, JsonDocument, read_documents
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.classes import Classes, ClassNames, class_names
from ullage.sources.kubernetes.daemons import as_daemon, daemon_pods
from ullage.sources.kubernetes.faults import Fault, wrong_type
from ullage.sources.kubernetes.items import POD, Item, Kind, Page, items_of
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE, claimed, read_claim, with_claims
from ullage.sources.kubernetes.pod_sets import POD_SETS, PodSet, has_no_pods, known_kind, stated
from ullage.sources.kubernetes.pods import PodReader, object_name
from ullage.sources.kubernetes.template_paths import Place, Scope, parse_pattern, places
from ullage.sources.kubernetes.wire import (
    NULL,
    ClaimTemplate,
    ClaimWire,
    Metadata,
    PodSpec,
    PodWire,
    PriorityClassWire,
    RuntimeClassWire,
)
from ullage.sources.limits import ASKED_LIMITS, MIB, Limits
from ullage.sources.places import one_line

HAND_WRITTEN_BYTES_MAX: Final = 8 * MIB
"""JSON up to this size may have been written by people and is checked for keys that stand twice."""

OWN_GROUP: Final = "ullage.dev"
DAEMON_SET: Final = Kind("apps", "DaemonSet")
STATEFUL_SET: Final = Kind("apps", "StatefulSet")
CLAIM: Final = Kind("", "PersistentVolumeClaim")
RUNTIME_CLASS: Final = Kind("node.k8s.io", "RuntimeClass")
PRIORITY_CLASS: Final = Kind("scheduling.k8s.io", "PriorityClass")

_NAMED_MAX: Final = 10
"""Kinds that a message names."""

_ANY: Final = msgspec.json.Decoder(dict[str, Any])
_METADATA: Final = msgspec.json.Decoder(Metadata | None)
_POD: Final = msgspec.json.Decoder(PodWire)
_CLAIM: Final = msgspec.json.Decoder(ClaimWire)
_CLAIM_TEMPLATES: Final = msgspec.json.Decoder(list[ClaimTemplate] | None)
_RUNTIME_CLASS: Final = msgspec.json.Decoder(RuntimeClassWire)
_PRIORITY_CLASS: Final = msgspec.json.Decoder(PriorityClassWire)

OwnReader = Callable[[Document], Iterable[Batch]]
"""Reads a document of our own format; see `read_manifests`."""


class Manifests(NamedTuple):
    """What manifests ask for: batches in the order they are written, claims, and what was odd about them."""

    batches: tuple[Batch, ...]
    claims: tuple[Claim, ...]
    warnings: tuple[str, ...]


class _Object(NamedTuple):
    """An object that asks for pods."""

    value: Any
    kind: Kind
    name: str
    namespace: str


class _Draft(NamedTuple):
    """A batch whose classes and claims may not have been read yet, or whose priority is the default."""

    workload: Workload
    replicas: int
    classes: ClassNames | None
    by_default: bool


def read_manifests(
    inputs: str | Sequence[str],
    *,
    types: ResourceTypes | None = None,
    nodes: Iterable[Node] | None = None,
    namespace: str = DEFAULT_NAMESPACE,
    pod_template: str = "",
    own: OwnReader | None = None,
    limits: Limits = ASKED_LIMITS,
    stdin: BinaryIO | None = None,
) -> Manifests:
    """Return the batches that files, folders or standard input (`-`) ask for; raises an InputError.

    `nodes` are those that DaemonSets are counted on, `namespace` is that of objects which name none,
    `pod_template` leads to the pod templates of kinds that are not known, and `own` reads documents of
    apiVersion ullage.dev, whose batches stand where the document stood.
    """
    reader = ManifestReader(
        types or ResourceTypes(), nodes=nodes, namespace=namespace, pod_template=pod_template, own=own
    )
    for path in (inputs,) if isinstance(inputs, str) else inputs:
        for document in read_documents(path, limits=limits, stdin=stdin):
            reader.take(document)
    return reader.manifests()


class ManifestReader:
    """The reading of manifests, document by document."""

    def __init__(
        self,
        types: ResourceTypes,
        *,
        nodes: Iterable[Node] | None = None,
        namespace: str = DEFAULT_NAMESPACE,
        pod_template: str = "",
        own: OwnReader | None = None,
    ) -> None:
        self._types = types
        self._amounts = Amounts(types)
        self._pods = PodReader(types, self._amounts)
        self._nodes = None if nodes is None else tuple(nodes)
        self._namespace = namespace or DEFAULT_NAMESPACE
        self._custom = (PodSet(parse_pattern(pod_template), stated),) if pod_template else ()
        self._own = own
        self._classes = Classes()
        self._claims: dict[str, Claim] = {}
        self._drafts: dict[str, _Draft | Batch] = {}
        self._objects: dict[tuple[str, str], str] = {}
        self._warnings: list[str] = []
        self._not_read: Counter[str] = Counter()
        self._source = ""

    def take(self, document: Document) -> None:
        """Read the objects of a document; raises an InputError."""
        self._source = self._source or document.source
        if isinstance(document, JsonDocument) and len(document.data) <= HAND_WRITTEN_BYTES_MAX:
            document.reject_duplicate_keys()
        for item in items_of(document, in_parts=False):
            if isinstance(item, Page):
                continue
            self.take_item(item)

    def take_item(self, item: Item) -> None:
        """Read one object; raises an InputError."""
        try:
            self._take(item)
        except (Fault, RecursionError) as problem:
            raise item.refusal(problem) from None

    def manifests(self, nodes: Iterable[Node] | None = None) -> Manifests:
        """Everything that has been read, put together; raises an InputError where that asks for nothing.

        `nodes` stand for those that were not known when the reading began.
        Objects of unknown kinds are only counted, unless there are no others.
        """
        if self._not_read and not self._drafts:
            kinds = ", ".join(
                f"{count} {kind}" for kind, count in sorted(self._not_read.items())[:_NAMED_MAX]
            )
            raise InputError(
                f"nothing that asks for resources among objects of kinds that are not known: {kinds}",
                where=self._source,
                remedy="name the path to their pod template: --pod-template spec.template",
            )
        if nodes is not None:
            self._nodes = tuple(nodes)
        batches = tuple(
            draft if isinstance(draft, Batch) else self._batch(draft) for draft in self._drafts.values()
        )
        not_read = [f"not read: {count} {kind}" for kind, count in sorted(self._not_read.items())]
        warnings = tuple(dict.fromkeys((*self._warnings, *not_read)))
        return Manifests(batches, tuple(self._claims.values()), warnings)

    def _has_template(self, item: Item) -> bool:
        """Whether the path that was given leads anywhere in an object."""
        value = item.decode(_ANY)
        return any(True for pod_set in self._custom for _ in places(value, pod_set.pattern))

    def _take(self, item: Item) -> None:
        kind = known_kind(item.kind)
        if kind.group == OWN_GROUP:
            self._take_own(item)
        elif kind == CLAIM:
            claim = read_claim(item.decode(_CLAIM), self._amounts, namespace=self._namespace)
            self._once(item, "PersistentVolumeClaim", claim.key)
            self._claims[claim.key] = claim
        elif kind == RUNTIME_CLASS:
            self._classes.add_runtime(item.decode(_RUNTIME_CLASS), self._amounts)
        elif kind == PRIORITY_CLASS:
            self._classes.add_priority(item.decode(_PRIORITY_CLASS))
        elif kind == POD or kind in POD_SETS:
            if kind != item.kind:
                self._warnings.append(
                    f"{item.place()}: apiVersion {one_line(item.api_version)} has no kind {kind.name}; "
                    f"read as {kind.group or 'v1'} {kind.name}"
                )
            self._take_pods(item, kind, POD_SETS.get(kind, ()))
        elif has_no_pods(kind):
            return
        elif self._custom and self._has_template(item):
            self._take_pods(item, kind, self._custom)
        else:
            self._not_read[one_line(kind.name)] += 1

    def _take_own(self, item: Item) -> None:
        """Hand a document of our own over; inside a Kubernetes List it has no place."""
        if self._own is None or item.path:
            raise item.error(
                f"kind {one_line(item.kind.name)} ({one_line(item.api_version)}) among Kubernetes objects",
                "put it into a document of its own",
            )
        for batch in self._own(item.document):
            self._add(item, batch)

    def _take_pods(self, item: Item, kind: Kind, pod_sets: Sequence[PodSet]) -> None:
        """Make a draft of each template of an object; a pod is its own template."""
        value = item.decode(_ANY)
        if kind == POD:
            draft = self._draft(_Object(value, POD, "", ""), Place((), "", value), "")
            self._once(item, kind.name, draft.workload.key)
            self._add(item, draft)
            return
        owner = _Object(value, kind, *self._identity(value))
        self._once(item, kind.name, f"{owner.namespace}/{owner.name}")
        found = 0
        for pod_set in pod_sets:
            for place in places(value, pod_set.pattern):
                found += 1
                name = "-".join(filter(None, (owner.name, pod_set.suffix, place.name)))
                draft = self._draft(owner, place, name)
                replicas = pod_set.count(Scope(value, place.path[:-1]))
                if replicas > REPLICAS_MAX:
                    what = f"{replicas} pods in all"
                    raise Fault(InputError(what, remedy=f"use at most {REPLICAS_MAX}"), place.path)
                self._add(item, draft._replace(replicas=replicas))
        if not found:
            what = f"{one_line(kind.name)} {one_line(owner.name)} has no pod template"
            raise Fault(InputError(what, remedy="add it"))

    def _draft(self, owner: _Object, place: Place, name: str) -> _Draft:
        """One pod of a template of an object."""
        kind = owner.kind
        pod = _decoded_pod(place)
        if kind != POD:
            pod.metadata = Metadata(name=name, namespace=owner.namespace, labels=_labels_of(pod))
        try:
            workload = self._pods.read(pod, namespace=self._namespace)
        except Fault as fault:
            raise fault.under(*place.path) from None
        workload = msgspec.structs.replace(
            workload,
            kind=kind.name,
            state="init",
            owner=workload.owner if kind == POD else f"{kind.name}/{owner.name}",
            created_seconds=None,
            terminating=False,
        )
        if kind == STATEFUL_SET:
            volumes = (*workload.volumes, *self._claim_templates(owner))
            workload = msgspec.structs.replace(workload, volumes=volumes)
        if kind == DAEMON_SET:
            workload = as_daemon(workload)
        spec = pod.spec or PodSpec()
        by_default = spec.priority is None and not spec.priority_class_name
        return _Draft(workload, 1, class_names(spec), by_default)

    def _claim_templates(self, owner: _Object) -> list[Volume]:
        """The volumes of a StatefulSet, one of each per replica: the claim of replica 3 is called CLAIM-3."""
        path = ("spec", "volumeClaimTemplates")
        text = msgspec.json.encode(owner.value["spec"].get("volumeClaimTemplates"))
        try:
            templates = _CLAIM_TEMPLATES.decode(text) or []
        except msgspec.ValidationError as error:
            raise wrong_type(error, text).under(*path) from None
        volumes = []
        for index, template in enumerate(templates):
            try:
                storage_class, size_bytes = claimed(template.spec, self._amounts)
            except Fault as fault:
                raise fault.under(*path, index, "spec") from None
            volume_name = (template.metadata and template.metadata.name) or f"volume-{index}"
            volumes.append(Volume(volume_name, f"{volume_name}-{owner.name}", storage_class, size_bytes))
        return volumes

    def _identity(self, value: Any) -> tuple[str, str]:
        """The name and namespace of an object; raises a Fault."""
        text = msgspec.json.encode(value.get("metadata"))
        try:
            metadata = _METADATA.decode(text) or Metadata()
        except msgspec.ValidationError as error:
            raise wrong_type(error, text).under("metadata") from None
        return object_name(metadata), metadata.namespace or self._namespace

    def _once(self, item: Item, kind: str, key: str) -> None:
        """Refuse a second object of one kind and name."""
        place = item.place()
        first = self._objects.setdefault((kind, key), place)
        if first != place:
            raise item.error(
                f"a second {kind} named {one_line(key)}, the first is at {first}", "keep one of them"
            )

    def _add(self, item: Item, draft: _Draft | Batch) -> None:
        """Keep a batch under a name of its own; objects of different kinds may have the same name."""
        workload = draft.workload
        try:
            check_workload(workload, self._types)
        except InputError as error:
            raise error.at(item.place()) from None
        before = self._drafts.get(workload.key)
        if before is not None:
            if before.workload.kind == workload.kind:
                raise item.error(f"{one_line(workload.key)} is given twice", "give each file once")
            renamed = msgspec.structs.replace(workload, name=f"{workload.name}-{workload.kind.lower()}")
            if renamed.key in self._drafts:
                raise item.error(f"a second workload named {one_line(workload.key)}", "rename one of them")
            if isinstance(draft, Batch):
                draft = msgspec.structs.replace(draft, workload=renamed)
            else:
                draft = draft._replace(workload=renamed)
        self._drafts[draft.workload.key] = draft

    def _batch(self, draft: _Draft) -> Batch:
        """A draft with what the other objects say about it."""
        workload, replicas = draft.workload, draft.replicas
        if draft.classes is not None:
            workload = self._classes.applied(workload, draft.classes)
            self._warnings += [
                f"{one_line(workload.key)}: {one_line(unknown)} is not known; it adds nothing"
                for unknown in self._classes.unknown(draft.classes)
            ]
        if draft.by_default and self._classes.default_priority:
            workload = msgspec.structs.replace(workload, priority=self._classes.default_priority)
        if workload.volumes:
            volumes = with_claims(workload.volumes, self._claims, workload.namespace)
            workload = msgspec.structs.replace(workload, volumes=volumes)
        if workload.kind == DAEMON_SET.name:
            replicas = daemon_pods(workload, self._nodes or ())
            if self._nodes is None:
                name = one_line(workload.key)
                self._warnings.append(
                    f"{name}: a DaemonSet has a pod on each node it matches; no node is known"
                )
        return Batch(workload, replicas)


def _decoded_pod(place: Place) -> PodWire:
    """The pod that a template describes, without anything that only a running one has."""
    text = msgspec.json.encode(place.value)
    try:
        pod = _POD.decode(text)
    except msgspec.ValidationError as error:
        raise wrong_type(error, text).under(*place.path) from None
    pod.status = None
    return pod


def _labels_of(pod: PodWire) -> msgspec.Raw:
    return NULL if pod.metadata is None else pod.metadata.labels
