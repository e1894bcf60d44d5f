"""New nodes and drives as they would stand in the cluster: where they go, and what runs there.

A node type that names no domain may go to each domain of the cluster. There it gets the labels by which the
nodes of that domain say where they are, and every new node gets its own name as host name. The daemons of the
cluster start on it too, so that what they take is not counted as room. Drives go into new nodes and old ones.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.purchase.catalog import Catalog, DriveItem, Item
from ullage.engine.redundancy.daemons import daemons_of, daemons_on, is_daemon
from ullage.engine.storage.edits import with_drives
from ullage.model.cluster import Group, Node, Snapshot, Workload
from ullage.model.resources import Resources

HOST_LABEL: Final = "kubernetes.io/hostname"
PLACE_LABELS: Final = ("topology.", "failure-domain.", "ullage.dev/domain")
"""How labels begin that say where a node stands."""
PODS: Final = "pods"
PODS_MAX: Final = 110
"""How many pods a kubelet takes where nobody says otherwise."""
DAEMONS: Final = "DaemonSet/"
DOMAINS_MAX: Final = 64


class Offer(NamedTuple):
    """An item in one domain of the cluster, and the drives that are bought for it beside its own."""

    item: Item
    domain: str
    drives: tuple[DriveItem, ...] = ()


class Upgrade(NamedTuple):
    """Drives that are bought for a node that is there."""

    node: str
    drives: tuple[DriveItem, ...]


class Market:
    """What can be added to a cluster."""

    def __init__(self, snapshot: Snapshot, catalog: Catalog) -> None:
        self.snapshot = snapshot
        self.catalog = catalog
        self._labels = _labels_by_domain(snapshot.nodes)
        self._counts_pods = any(PODS in node.capacity for node in snapshot.nodes)
        self._daemons = daemons_of(snapshot)
        self._nodes_of = Counter(node.domain for node in snapshot.nodes if node.domain)
        domains = sorted(self._nodes_of, key=lambda name: (self._nodes_of[name], name))[:DOMAINS_MAX] or [""]
        self.offers = tuple(
            Offer(item, domain)
            for item in sorted(catalog.items, key=lambda each: (each.price_micro, each.name))
            for domain in ([item.node.domain] if item.node.domain else domains)
        )

    def by_price(self, chosen: Sequence[Offer]) -> list[Offer]:
        """Return every offer, the cheapest first; of one item, that of the domain with the fewest nodes."""
        counts = self._nodes_of + Counter(offer.domain for offer in chosen)
        return sorted(
            self.offers,
            key=lambda each: (each.item.price_micro, each.item.name, counts[each.domain], each.domain),
        )

    @property
    def place_labels(self) -> frozenset[str]:
        """The labels that tell the domains apart."""
        return frozenset(key for labels in self._labels.values() for key in labels)

    def without(self, names: Sequence[str]) -> tuple["Market", list[Workload]]:
        """Return the cluster after the loss of nodes, and what of it is to be placed anew."""
        lost = frozenset(names)
        gone = [each for each in self.snapshot.workloads if each.node in lost]
        snapshot = msgspec.structs.replace(
            self.snapshot,
            nodes=self.snapshot.nodes.changed(drop=names),
            workloads=self.snapshot.workloads.changed(drop=[each.key for each in gone]),
        )
        anew = [each for each in gone if each.holds_capacity and not is_daemon(each) and not each.terminating]
        freed = [msgspec.structs.replace(each, node="", state="init") for each in anew]
        return Market(snapshot, self.catalog), freed

    def spread(self, chosen: Sequence[Sequence[Offer]]) -> list[Offer]:
        """Return one of each set of offers that are equally good, the domains with the fewest nodes first."""
        counts = Counter(self._nodes_of)
        found = []
        for alike in chosen:
            offer = min(alike, key=lambda each: (counts[each.domain], each.domain))
            counts[offer.domain] += 1
            found.append(offer)
        return found

    def nodes(self, offers: Sequence[Offer]) -> list[Node]:
        """Return new nodes for these offers, with names that the cluster does not have."""
        numbers: Counter[str] = Counter()
        found = []
        for offer in offers:
            name = ""
            while not name or name in self.snapshot.nodes:
                numbers[offer.item.name] += 1
                name = f"{offer.item.name}-new-{numbers[offer.item.name]}"
            found.append(self._node(offer, name))
        return found

    def labels_of(self, offer: Offer) -> dict[str, str]:
        """Return the labels of a new node, but for its name."""
        return {**self._labels.get(offer.domain, {}), **offer.item.node.labels}

    def _node(self, offer: Offer, name: str) -> Node:
        node = offer.item.node
        labels = {**self.labels_of(offer), HOST_LABEL: name}
        capacity = node.capacity
        if self._counts_pods and PODS not in capacity:
            capacity += Resources({PODS: PODS_MAX})
        devices = tuple(msgspec.structs.replace(device, id=f"{name}-{device.id}") for device in node.devices)
        drives = tuple(msgspec.structs.replace(drive, uuid=f"{name}-{drive.uuid}") for drive in node.drives)
        new = msgspec.structs.replace(
            node,
            name=name,
            capacity=capacity,
            domain=offer.domain,
            labels=labels,
            devices=devices,
            drives=drives,
        )
        return with_bought(new, offer.drives)

    def with_nodes(
        self, nodes: Sequence[Node], workloads: Iterable[Workload] = (), upgrades: Iterable[Upgrade] = ()
    ) -> Snapshot:
        """Return the cluster with new nodes, their daemons, and workloads that may stand for old ones.

        Nodes that are there get the drives of their upgrades.
        """
        snapshot = self.snapshot
        upgraded = [with_bought(snapshot.nodes[each.node], each.drives) for each in upgrades]
        daemons = daemons_on(nodes, self._daemons)
        groups = [
            Group(name) for name in sorted({node.group for node in nodes}) if name not in snapshot.groups
        ]
        return msgspec.structs.replace(
            snapshot,
            nodes=snapshot.nodes.changed([*upgraded, *nodes]),
            groups=snapshot.groups.changed(groups),
            workloads=snapshot.workloads.changed([*daemons, *workloads]),
        )


def _labels_by_domain(nodes: Iterable[Node]) -> dict[str, dict[str, str]]:
    """Return the labels about the place that all nodes of a domain share."""
    found: dict[str, dict[str, str]] = {}
    for node in nodes:
        if not node.domain:
            continue
        own = {key: value for key, value in node.labels.items() if _is_about_place(key, value, node.domain)}
        known = found.setdefault(node.domain, own)
        found[node.domain] = {key: value for key, value in known.items() if own.get(key) == value}
    return found


def _is_about_place(key: str, value: str, domain: str) -> bool:
    return key.startswith(PLACE_LABELS) or (value == domain and key != HOST_LABEL)


def with_bought(node: Node, drives: Iterable[DriveItem]) -> Node:
    """Return a node with drives that were bought for it."""
    for (drive_class, size_bytes), count in Counter(
        (each.drive_class, each.size_bytes) for each in drives
    ).items():
        node = with_drives(node, drive_class, size_bytes, count)
    return node


def counts_of(offers: Iterable[Offer], upgrades: Iterable[Upgrade] = ()) -> dict[str, int]:
    """Return how many of each item there are."""
    counts: Counter[str] = Counter()
    for offer in offers:
        counts[offer.item.name] += 1
        counts.update(each.name for each in offer.drives)
    for upgrade in upgrades:
        counts.update(each.name for each in upgrade.drives)
    return dict(counts)


def is_within(offers: Iterable[Offer], items: Mapping[str, Item]) -> bool:
    """Whether no more of an item is taken than there are."""
    counts = counts_of(offers)
    return all(
        items[name].count_max is None or count <= (items[name].count_max or 0)
        for name, count in counts.items()
    )
