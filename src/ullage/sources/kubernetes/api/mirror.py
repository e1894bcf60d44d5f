"""A live cluster as one snapshot: objects come and go one by one, and a delta says what that changes.

The rule: at any moment the snapshot is what reading a dump of the same objects would give (cluster_reading).
The hard thing is that one object may change how another is read; each kind says whose rows are to be looked
at again, and nothing else is. An object that cannot be read is left out and named, never an end; but a pod
that has a node is never left out of what is counted.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from ullage.model.admission import PodGroup
from ullage.model.checks import row_check
from ullage.model.cluster import Group, Node, Quota, Snapshot
from ullage.model.delta import Delta
from ullage.model.delta import apply as apply_delta
from ullage.model.errors import InputError
from ullage.model.policy import Policy
from ullage.model.resources import ResourceTypes
from ullage.model.row_checks import check_name, check_size
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.api.left_out import (
    PROBLEMS,
    Identity,
    Unreadable,
    held_room,
    identity_of,
    waiting_pod,
    why,
)
from ullage.sources.kubernetes.api.mirrored_claims import ClaimFacts
from ullage.sources.kubernetes.api.mirrored_disks import NOWHERE, MirroredDisks, ReservationFacts
from ullage.sources.kubernetes.api.mirrored_pods import POD as POD_DECODER
from ullage.sources.kubernetes.api.mirrored_pods import MirroredPods, PodFacts, WatchedMetadata
from ullage.sources.kubernetes.api.mirrored_rows import Changes, MirroredRows
from ullage.sources.kubernetes.baremetal import Offered
from ullage.sources.kubernetes.baremetal_objects import DECODERS as DISK_KINDS
from ullage.sources.kubernetes.faults import decoded
from ullage.sources.kubernetes.items import NODE, POD, Item, Kind
from ullage.sources.kubernetes.nodes import GROUP_LABEL, NodeReader
from ullage.sources.kubernetes.object_kinds import OBJECT_KINDS
from ullage.sources.kubernetes.pod_groups import POD_GROUPS, PodGroups
from ullage.sources.kubernetes.storage_objects import DRIVERS_OF_NODE, read_attach_limits
from ullage.sources.kubernetes.wire import NodeWire

CSI_NODE: Final = Kind("storage.k8s.io", "CSINode")
KINDS: Final = (NODE, POD, *OBJECT_KINDS, *POD_GROUPS, CSI_NODE, *DISK_KINDS)
"""The kinds that are followed."""
UNREADABLE_MAX: Final = 1000
"""Objects that are named as left out; more are left out all the same."""
TEXTS_AFTER_MAX: Final = 100_000
"""Objects other than pods after which the values of the texts that they shared are made anew."""
_NODE: Final = msgspec.json.Decoder(NodeWire)


class Mirror:
    """What is known of a cluster; a Sink of watches."""

    def __init__(
        self, types: ResourceTypes | None = None, *, group_label: str = GROUP_LABEL, name: str = ""
    ) -> None:
        self._types = types or ResourceTypes()
        self._name = name
        self._group_label = group_label
        self._nodes: dict[str, Node] = {}
        self._attach_limits: dict[str, Mapping[str, int]] = {}
        self._groups: dict[Kind, dict[str, PodGroup]] = {kind: {} for kind in POD_GROUPS}
        self._followed_groups: set[Kind] = set()
        self._pods = MirroredPods(self._types)
        self._rows = MirroredRows()
        self._disks = MirroredDisks()
        self._stale_nodes: set[str] = set()
        self._stale_groups: set[str] = set()
        self._in_groups: Counter[str] = Counter()
        self._shown_nodes: dict[str, Node] = {}
        self._shown_groups: dict[str, PodGroup] = {}
        self._listing: dict[Kind, set[str]] = {}
        self._unreadable: dict[tuple[Kind, str], Unreadable] = {}
        self._taken = 0
        self._read_anew()

    # What watches call

    def begin(self, kind: Kind) -> None:
        """A list of all objects of a kind begins."""
        self._listing[kind] = set()
        if kind in self._groups:
            self._followed_groups.add(kind)

    def put(self, kind: Kind, content: Any) -> str:
        """An object is there; return its revision."""
        if kind == POD:
            return self._put_pod(content)
        metadata = identity_of(content)
        key = self._listed(kind, metadata)
        try:
            check_name(metadata.name, kind.name)
            self._take(kind, key, content)
        except PROBLEMS as error:
            self._leave_out(Unreadable(kind, key, why(error)))
        else:
            self._unreadable.pop((kind, key), None)
        return metadata.resource_version

    def _put_pod(self, content: Any) -> str:
        try:
            pod = decoded(POD_DECODER, content)
            metadata = pod.metadata or WatchedMetadata()
            key = _pod_key(metadata)
            if POD in self._listing:
                self._listing[POD].add(key)
            self._pods.put(key, pod)
        except PROBLEMS as error:
            identity = identity_of(content)
            key = self._listed(POD, identity)
            self._leave_out(waiting_pod(key, error, POD, content))
            self._hold_room(key, content)
            return identity.resource_version
        if self._unreadable:
            self._unreadable.pop((POD, key), None)
        return metadata.resource_version

    def _hold_room(self, key: str, content: Any) -> None:
        """Count a pod that has a node and cannot be read, with as much of it as can be."""
        for less in held_room(content):
            with suppress(*PROBLEMS):
                self._pods.put(key, less)
                return

    def drop(self, kind: Kind, content: Any) -> str:
        """An object is gone; return the revision of that."""
        metadata = identity_of(content)
        self._drop(kind, metadata.key)
        return metadata.resource_version

    def end(self, kind: Kind) -> None:
        """The list ends: what was not in it is gone."""
        seen = self._listing.pop(kind, set())
        unreadable = [key for known, key in self._unreadable if known == kind]
        for key in (*self._keys(kind), *unreadable):
            if key not in seen:
                self._drop(kind, key)

    def _listed(self, kind: Kind, metadata: Identity) -> str:
        """Return the key of an object, and take note that a list has it."""
        key = metadata.key
        if kind in self._listing:
            self._listing[kind].add(key)
        return key

    def _keys(self, kind: Kind) -> list[str]:
        if kind == POD:
            return self._pods.keys()
        if kind == NODE:
            return list(self._nodes)
        if kind == CSI_NODE:
            return list(self._attach_limits)
        if kind in self._groups:
            return list(self._groups[kind])
        return self._disks.keys(kind) if kind in DISK_KINDS else self._rows.keys(kind)

    def _take(self, kind: Kind, key: str, content: Any) -> None:
        self._taken += 1
        if self._taken % TEXTS_AFTER_MAX == 0:
            self._read_anew()
        if kind == NODE:
            self._take_node(key, decoded(_NODE, content))
        elif kind == CSI_NODE:
            limits = read_attach_limits(decoded(DRIVERS_OF_NODE, content))
            for driver, most in limits.items():
                check_size(most, key, f"attachLimits: {driver}")
            if self._attach_limits.get(key) != limits:
                self._attach_limits[key] = limits
                self._stale_nodes.add(key)
        elif kind in self._groups:
            groups = PodGroups()
            groups.take(Item(kind, "", content, NOWHERE, ()))
            self._groups[kind][key] = groups.rows()[0]
            self._stale_groups.add(key)
        elif kind in DISK_KINDS:
            self._disks.put(kind, key, content)
        else:
            self._rows.put(kind, key, content)

    def _read_anew(self) -> None:
        """Forget the values of texts that were read; those that are still written are made again."""
        amounts = Amounts(self._types, of_cluster=True)
        self._check = row_check(self._types)
        self._node_reader = NodeReader(amounts, group_label=self._group_label)
        self._rows.read_by(amounts, self._check)

    def _take_node(self, key: str, wire: NodeWire) -> None:
        node = self._node_reader.read(wire)
        self._check("nodes", node)
        before = self._nodes.get(key)
        if before is None:
            self._pods.node_changed(key)
        if before != node:
            self._nodes[key] = node
            self._stale_nodes.add(key)
        self._disks.node(key, wire.metadata)

    def _leave_out(self, found: Unreadable) -> None:
        """Forget an object that cannot be read as it is now."""
        self._drop(found.kind, found.key)
        if len(self._unreadable) < UNREADABLE_MAX:
            self._unreadable[found.kind, found.key] = found

    def _drop(self, kind: Kind, key: str) -> None:
        self._unreadable.pop((kind, key), None)
        if kind == POD:
            self._pods.drop(key)
        elif kind == NODE:
            if self._nodes.pop(key, None) is not None:
                self._stale_nodes.add(key)
                self._pods.node_changed(key)
                self._disks.node(key, None)
        elif kind == CSI_NODE:
            self._attach_limits.pop(key, None)
            self._stale_nodes.add(key)
        elif kind in self._groups:
            self._groups[kind].pop(key, None)
            self._stale_groups.add(key)
        elif kind in DISK_KINDS:
            self._disks.drop(kind, key)
        else:
            self._rows.drop(kind, key)

    # What others read

    @property
    def unreadable(self) -> list[Unreadable]:
        """The objects that are left out, and why."""
        return [found for _, found in sorted(self._unreadable.items())]

    def quotas(self) -> tuple[Quota, ...]:
        """Return the quotas that are there now, each under the name it was written with."""
        return self._rows.quotas()

    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes that are there now, whether a delta has told of them or not."""
        return tuple(self._nodes.values())

    def facts(self, key: str) -> PodFacts | None:
        """Return what is known of a pod beyond its workload."""
        return self._pods.facts(key)

    def nominated(self) -> Mapping[str, str]:
        """Return the nodes for which pods without one are nominated, whoever has written that."""
        return self._pods.nominated

    def is_renewed(self, key: str) -> bool:
        """Whether a pod is gone, or another one of its name, since the last delta."""
        return self._pods.is_renewed(key)

    def has_changed(self, key: str) -> bool:
        """Whether there is anything new of a pod since the last delta."""
        return self._pods.has_changed(key)

    def claim(self, key: str) -> ClaimFacts | None:
        """Return what is known of a claim beyond its row."""
        return self._rows.claims.get(key)

    def hear_claims(self, heard: Callable[[str], None]) -> None:
        """Have a function called with the key of each claim that comes, changes or goes."""
        self._rows.claims.heard = heard

    def has_node(self, name: str) -> bool:
        """Whether a node is there."""
        return name in self._nodes

    def node_uid(self, name: str) -> str:
        """Return what tells a node from others of its name; empty where it is not there."""
        return self._disks.node_uid(name)

    def offered(self, node: str, place: str) -> Offered | None:
        """Return what csi-baremetal calls the capacity of a drive or group, as it was shown last."""
        return self._disks.offered.get((node, place))

    def reservations(self) -> list[ReservationFacts]:
        """Return the reservations of csi-baremetal that are there now."""
        return self._disks.reservation_objects()

    def reservation(self, name: str) -> ReservationFacts | None:
        """Return the reservation of csi-baremetal that has a name now."""
        return self._disks.reservation_object(name)

    def snapshot(self, policy: Policy, *, taken_seconds: int | None = None) -> Snapshot:
        """Return the cluster, once, when all kinds were listed; deltas say what changes after it."""
        empty = Snapshot(
            name=self._name, policy=policy, resource_types=self._types, taken_seconds=taken_seconds
        )
        return apply_delta(empty, self.delta())

    def delta(self) -> Delta:
        """Return what has changed since the last snapshot or delta."""
        changes = self._rows.changes()
        for key in changes.get("claims", ()):
            self._pods.claim_changed(key)
        if "storage_classes" in changes:
            self._pods.default_class_changed()
        groups = self._changed_groups()
        workloads = self._pods.changes(
            has_node=self._nodes.__contains__,
            claim=self._rows.claim,
            group=self._group,
            followed=self._followed_groups,
            default_class=self._rows.default_class,
        )
        if "claims" in changes or "volumes" in changes or any(map(self._disks.concern, workloads.moved)):
            self._disks.others_changed()
        touched, reservations = self._disks.refresh(
            self._nodes, self._rows.rows("claims"), self._rows.rows("volumes"), self._pods.consumers
        )
        self._stale_nodes |= touched
        changes["nodes"], changes["groups"] = self._changed_nodes()
        changes["workloads"], changes["pod_groups"] = dict(workloads.rows), groups
        changes["reservations"] = dict(reservations)
        return _delta(changes)

    def _group(self, key: str) -> PodGroup | None:
        """Return the group of a key: where both kinds have one, that of Kubernetes itself, the later kind."""
        kinds = reversed(self._groups.values())
        return next((groups[key] for groups in kinds if key in groups), None)

    def _changed_groups(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key in self._stale_groups:
            group = self._group(key)
            if group != self._shown_groups.get(key):
                found[key] = group
                self._pods.group_changed(key)
                if group is None:
                    del self._shown_groups[key]
                else:
                    self._shown_groups[key] = group
        self._stale_groups.clear()
        return found

    def _changed_nodes(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the nodes that have changed, and the groups that appear with them or go."""
        nodes: dict[str, Any] = {}
        members: dict[str, int] = {}
        for name in self._stale_nodes:
            node = self._whole_node(name)
            before = self._shown_nodes.get(name)
            if node == before:
                continue
            nodes[name] = node
            if before is not None:
                members.setdefault(before.group, self._in_groups[before.group])
                self._in_groups[before.group] -= 1
                del self._shown_nodes[name]
            if node is not None:
                members.setdefault(node.group, self._in_groups[node.group])
                self._in_groups[node.group] += 1
                self._shown_nodes[name] = node
        self._stale_nodes.clear()
        groups: dict[str, Any] = {}
        for name, count in members.items():
            if not self._in_groups[name]:
                del self._in_groups[name]
            if (name in self._in_groups) != bool(count):
                groups[name] = None if count else Group(name)
        return nodes, groups

    def _whole_node(self, name: str) -> Node | None:
        node = self._nodes.get(name)
        if node is None:
            return None
        known = dict(self._disks.on_node.get(name, ()))
        if self._attach_limits.get(name):
            known["attach_limits"] = self._attach_limits[name]
        return msgspec.structs.replace(node, **known) if known else node


def _pod_key(metadata: WatchedMetadata) -> str:
    if not metadata.name or not metadata.namespace:
        raise InputError("a pod without a name or a namespace", remedy="give it both")
    return f"{metadata.namespace}/{metadata.name}"


def _delta(changes: Changes) -> Delta:
    put = {
        table: tuple(row for row in changed.values() if row is not None) for table, changed in changes.items()
    }
    dropped = {
        table: tuple(key for key, row in changed.items() if row is None) for table, changed in changes.items()
    }
    rows: dict[str, Any] = {table: rows for table, rows in put.items() if rows}
    return Delta(**rows, dropped={table: keys for table, keys in dropped.items() if keys})
