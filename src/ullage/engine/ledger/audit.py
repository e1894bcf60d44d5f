"""What is wrong or worth knowing in a ledger as it stands, looked at afresh.

More promised than offered is no defect of the ledger: it never promises what is not there, but a drive may
die, and a quota may be cut, under promises that stand. All else that is found here should not be.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from ullage.engine.ledger.room import DRIVE, TYPES, names_of_bytes
from ullage.engine.ledger.state import LedgerState
from ullage.engine.ledger.waiting import Queues
from ullage.model.ledger import COMPUTE, Capacity, is_disk, node_of
from ullage.model.ledger_entry import FINAL, HOLDING, LedgerEntry
from ullage.model.verdict import Finding

OVER_PROMISED: Final = "ledger-over-promised"
GONE: Final = "ledger-capacity-gone"
RELEASES_NAMED_MAX: Final = 5
"""Of more reservations than these no further one is named to be released."""
_ORDER: Final = {"error": 0, "warning": 1, "info": 2}


def audit(state: LedgerState) -> tuple[Finding, ...]:
    """Return every finding, the worst first, then by code and subject."""
    found = [
        *_sums(state),
        *_offers(state),
        *_claims(state),
        *_one_node(state),
        *_entries(state),
        *_line(state),
    ]
    return tuple(sorted(found, key=lambda each: (_ORDER[each.severity], each.code, each.subject)))


def audit_against(state: LedgerState, capacities: Iterable[Capacity]) -> tuple[Finding, ...]:
    """Return every finding of a ledger if this, and nothing else, were what can be promised now."""
    now = LedgerState(
        capacities, state.entries, state.waiting, revision=state.revision, at_seconds=state.at_seconds
    )
    return audit(now)


def _sums(state: LedgerState) -> Iterator[Finding]:
    """Compare the sums that decisions were made with and those of the entries."""
    for name in state.promised_capacities:
        counted, summed = state.held(name), state.summed(name)
        for resource in sorted({*counted, *summed}):
            if counted.get(resource, 0) != summed.get(resource, 0):
                yield Finding(
                    "ledger-sum-wrong",
                    "error",
                    name,
                    f"{name}: {counted.get(resource, 0)} of {resource} counted, entries hold "
                    f"{summed.get(resource, 0)}",
                    "rebuild the ledger from its journal",
                )


def _offers(state: LedgerState) -> Iterator[Finding]:
    """Compare what is promised with what is offered, all names of the same bytes together."""
    drives = {drive for entry in state.entries for drive in entry.drives}
    for name in sorted({*state.promised_capacities, *drives}):
        capacity = state.capacity(name)
        if capacity is None:
            yield from _gone(state, name)
            continue
        sums: dict[str, int] = {}
        for each in names_of_bytes(state, capacity):
            for resource, amount in state.summed(each).items():
                sums[resource] = sums.get(resource, 0) + amount
        for resource, amount in sorted(sums.items()):
            limit = capacity.offers.of(resource)
            if resource not in capacity.unbounded and amount > limit:
                show = TYPES[resource].readable
                yield Finding(
                    OVER_PROMISED,
                    "warning",
                    name,
                    f"{name}: {show(amount)} of {resource} promised, {show(amount - limit)} more than the "
                    f"{show(limit)} that it offers now",
                    f"release {show(amount - limit)} of what was promised last: "
                    f"{_releases(state, capacity, resource, amount - limit)}; or supply more",
                )


def _releases(state: LedgerState, capacity: Capacity, resource: str, over: int) -> str:
    """Return the commands that give back so much, of what is in use only if the rest is not enough.

    A claim is given back by all who share it: else another has its bytes.
    """
    holding = [
        (entry, {entry.reservation, *(each.reservation for each in _sharing(state, entry))})
        for name in names_of_bytes(state, capacity)
        for entry in state.entries_on(name)
        if entry.holds and entry.resources.of(resource)
    ]
    holding.sort(key=lambda each: (each[0].state == "BOUND", -(each[0].created_seconds or 0), each[0].key))
    named: dict[str, None] = {}
    for _, reservations in holding:
        given_back = sum(entry.resources.of(resource) for entry, of in holding if of <= named.keys())
        if given_back >= over:
            break
        if len(named) >= RELEASES_NAMED_MAX:
            return "; ".join((*_commands(named), "and more"))
        named.update(dict.fromkeys(sorted(reservations)))
    return "; ".join(_commands(named))


def _sharing(state: LedgerState, entry: LedgerEntry) -> list[LedgerEntry]:
    return state.sharing(entry.claim) if entry.claim else []


def _commands(reservations: Iterable[str]) -> Iterator[str]:
    return (f"ullage ledger release {name}" for name in reservations)


def _gone(state: LedgerState, name: str) -> Iterator[Finding]:
    """Yield what is promised of a capacity that is not there; of a group whose drives are, it is theirs."""
    entries = state.entries_on(name)
    drives = {drive for entry in entries for drive in entry.drives}
    if drives and all(state.capacity(drive) is not None for drive in drives):
        return
    why, remedy = "it is not known any more", "release what was there, or supply it again"
    if not drives and is_disk(name) and not name.startswith(DRIVE):
        # ledgers of the first versions did not say of which drives a group was made
        why += ", nor on which drives it was, so it is counted on none"
        held_by = sorted({entry.reservation for entry in entries if entry.holds})
        remedy = f"release {', '.join(held_by)}, and ask for it again"
    for resource, amount in sorted(state.summed(name).items()):
        held = TYPES[resource].readable(amount)
        yield Finding(GONE, "warning", name, f"{name}: {held} of {resource} promised, but {why}", remedy)


def _claims(state: LedgerState) -> Iterator[Finding]:
    """Yield the claims that are not held once: one entry has the bytes, all others are on the same disk."""
    for claim in state.claims:
        sharing = state.sharing(claim)
        having = [entry.key for entry in sharing if not entry.refers]
        places = sorted({entry.capacity for entry in sharing})
        if len(having) != 1:
            what = f"its bytes are counted {len(having)} times, not once"
        elif len(places) > 1:
            what = f"it is on {' and '.join(places)}, not on one disk"
        else:
            continue
        names = ", ".join(entry.reservation for entry in sharing)
        yield Finding(
            "ledger-claim-wrong",
            "error",
            claim,
            f"claim {claim} of {names}: {what}",
            "rebuild the ledger from its journal",
        )


def _one_node(state: LedgerState) -> Iterator[Finding]:
    """Yield the reservations whose workload would be on one node and its disks on another.

    One that holds several nodes has disks on each of them; one of disks alone may hold what it likes.
    """
    nodes: dict[str, set[str]] = {}
    disks: dict[str, set[str]] = {}
    for entry in state.entries:
        node = node_of(entry.capacity) if entry.holds else ""
        if node:
            if is_disk(entry.capacity):
                disks.setdefault(entry.reservation, set()).add(node)
            elif entry.request == COMPUTE:
                nodes.setdefault(entry.reservation, set()).add(node)
    for name in sorted(nodes.keys() & disks.keys()):
        away = sorted(disks[name] - nodes[name])
        if away:
            yield Finding(
                "ledger-apart",
                "warning",
                name,
                f"{name} is on node {' and '.join(sorted(nodes[name]))}, its disks on {' and '.join(away)}",
                f"release {name}, and ask for it again",
            )


def _entries(state: LedgerState) -> Iterator[Finding]:
    for entry in state.entries:
        if entry.state in FINAL:
            what, remedy = (
                f"has ended as {entry.state} and still stands",
                "rebuild the ledger from its journal",
            )
            yield Finding("ledger-entry-ended", "error", entry.key, f"{entry.key} {what}", remedy)
        if not entry.owner:
            yield Finding(
                "ledger-no-owner", "error", entry.key, f"{entry.key} has no owner", "release the reservation"
            )
        if entry.expires_seconds is None and entry.state != "BOUND":
            yield Finding(
                "ledger-no-expiry",
                "error",
                entry.key,
                f"{entry.key} is {entry.state} and never expires",
                "release the reservation, or bind it",
            )
        if entry.state in HOLDING and not entry.capacity:
            yield Finding(
                "ledger-no-capacity",
                "error",
                entry.key,
                f"{entry.key} is {entry.state} but holds nothing that has a name",
                "release the reservation",
            )


def _line(state: LedgerState) -> Iterator[Finding]:
    """Compare the line with the entries of those who wait: each in the other, each with its place."""
    in_line = [command.reservation for command in state.waiting]
    entries = {entry.reservation: entry for entry in state.entries if entry.state == "WAITING"}
    remedy = "rebuild the ledger from its journal"
    for name in sorted({name for name in in_line if in_line.count(name) > 1}):
        yield Finding("ledger-line-wrong", "error", name, f"{name} stands in line twice", remedy)
    for name in sorted(set(in_line) ^ set(entries)):
        what = (
            "stands in line, but no entry waits" if name in in_line else "waits, but does not stand in line"
        )
        yield Finding("ledger-line-wrong", "error", name, f"{name} {what}", remedy)
    queues = Queues({})
    for command in state.waiting:
        position = queues.place(command)
        queues.join(command)
        entry = entries.get(command.reservation)
        if entry is not None and (entry.queue_position != position or not (entry.blocked_by or entry.reason)):
            what = (
                f"is told place {entry.queue_position} behind {entry.blocked_by or 'nobody'}, not {position}"
            )
            yield Finding(
                "ledger-line-wrong", "error", command.reservation, f"{command.reservation} {what}", remedy
            )
