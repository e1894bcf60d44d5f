"""Which promise came true: the workloads of a cluster beside the holds on nodes that were made for them.

A pod is found by its key, the pods of a set by the kind and name of what made them. Each workload answers for
one promise, those on the promised node first: so of three replicas of which two run, one is still to come.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from ullage.engine.ledger.naming import OF_NODE, ordinal_of, place_of_owner
from ullage.engine.placement.running import sets_of
from ullage.model.cluster import Snapshot, Workload
from ullage.model.ledger import node_capacity, node_of
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import NOTHING, Resources

_ENDED: Final = frozenset(("error", "deleted"))
_Owner = tuple[str, str]
"""Kind and key."""


class Promise(NamedTuple):
    """What a reservation holds of a node itself; `kind` and `number` are those of its name."""

    reservation: str
    owner: str
    node: str
    resources: Resources
    kind: str
    number: int
    bound: bool
    paused: bool
    created_seconds: int | None

    @property
    def order(self) -> tuple[object, ...]:
        """Return its place among promises of one owner: what is in use first, then by number."""
        return not self.bound, self.number, self.reservation, self.node


class Kept(NamedTuple):
    """A promise and the workload that it was made for, if the cluster has it; it may run, or wait."""

    promise: Promise
    workload: Workload | None


def promises_on_nodes(entries: Iterable[LedgerEntry]) -> list[Promise]:
    """Return what is held of nodes, by reservation and node."""
    found: dict[tuple[str, str], Promise] = {}
    for entry in entries:
        node = node_of(entry.capacity)
        if not entry.holds or not node or entry.capacity != node_capacity(node):
            continue
        kind, number = ordinal_of(entry.reservation, entry.owner)
        known = found.get((entry.reservation, node))
        held = entry.resources + (known.resources if known else NOTHING)
        found[entry.reservation, node] = Promise(
            entry.reservation,
            entry.owner,
            node,
            held,
            kind,
            number,
            entry.state == "BOUND",
            entry.paused,
            entry.created_seconds,
        )
    return list(found.values())


def kept_promises(snapshot: Snapshot, promises: Iterable[Promise]) -> list[Kept]:
    """Return every promise with its workload; a workload stands for one of them at most."""
    by_owner: dict[_Owner, list[Promise]] = {}
    for promise in promises:
        by_owner.setdefault((promise.kind, promise.owner), []).append(promise)
    present = _present(snapshot, by_owner)
    found: list[Kept] = []
    for owner in sorted(by_owner):
        found += _matched(sorted(by_owner[owner], key=lambda each: each.order), present.get(owner, {}))
    return found


def workloads_of(snapshot: Snapshot, kind: str, owner: str) -> list[Workload]:
    """Return the workloads of an owner that hold capacity: itself, or the pods of a set."""
    present = _present(snapshot, [(kind, owner)]).get((kind, owner), {})
    return [present[key] for key in sorted(present) if present[key].holds_capacity]


def broken_promises(snapshot: Snapshot, entries: Iterable[LedgerEntry]) -> tuple[str, ...]:
    """Return the reservations in use whose owner the cluster has no more.

    One that is not in use yet may be for a workload that is still to come: it ends when its time has come.
    """
    bound = [entry for entry in entries if entry.state == "BOUND"]
    kept = kept_promises(snapshot, promises_on_nodes(bound))
    on_nodes = {each.promise.reservation for each in kept}
    standing = {each.promise.reservation for each in kept if each.workload is not None}
    gone: set[str] = set()
    for entry in bound:
        if entry.owner.startswith(OF_NODE):
            owned = entry.owner.removeprefix(OF_NODE) in snapshot.nodes
        elif entry.reservation in on_nodes:
            owned = entry.reservation in standing
        else:
            owned = entry.owner in snapshot.workloads
        if not owned:
            gone.add(entry.reservation)
    return tuple(sorted(gone))


def _present(snapshot: Snapshot, owners: Iterable[_Owner]) -> dict[_Owner, dict[str, Workload]]:
    """Return the workloads of each owner that run or wait, by key."""
    found: dict[_Owner, dict[str, Workload]] = {}
    sets: dict[tuple[str, str], _Owner] = {}
    for kind, owner in owners:
        workload = snapshot.workloads.get(owner)
        if workload is not None and workload.kind == (kind or workload.kind) and workload.state not in _ENDED:
            found.setdefault((kind, owner), {})[workload.key] = workload
        if kind:
            namespace, name = place_of_owner(owner)
            sets[namespace, f"{kind}/{name}"] = (kind, owner)
    if sets:
        for workload in snapshot.workloads:
            if workload.owner and workload.state not in _ENDED:
                for name in sets_of(workload.owner):
                    wanted = sets.get((workload.namespace, name))
                    if wanted is not None:
                        found.setdefault(wanted, {})[workload.key] = workload
    return found


def _matched(promises: list[Promise], present: Mapping[str, Workload]) -> list[Kept]:
    """Match on the promised node, then what is in use elsewhere, then those that wait."""
    waiting = [key for key in sorted(present) if not present[key].holds_capacity]
    standing = [key for key in sorted(present) if present[key].holds_capacity]
    on_node: dict[str, list[str]] = {}
    for key in standing:
        on_node.setdefault(present[key].node, []).append(key)
    found: dict[int, str] = {}
    for place, promise in enumerate(promises):
        if on_node.get(promise.node):
            found[place] = on_node[promise.node].pop(0)
    elsewhere = [key for keys in on_node.values() for key in keys]
    for place, promise in enumerate(promises):
        left = elsewhere if promise.bound and elsewhere else waiting
        if place not in found and left:
            found[place] = left.pop(0)
    return [
        Kept(promise, present[found[place]] if place in found else None)
        for place, promise in enumerate(promises)
    ]
