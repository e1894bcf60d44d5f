"""Entries beside those that hold something: what is asked for, and what has ended."""

from collections.abc import Iterator, Sequence

import msgspec

from ullage.engine.ledger.view import Key, key_of
from ullage.engine.storage.extents import volume_bytes
from ullage.model.ledger import COMPUTE, VOLUME_SPACE, WHOLE_DRIVE, Reserve
from ullage.model.ledger_entry import EntryState, LedgerEntry
from ullage.model.resources import Resources


def asked_entries(
    command: Reserve, state: EntryState, at_seconds: int, reason: str = ""
) -> tuple[LedgerEntry, ...]:
    """Return an entry for each request that holds nothing; one without a capacity has none chosen yet."""
    return tuple(
        LedgerEntry(
            command.reservation,
            request,
            capacity,
            command.owner,
            resources=resources,
            state=state,
            created_seconds=at_seconds,
            expires_seconds=command.expires_seconds,
            reason=reason,
            claim=claim,
        )
        for request, capacity, resources, claim in _asked(command)
    )


def ended(entry: LedgerEntry, state: EntryState, reason: str = "") -> LedgerEntry:
    """Return an entry in its final state."""
    return msgspec.structs.replace(entry, state=state, queue_position=None, blocked_by="", reason=reason)


def latest(changed: Sequence[LedgerEntry]) -> tuple[LedgerEntry, ...]:
    """Return each entry once, as it was left."""
    found: dict[Key, LedgerEntry] = {key_of(entry): entry for entry in changed}
    return tuple(found.values())


def _asked(command: Reserve) -> Iterator[tuple[str, str, Resources, str]]:
    for hold in command.holds:
        yield hold.request, hold.capacity, hold.resources, hold.claim
    if command.requests:
        yield COMPUTE, "", command.requests, ""
    for volume in command.volumes:
        if volume.is_share:
            amounts = {VOLUME_SPACE: volume_bytes(volume.size_bytes)}
        elif command.mode == "zos":
            amounts = {VOLUME_SPACE: volume.size_bytes}
        else:
            amounts = {WHOLE_DRIVE: 1, VOLUME_SPACE: volume.size_bytes}
        yield volume.name, "", Resources(amounts), volume.claim
