"""Integer programmes: a few thousand whole unknowns under linear rows, solved exactly by HiGHS.

The hard thing is exact integers in a solver that computes in floating point. Rows are divided by what their
numbers have in common; where these are still beyond what the solver tells apart, a row is loosened, never
tightened: so what is infeasible here is infeasible, and what is found here is checked by whoever asked.

One thread and a fixed seed: equal programmes have equal answers, unless a time limit cuts in.
"""

from collections.abc import Sequence
from fractions import Fraction
from importlib.util import find_spec
from math import gcd
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from ullage.model.errors import InputError

SOLVER: Final = "highspy"
INSTALL: Final = "pip install 'ullage[solve]'"
COEFFICIENT_MAX: Final = 1 << 20
"""Numbers of a row up to this are told apart without doubt."""
SIDE_MAX: Final = 1 << 32
"""What a row is compared with may be up to this."""
SOLUTION_FOUND: Final = 2
"""How the solver says that it holds a solution that keeps every row."""

Status = Literal["optimal", "found", "infeasible", "unknown"]
Terms = Sequence[tuple[int, int]]


class Solution(NamedTuple):
    """What became of a programme: values and cost where there are any, and a bound no cost is below.

    `found` is a solution that a time limit left unproven. `prices` are the duals of the rows of a programme
    without whole numbers: what one more of a row's lower end would cost.
    """

    status: Status
    values: tuple[Fraction, ...] = ()
    cost: Fraction | None = None
    bound: Fraction | None = None
    prices: tuple[Fraction, ...] = ()

    @property
    def is_solved(self) -> bool:
        """Whether there are values."""
        return self.status in {"optimal", "found"}

    def counts(self) -> list[int]:
        """Return the values as the whole numbers they stand for."""
        return [round(value) for value in self.values]


def can_solve() -> bool:
    """Whether the solver is installed."""
    return find_spec(SOLVER) is not None


def require_solver() -> None:
    """Refuse to go on without the solver."""
    if not can_solve():
        raise InputError(f"{SOLVER} is not installed, which finds exact answers", remedy=INSTALL)


class Programme:
    """Unknowns with costs, and rows that bind them; the sum of costs is made as small as can be."""

    def __init__(self, *, whole: bool = True) -> None:
        self._whole = whole
        self._costs: list[int | Fraction] = []
        self._lower: list[int] = []
        self._upper: list[int | None] = []
        self._rows: list[tuple[list[tuple[int, int]], int | None, int | None]] = []

    def __len__(self) -> int:
        return len(self._costs)

    def unknown(self, upper: int | None = None, *, cost: int | Fraction = 0, lower: int = 0) -> int:
        """Add an unknown between its bounds, and return its number."""
        self._costs.append(cost)
        self._lower.append(lower)
        self._upper.append(upper)
        return len(self._costs) - 1

    def at_most(self, terms: Terms, most: int) -> int:
        """Add a row whose sum is at most so much, and return its number."""
        shortened, most = _shortened(terms, most)
        return self._add(shortened, None, most)

    def at_least(self, terms: Terms, least: int) -> int:
        """Add a row whose sum is at least so much, and return its number."""
        return self._add(list(terms), least, None)

    def _add(self, terms: list[tuple[int, int]], least: int | None, most: int | None) -> int:
        self._rows.append((terms, least, most))
        return len(self._rows) - 1

    def solve(self, seconds_max: int) -> Solution:
        """Return the cheapest values, as far as the time allows."""
        require_solver()
        import highspy

        solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        options = {"output_flag": False, "threads": 1, "random_seed": 0, "mip_rel_gap": 0}
        for name, value in {**options, "time_limit": seconds_max}.items():
            solver.setOptionValue(name, value)
        solver.passModel(self._model(highspy))
        solver.run()
        return self._solution(solver, highspy.HighsModelStatus)

    def _model(self, highspy: Any) -> Any:
        infinity = highspy.kHighsInf
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self._costs), len(self._rows)
        model.col_cost_ = np.array(self._costs, np.float64)
        model.col_lower_ = np.array(self._lower, np.float64)
        model.col_upper_ = np.array([infinity if each is None else each for each in self._upper], np.float64)
        lower = [-infinity if least is None else least for _, least, _ in self._rows]
        upper = [infinity if most is None else most for _, _, most in self._rows]
        model.row_lower_, model.row_upper_ = np.array(lower, np.float64), np.array(upper, np.float64)
        starts = np.cumsum([0, *(len(terms) for terms, _, _ in self._rows)])
        flat = [term for terms, _, _ in self._rows for term in terms]
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = starts.astype(np.int32)
        model.a_matrix_.index_ = np.array([place for place, _ in flat], np.int32)
        model.a_matrix_.value_ = np.array([number for _, number in flat], np.float64)
        if self._whole:
            model.integrality_ = [highspy.HighsVarType.kInteger] * len(self._costs)
        return model

    def _solution(self, solver: Any, statuses: Any) -> Solution:
        status, facts = solver.getModelStatus(), solver.getInfo()
        if status == statuses.kInfeasible:
            return Solution("infeasible")
        if status != statuses.kOptimal and facts.primal_solution_status != SOLUTION_FOUND:
            return Solution("unknown", bound=_exact(facts.mip_dual_bound) if self._whole else None)
        found = solver.getSolution()
        cost = _exact(facts.objective_function_value)
        return Solution(
            "optimal" if status == statuses.kOptimal else "found",
            tuple(Fraction(value) for value in found.col_value),
            cost,
            _exact(facts.mip_dual_bound) if self._whole else cost,
            () if self._whole else tuple(Fraction(value) for value in found.row_dual),
        )


def _exact(value: float) -> Fraction | None:
    """Return a number of the solver as it stands; None for infinity."""
    return Fraction(value) if np.isfinite(value) else None


def _shortened(terms: Terms, most: int) -> tuple[list[tuple[int, int]], int]:
    """Return a row with smaller numbers that allows all that it allows; whole unknowns are not negative."""
    divisor = gcd(*(number for _, number in terms)) or 1
    shorter = [(place, number // divisor) for place, number in terms]
    most //= divisor
    largest = max((abs(number) for _, number in shorter), default=0)
    if largest <= COEFFICIENT_MAX and abs(most) <= SIDE_MAX:
        return shorter, most
    step = max(-(-largest // COEFFICIENT_MAX), -(-abs(most) // SIDE_MAX))
    return [(place, number // step) for place, number in shorter], -(-most // step)
