"""Whose use is whose: which streams of a book count for which tenant, and what each is promised now.

A tenant is a namespace, a quota, or everybody with one value of a label. What is known of a tenant as a whole
goes before the sum of its workloads, and that before the sum of its pods: nothing counts twice.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

from ullage.engine.usage.book import Book, Stream
from ullage.engine.usage.metering_prices import What
from ullage.model.cluster import HOLDING_STATES, Snapshot, Workload
from ullage.model.errors import InputError
from ullage.model.resources import Resources

By = Literal["namespace", "quota", "label"]
NO_QUOTA: Final = "no quota"
NO_LABEL: Final = "no label"
_KINDS: Final = ("namespace", "workload", "pod")
"""What is known of a namespace, the largest parts first."""


class Tenancy(NamedTuple):
    """How tenants are told apart; what namespaces do not tell, the snapshot does."""

    by: By = "namespace"
    label: str = ""
    snapshot: Snapshot | None = None

    def quota_of(self) -> dict[str, str]:
        """Return the quota of each namespace that has one."""
        if self.snapshot is None:
            return {}
        return {name: quota.name for quota in self.snapshot.quotas for name in quota.namespaces}

    def tenant_of(self, workload: Workload) -> str:
        """Return whose a workload is."""
        if self.by == "label":
            return workload.labels.get(self.label, NO_LABEL)
        if self.by == "quota":
            return self.quota_of().get(workload.namespace, NO_QUOTA)
        return workload.namespace


def streams_by_tenant(book: Book, measure: str, tenancy: Tenancy) -> dict[str, dict[str, list[Stream]]]:
    """Return the streams of each tenant by resource, which add up to what it has."""
    if tenancy.by == "label":
        return _by_label(book, measure, tenancy)
    by_namespace: dict[str, dict[str, list[Stream]]] = {}
    for kind in _KINDS:
        found: dict[str, dict[str, list[Stream]]] = {}
        for stream in book.streams(kind, measure=measure):
            namespace = stream.subject.split("/")[1]
            if stream.resource not in by_namespace.get(namespace, {}):
                found.setdefault(namespace, {}).setdefault(stream.resource, []).append(stream)
        for namespace, resources in found.items():
            by_namespace.setdefault(namespace, {}).update(resources)
    return by_namespace if tenancy.by == "namespace" else _by_quota(book, measure, tenancy, by_namespace)


def _by_quota(
    book: Book, measure: str, tenancy: Tenancy, by_namespace: Mapping[str, Mapping[str, list[Stream]]]
) -> dict[str, dict[str, list[Stream]]]:
    found: dict[str, dict[str, list[Stream]]] = {}
    for stream in book.streams("quota", measure=measure):
        name = stream.subject.partition("/")[2]
        found.setdefault(name, {})[stream.resource] = [stream]
    as_such = {(name, resource) for name, resources in found.items() for resource in resources}
    quotas = tenancy.quota_of()
    for namespace, resources in by_namespace.items():
        name = quotas.get(namespace, NO_QUOTA)
        for resource, streams in resources.items():
            if (name, resource) not in as_such:
                found.setdefault(name, {}).setdefault(resource, []).extend(streams)
    return found


def _by_label(book: Book, measure: str, tenancy: Tenancy) -> dict[str, dict[str, list[Stream]]]:
    """A workload has the label that all its pods have; where they differ, its pods count, each for its own.

    Pods that are gone have a label no more: where their namespace has workloads, they are in those.
    """
    if tenancy.snapshot is None:
        raise InputError("labels are known of clusters", remedy="name one with -c")
    labels: dict[str, set[str]] = {}
    pods: dict[str, tuple[str, str]] = {}
    for each in tenancy.snapshot.workloads:
        owner, tenant = f"workload/{each.namespace}/{each.owner}", tenancy.tenant_of(each)
        labels.setdefault(owner, set()).add(tenant)
        pods[f"pod/{each.key}"] = (owner, tenant)
    found: dict[str, dict[str, list[Stream]]] = {}
    counted: set[tuple[str, str]] = set()
    for stream in book.streams("workload", measure=measure):
        of_pods = labels.get(stream.subject, {NO_LABEL})
        if len(of_pods) == 1:
            counted.add((stream.subject, stream.resource))
            counted.add((stream.subject.split("/")[1], stream.resource))
            found.setdefault(next(iter(of_pods)), {}).setdefault(stream.resource, []).append(stream)
    for stream in book.streams("pod", measure=measure):
        gone = (stream.subject.split("/")[1], NO_LABEL)
        owner, tenant = pods.get(stream.subject, gone)
        if (owner, stream.resource) not in counted:
            found.setdefault(tenant, {}).setdefault(stream.resource, []).append(stream)
    return found


def promised_now(tenancy: Tenancy) -> dict[str, dict[What, int]]:
    """Return what each tenant is promised in the snapshot: what its workloads on nodes ask for.

    Devices of nodes whose model is known are told apart by it.
    """
    snapshot = tenancy.snapshot
    if snapshot is None:
        return {}
    models = {node.name: {each.resource: each.model for each in node.devices} for node in snapshot.nodes}
    quotas = tenancy.quota_of() if tenancy.by == "quota" else {}
    found: dict[str, dict[What, int]] = {}
    for each in snapshot.workloads:
        if not each.node or each.state not in HOLDING_STATES:
            continue
        tenant = quotas.get(each.namespace, NO_QUOTA) if tenancy.by == "quota" else tenancy.tenant_of(each)
        amounts = found.setdefault(tenant, {})
        for resource, amount in each.requests.items():
            if amount and resource != "pods":
                what = What(resource, models.get(each.node, {}).get(resource, ""))
                amounts[what] = amounts.get(what, 0) + amount
    return found


def capacity_now(snapshot: Snapshot, allocatable: Iterable[Resources]) -> dict[What, int]:
    """Return what the nodes of a snapshot have to give, in its order of nodes; devices by their model."""
    found: dict[What, int] = {}
    for node, amounts in zip(snapshot.nodes, allocatable, strict=True):
        models = {each.resource: each.model for each in node.devices}
        for resource, amount in amounts.items():
            what = What(resource, models.get(resource, ""))
            found[what] = found.get(what, 0) + amount
    return found
