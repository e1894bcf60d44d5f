"""What the ledger may promise, read off the cluster: nodes, quotas, drives, volume groups and caches.

The columns are those of a cluster in which the ledger's promises are counted (promises.py). So whatever is
free there can still be promised, and what a capacity offers is that and what the ledger holds of it already:
a promise that came true is neither lost nor counted twice, whoever of the two the cluster shows.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from ullage.engine.columns import Columns
from ullage.engine.ledger.made import as_it_is, made_of
from ullage.engine.ledger.view import Key, key_of
from ullage.engine.quota.use import quota_use
from ullage.engine.storage.capacities import by_ledger_name, disk_supply, entries_by_node
from ullage.model.cluster import Node, Snapshot
from ullage.model.ledger import Capacity, is_disk, node_capacity, node_of
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import NOTHING, SSD_SPACE, Resources

ZOS: Final = "zos"
Held = dict[str, Resources]


def supply_of(
    columns: Columns,
    entries: Iterable[LedgerEntry],
    names: Collection[str] | None = None,
    made: Mapping[Key, Resources] | None = None,
    after: Iterable[LedgerEntry] | None = None,
) -> tuple[Capacity, ...]:
    """Return what everything offers, or what these capacities do, beside the live entries of a ledger.

    A resource without a bound is unbounded. A node that takes nothing new offers what is held of it. What is
    named as a disk comes with all names of its bytes. Where the same step changes what is held of disks,
    `after` are the entries as they will be, and `made` what exists of their volumes.
    """
    live = [entry for entry in entries if entry.holds]
    held: Held = {}
    for entry in live:
        held[entry.capacity] = held.get(entry.capacity, NOTHING) + entry.resources
    on_disks = live if after is None else [*after]
    own = {key_of(entry) for entry in (*live, *on_disks)}
    exist = made_of(columns.snapshot, on_disks) if made is None else made
    ours = [part for entry in on_disks for part in as_it_is(entry, exist)]
    found = [*_nodes(columns, held), *_quotas(columns, held), *_caches(columns, held)]
    found += _disks(columns, ours, own)
    return tuple(found if names is None else _named(found, names))


def _named(found: list[Capacity], names: Collection[str]) -> Iterator[Capacity]:
    """Yield the capacities of these names, and those that are the same bytes."""
    drives = {drive for each in found if each.name in names for drive in each.drives}
    for each in found:
        if each.name in names or not drives.isdisjoint((each.name, *each.drives)):
            yield each


def gone_disks(snapshot: Snapshot, known: Iterable[str]) -> Iterator[str]:
    """Yield those of some capacities that are disks which their nodes do not have any more, in order."""
    by_node: dict[str, set[str]] = {}
    for name in known:
        if is_disk(name):
            by_node.setdefault(node_of(name), set()).add(name)
    for name in sorted(by_node):
        node = snapshot.nodes.get(name)
        if node is not None and (node.drives or node.volume_groups):
            yield from sorted(by_node[name].difference(by_ledger_name(node, ())))


def cache_capacity(node: str) -> str:
    """Return the name of the capacity that is the system cache of a node."""
    return f"cache/{node}"


def _nodes(columns: Columns, held: Held) -> Iterator[Capacity]:
    left = columns.limit - columns.strict - columns.standby - columns.committed
    for row, node in enumerate(columns.nodes):
        name = node_capacity(node.name)
        here = held.get(name, NOTHING)
        if node.state != "ready":
            yield Capacity(name, here)
            continue
        bounded = columns.bounded[row].tolist()
        free = dict(zip(columns.resources, left[row].tolist(), strict=True))
        unbounded = [each for each, bound in zip(columns.resources, bounded, strict=True) if not bound]
        offers = Resources(
            {
                each: max(0, free[each] + here.of(each))
                for each in columns.resources
                if each not in unbounded and (each in node.capacity or each in here)
            }
        )
        yield Capacity(name, offers, tuple(unbounded))


def _quotas(columns: Columns, held: Held) -> Iterator[Capacity]:
    """Yield quotas; what a quota has no max for is bounded by nodes alone."""
    uses = quota_use(columns)
    named = {name for use in uses for bound in (use.quota.min, use.quota.max) for name in bound}
    for use in uses:
        name = f"quota/{use.quota.name}"
        here = held.get(name, NOTHING)
        offers = Resources(
            {each: max(0, most - use.used.of(each) + here.of(each)) for each, most in use.quota.max.items()}
        )
        unbounded = {*named, *columns.resources, *here} - set(offers)
        yield Capacity(name, offers, tuple(sorted(unbounded)))


def _disks(columns: Columns, ours: Iterable[LedgerEntry], own: set[Key]) -> Iterator[Capacity]:
    """Yield drives and groups without what others than the ledger have reserved of them.

    Whether a volume of ours is there already says the cluster, and not the ledger.
    """
    others = entries_by_node(each for each in columns.snapshot.reservations if key_of(each) not in own)
    of_node = entries_by_node(ours)
    for node in columns.nodes:
        rules = columns.rules_of(node)
        yield from disk_supply(
            node,
            of_node.get(node.name, ()),
            shared=rules.storage_mode == ZOS,
            rules=rules,
            others=others.get(node.name, ()),
        )


def _caches(columns: Columns, held: Held) -> Iterator[Capacity]:
    """Yield the caches of nodes with an SSD: what one has now, its reserve at least, and what is free."""
    if SSD_SPACE not in columns.resource_index:
        return
    free = columns.free[:, columns.resource_index[SSD_SPACE]].tolist()
    for node, free_bytes in zip(columns.nodes, free, strict=True):
        if columns.rules_of(node).storage_mode != ZOS or not node.capacity.of(SSD_SPACE):
            continue
        name = cache_capacity(node.name)
        has_bytes = max(cache_reserve_bytes(columns, node), held.get(name, NOTHING).of(SSD_SPACE))
        yield Capacity(name, Resources({SSD_SPACE: has_bytes + free_bytes}))


def cache_reserve_bytes(columns: Columns, node: Node) -> int:
    """Return what a node keeps back of its SSDs for the cache: so much of it is nobody else's."""
    row = columns.node_index[node.name]
    return int(columns.reserve[row, columns.resource_index[SSD_SPACE]]) if node.capacity.of(SSD_SPACE) else 0
