"""A snapshot with its names replaced, so that it can be shown to strangers: every number stays as it was.

Names of nodes, namespaces, workloads, owners, quotas, volumes, drives and labels become pseudonyms, the same
wherever they are referred to; so selectors still select, and quotas still cover their namespaces. The hard
parts are texts in which names may hide (notes and reasons are dropped) and labels that are compared as
numbers (Gt and Lt: those numbers stay).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from ullage.engine.quota.book import QUEUE_LABEL
from ullage.model.checks import check_snapshot, unique
from ullage.model.cluster import Container, Device, Group, Node, Quota, Snapshot, Workload
from ullage.model.delta import TABLE_FACTS
from ullage.model.policy import PROFILE_NAMES, Layer, Policy
from ullage.sources.redact_admission import AdmissionRedactor
from ullage.sources.redact_constraints import ConstraintRedactor, numeric_keys
from ullage.sources.redact_drives import DriveRedactor
from ullage.sources.redact_ganeti import GanetiRedactor
from ullage.sources.redact_names import Pseudonyms, keeps_values
from ullage.sources.redact_storage import StorageRedactor

DEFAULT_SCHEDULER: Final = "default-scheduler"


def redact(snapshot: Snapshot, seed: str) -> Snapshot:
    """Return the snapshot with pseudonyms for names; the same seed gives the same pseudonyms."""
    redactor = _Redactor(seed, snapshot)
    notes = len(snapshot.unknowns)
    return check_snapshot(
        Snapshot(
            name=redactor.names.of("cluster", snapshot.name),
            revision=snapshot.revision,
            policy=redactor.policy(snapshot.policy),
            resource_types=snapshot.resource_types,
            nodes=unique(map(redactor.node, snapshot.nodes), "node"),
            groups=unique(map(redactor.group, snapshot.groups), "group"),
            workloads=unique(map(redactor.workload, snapshot.workloads), "workload"),
            quotas=unique(map(redactor.quota, snapshot.quotas), "quota"),
            reservations=unique(map(redactor.disks.reservation, snapshot.reservations), "reservation"),
            **redactor.objects(snapshot),
            tags=redactor.ganeti.tags(snapshot.tags),
            instance_policy=snapshot.instance_policy,
            taken_seconds=snapshot.taken_seconds,
            unknowns=(f"{notes} notes of the source were left out by the redaction",) if notes else (),
        )
    )


class _Redactor:
    """One redaction; equal maps and constraints are redacted once and stay shared."""

    def __init__(self, seed: str, snapshot: Snapshot) -> None:
        self.names = Pseudonyms(seed)
        self.constraints = ConstraintRedactor(self.names, numeric_keys(snapshot))
        self.labels = self.constraints.labels
        self.storage = StorageRedactor(self.constraints)
        self.admission = AdmissionRedactor(self.constraints, self.storage)
        self.ganeti = GanetiRedactor(self.names)
        self.disks = DriveRedactor(self.storage, snapshot.nodes, snapshot.workloads, snapshot.claims)

    def node(self, node: Node) -> Node:
        name = self.names.of
        kept_domains = {value for key, value in node.labels.items() if keeps_values(key)}
        return msgspec.structs.replace(
            node,
            name=name("node", node.name),
            group=name("group", node.group),
            domain=node.domain if node.domain in kept_domains else name("domain", node.domain),
            labels=self.labels(node.labels),
            taints=tuple(
                msgspec.structs.replace(
                    taint,
                    key=self.names.label_key(taint.key),
                    value=self.names.label_value(taint.key, taint.value),
                )
                for taint in node.taints
            ),
            devices=tuple(self._device(device) for device in node.devices),
            **self.disks.disks(node),
            attach_limits=self.storage.attach_limits(node.attach_limits),
            qualities=self._qualities(node.qualities),
            host=self.ganeti.node(node.host),
        )

    def _device(self, device: Device) -> Device:
        return msgspec.structs.replace(device, id=self.names.of("device", device.id))

    def _qualities(self, qualities: Mapping[str, str]) -> Mapping[str, str]:
        name = self.names.of
        return {name("quality", key): name("value", value) for key, value in qualities.items()}

    def group(self, group: Group) -> Group:
        return Group(
            self.names.of("group", group.name), self.labels(group.labels), self.ganeti.group(group.ganeti)
        )

    def workload(self, workload: Workload) -> Workload:
        name = self.names.of
        return msgspec.structs.replace(
            workload,
            name=name("workload", workload.name),
            namespace=name("namespace", workload.namespace),
            node=name("node", workload.node),
            standby=name("node", workload.standby),
            containers=tuple(self._container(container) for container in workload.containers),
            owner=name("owner", workload.owner),
            labels=self.labels(workload.labels),
            constraints=self.constraints.constraints(workload.constraints),
            volumes=tuple(
                msgspec.structs.replace(
                    volume,
                    name=name("volume", volume.name),
                    claim=name("claim", volume.claim),
                    storage_class=self.storage.class_name(volume.storage_class),
                    driver=self.storage.driver_name(volume.driver),
                    storage_group=self.storage.storage_group(volume.storage_group),
                )
                for volume in workload.volumes
            ),
            scheduler=workload.scheduler
            if workload.scheduler == DEFAULT_SCHEDULER
            else name("scheduler", workload.scheduler),
            gang=name("gang", workload.gang),
            priority_class=self.admission.priority_name(workload.priority_class),
            runtime_class=self.admission.runtime_name(workload.runtime_class),
            qualities=self._qualities(workload.qualities),
            instance=self.ganeti.instance(workload.instance),
            outages=tuple(
                msgspec.structs.replace(each, container=name("container", each.container))
                for each in workload.outages
            ),
        )

    def _container(self, container: Container) -> Container:
        return msgspec.structs.replace(container, name=self.names.of("container", container.name))

    def quota(self, quota: Quota) -> Quota:
        name = self.names.of
        return msgspec.structs.replace(
            quota,
            name=name("quota", quota.name),
            namespaces=tuple(name("namespace", each) for each in quota.namespaces),
            parent=name("quota", quota.parent),
            queues=tuple(self._queue(each) for each in quota.queues),
            stopped=tuple(self._queue(each) for each in quota.stopped),
        )

    def _queue(self, queue: str) -> str:
        """Return a queue under the names that its namespace and the labels of its workloads get."""
        namespace, _, name = queue.partition("/")
        return f"{self.names.of('namespace', namespace)}/{self.names.label_value(QUEUE_LABEL, name)}"

    def objects(self, snapshot: Snapshot) -> dict[str, Any]:
        """Return the tables of storage and admission."""
        storage, admission = self.storage, self.admission
        redacted: dict[str, Iterable[Any]] = {
            "claims": map(storage.claim, snapshot.claims),
            "volumes": map(storage.volume, snapshot.volumes),
            "storage_classes": map(storage.storage_class, snapshot.storage_classes),
            "storage_capacities": map(storage.capacity, snapshot.storage_capacities),
            "storage_drivers": map(storage.driver, snapshot.storage_drivers),
            "namespaces": map(admission.namespace, snapshot.namespaces),
            "limit_ranges": map(admission.limit_range, snapshot.limit_ranges),
            "resource_quotas": map(admission.resource_quota, snapshot.resource_quotas),
            "priority_classes": map(admission.priority_class, snapshot.priority_classes),
            "runtime_classes": map(admission.runtime_class, snapshot.runtime_classes),
            "disruption_budgets": map(admission.budget, snapshot.disruption_budgets),
            "pod_groups": map(admission.pod_group, snapshot.pod_groups),
            "autoscalers": map(admission.autoscaler, snapshot.autoscalers),
        }
        return {name: unique(rows, TABLE_FACTS[name].singular) for name, rows in redacted.items()}

    def policy(self, policy: Policy) -> Policy:
        kept = policy.name if policy.name in PROFILE_NAMES else self.names.of("policy", policy.name)
        return Policy(kept, tuple(self._layer(layer) for layer in policy.layers))

    def _layer(self, layer: Layer) -> Layer:
        name = self.names.of
        return Layer(
            layer.origin if layer.built_in else name("policy", layer.origin),
            layer.built_in,
            layer.cluster,
            {name("group", each): settings for each, settings in layer.groups.items()},
            {name("node", each): settings for each, settings in layer.nodes.items()},
            layer.stated,
        )
