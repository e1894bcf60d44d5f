"""What becomes of a command: a pure function of the ledger, the command and the time.

Nothing is changed here. The hard thing is `Together`: each of its commands is decided on the ledger as the
ones before would leave it, which is an overlay that costs what they change. What can be promised may change
in the midst of it, so who stands in line has a turn at its end.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ullage.engine.ledger.apply import amend
from ullage.engine.ledger.changing import bind, expire, extend, pause, refuse, release, resize, supply
from ullage.engine.ledger.entries import latest
from ullage.engine.ledger.overlay import Overlay
from ullage.engine.ledger.room import Lack, refused
from ullage.engine.ledger.shape import flaw
from ullage.engine.ledger.state import LedgerState
from ullage.engine.ledger.view import LedgerView, key_of
from ullage.engine.ledger.waiting import reserve, with_turns
from ullage.model.ledger import (
    Bind,
    Capacity,
    Command,
    Decision,
    Expire,
    Extend,
    Pause,
    Refuse,
    Release,
    Reserve,
    Resize,
    Supply,
    Together,
)
from ullage.model.ledger_entry import LedgerEntry

_Rule = Callable[[LedgerView, Any, int], Decision]
_RULES: Final[Mapping[type, _Rule]] = {
    Supply: supply,
    Reserve: reserve,
    Bind: bind,
    Release: release,
    Extend: extend,
    Expire: expire,
    Pause: pause,
    Resize: resize,
    Refuse: refuse,
}
_MOVES_THE_LINE: Final = frozenset((Supply, Bind, Release, Expire, Resize))
"""After these the turn of somebody who waits may have come; the others free nothing."""


def decide(state: LedgerState, command: Command, at_seconds: int) -> Decision:
    """Return what becomes of a command at a time; the ledger's own time where that is later."""
    wrong = flaw(command)
    if wrong:
        return refused(Lack(wrong))
    now_seconds = max(at_seconds, state.at_seconds)
    if isinstance(command, Together):
        return _together(state, command, now_seconds)
    return _one(state, command, now_seconds)


def _one(view: LedgerView, command: Command, at_seconds: int, *, for_room: bool = True) -> Decision:
    kind = type(command)
    decision = _RULES[kind](view, command, at_seconds)
    if kind not in _MOVES_THE_LINE:
        return decision
    return with_turns(view, decision, at_seconds, for_room=for_room)


def _together(state: LedgerState, command: Together, at_seconds: int) -> Decision:
    """Decide all in order; the first that is refused refuses all, and says which it was."""
    after = Overlay(state)
    changed: list[LedgerEntry] = []
    capacities: dict[str, Capacity | None] = {}
    for place, each in enumerate(command.commands, 1):
        if command.line_last:
            decision = _RULES[type(each)](after, each, at_seconds)
        else:
            decision = _one(after, each, at_seconds, for_room=False)
        if not decision.accepted:
            reason = f"command {place} of {len(command.commands)}: {decision.reason}"
            # Nothing has happened: what stands stays, also what an earlier command would have ended.
            rejected = tuple(entry for entry in decision.changed if not state.entries_of(entry.reservation))
            return refused(Lack(reason, decision.shortfalls), rejected)
        amend(after, decision)
        changed += decision.changed
        capacities.update((capacity.name, capacity) for capacity in decision.capacities)
        capacities.update(dict.fromkeys(decision.gone))
    done = Decision(
        accepted=True,
        changed=latest(changed),
        capacities=tuple(each for each in capacities.values() if each is not None),
        gone=tuple(name for name, each in capacities.items() if each is None),
        waiting=None if after.waiting == state.waiting else after.waiting,
    )
    # Who waits for room comes last: what a plan gives back for its own sake is not for others.
    if any(type(each) in _MOVES_THE_LINE for each in command.commands):
        done = with_turns(state, done, at_seconds)
    return _without_passing(state, done) if command.line_last else done


def _without_passing(state: LedgerState, decision: Decision) -> Decision:
    """Return a decision without what came and went in this step: who has the turn at once has not waited."""
    changed = tuple(
        entry
        for entry in decision.changed
        if entry.state != "RELEASED" or state.entry(key_of(entry)) is not None
    )
    return msgspec.structs.replace(decision, changed=changed)
