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

from ullage.engine.quota.validation import refuse_errors
from ullage.model.checks import REPLICAS_MAX, check_workload
from ullage.model.cluster import Batch, Node
from ullage.model.delta import Delta
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.documents import Document, JsonDocument, read_documents
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.claim_templates import claims_of_templates
from ullage.sources.kubernetes.classes import QueuePriority
from ullage.sources.kubernetes.constraint_rules import check_constraints
from ullage.sources.kubernetes.daemons import as_daemon
from ullage.sources.kubernetes.drafts import Draft, completed, draft_of, lookup_of
from ullage.sources.kubernetes.faults import Fault, wrong_type
from ullage.sources.kubernetes.items import POD, Item, Kind, Page, items_of
from ullage.sources.kubernetes.kueue import QUEUE_KINDS, Kueue, class_in_queue_of, queue_of, with_queue
from ullage.sources.kubernetes.kueue_jobs import WORKLOAD, read_job
from ullage.sources.kubernetes.object_kinds import OBJECT_KINDS, OWN_GROUP, Known, ObjectRows
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE
from ullage.sources.kubernetes.pod_groups import POD_GROUPS, PodGroups
from ullage.sources.kubernetes.pod_sets import POD_SETS, PodSet, has_no_pods, known_kind, stated
from ullage.sources.kubernetes.pods import PodReader, object_name
from ullage.sources.kubernetes.template_paths import Place, Scope, parse_pattern, places
from ullage.sources.kubernetes.unknowns import Unknowns
from ullage.sources.kubernetes.wire import NULL, Metadata, PodSpec, PodWire
from ullage.sources.limits import ASKED_LIMITS, MIB, Limits
from ullage.sources.places import one_line

HAND_WRITTEN_BYTES_MAX: Final = 8 * MIB
"""JSON up to this size may have been written by people and is checked for keys that stand twice."""

DAEMON_SET: Final = Kind("apps", "DaemonSet")
STATEFUL_SET: Final = Kind("apps", "StatefulSet")
OBJECTS: Final = frozenset(OBJECT_KINDS)
"""What manifests may bring along."""
NOTHING_KNOWN: Final = Known()

_NAMED_MAX: Final = 10
"""Kinds that a message names."""

_ANY: Final = msgspec.json.Decoder(dict[str, Any])
_METADATA: Final = msgspec.json.Decoder(Metadata | None)
_POD: Final = msgspec.json.Decoder(PodWire)

OwnReader = Callable[[Document], Iterable[Batch]]
"""Reads a document of our own format; see `read_manifests`."""


class Manifests(NamedTuple):
    """What manifests ask for: batches in the order they are written, and what was odd about them.

    `objects` are the rows that they bring along: claims, volumes, classes, namespaces, budgets, quotas.
    """

    batches: tuple[Batch, ...]
    objects: Delta
    warnings: tuple[str, ...]


class _Object(NamedTuple):
    """An object that asks for pods."""

    value: Any
    kind: Kind
    name: str
    namespace: str


def read_manifests(
    inputs: str | Sequence[str],
    *,
    types: ResourceTypes | None = None,
    nodes: Iterable[Node] | None = None,
    known: Known = NOTHING_KNOWN,
    namespace: str = DEFAULT_NAMESPACE,
    pod_template: str = "",
    own: OwnReader | None = None,
    limits: Limits = ASKED_LIMITS,
    stdin: BinaryIO | None = None,
) -> Manifests:
    """Return the batches that files, folders or standard input (`-`) ask for; raises an InputError.

    `nodes` are those that DaemonSets are counted on, `known` is what the cluster has that manifests may
    name (object_kinds.known_of), `namespace` is that of objects which name none,
    `pod_template` leads to the pod templates of kinds that are not known, and `own` reads documents of
    apiVersion ullage.dev, whose batches stand where the document stood.
    """
    reader = ManifestReader(
        types or ResourceTypes(),
        nodes=nodes,
        known=known,
        namespace=namespace,
        pod_template=pod_template,
        own=own,
    )
    for path in (inputs,) if isinstance(inputs, str) else inputs:
        for document in read_documents(path, limits=limits, stdin=stdin):
            reader.take(document)
    return reader.manifests()


class ManifestReader:
    """The reading of manifests, document by document.

    Those `of_cluster` have passed an API server; what one would refuse about others is refused here.
    """

    def __init__(
        self,
        types: ResourceTypes,
        *,
        nodes: Iterable[Node] | None = None,
        known: Known = NOTHING_KNOWN,
        namespace: str = DEFAULT_NAMESPACE,
        pod_template: str = "",
        own: OwnReader | None = None,
        of_cluster: bool = False,
    ) -> None:
        self._types = types
        self._of_cluster = of_cluster
        self._amounts = Amounts(types, of_cluster=of_cluster)
        self._pods = PodReader(types, self._amounts)
        self._nodes = None if nodes is None else tuple(nodes)
        self._namespace = namespace or DEFAULT_NAMESPACE
        self._custom = (PodSet(parse_pattern(pod_template), stated),) if pod_template else ()
        self._own = own
        self._known = known
        self._objects = ObjectRows(self._amounts, self._namespace)
        self._kueue = Kueue(self._amounts, self._namespace)
        self._groups = PodGroups(self._namespace)
        self._drafts: dict[str, Draft | Batch] = {}
        self._places: dict[tuple[str, str], str] = {}
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

    def manifests(self, nodes: Iterable[Node] | None = None, known: Known | None = None) -> Manifests:
        """Everything that has been read, put together; raises an InputError where that asks for nothing.

        `nodes` and `known` stand for what was not known when the reading began.
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
        self._known = known or self._known
        self._groups.know(self._known.pod_groups)
        objects = self._brought_along()
        lookup = lookup_of(objects, self._known, self._objects.default_class())
        batches = []
        workloads = [each.workload for each in self._drafts.values()]
        jobs = {(each.namespace, each.owner) for each in workloads if each.kind != WORKLOAD.name}
        for draft in self._drafts.values():
            workload = draft.workload
            if workload.kind == WORKLOAD.name and (workload.namespace, workload.owner or None) in jobs:
                continue  # its job is here itself
            if isinstance(draft, Batch):
                batches.append(draft)
                continue
            batch, odd = completed(draft, lookup, self._nodes)
            batches.append(msgspec.structs.replace(batch, workload=self._groups.applied(batch.workload)))
            self._warnings += odd
        not_read = [f"not read: {count} {kind}" for kind, count in sorted(self._not_read.items())]
        warnings = tuple(dict.fromkeys((*self._warnings, *not_read)))
        return Manifests(tuple(batches), objects, warnings)

    def _brought_along(self) -> Delta:
        """Return the objects beside those that ask for pods; raises an InputError about quotas.

        Queues of Kueue are those quotas that they make or change in the cluster.
        """
        tables = self._objects.tables(self._known.default_class)
        there = {quota.name: quota for quota in (*self._known.quotas, *tables["quotas"])}
        self._kueue.know(tables["namespaces"])
        changed = {quota.name: quota for quota in (*tables["quotas"], *self._kueue.changed(there.values()))}
        tables["quotas"] = tuple(changed.values())
        try:
            refuse_errors(tables["quotas"], self._types, self._known.quotas, in_kubernetes=True)
        except InputError as error:
            raise error.at(self._source) from None
        told = Unknowns()
        self._kueue.say(told, there)
        self._warnings += told.lines()
        return msgspec.structs.replace(Delta(), **tables)

    def _has_template(self, item: Item) -> bool:
        """Whether the path that was given leads anywhere in an object."""
        value = item.decode(_ANY)
        return any(True for pod_set in self._custom for _ in places(value, pod_set.pattern))

    def _take(self, item: Item) -> None:
        kind = known_kind(item.kind)
        if kind in OBJECTS:
            taken = self._objects.take(item)
            self._once(item, kind.name, taken.key)
        elif kind in QUEUE_KINDS:
            self._once(item, kind.name, self._kueue.take(item))
        elif kind.group == OWN_GROUP:
            self._take_own(item)
        elif kind in POD_GROUPS:
            self._once(item, f"{kind.name} of {kind.group}", self._groups.take(item))
        elif kind == WORKLOAD:
            self._take_job(item)
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

    def _take_job(self, item: Item) -> None:
        """Make a draft of each set of pods of a Workload of Kueue."""
        job, odd = read_job(item, self._pods, self._namespace, of_cluster=False)
        self._once(item, WORKLOAD.name, job.key)
        self._warnings += odd
        for draft in job.sets:
            self._add(item, draft)

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

    def _draft(self, owner: _Object, place: Place, name: str) -> Draft:
        """One pod of a template of an object."""
        kind = owner.kind
        pod = _decoded_pod(place)
        if kind != POD:
            pod.metadata = Metadata(name=name, namespace=owner.namespace, labels=_labels_of(pod))
        try:
            workload = self._pods.read(pod, namespace=self._namespace)
            if not self._of_cluster:
                odd = check_constraints(pod.spec or PodSpec())
                self._warnings += [f"{one_line(workload.key)}: {line}" for line in odd]
        except Fault as fault:
            raise fault.under(*place.path) from None
        workload = msgspec.structs.replace(
            workload,
            kind=kind.name,
            state="init",
            owner=workload.owner if kind == POD else f"{kind.name}/{owner.name}",
            created_seconds=None,
            started_seconds=None,
            terminating=False,
        )
        workload = with_queue(workload, queue_of(owner.value))
        classless: frozenset[str] = frozenset()
        if kind == STATEFUL_SET:
            added, classless = claims_of_templates(owner.value, owner.name, self._amounts)
            workload = msgspec.structs.replace(workload, volumes=(*workload.volumes, *added))
        if kind == DAEMON_SET:
            workload = as_daemon(workload)
        found = draft_of(workload, pod.spec or PodSpec(), classless)
        return found._replace(priority=QueuePriority(workload_class=class_in_queue_of(owner.value)))

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
        first = self._places.setdefault((kind, key), place)
        if first != place:
            raise item.error(
                f"a second {kind} named {one_line(key)}, the first is at {first}", "keep one of them"
            )

    def _add(self, item: Item, draft: Draft | Batch) -> None:
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
