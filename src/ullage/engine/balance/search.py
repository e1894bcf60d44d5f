"""Balancing: the best move, then the best move after it, until none is worth it.

Greedy, without looking ahead: a step depends on the state alone, so what the quick search finds can be held
to the plain one at every step.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from ullage.engine.balance.candidates import Balancing, Step, movers_of, plain_step, score_after, targets_of
from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Moved
from ullage.engine.balance.score import TERMS, Term, optimum_of
from ullage.engine.balance.state import Failure

if TYPE_CHECKING:
    from ullage.engine.balance.bars import Bars

PAIRS_FEW: Final = 32
"""So few machines times hosts are looked at one by one: arrays would take longer to load."""


class Search(Protocol):
    """What finds steps, and is told of those that were taken."""

    def best(self) -> Step | None:
        """Return the move with the lowest score, the first of equals; None where no move lowers it."""

    def follow(self, step: Step) -> None:
        """Go along with a step that the fleet took."""


class Plain:
    """The search that tries one move after another."""

    def __init__(
        self, fleet: Fleet, options: Balancing, terms: Sequence[Term] = TERMS, bars: "Bars | None" = None
    ) -> None:
        self.fleet, self.options, self.terms, self.bars = fleet, options, terms, bars

    def best(self) -> Step | None:
        """Return the move with the lowest score, the first of equals; None where no move lowers it."""
        return plain_step(self.fleet, self.options, self.terms, self.bars)

    def follow(self, step: Step) -> None:
        """Go along with a step: the fleet is all that it looks at."""


def search_of(
    fleet: Fleet, options: Balancing, terms: Sequence[Term] = TERMS, bars: "Bars | None" = None
) -> Search:
    """Return the search for a fleet: the quick one where it pays and can look at all that there is."""
    if len(movers_of(fleet, options)) * len(targets_of(fleet)) > PAIRS_FEW:
        from ullage.engine.balance.columns import suits
        from ullage.engine.balance.quick import Quick

        if suits(fleet, terms):
            return Quick(fleet, options, terms, bars)
    return Plain(fleet, options, terms, bars)


def best_step(fleet: Fleet, options: Balancing | None = None, terms: Sequence[Term] = TERMS) -> Step | None:
    """Return the move with the lowest score, the first of equals; None where no move lowers it."""
    return search_of(fleet, options or Balancing(), terms).best()


def balance(
    fleet: Fleet,
    options: Balancing | None = None,
    terms: Sequence[Term] = TERMS,
    *,
    bars: "Bars | None" = None,
    accepts: Callable[[Step, Moved], bool] | None = None,
) -> Iterator[Step]:
    """Yield the moves that balance a fleet; it has taken a step when that is yielded.

    Moves that are barred are not looked at. A step that is not accepted is barred, and the next best found.
    """
    options = options or Balancing()
    hosts = [fleet.hosts[number] for number in fleet.scope]
    end = optimum_of(hosts, [fleet.states[number] for number in fleet.scope]) + options.min_score
    score = score_after(fleet, {}, terms)
    if not _goes_on(score, end, 0, options):
        return
    search = search_of(fleet, options, terms, bars)
    done = 0
    while True:
        step = search.best()
        if step is None or (score <= options.min_gain_limit and score - step.score < options.min_gain):
            return
        moved = moved_by(fleet, step, options)
        if bars is not None and accepts is not None and not accepts(step, moved):
            bars.bar(step.machine, step.move)
            continue
        fleet.accept(step.machine, moved)
        score = step.score
        done += 1
        yield step
        if not _goes_on(score, end, done, options):
            return
        search.follow(step)


def _goes_on(score: float, end: float, done: int, options: Balancing) -> bool:
    return (options.moves_max < 0 or done < options.moves_max) and score > end


def follow(fleet: Fleet, step: Step, options: Balancing | None = None) -> None:
    """Make a step come true that was found for the state which a fleet is in."""
    fleet.accept(step.machine, moved_by(fleet, step, options or Balancing()))


def moved_by(fleet: Fleet, step: Step, options: Balancing) -> Moved:
    """Return what follows from a step that was found for the state which a fleet is in."""
    moved = fleet.try_move(step.machine, step.move, force=options.force)
    if isinstance(moved, Failure):
        raise ValueError(f"machine {step.machine} cannot move: {moved.kind}")  # noqa: TRY004 - a value
    return moved


def jobsets(steps: Iterable[Step]) -> list[list[Step]]:
    """Return moves in sets whose moves may run at once: a set ends where a host is touched again."""
    found: list[list[Step]] = []
    touched: set[int] = set()
    for step in steps:
        hosts = {*step.before, *step.place} - {NOWHERE}
        if not found or not touched.isdisjoint(hosts):
            found.append([])
            touched = set()
        found[-1].append(step)
        touched |= hosts
    return found
