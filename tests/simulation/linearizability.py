"""Whether what concurrent clients saw of a ledger could have happened one step after the other.

Every outcome names its revision, so the order is given and need not be searched: it has to be one, to agree
with the clock on the wall, and to lead to the very outcomes that were seen. What is promised is added up here
once more, by a few lines that share nothing with the ledger's own sums.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ullage.engine.ledger import decide as deciding
from ullage.engine.ledger.apply import apply
from ullage.engine.ledger.state import LedgerState
from ullage.model.ledger import Capacity, Command, Decision, Outcome
from ullage.model.ledger_entry import LedgerEntry

Decide = Callable[[LedgerState, Command, int], Decision]


class Operation(NamedTuple):
    """One call of one client: when it began and was answered, at which time of the ledger, and the answer."""

    invoked: float
    returned: float
    command: Command
    outcome: Outcome
    at_seconds: int
    key: str = ""


class Sums:
    """What is offered and what is held, followed from decision to decision."""

    def __init__(self, capacities: Iterable[Capacity] = (), entries: Iterable[LedgerEntry] = ()) -> None:
        self.capacities = {capacity.name: capacity for capacity in capacities}
        self.entries: dict[tuple[str, str, str], LedgerEntry] = {}
        self.held: dict[tuple[str, str], int] = {}
        for entry in entries:
            self._put(entry)

    def follow(self, decision: Decision) -> list[str]:
        """Take over a decision; return what it promises beyond what is offered, or promises to nobody."""
        before = dict.fromkeys(
            ((entry.capacity, name) for entry in decision.changed for name in entry.resources), 0
        )
        before = {place: self.held.get(place, 0) for place in before}
        self.capacities.update((capacity.name, capacity) for capacity in decision.capacities)
        for name in decision.gone:
            self.capacities.pop(name, None)
        for entry in decision.changed:
            self._put(entry)
        found = [
            f"{capacity}: {self.held.get((capacity, resource), 0)} of {resource} is promised, "
            f"{self._offered(capacity, resource)} is offered"
            for (capacity, resource), amount in before.items()
            if self.held.get((capacity, resource), 0) > max(amount, self._offered(capacity, resource))
        ]
        return found + [
            f"{entry.key} is {entry.state} for {entry.owner or 'nobody'} until {entry.expires_seconds}"
            for entry in decision.changed
            if (entry.holds or entry.state == "WAITING")
            and (not entry.owner or (entry.expires_seconds is None) != (entry.state == "BOUND"))
        ]

    def _put(self, entry: LedgerEntry) -> None:
        key = (entry.reservation, entry.request, entry.capacity)
        for sign, each in ((-1, self.entries.pop(key, None)), (1, entry)):
            if each is not None and each.state in {"RESERVED", "BOUND"}:
                for name, amount in each.resources.items():
                    place = (each.capacity, name)
                    self.held[place] = self.held.get(place, 0) + sign * amount
        self.entries[key] = entry

    def _offered(self, name: str, resource: str) -> int:
        capacity = self.capacities.get(name)
        if capacity is None:
            return 0
        return 1 << 200 if resource in capacity.unbounded else capacity.offers.of(resource)


def violations(
    history: Iterable[Operation], start: LedgerState | None = None, decide: Decide = deciding.decide
) -> list[str]:
    """Return everything that no ledger which takes one step after the other could have answered.

    `start` is the ledger before the history and stays as it is.
    """
    state = LedgerState() if start is None else start.copy()
    steps, found = _steps(history, state.revision)
    found += _against_the_clock(steps)
    sums = Sums(state.capacities, state.entries)
    for step in steps:
        revision, seen = step.outcome.revision, step.outcome.decision
        if decide(state, step.command, step.at_seconds) != seen:
            found.append(
                f"revision {revision}: {type(step.command).__name__} should have been decided otherwise"
            )
        found += (f"revision {revision}: {each}" for each in sums.follow(seen) if seen.accepted)
        apply(state, seen, step.at_seconds)
    return found


def _steps(history: Iterable[Operation], before: int) -> tuple[list[Operation], list[str]]:
    """Return one operation for each revision, in order, and what is wrong with the numbering."""
    found: list[str] = []
    originals: dict[int, Operation] = {}
    repeats: list[Operation] = []
    for each in history:
        if each.returned < each.invoked:
            found.append(f"revision {each.outcome.revision}: answered before it was asked")
        if each.outcome.repeated:
            repeats.append(each)
        elif each.outcome.revision in originals:
            found.append(f"revision {each.outcome.revision} was given twice")
        else:
            originals[each.outcome.revision] = each
    for each in repeats:
        # Who asked first may never have been answered; then all that is known is that it was before this.
        first = originals.setdefault(each.outcome.revision, each._replace(invoked=float("-inf")))
        same = (first.key, first.command, first.outcome.decision)
        if not each.key or same != (each.key, each.command, each.outcome.decision):
            found.append(
                f"revision {each.outcome.revision}: key {each.key!r} was answered with another's outcome"
            )
        elif first.invoked > each.returned:
            found.append(f"revision {each.outcome.revision}: repeated before it was asked for")
    steps = [originals[revision] for revision in sorted(originals)]
    for place, step in enumerate(steps, before + 1):
        if step.outcome.revision != place:
            found.append(f"revision {place} is missing")
            break
    return steps, found


def _against_the_clock(steps: Sequence[Operation]) -> list[str]:
    """Return the steps that were asked for only after a later one had been answered."""
    found = []
    earliest = float("inf")
    for step in reversed(steps):
        if earliest < step.invoked:
            found.append(f"revision {step.outcome.revision}: asked for after a later one was answered")
        earliest = min(earliest, step.returned)
    return found[::-1]
