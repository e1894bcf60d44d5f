"""Steps that people take by hand: bind, release, extend, and give back what has ended or lost its owner."""

import shlex
from collections.abc import Iterator, Sequence

from ullage.engine.ledger.room import TYPES
from ullage.engine.ledger.state import LedgerState
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.ledger import (
    Bind,
    Command,
    Expire,
    Extend,
    Outcome,
    Pause,
    Release,
    Supply,
    Together,
    is_disk,
)
from ullage.model.ledger_entry import LedgerEntry
from ullage.render import view
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_whole, standing
from ullage.service.clock import now_seconds, told_time
from ullage.service.ledger_file import alive, ledger_path, read_ledger, submitted, told_path
from ullage.service.ledger_words import entry_table, with_ledger
from ullage.service.words import plural


class LedgerChange(Record, frozen=True):
    """The answer to a step: whether it was taken, what it changed, or why it was refused."""

    ledger: str
    revision: int
    asked: str
    accepted: bool
    changed: tuple[LedgerEntry, ...]
    reason: str


def bind(named: str, reservation: str, node: str = "") -> Answer:
    """Note that what was held is in use."""
    return _taken(named, f"bind {reservation}", Bind(reservation, node))


def release(named: str, reservation: str, requests: Sequence[str] = ()) -> Answer:
    """Give back a reservation, or some requests of it; volumes in use may well be there still."""
    command = Release(reservation, tuple(requests), volumes_stay=True)
    return _taken(named, f"release {reservation}", command)


def pause(named: str, reservation: str, *, paused: bool) -> Answer:
    """Note that what is in use is paused, or runs again; it stays promised."""
    return _taken(named, f"{'pause' if paused else 'resume'} {reservation}", Pause(reservation, paused))


def extend(named: str, reservation: str, hold_seconds: int) -> Answer:
    """Hold a reservation for so many seconds from now; one that ends later is not cut short."""
    state = read_ledger(ledger_path(named))
    until = max(now_seconds(), state.at_seconds) + hold_seconds
    ends = max((each.expires_seconds or 0 for each in state.entries_of(reservation)), default=0)
    if ends > until:
        raise InputError(
            f"{reservation} is held until {told_time(ends)}, {plural(ends - until, 'second')} longer",
            where="--hold",
            remedy="hold it for longer, or release it",
        )
    return _taken(named, f"extend {reservation}", Extend(reservation, until))


def expire(asked: Asked, *, orphans: bool) -> Answer:
    """Give back what its time has come for; with `orphans`, also what is in use by nobody of the cluster."""
    words = "expire"
    command: Command = Expire()
    if orphans:
        from ullage.engine.ledger.matching import broken_promises

        state = read_ledger(ledger_path(asked.ledger, asked))
        snapshot = read_whole(asked)
        gone = broken_promises(snapshot, state.entries)
        if gone and not len(snapshot.workloads):
            raise InputError(
                f"{snapshot.name} names no workloads, so nobody can be said to be gone",
                where="--orphans",
                remedy="name a cluster that lists its workloads, or use ledger release",
            )
        words = f"expire, and {plural(len(gone), 'reservation')} without an owner"
        command = Together((Expire(), *_given_back(snapshot, state, gone)), line_last=True)
    return _taken(asked.ledger, words, command, asked)


def _given_back(snapshot: Snapshot, state: LedgerState, gone: Sequence[str]) -> Iterator[Supply | Release]:
    """Yield what disks offer without the promises that end now, whose volumes may be there still."""
    from ullage.engine.columns import Columns
    from ullage.engine.ledger.promises import with_promises
    from ullage.engine.ledger.sharing import survivors
    from ullage.engine.ledger.supply import supply_of

    live = alive(state.entries, max(now_seconds(), state.at_seconds))
    left = survivors(live, lambda each: each.reservation in gone)
    ends = {each.key: each for each in state.entries if each.holds and is_disk(each.capacity)}
    for each in left:
        ends.pop(each.key, None)
    names = {each.capacity for each in ends.values()}
    offered = supply_of(Columns(with_promises(standing(snapshot), left)), left, names) if names else ()
    if offered:
        yield Supply(offered)
    told = {each.name for each in offered}
    untold = {each.reservation for each in ends.values() if each.capacity not in told}
    yield from (Release(each, volumes_stay=each in untold) for each in gone)


def _taken(named: str, words: str, command: Command, asked: Asked | None = None) -> Answer:
    done = submitted(ledger_path(named, asked), command, at_seconds=now_seconds())
    return answer_of(named, words, done)


def answer_of(named: str, words: str, done: Outcome) -> Answer:
    """Return what came of a step, and of what was asked in words."""
    report = _report(told_path(ledger_path(named)), words, done)
    return Answer(
        lambda: _page(report, named), lambda: versioned("LedgerChange", report, TYPES), report.accepted
    )


def _report(ledger: str, words: str, done: Outcome) -> LedgerChange:
    decision = done.decision
    changed = decision.changed if decision.accepted else ()
    return LedgerChange(ledger, done.revision, words, decision.accepted, changed, decision.reason)


def _page(report: LedgerChange, named: str) -> view.Page:
    blocks: list[view.Block] = []
    if not report.accepted:
        blocks.append(view.Findings("Refused", (view.Finding("error", "", report.reason),)))
    blocks.append(entry_table("Changed", report.changed, TYPES))
    first = report.changed[0].reservation if report.changed else ""
    subject = f" {shlex.quote(f'reservation/{first}')}" if first else ""
    return view.Page(
        title="Step of the ledger",
        verdict=view.Verdict(_verdict(report), "yes" if report.accepted else "no"),
        blocks=tuple(blocks),
        next_command=with_ledger(f"ledger history{subject}" if subject else "ledger show", named),
        about=f"ledger {report.ledger}, revision {report.revision}",
    )


def _verdict(report: LedgerChange) -> str:
    if not report.accepted:
        return f"{report.asked}: refused"
    count = len({entry.reservation for entry in report.changed})
    changed = f"{plural(count, 'reservation')} changed" if count else "nothing changed"
    return f"{report.asked}: {changed}{f' ({report.reason})' if report.reason else ''}"
