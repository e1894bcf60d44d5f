"""Volumes that several reservations share, and volumes that outlast their promises.

The bytes of a claim are counted once: one entry has them, those of others refer to it by the claim. The hard
thing is the end of that entry: in the same step the bytes are another's who shares the claim, or, where the
volume exists and nobody shares it, the volume's own, and so not offered any more.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

import msgspec

from ullage.engine.ledger.naming import claim_named_by
from ullage.engine.ledger.room import Lack, names_of_bytes
from ullage.engine.ledger.view import Key, LedgerView, key_of
from ullage.model.ledger import Capacity, Hold, MadeVolume, is_disk, node_of
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import NOTHING, Resources


class Beside(NamedTuple):
    """What a hold is beside those who share its claim: what is its own, what is more, and whose it is."""

    own: Resources
    more: Resources
    grown: LedgerEntry | None = None


class LeftBehind(NamedTuple):
    """What entries leave when they end: those who have their bytes now, and disks as they are offered now."""

    heirs: tuple[LedgerEntry, ...] = ()
    capacities: tuple[Capacity, ...] = ()


def carrier(view: LedgerView, claim: str) -> LedgerEntry | None:
    """Return the entry that has the bytes of a claim; None where nobody holds it."""
    if not claim:
        return None
    return next((entry for entry in view.sharing(claim) if not entry.refers), None)


def carried(view: LedgerView, entry: LedgerEntry) -> Resources:
    """Return what an entry has, or what the one has that it shares its claim with."""
    has = carrier(view, entry.claim) if entry.refers else None
    return entry.resources if has is None else has.resources


def beside(view: LedgerView, hold: Hold) -> Beside | Lack:
    """Return what a hold takes: of a claim that others hold, only what it needs beyond what they have."""
    has = carrier(view, hold.claim)
    adopted = _adopted(view, hold) if has is None and hold.adopts else None
    has = has or adopted
    if has is None:
        return Beside(hold.resources, hold.resources)
    if has.capacity != hold.capacity:
        return Lack(
            f"claim {hold.claim} is promised on {has.capacity} to {has.reservation}; ask for it there, or "
            f"release {has.reservation} first"
        )
    more = (hold.resources - has.resources).at_least_zero().without_zeros()
    grown = msgspec.structs.replace(has, resources=has.resources + more) if more else adopted
    return Beside(NOTHING, more, grown)


def _adopted(view: LedgerView, hold: Hold) -> LedgerEntry | None:
    """Return the entry that has the volume of a claim since claims were not written down, with the claim."""
    entry = view.entry((hold.adopts, hold.request, hold.capacity))
    if entry is None or not entry.holds or entry.claim or not any(entry.resources.values()):
        return None
    return msgspec.structs.replace(entry, claim=hold.claim)


def with_claims(
    entries: Iterable[LedgerEntry], names: Callable[[LedgerEntry, str], bool] = lambda _, __: True
) -> list[LedgerEntry]:
    """Return entries with the claims that old ones hold without saying so, as far as somebody `names` them.

    The first ledgers did not write claims down. A claim has its bytes once: of several entries that could
    have it the first one does, and none where one is known to have it.
    """
    found = list(entries)
    known = {entry.claim for entry in found if entry.claim}
    for place, entry in enumerate(found):
        if entry.claim or not entry.holds or not is_disk(entry.capacity) or not any(entry.resources.values()):
            continue
        claim = claim_named_by(entry.owner, entry.request)
        if claim not in known and names(entry, claim):
            known.add(claim)
            found[place] = msgspec.structs.replace(entry, claim=claim)
    return found


def survivors(entries: Iterable[LedgerEntry], gone: Callable[[LedgerEntry], bool]) -> list[LedgerEntry]:
    """Return the entries that stand when others have gone, each with the bytes that are its own then."""
    every = list(entries)
    left = {key_of(each): each for each in every if not gone(each)}
    lost = [
        each
        for each in every
        if each.claim and each.holds and not each.refers and key_of(each) not in left
    ]  # fmt: skip
    if lost:
        sharing: dict[str, list[LedgerEntry]] = {}
        for each in left.values():
            if each.claim and each.holds:
                sharing.setdefault(each.claim, []).append(each)
        for entry in lost:
            heir = _first(sharing.get(entry.claim, ()))
            if heir is not None:
                left[key_of(heir)] = _heir_of(entry, heir)
    return list(left.values())


def left_behind(
    view: LedgerView, going: Collection[LedgerEntry], *, volumes_stay: bool = False
) -> LeftBehind:
    """Return what entries leave that end together; where `volumes_stay`, what is in use has its volumes."""
    keys = {key_of(entry) for entry in going}
    heirs = []
    disks = _Disks(view)
    for entry in going:
        if not entry.holds or not is_disk(entry.capacity) or entry.refers:
            continue
        stays = volumes_stay and entry.state == "BOUND"
        heir = _heir(view, entry, keys)
        if heir is None:
            disks.end(entry, stays=stays)
        else:
            heirs.append(_heir_of(entry, heir))
            disks.pass_on(entry, heir, stays=stays)
    return LeftBehind(tuple(heirs), tuple(disks.changed.values()))


def _heir(view: LedgerView, entry: LedgerEntry, going: set[Key]) -> LedgerEntry | None:
    if not entry.claim:
        return None
    return _first(each for each in view.sharing(entry.claim) if key_of(each) not in going)


def _first(others: Iterable[LedgerEntry]) -> LedgerEntry | None:
    """Return who has the bytes of a claim next: somebody in use before those who are not."""
    return min(others, key=lambda each: (each.state != "BOUND", key_of(each)), default=None)


def _heir_of(entry: LedgerEntry, heir: LedgerEntry) -> LedgerEntry:
    return msgspec.structs.replace(heir, resources=entry.resources, drives=entry.drives)


class _Disks:
    """The disks of a ledger as they are offered when entries have ended."""

    def __init__(self, view: LedgerView) -> None:
        self._view = view
        self.changed: dict[str, Capacity] = {}

    def end(self, entry: LedgerEntry, *, stays: bool) -> None:
        """Offer what an entry had no longer, as far as its volume exists."""
        for capacity in self._around(entry):
            records = [each for each in capacity.made if _is_of(each, entry)]
            if stays and entry.capacity in names_of_bytes(self._view, capacity):
                gone = entry.resources
            elif records:
                gone = records[0].resources
            else:
                continue
            offers = {each: max(0, amount - gone.of(each)) for each, amount in capacity.offers.items()}
            made = tuple(each for each in capacity.made if each not in records)
            self._put(capacity, offers=Resources(offers), made=made)

    def pass_on(self, entry: LedgerEntry, heir: LedgerEntry, *, stays: bool) -> None:
        """Note that a volume is that of another entry now."""
        for capacity in self._around(entry):
            records = [each for each in capacity.made if _is_of(each, entry)]
            others = [each for each in capacity.made if each not in records]
            if stays and not records and entry.capacity in names_of_bytes(self._view, capacity):
                records = [MadeVolume(*key_of(entry), entry.resources)]
            if records:
                of_heir = MadeVolume(*key_of(heir), records[0].resources)
                self._put(capacity, offers=capacity.offers, made=(*others, of_heir))

    def _around(self, entry: LedgerEntry) -> Iterator[Capacity]:
        """Yield the disks of which the bytes of an entry may be a part."""
        view = self._view
        names = {entry.capacity, *entry.drives, *view.disks_of(node_of(entry.capacity))}
        for name in sorted(names):
            capacity = self.changed.get(name) or view.capacity(name)
            if capacity is not None:
                yield capacity

    def _put(self, capacity: Capacity, *, offers: Resources, made: tuple[MadeVolume, ...]) -> None:
        self.changed[capacity.name] = msgspec.structs.replace(capacity, offers=offers, made=made)


def _is_of(made: MadeVolume, entry: LedgerEntry) -> bool:
    return (made.reservation, made.request, made.capacity) == key_of(entry)
