"""What is promised: the entries of a ledger, now or after any step of the past, and what they leave."""

from typing import NamedTuple

from ullage.engine.ledger.room import TYPES
from ullage.engine.ledger.state import LedgerState
from ullage.model.constraints import Record
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Amount
from ullage.service.answer import Answer, versioned
from ullage.service.clock import now_seconds, told_time
from ullage.service.ledger_file import ledger_path, read_ledger, told_path


class ShowQuestion(NamedTuple):
    """Which ledger, which entries of it, and after which step; what is left out does not matter.

    `told` is what the ledger is called, where that is not its place.
    """

    ledger: str = ""
    owner: str = ""
    capacity: str = ""
    state: str = ""
    revision: int | None = None
    told: str = ""


class HeldCapacity(Record, frozen=True):
    """How much of a resource is promised of a capacity; nothing is offered where it is not known any more.

    `offers` and `free` are None where there is no bound.
    """

    capacity: str
    resource: str
    offers: Amount | None
    held: Amount
    free: Amount | None


class LedgerReport(Record, frozen=True):
    """The answer to `ullage ledger show`; `due` are reservations whose time has come."""

    ledger: str
    revision: int
    at: str
    live: int
    entries: tuple[LedgerEntry, ...]
    capacities: tuple[HeldCapacity, ...]
    waiting: int
    due: tuple[str, ...]


def ledger_show(question: ShowQuestion) -> Answer:
    """Answer what is promised."""
    from ullage.service.ledger_show_page import ledger_show_page

    path = ledger_path(question.ledger)
    state = read_ledger(path, question.revision)
    report = ledger_report(state, question.told or told_path(path), question, now_seconds())
    return Answer(
        lambda: ledger_show_page(report, question),
        lambda: versioned("LedgerReport", report, TYPES),
        shortened=lambda: ledger_show_page(report, question, shortened=True),
    )


def ledger_report(state: LedgerState, ledger: str, question: ShowQuestion, at_seconds: int) -> LedgerReport:
    """Return the entries that are meant, and the sums of all on the same capacities."""
    shown = tuple(
        entry
        for entry in state.entries
        if question.owner in {"", entry.owner}
        and question.capacity in {"", entry.capacity}
        and question.state.upper() in {"", entry.state}
    )
    names = sorted({entry.capacity for entry in shown if entry.holds})
    past = question.revision is not None
    due = () if past else sorted({entry.reservation for entry in state.due(at_seconds)})
    return LedgerReport(
        ledger=ledger,
        revision=state.revision,
        at=told_time(state.at_seconds),
        live=len(state),
        entries=shown,
        capacities=tuple(figures for name in names for figures in _figures(state, name)),
        waiting=len(state.waiting),
        due=tuple(due),
    )


def _figures(state: LedgerState, name: str) -> list[HeldCapacity]:
    capacity = state.capacity(name)
    found = []
    for resource, held in sorted(state.summed(name).items()):
        if capacity is not None and resource in capacity.unbounded:
            found.append(HeldCapacity(name, resource, None, Amount(resource, held), None))
            continue
        offers = 0 if capacity is None else capacity.offers.of(resource)
        amounts = (Amount(resource, each) for each in (offers, held, max(0, offers - held)))
        found.append(HeldCapacity(name, resource, *amounts))
    return found
