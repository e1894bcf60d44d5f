"""The past from the journal: any state can be built again, and every decision made again and compared."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ullage.engine.ledger.apply import apply
from ullage.engine.ledger.decide import decide
from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.model.ledger import Command, Decision, JournalRow


class Difference(NamedTuple):
    """A step whose decision is not the one that follows from the steps before."""

    revision: int
    command: Command
    recorded: Decision
    decided: Decision


def replay(
    rows: Iterable[JournalRow], until: int | None = None, start: LedgerState | None = None
) -> LedgerState:
    """Return the ledger after a revision, or after all rows, from what was decided at the time.

    The rows follow on `start`, which is left as it is, or on an empty ledger.
    """
    state = LedgerState() if start is None else start.copy()
    if until is not None and until < state.revision:
        raise InputError(f"revision {until} is before {state.revision}", remedy="start from an earlier state")
    for row in rows:
        if state.revision == until:
            break
        _check_order(state, row)
        apply(state, row.decision, row.at_seconds)
    if until is not None and state.revision < until:
        raise InputError(
            f"the journal ends at revision {state.revision}, not {until}",
            remedy=f"ask for {state.revision} or less",
        )
    return state


def differences(rows: Iterable[JournalRow], start: LedgerState | None = None) -> Iterator[Difference]:
    """Decide every command again, each on what the journal says of the steps before; yield what differs."""
    state = LedgerState() if start is None else start.copy()
    for row in rows:
        _check_order(state, row)
        decided = decide(state, row.command, row.at_seconds)
        if decided != row.decision:
            yield Difference(row.revision, row.command, row.decision, decided)
        apply(state, row.decision, row.at_seconds)


def _check_order(state: LedgerState, row: JournalRow) -> None:
    """Refuse a journal with a gap, a row twice, or time that goes backwards."""
    if row.revision != state.revision + 1:
        raise InputError(
            f"revision {row.revision} follows {state.revision} in the journal",
            remedy="read it in order and whole, or restore a backup",
        )
    if row.at_seconds < state.at_seconds:
        raise InputError(
            f"revision {row.revision} is of {row.at_seconds}, the one before of {state.at_seconds}",
            remedy="restore a backup of the journal",
        )
