"""What is asked before a move is taken: memory for takeovers, placement rules, and what losses then mean.

Each of them goes along with the moves that are taken, so one that said yes is told when another says no.
"""

from typing import Final

from ullage.engine.balance.candidates import Step
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.loss_watch import LossWatch
from ullage.engine.balance.moves import Moved
from ullage.engine.balance.placement import Placement
from ullage.engine.balance.redundancy_watch import Standing
from ullage.engine.balance.state import HostState

REFUSED_MAX: Final = 10_000
"""Moves that are found and then refused, after which a search ends."""


class EnoughError(Exception):
    """So many moves were refused, or so much was judged, that the search ends."""


class Guard:
    """What is asked before a move is taken.

    Whether hosts can still be evacuated is asked of `standing`; where placement rules decide, of `watch`.
    """

    def __init__(
        self,
        fleet: Fleet,
        rules: Placement | None,
        standing: Standing | None = None,
        watch: LossWatch | None = None,
    ) -> None:
        self._fleet = fleet
        self._rules = rules
        self._standing = standing
        self._watch = watch
        self.refused = 0

    def accepts(self, step: Step, moved: Moved) -> bool:
        """Whether a move may be taken; the trials go along with it then."""
        if self.refused >= REFUSED_MAX or (self._watch is not None and self._watch.is_spent):
            raise EnoughError
        accepted = self._keeps_memory(moved) and self._is_placed(step) and self._is_evacuable(step, moved)
        self.refused += not accepted
        return accepted

    def _keeps_memory(self, moved: Moved) -> bool:
        """Whether no host lacks more memory than before for taking over from another."""
        fleet = self._fleet
        return all(
            _shortage(fleet, number, state) <= _shortage(fleet, number, fleet.states[number])
            for number, state in moved.changed.items()
        )

    def _is_evacuable(self, step: Step, moved: Moved) -> bool:
        if self._standing is None:
            return True
        after = self._fleet.copy()
        after.accept(step.machine, moved)
        return self._standing.holds(after, moved.changed)

    def _is_placed(self, step: Step) -> bool:
        """Whether every rule allows a move, and the loss of no node becomes worse by it."""
        if self._rules is None:
            return True
        name = self._fleet.machines[step.machine].name
        if not self._rules.move(name, step):
            return False
        if self._watch is None or self._watch.follow(name, *_primaries(self._fleet, step)):
            return True
        self._rules.take_back()
        return False


def follow_all(fleet: Fleet, steps: list[Step], rules: Placement, watch: LossWatch) -> None:
    """Let rules and losses go along with moves that were accepted before; both are at the start of them."""
    for step in steps:
        name = fleet.machines[step.machine].name
        rules.move(name, step)
        watch.follow(name, *_primaries(fleet, step))


def _primaries(fleet: Fleet, step: Step) -> tuple[str, str]:
    return fleet.hosts[step.before.primary].name, fleet.hosts[step.place.primary].name


def _shortage(fleet: Fleet, number: int, state: HostState) -> tuple[bool, int]:
    """Return whether a host could not take over from every other, and how much memory it lacks for that."""
    floor = fleet.hosts[number].memory_floor
    return state.fails, max(0, floor - (state.now.memory_free - state.reserved)) if state.fails else 0
