"""Objects of a cluster, one after the other, to a snapshot.

The hard thing: objects come in any order, so what one says of another (a claim of a pod's volume, metrics
of a node, a runtime's overhead) is put together only when all have been read.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from ullage.model.checks import check_snapshot
from ullage.model.cluster import Claim, Node, Quota, Snapshot, Workload
from ullage.model.errors import InputError
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.table import Table
from ullage.sources.decode_errors import place_text
from ullage.sources.input_files import InputFile
from ullage.sources.kubernetes import baremetal, wire
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.classes import Classes, ClassNames, class_names
from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.items import NODE, POD, Item, Kind
from ullage.sources.kubernetes.nodes import DEVICES_MAX, GPU_MODEL_LABELS, NodeReader
from ullage.sources.kubernetes.objects import read_claim, read_quota, with_claims
from ullage.sources.kubernetes.pods import PodReader
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
_CLAIM: Final = msgspec.json.Decoder(wire.ClaimWire)
_QUOTA: Final = msgspec.json.Decoder(wire.QuotaWire)
_RUNTIME_CLASS: Final = msgspec.json.Decoder(wire.RuntimeClassWire)
_PRIORITY_CLASS: Final = msgspec.json.Decoder(wire.PriorityClassWire)
_NODE_METRICS: Final = msgspec.json.Decoder(wire.NodeMetricsWire)
_DRIVE: Final = msgspec.json.Decoder(baremetal.DriveWire)
_VOLUME_GROUP: Final = msgspec.json.Decoder(baremetal.GroupWire)
_AVAILABLE: Final = msgspec.json.Decoder(baremetal.CapacityWire)
_BAREMETAL_NODE: Final = msgspec.json.Decoder(baremetal.BaremetalNodeWire)

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
        self._classes = Classes()
        self._disks = baremetal.DriveReader()
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, Workload] = {}
        self._claims: dict[str, Claim] = {}
        self._quotas: dict[str, Quota] = {}
        self._actual: dict[str, Resources] = {}
        self._unresolved: dict[str, ClassNames] = {}
        self._seen: dict[str, dict[str, Seen]] = {}
        self.unknowns = Unknowns()
        self._handlers: dict[Kind, Callable[[Item], None]] = {
            NODE: self._node,
            POD: self._pod,
            MISFILED_POD: self._misfiled_pod,
            Kind("", "PersistentVolumeClaim"): self._claim,
            Kind("nos.nebuly.com", "ElasticQuota"): self._quota,
            Kind("nos.nebuly.com", "CompositeElasticQuota"): self._quota,
            Kind("node.k8s.io", "RuntimeClass"): self._runtime_class,
            Kind("scheduling.k8s.io", "PriorityClass"): self._priority_class,
            Kind("metrics.k8s.io", "NodeMetrics"): self._node_metrics,
            Kind(baremetal.GROUP, "Drive"): self._drive,
            Kind(baremetal.GROUP, "LogicalVolumeGroup"): self._volume_group,
            Kind(baremetal.GROUP, "AvailableCapacity"): self._available,
            Kind(baremetal.GROUP, "Node"): self._baremetal_node,
            Kind(TYPES_GROUP, ONE_TYPE): _read_before,
        }

    def _use(self, types: ResourceTypes) -> None:
        """Read what follows by a registry."""
        self._types = types
        self._amounts = Amounts(types, of_cluster=True)
        self._pod_reader = PodReader(types, self._amounts)
        self._sets = WaitingSets(types)
        self._node_reader = NodeReader(self._amounts, group_label=self._group_label)

    def prepare(self, file: InputFile) -> None:
        """Take the resource types of a file before its objects; raises an InputError."""
        self.file_has_types = may_hold_types(file.data)
        if not self.file_has_types:
            return
        types = types_of_file(file, self._types, self._limits)
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

    def snapshot(self) -> Snapshot:
        """The cluster, when everything has been read."""
        self._resolve_classes()
        self._check_nodes_of_pods()
        self._expand_sets()
        self._fill_in_claims()
        nodes = self._nodes_with_disks()
        self._say_what_is_missing()
        snapshot = Snapshot(
            resource_types=self._types,
            nodes=Table(nodes),
            workloads=Table(self._pods.values()),
            quotas=Table(self._quotas.values()),
            claims=Table(self._claims.values()),
            unknowns=self.unknowns.lines(),
        )
        return check_snapshot(snapshot)

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

    def _pod(self, item: Item) -> None:
        decoded = item.decode(_POD)
        workload = self._pod_reader.read(decoded)
        key = workload.key
        self._once(item, "pod", key, again=self._pods.get(key) == workload)
        self._pods[key] = workload
        names = class_names(decoded.spec) if decoded.spec is not None else None
        if names is not None:
            self._unresolved[key] = names

    def _misfiled_pod(self, item: Item) -> None:
        self._pod(item)
        self.unknowns.say(f"{item.place()}: apiVersion {item.api_version} has no Pod; read as v1")

    def _claim(self, item: Item) -> None:
        claim = read_claim(item.decode(_CLAIM), self._amounts)
        self._once(item, "claim", claim.key, again=self._claims.get(claim.key) == claim)
        self._claims[claim.key] = claim

    def _quota(self, item: Item) -> None:
        quota = read_quota(item.decode(_QUOTA), item.kind.name, self._amounts)
        self._once(item, "quota", quota.key, again=self._quotas.get(quota.key) == quota)
        self._quotas[quota.key] = quota

    def _runtime_class(self, item: Item) -> None:
        self._classes.add_runtime(item.decode(_RUNTIME_CLASS), self._amounts)
        self._sets.take_class(item)

    def _priority_class(self, item: Item) -> None:
        self._classes.add_priority(item.decode(_PRIORITY_CLASS))
        self._sets.take_class(item)

    def _node_metrics(self, item: Item) -> None:
        decoded = item.decode(_NODE_METRICS)
        try:
            self._actual[decoded.metadata.name] = self._amounts.resources(decoded.usage)
        except Fault as fault:
            raise fault.under("usage") from None

    def _drive(self, item: Item) -> None:
        decoded = item.decode(_DRIVE)
        self._disks.drives[decoded.metadata.name] = decoded

    def _volume_group(self, item: Item) -> None:
        decoded = item.decode(_VOLUME_GROUP)
        self._disks.groups[decoded.metadata.name] = decoded

    def _available(self, item: Item) -> None:
        self._disks.available(item.decode(_AVAILABLE))

    def _baremetal_node(self, item: Item) -> None:
        self._disks.baremetal_node(item.decode(_BAREMETAL_NODE))

    def _resolve_classes(self) -> None:
        """Add what admission would have added to pods that name classes only."""
        for key, names in self._unresolved.items():
            self._pods[key] = self._classes.applied(self._pods[key], names)

    def _check_nodes_of_pods(self) -> None:
        """Refuse a running pod on a node that nobody has described; one that is over has left its node."""
        lost = sorted(key for key, pod in self._pods.items() if pod.node and pod.node not in self._nodes)
        running = [key for key in lost if self._pods[key].state != "deleted"]
        if running and not self._nodes:
            raise InputError(
                f"{'1 pod on a node' if len(running) == 1 else f'{len(running)} pods on nodes'}, "
                "but no node in the dump",
                where=self._seen["pod"][running[0]][0],
                remedy="dump both: kubectl get nodes,pods -A -o json",
            )
        if running:
            pod = self._pods[running[0]]
            raise InputError(
                f"pod {one_line(pod.key)} is on node {one_line(pod.node)}, which is not in the dump",
                where=place_text(*self._seen["pod"][pod.key]),
                remedy="dump nodes and pods together: kubectl get nodes,pods -A -o json",
            )
        for key in lost:
            self._pods[key] = msgspec.structs.replace(self._pods[key], node="")

    def _set(self, item: Item) -> None:
        if not self._sets.take(item):
            self.unknowns.not_read(item.kind)

    def _expand_sets(self) -> None:
        """Add the pods that objects ask for and that are not there."""
        waiting, warnings = self._sets.workloads(self._pods, self._nodes.values())
        self._pods |= {workload.key: workload for workload in waiting}
        for line in warnings:
            self.unknowns.say(line)

    def _fill_in_claims(self) -> None:
        """Give volumes the class and size of their claims."""
        if not self._claims:
            return
        for key, pod in self._pods.items():
            if pod.volumes:
                volumes = with_claims(pod.volumes, self._claims, pod.namespace)
                self._pods[key] = msgspec.structs.replace(pod, volumes=volumes)

    def _nodes_with_disks(self) -> list[Node]:
        disks = self._disks.disks(set(self._nodes))
        nodes = []
        for name, node in self._nodes.items():
            has = disks.get(name)
            actual = self._actual.get(name)
            if has is not None or actual is not None:
                drives, groups = has or baremetal.Disks()
                node = msgspec.structs.replace(node, actual=actual, drives=drives, volume_groups=groups)  # noqa: PLW2901 - the same node, more of it known
            nodes.append(node)
        return nodes

    def _say_what_is_missing(self) -> None:
        say = self.unknowns.examples
        say("not read: disks of unknown nodes or classes", self._disks.unplaced)
        say("not read: resources of the reserved domain", list(self._amounts.names_left_out))
        say("not used: metrics of unknown nodes", [name for name in self._actual if name not in self._nodes])
        crowded = [
            name
            for name, node in self._nodes.items()
            if any(node.capacity.of(resource) > DEVICES_MAX for resource in GPU_MODEL_LABELS)
        ]
        say(f"devices not listed: nodes with more than {DEVICES_MAX} GPUs", crowded)
        unknown = {line for names in self._unresolved.values() for line in self._classes.unknown(names)}
        say("not found: classes that pods name", list(unknown))


def _read_before(_: Item) -> None:
    """Nothing: resource types were read before the objects of their file."""
