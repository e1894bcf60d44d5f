"""A cluster that is held, with every promise counted: made anew where the ledger moves or a promise ends."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ullage.engine.ledger.promises import with_promises
from ullage.engine.ledger.state import LedgerState
from ullage.model.cluster import Snapshot
from ullage.model.ledger_entry import LedgerEntry
from ullage.service.clock import now_seconds
from ullage.service.held import Held, Span
from ullage.service.ledger_file import alive, ledger_path
from ullage.service.ledger_reader import LedgerReader, Read

if TYPE_CHECKING:
    from ullage.service.asked import Asked


def everybody(kept: Held, whole: Snapshot, asked: "Asked") -> Snapshot:
    """Return a cluster that is held, its policy filled in, with the promises of its own and of a ledger."""
    return promised(kept, whole, ledger_now(kept, asked) if asked.ledger else None, asked)


def ledger_now(kept: Held, asked: "Asked") -> Read:
    """Return the ledger that is asked about, as it is now; nobody may change it."""
    place = ledger_path(asked.ledger, asked)
    return kept.reader(place, lambda: LedgerReader(place)).read()


def promised(kept: Held, whole: Snapshot, ledger: Read | None, asked: "Asked") -> Snapshot:
    """Return the cluster with the promises that stand now."""
    from ullage.service.asked import standing

    if ledger is None and not whole.reservations:
        return whole
    state = LedgerState() if ledger is None else ledger.state
    at_seconds = max(now_seconds(), state.at_seconds)

    def make() -> Snapshot:
        return with_promises(standing(whole), alive(state.entries, at_seconds))

    def span() -> Span:
        own = whole.reservations if whole.taken_seconds is None else ()
        return _span(at_seconds, (*state.entries, *own))

    if kept.variant(whole) is None:
        return make()
    return kept.kept(
        ("promises", asked.policy, asked.ledger, None if ledger is None else ledger.seal),
        make,
        base=whole,
        at_seconds=at_seconds,
        span=span,
    )


def _span(at_seconds: int, entries: Iterable[LedgerEntry]) -> Span:
    """Return for how long nothing of this ends."""
    ends = [each.expires_seconds for each in entries if each.expires_seconds is not None]
    return Span(at_seconds, min((each for each in ends if each > at_seconds), default=None))
