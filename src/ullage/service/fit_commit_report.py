"""What came of `fit --commit`: what is held and until when, who waits in line, and what has ended since."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ullage.engine.ledger.sharing import carrier
from ullage.engine.ledger.state import LedgerState
from ullage.model.constraints import Record
from ullage.model.ledger import Outcome
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.verdict import Shortfall
from ullage.service.clock import told_time
from ullage.service.ledger_file import alive

NOT_ALL: Final = "all or none was asked for, and not all fit"


class CommitReport(Record, frozen=True):
    """What the ledger made of an answer: the entries that it holds now, those it refused, those it gave back.

    `kept` are reservations that were held before and stay as they are, `waiting` the entries of those who
    stand in line. `expires` is the time until which what is held is, or what is kept where nothing else is,
    and `kept_expires` the one of what is kept. `repeated` says that the key was known and this is the answer
    of the first time, of which `ended` has been given back since; `moved` that others had been quicker since
    the plan was made. `others` is what somebody else in line holds since this made room for it, and `resized`
    are reservations beside those that hold more, or less, because a claim that they share is of another size.
    """

    ledger: str
    revision: int
    accepted: bool
    repeated: bool
    moved: bool
    key: str
    expires: str
    held: tuple[LedgerEntry, ...]
    rejected: tuple[LedgerEntry, ...]
    released: tuple[LedgerEntry, ...]
    kept: tuple[str, ...]
    reason: str
    shortfalls: tuple[Shortfall, ...]
    waiting: tuple[LedgerEntry, ...] = ()
    ended: tuple[str, ...] = ()
    kept_expires: str = ""
    others: tuple[LedgerEntry, ...] = ()
    resized: tuple[str, ...] = ()

    @property
    def all_held(self) -> bool:
        """Whether everything is held as asked for: none was refused, waits, or has ended since."""
        return self.accepted and not self.rejected and not self.waiting and not self.ended


class Telling(NamedTuple):
    """Tells what came of a commit; the state is the ledger's after it, and `owners` who was asked about.

    `before` is the ledger's state before it, where that is known.
    """

    ledger: str
    key: str
    state: LedgerState
    at_seconds: int
    kept: tuple[str, ...]
    in_line: tuple[str, ...]
    owners: frozenset[str] = frozenset()
    before: LedgerState | None = None

    def done(self, done: Outcome) -> CommitReport:
        """Return what came of a step; what a refused one would have held is no part of it."""
        decision = done.decision
        everybody = decision.changed if decision.accepted else ()
        others = {entry.reservation for entry in everybody if self._is_of_others(entry)}
        changed = [entry for entry in everybody if entry.reservation not in others]
        # who only has the bytes of a shared claim from now on was not in line
        in_line_before = {entry.reservation for entry in everybody if not entry.claim} & others
        held = tuple(entry for entry in changed if entry.holds)
        names = tuple(dict.fromkeys(entry.reservation for entry in held))
        kept = () if done.repeated else tuple(name for name in self.kept if name not in names)
        in_line = {entry.reservation for entry in changed if entry.state == "WAITING"} | {*self.in_line}
        return CommitReport(
            ledger=self.ledger,
            revision=done.revision,
            accepted=decision.accepted,
            repeated=done.repeated,
            moved=done.moved,
            key=self.key,
            expires=self._until(names or kept),
            held=held,
            rejected=tuple(entry for entry in changed if entry.state == "REJECTED"),
            released=tuple(entry for entry in changed if entry.state in {"RELEASED", "EXPIRED"}),
            kept=kept,
            reason=decision.reason,
            shortfalls=decision.shortfalls,
            waiting=tuple(self._waiting(in_line)),
            ended=tuple(name for name in names if not self._alive(name)) if done.repeated else (),
            kept_expires=self._until(kept),
            others=tuple(each for each in everybody if each.reservation in in_line_before and each.holds),
            resized=() if done.repeated else tuple(sorted(self._resized(everybody) - {*names})),
        )

    def undone(self, *, nothing_to_do: bool, fits: bool) -> CommitReport:
        """Return why no step was taken: all is held or in line already, or nothing may be."""
        waiting = tuple(self._waiting(self.in_line))
        accepted = nothing_to_do and (fits or bool(waiting))
        return CommitReport(
            ledger=self.ledger,
            revision=self.state.revision,
            accepted=accepted,
            repeated=False,
            moved=False,
            key=self.key,
            expires=self._until(self.kept),
            held=(),
            rejected=(),
            released=(),
            kept=self.kept,
            reason="" if accepted else NOT_ALL,
            shortfalls=(),
            waiting=waiting,
            kept_expires=self._until(self.kept),
        )

    def _is_of_others(self, entry: LedgerEntry) -> bool:
        """Whether an entry changed because the line moved: who is evicted has given back, and no more."""
        ended = entry.state in {"RELEASED", "EXPIRED"}
        return bool(self.owners) and entry.owner not in self.owners and not ended

    def _resized(self, changed: Iterable[LedgerEntry]) -> set[str]:
        """Return who shares the claims that are of another size than before."""
        found: set[str] = set()
        for entry in changed:
            had = None if self.before is None else carrier(self.before, entry.claim)
            if had is not None and entry.holds and not entry.refers and entry.resources != had.resources:
                found |= {each.reservation for each in self.state.sharing(entry.claim)}
        return found

    def _alive(self, name: str) -> tuple[LedgerEntry, ...]:
        return alive(self.state.entries_of(name), self.at_seconds)

    def _until(self, names: Iterable[str]) -> str:
        """Return when the last of some reservations ends; nothing where all that stand are in use."""
        ends = [entry.expires_seconds or 0 for name in names for entry in self._alive(name)]
        return told_time(max(ends, default=0) or None)

    def _waiting(self, names: Iterable[str]) -> Iterator[LedgerEntry]:
        for name in sorted(names):
            yield from (entry for entry in self._alive(name) if entry.state == "WAITING")
