"""Objects of a cluster, one after the other, to a snapshot.

The hard thing: objects come in any order, so what one says of another (a claim of a pod's volume, metrics
of a node, a runtime's overhead) is put together only when all have been read.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ullage.model.admission import Autoscaler
from ullage.model.checks import check_snapshot
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.errors import InputError
from ullage.model.policy import Policy
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.storage import Claim
from ullage.model.table import Table
from ullage.sources.decode_errors import place_text
from ullage.sources.input_files import InputFile
from ullage.sources.kubernetes import dynamic_devices, wire
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.autoscalers import AUTOSCALERS, read_autoscaler
from ullage.sources.kubernetes.baremetal_objects import DECODERS as BAREMETAL
from ullage.sources.kubernetes.baremetal_objects import Baremetal
from ullage.sources.kubernetes.capacity_policies import (
    CAPACITY_POLICY,
    DEPLOYMENT,
    OBJECT,
    Policies,
    installed_layer,
)
from ullage.sources.kubernetes.classes import Classes, ClassNames, class_names
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.items import NODE, POD, Item, Kind
from ullage.sources.kubernetes.kueue import QUEUE_KINDS, Kueue
from ullage.sources.kubernetes.kueue_jobs import WORKLOAD
from ullage.sources.kubernetes.kueue_workloads import KueueWorkloads
from ullage.sources.kubernetes.nodes import DEVICES_MAX, GPU_MODEL_LABELS, NodeReader
from ullage.sources.kubernetes.object_kinds import OBJECT_KINDS, Known, ObjectRows
from ullage.sources.kubernetes.objects import with_claims, with_class
from ullage.sources.kubernetes.pod_groups import POD_GROUPS, PodGroups
from ullage.sources.kubernetes.pods import PodReader, classless_volumes
from ullage.sources.kubernetes.storage_objects import DRIVERS_OF_NODE, read_attach_limits
from ullage.sources.kubernetes.unknowns import Unknowns
from ullage.sources.kubernetes.waiting import WaitingSets, asks_for_pods
from ullage.sources.limits import DEFAULT_LIMITS, Limits, size_text
from ullage.sources.places import Path, one_line
from ullage.sources.type_documents import GROUP as TYPES_GROUP
from ullage.sources.type_documents import ONE_TYPE, SMALL_BYTES_MAX, may_hold_types, types_of_file

MISFILED_POD: Final = Kind("apps", "Pod")
"""How the documentation of nos files a pod."""

_NODE: Final = msgspec.json.Decoder(wire.NodeWire)
_POD: Final = msgspec.json.Decoder(wire.PodWire)
_NODE_METRICS: Final = msgspec.json.Decoder(wire.NodeMetricsWire)

Seen = tuple[str, int, Path]
"""Where an object stands: source, document, path. (A Document would hold on to the bytes of its file.)"""


class ClusterReading:
    """What has been read so far."""

    def __init__(self, types: ResourceTypes, group_label: str, limits: Limits = DEFAULT_LIMITS) -> None:
        self._group_label = group_label
        self._limits = limits
        self._began = False
        self.file_has_types = False
        self._use(types)
        self._disks = Baremetal()
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, Workload] = {}
        self._actual: dict[str, Resources] = {}
        self._autoscalers: dict[str, Autoscaler] = {}
        self._attach_limits: dict[str, dict[str, int]] = {}
        self._devices = dynamic_devices.DynamicDevices()
        self._groups = PodGroups()
        self._asking_for_devices: list[str] = []
        self._classless: dict[str, frozenset[str]] = {}
        self._uids: dict[str, str] = {}
        self._unresolved: dict[str, ClassNames] = {}
        self._seen: dict[str, dict[str, Seen]] = {}
        self._newest_seconds: int | None = None
        self.unknowns = Unknowns()
        self._handlers: dict[Kind, Callable[[Item], None]] = {
            NODE: self._node,
            POD: self._pod,
            MISFILED_POD: self._misfiled_pod,
            **dict.fromkeys(OBJECT_KINDS, self._object),
            **dict.fromkeys(POD_GROUPS, self._pod_group),
            **dict.fromkeys(QUEUE_KINDS, self._queue),
            WORKLOAD: self._queued,
            **dict.fromkeys(AUTOSCALERS, self._autoscaler),
            Kind("storage.k8s.io", "CSINode"): self._drivers_of_node,
            Kind(dynamic_devices.GROUP, "ResourceSlice"): self._slice,
            Kind(dynamic_devices.GROUP, "ResourceClaim"): self._device_claim,
            Kind("metrics.k8s.io", "NodeMetrics"): self._node_metrics,
            **dict.fromkeys(BAREMETAL, self._disk_object),
            Kind(TYPES_GROUP, ONE_TYPE): _read_before,
            CAPACITY_POLICY: self._policy,
        }

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of objects that are read, beside those that ask for pods."""
        return tuple(self._handlers)

    def _use(self, types: ResourceTypes) -> None:
        """Read what follows by a registry."""
        self._types = types
        self._amounts = Amounts(types, of_cluster=True)
        self._pod_reader = PodReader(types, self._amounts)
        self._sets = WaitingSets(types)
        self._node_reader = NodeReader(self._amounts, group_label=self._group_label)
        self._objects = ObjectRows(self._amounts)
        self._kueue = Kueue(self._amounts)
        self._queued_jobs = KueueWorkloads(self._pod_reader)
        self._policies = Policies(types)

    def prepare(self, file: InputFile, left_out: Callable[[str], None] | None = None) -> None:
        """Take the resource types of a file before its objects; raises an InputError, or tells `left_out`."""
        self.file_has_types = may_hold_types(file.data)
        if not self.file_has_types:
            return
        types = types_of_file(file, self._types, self._limits, left_out)
        if types == self._types:
            return
        if self._began:
            raise InputError(
                "resource types behind objects that were read without them",
                where=file.name,
                remedy=f"put them into a file of their own of at most {size_text(SMALL_BYTES_MAX)}",
            )
        self._use(types)

    def take(self, item: Item) -> None:
        """Read one object, or count it among those that are not read; raises an InputError."""
        self._began = True
        handler = self._handlers.get(item.kind)
        if handler is None and asks_for_pods(item.kind):
            handler = self._set
        if handler is None:
            self.unknowns.not_read(item.kind)
            return
        try:
            handler(item)
        except (Fault, RecursionError) as problem:
            raise item.refusal(problem) from None

    def snapshot(self, *, sees_nodes: bool = False) -> Snapshot:
        """The cluster, when everything has been read; raises an InputError.

        `sees_nodes` says that all nodes were read, though there may be none.
        """
        tables = self._objects.tables()
        named = (quota.name for quota in tables["quotas"])
        tables["quotas"] = (*tables["quotas"], *self._kueue.quotas(named))
        classes = Classes(tables["runtime_classes"], tables["priority_classes"])
        self._resolve_classes(classes)
        self._expand_sets(tables)
        self._leave_out_lost_pods(sees_nodes=sees_nodes)
        self._fill_in_claims({claim.key: claim for claim in tables["claims"]})
        self._disks.resolve(self._nodes, tables["claims"], tables["volumes"], self._pods.values())
        nodes = self._whole_nodes()
        self._say_what_is_missing(classes)
        self._say_what_is_not_found(tables)
        snapshot = Snapshot(
            resource_types=self._types,
            nodes=Table(nodes),
            workloads=Table(self._pods.values()),
            reservations=Table(self._disks.reservations),
            pod_groups=Table(self._groups.rows()),
            autoscalers=Table(self._autoscalers.values()),
            unknowns=self.unknowns.lines(),
            taken_seconds=self._newest_seconds,
            policy=self._policies.policy() if self._policies.says_anything else Policy(),
        )
        objects = {name: Table(rows) for name, rows in tables.items()}
        return check_snapshot(msgspec.structs.replace(snapshot, **objects))

    def _once(self, item: Item, what: str, key: str, *, again: bool = False) -> None:
        """Refuse a second object of one kind and name, unless it is the same one again.

        Collections of dumps hold a pod in the list of its namespace and in a file of its own.
        """
        seen = (item.document.source, item.document.index, item.path)
        first = self._seen.setdefault(what, {}).setdefault(key, seen)
        if first is not seen and not again:
            first_place = place_text(*first)
            raise item.error(
                f"a second {what} named {one_line(key)}, the first is at {first_place}", "keep one of them"
            )

    def _node(self, item: Item) -> None:
        decoded = item.decode(_NODE)
        node = self._node_reader.read(decoded)
        self._once(item, "node", node.name)
        self._nodes[node.name] = node
        self._disks.node(decoded.metadata)
        for condition in (decoded.status.conditions if decoded.status else None) or ():
            if condition.last_heartbeat_time is not None:
                self._was_at(int(condition.last_heartbeat_time.timestamp()))

    def _was_at(self, seconds: int | None) -> None:
        """Take note of a moment that is over: the newest of them is when the cluster was seen, at least."""
        if seconds is not None and (self._newest_seconds is None or seconds > self._newest_seconds):
            self._newest_seconds = seconds

    def _pod(self, item: Item) -> None:
        decoded = item.decode(_POD)
        workload = self._pod_reader.read(decoded)
        key = workload.key
        self._once(item, "pod", key, again=self._pods.get(key) == workload)
        self._pods[key] = workload
        self._was_at(workload.created_seconds)
        self._was_at(workload.started_seconds)
        spec = decoded.spec
        if spec is None:
            return
        names = class_names(spec)
        if names is not None:
            self._unresolved[key] = names
        if not workload.node:
            self._take_wishes(key, spec, (decoded.metadata or wire.Metadata()).uid or "")

    def _take_wishes(self, key: str, spec: wire.PodSpec, uid: str) -> None:
        """Take note of what a pod that waits asks for and others decide."""
        if spec.resource_claims != wire.NULL:
            self._asking_for_devices.append(key)
        if spec.volumes:
            self._classless[key] = classless_volumes(spec)
            self._uids[key] = uid

    def _misfiled_pod(self, item: Item) -> None:
        self._pod(item)
        self.unknowns.say(f"{item.place()}: apiVersion {item.api_version} has no Pod; read as v1")

    def _object(self, item: Item) -> None:
        taken = self._objects.take(item)
        self._once(item, taken.what, taken.key, again=taken.again)

    def _pod_group(self, item: Item) -> None:
        self._groups.take(item)

    def _autoscaler(self, item: Item) -> None:
        found = read_autoscaler(item)
        self._once(item, found.kind, found.key, again=self._autoscalers.get(found.key) == found)
        self._autoscalers[found.key] = found

    def _queue(self, item: Item) -> None:
        self._kueue.take(item)

    def _queued(self, item: Item) -> None:
        self._queued_jobs.take(item)

    def _drivers_of_node(self, item: Item) -> None:
        decoded = item.decode(DRIVERS_OF_NODE)
        self._attach_limits[decoded.metadata.name] = read_attach_limits(decoded)

    def _slice(self, item: Item) -> None:
        self._devices.take_slice(item.decode(dynamic_devices.SLICE))

    def _device_claim(self, item: Item) -> None:
        self._devices.take_claim(item.decode(dynamic_devices.DEVICE_CLAIM))

    def _node_metrics(self, item: Item) -> None:
        decoded = item.decode(_NODE_METRICS)
        try:
            self._actual[decoded.metadata.name] = self._amounts.resources(decoded.usage)
        except Fault as fault:
            raise fault.under("usage") from None

    def _disk_object(self, item: Item) -> None:
        self._disks.take(item)

    def _resolve_classes(self, classes: Classes) -> None:
        """Add what admission would have added to pods that name classes only."""
        for key, names in self._unresolved.items():
            self._pods[key] = classes.applied(self._pods[key], names)

    def _leave_out_lost_pods(self, *, sees_nodes: bool) -> None:
        """Leave out pods that run on nodes nobody has described, and say so; one that is over left its node.

        A node that was deleted has pods until they are collected. Raises an InputError where no node is
        seen at all.
        """
        lost = {key: pod.node for key, pod in self._pods.items() if pod.node and pod.node not in self._nodes}
        running = {key: node for key, node in lost.items() if self._pods[key].state != "deleted"}
        if running and not self._nodes and not sees_nodes:
            raise InputError(
                f"{'1 pod on a node' if len(running) == 1 else f'{len(running)} pods on nodes'}, "
                "but no node in the dump",
                where=self._seen["pod"][min(running)][0],
                remedy="dump both: kubectl get nodes,pods -A -o json",
            )
        for key in lost:
            if key in running:
                del self._pods[key]
                self._unresolved.pop(key, None)
            else:
                self._pods[key] = msgspec.structs.replace(self._pods[key], node="")
        self.unknowns.lost(running)

    def _policy(self, item: Item) -> None:
        name = item.decode(OBJECT).metadata.name
        changed = self._policies.put(item.content)
        self._once(item, CAPACITY_POLICY.name, name, again=not changed)
        if name in self._policies.problems:
            self.unknowns.say(f"not used: CapacityPolicy {one_line(name)}: {self._policies.problems[name]}")

    def _set(self, item: Item) -> None:
        layer = installed_layer(item.content, self._types) if item.kind == DEPLOYMENT else None
        if layer is not None:
            self._policies.lies_on(layer)
        if not self._sets.take(item):
            self.unknowns.not_read(item.kind)

    def _expand_sets(self, tables: Mapping[str, tuple[Any, ...]]) -> None:
        """Add the pods that objects ask for and that are not there; all pods learn about their gangs."""
        default_class = self._objects.default_class()
        known = Known(tables["runtime_classes"], tables["priority_classes"], default_class)
        waiting, warnings = self._sets.workloads(self._pods, self._nodes.values(), known)
        self._pods |= {workload.key: workload for workload in waiting}
        self._pods |= {key: self._groups.applied(pod) for key, pod in self._pods.items() if pod.gang}
        self._kueue.know(tables["namespaces"])
        classes = Classes(priorities=tables["priority_classes"])
        self._pods |= self._queued_jobs.with_queues(self._pods, self._kueue, classes)
        self._queued_jobs.say(self.unknowns.examples, self._pods, self._kueue)
        queued, odd = self._queued_jobs.missing(self._pods, self._kueue, known)
        self._pods |= {workload.key: workload for workload in queued}
        for line in (*warnings, *odd):
            self.unknowns.say(line)
        self._kueue.say(self.unknowns)

    def _fill_in_claims(self, claims: Mapping[str, Claim]) -> None:
        """Give volumes the class and size of their claims, and the default class to those that name none."""
        default_class = self._objects.default_class()
        if default_class:
            for key, names in self._classless.items():
                pod = self._pods[key]
                volumes = with_class(pod.volumes, names, default_class)
                self._pods[key] = msgspec.structs.replace(pod, volumes=volumes)
        if not claims:
            return
        for key, pod in self._pods.items():
            if pod.volumes:
                volumes = with_claims(pod.volumes, claims.get, pod.namespace, self._uids.get(key, ""))
                self._pods[key] = msgspec.structs.replace(pod, volumes=volumes)

    def _whole_nodes(self) -> list[Node]:
        """The nodes with what other objects say of them: disks, use, and volumes that can be attached."""
        nodes = []
        for name, node in self._nodes.items():
            known = self._disks.of_node(name)
            if name in self._actual:
                known = {**known, "actual": self._actual[name]}
            if self._attach_limits.get(name):
                known = {**known, "attach_limits": self._attach_limits[name]}
            nodes.append(msgspec.structs.replace(node, **known) if known else node)
        return nodes

    def _say_what_is_missing(self, classes: Classes) -> None:
        say = self.unknowns.examples
        self._disks.say(say)
        say("not read: resources of the reserved domain", list(self._amounts.names_left_out))
        say("cut to what can be counted: amounts beyond it", list(self._amounts.names_cut))
        for line in self._devices.lines(self._nodes):
            self.unknowns.say(line)
        say("devices that waiting pods ask for by ResourceClaim", self._asking_for_devices)
        say("not used: metrics of unknown nodes", [name for name in self._actual if name not in self._nodes])
        crowded = [
            name
            for name, node in self._nodes.items()
            if any(node.capacity.of(resource) > DEVICES_MAX for resource in GPU_MODEL_LABELS)
        ]
        say(f"devices not listed: nodes with more than {DEVICES_MAX} GPUs", crowded)
        unknown = {line for names in self._unresolved.values() for line in classes.unknown(names)}
        say("not found: classes that pods name", list(unknown))

    def _say_what_is_not_found(self, tables: Mapping[str, tuple[Any, ...]]) -> None:
        """Name what objects refer to and nobody has described."""
        say = self.unknowns.examples
        known = {name: {row.key for row in rows} for name, rows in tables.items()}
        claims: tuple[Claim, ...] = tables["claims"]
        named = {claim.volume for claim in claims if claim.volume}
        say("not found: volumes that claims are bound to", list(named - known["volumes"]))
        named = {claim.storage_class for claim in claims if claim.storage_class and not claim.bound}
        say("not found: storage classes that claims name", list(named - known["storage_classes"]))
        if self._pod_reader.selects_namespaces():
            named = {pod.namespace for pod in self._pods.values()}
            say("not found: namespaces, by whose labels pods select", list(named - known["namespaces"]))
        nodes = [name for name in self._attach_limits if name not in self._nodes]
        say("not used: volume limits of unknown nodes", nodes)


def _read_before(_: Item) -> None:
    """Nothing: resource types were read before the objects of their file."""
