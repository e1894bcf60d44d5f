"""Where the entries of a ledger are found: by reservation, capacity, owner and deadline; and their sums.

Everything here follows from the entries and changes with them, one entry at a time, in `add` and `remove`.
"""

from collections.abc import Mapping

from ullage.engine.ledger.deadlines import Deadlines
from ullage.engine.ledger.view import Key
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.ledger_entry import HOLDING, LedgerEntry

Places = dict[str, set[Key]]


class Indexes:
    """Keys of entries by what is asked for; `held` is the sum of what they hold, by capacity and resource.

    A resource of which nothing is held is not in the sums. `reserved_shares` are promises of logical volumes
    that are not made yet. `on_drive` are those on groups that were made of a drive, `of_claim` those that
    hold a volume which others may share.
    """

    __slots__ = (
        "deadlines",
        "held",
        "of_claim",
        "of_owner",
        "of_reservation",
        "on_capacity",
        "on_drive",
        "reserved_shares",
    )

    def __init__(self, entries: Mapping[Key, LedgerEntry]) -> None:
        self.of_reservation: Places = {}
        self.on_capacity: Places = {}
        self.of_owner: Places = {}
        self.of_claim: Places = {}
        self.on_drive: Places = {}
        self.deadlines = Deadlines()
        self.held: dict[str, dict[str, int]] = {}
        self.reserved_shares: set[Key] = set()
        for key, entry in entries.items():
            self.add(key, entry)

    def add(self, key: Key, entry: LedgerEntry) -> None:
        """Note a live entry whose key is not there yet."""
        _add(self.of_reservation, entry.reservation, key)
        _add(self.on_capacity, entry.capacity, key)
        _add(self.of_owner, entry.owner, key)
        if entry.expires_seconds is not None:
            self.deadlines.add(entry.expires_seconds, key)
        for drive in entry.drives:
            _add(self.on_drive, drive, key)
        if entry.state in HOLDING:
            self._count(entry, 1)
            if entry.claim:
                _add(self.of_claim, entry.claim, key)
            if _is_reserved_share(entry):
                self.reserved_shares.add(key)

    def remove(self, key: Key, entry: LedgerEntry) -> None:
        """Forget an entry, as it was when it was added."""
        _discard(self.of_reservation, entry.reservation, key)
        _discard(self.on_capacity, entry.capacity, key)
        _discard(self.of_owner, entry.owner, key)
        if entry.expires_seconds is not None:
            self.deadlines.discard(entry.expires_seconds, key)
        for drive in entry.drives:
            _discard(self.on_drive, drive, key)
        if entry.state in HOLDING:
            self._count(entry, -1)
            if entry.claim:
                _discard(self.of_claim, entry.claim, key)
            self.reserved_shares.discard(key)

    def _count(self, entry: LedgerEntry, sign: int) -> None:
        held = self.held.setdefault(entry.capacity, {})
        resources = entry.resources
        for resource in resources:
            amount = held.get(resource, 0) + sign * resources[resource]
            if amount:
                held[resource] = amount
            else:
                held.pop(resource, None)
        if not held:
            del self.held[entry.capacity]


def _is_reserved_share(entry: LedgerEntry) -> bool:
    resources = entry.resources
    return entry.state == "RESERVED" and VOLUME_SPACE in resources and not resources.of(WHOLE_DRIVE)


def _add(places: Places, name: str, key: Key) -> None:
    keys = places.get(name)
    if keys is None:
        places[name] = {key}
    else:
        keys.add(key)


def _discard(places: Places, name: str, key: Key) -> None:
    keys = places[name]
    keys.discard(key)
    if not keys:
        del places[name]
