"""What one step of a ledger changed: every entry and every term that it touched, before and after.

The hard thing is what a term counts: the bytes of a volume group and of its drives are promised under several
names, and all of them are added up here as they are where a promise is judged. A step that was refused has
changed nothing: its terms are those that it was refused for, the same before and after.
"""

from collections.abc import Iterable

from ullage.engine.ledger.apply import apply
from ullage.engine.ledger.room import names_of_bytes
from ullage.engine.ledger.state import LedgerState
from ullage.engine.ledger.view import key_of
from ullage.model.constraints import Record
from ullage.model.ledger import Capacity, Decision, JournalRow
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Amount


class EntryChange(Record, frozen=True):
    """An entry as a step left it, and as it was: None where there was none."""

    before: LedgerEntry | None
    after: LedgerEntry


class Held(Record, frozen=True):
    """What is promised of a resource; `offers` and `free` are None where there is no bound."""

    offers: Amount | None
    held: Amount
    free: Amount | None


class TermChange(Record, frozen=True):
    """A resource of a capacity before a step and after it."""

    capacity: str
    resource: str
    before: Held
    after: Held


class StepChange(Record, frozen=True):
    """All that a step changed."""

    entries: tuple[EntryChange, ...]
    terms: tuple[TermChange, ...]


def change_of(state: LedgerState, row: JournalRow) -> StepChange:
    """Return what a step changed; the state is that before it, and becomes that after it."""
    decision = row.decision
    entries = tuple(EntryChange(state.entry(key_of(entry)), entry) for entry in decision.changed)
    wanted = _wanted(state, decision, entries)
    before = [_held(state, *each) for each in wanted]
    apply(state, decision, row.at_seconds)
    asked = {(each.capacity, name) for pair in entries for each in _both(pair) for name in each.resources}
    asked.update((short.node, short.resource) for short in decision.shortfalls)
    return StepChange(
        entries,
        tuple(
            TermChange(*each, was, now)
            for each, was, now in zip(wanted, before, (_held(state, *each) for each in wanted), strict=True)
            if was != now or each in asked
        ),
    )


def _wanted(state: LedgerState, decision: Decision, entries: Iterable[EntryChange]) -> list[tuple[str, str]]:
    """Return the capacities and resources that a step is about, in order."""
    found: set[tuple[str, str]] = set()
    for pair in entries:
        for entry in _both(pair):
            found.update((entry.capacity, name) for name in entry.resources if entry.capacity)
    for capacity in decision.capacities:
        known = state.capacity(capacity.name)
        for each in (capacity, *((known,) if known else ())):
            found.update((each.name, name) for name in (*each.offers, *each.unbounded))
    for name in decision.gone:
        known = state.capacity(name)
        found.update((name, resource) for resource in (known.offers if known else ()))
    found.update((short.node, short.resource) for short in decision.shortfalls)
    return sorted(found)


def _both(pair: EntryChange) -> tuple[LedgerEntry, ...]:
    return (pair.after,) if pair.before is None else (pair.before, pair.after)


def _held(state: LedgerState, name: str, resource: str) -> Held:
    capacity = state.capacity(name) or Capacity(name)
    held = sum(state.held_amount(each, resource) for each in names_of_bytes(state, capacity))
    if resource in capacity.unbounded:
        return Held(None, Amount(resource, held), None)
    offers = capacity.offers.of(resource)
    return Held(Amount(resource, offers), Amount(resource, held), Amount(resource, max(0, offers - held)))
