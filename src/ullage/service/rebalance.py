"""How a cluster is made more even: moves in order, what each gains and costs, and the score they change."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from ullage.engine.balance.rebalance import GroupBalance, TermChange, Wishes, has_rules, rebalance
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, unknown
from ullage.service.check import OTHER_PLACEMENTS
from ullage.service.check_exact import ExactLooks
from ullage.service.fit import EXACT_SECONDS
from ullage.service.moves import MoveStatus, left_behind, move_status
from ullage.service.progress import listener
from ullage.service.score_terms import BY_HTOOLS_NAME, LOADS, weights_of

if TYPE_CHECKING:
    from ullage.engine.balance.by_load import Loads
    from ullage.service.balance import BalanceQuestion

NOT_SIMULATED: Final = ("how long moves take",)
NOT_BY_LOAD: Final = "what workloads really use: moves follow what is promised"
BY_RULES: Final = (
    "where a scheduler puts a pod that is started again: it chooses by itself, unless it is told",
    "data in volumes that go with their pod (emptyDir)",
)
BY_LOAD: Final = (
    "use that changes with the place: a workload is taken to use everywhere what it uses now, the mean of "
    "its daily peaks of the last week"
)
UNJUDGED: Final = (
    "whether losing a node leaves every pod a place, before and after: the cluster is too large to judge that"
    " along with moves; check --nodes-lost 1 tells"
)


class TermStatus(Record, frozen=True):
    """A term of the score: its weight, its value before and after, and how much of the score it is then."""

    name: str
    htools_name: str
    meaning: str
    weight: float
    before: float
    after: float
    share_before: float
    share_after: float


class Redundancy(Record, frozen=True):
    """Nodes that could not take over from every other, and nodes whose workloads have no other place.

    Where placement rules decide, the first are nodes that promise more memory than they may, and the second
    nodes whose loss leaves some without a place; these are not counted in a cluster too large for it.
    """

    not_taking_over_before: int
    not_taking_over_after: int
    not_evacuable_before: int | None = None
    not_evacuable_after: int | None = None


class GroupStatus(Record, frozen=True):
    """A group: its score before and after, every term of it that something tells, and the moves between."""

    name: str
    nodes: int
    score_before: float
    score_after: float
    terms: tuple[TermStatus, ...]
    moves: tuple[MoveStatus, ...]
    redundancy: Redundancy


class RebalanceReport(Record, frozen=True):
    """The answer to `ullage balance`: the moves of each group, and the redundancy of all of them together."""

    cluster: str
    revision: int
    policy: str
    moves_max: int
    placed_by_rules: bool
    groups: tuple[GroupStatus, ...]
    redundancy: Redundancy
    not_simulated: tuple[str, ...]

    @property
    def moves(self) -> tuple[MoveStatus, ...]:
        """All moves, group by group."""
        return tuple(move for group in self.groups for move in group.moves)


def rebalance_of(snapshot: Snapshot, asked: Asked, question: "BalanceQuestion") -> Answer:
    """Answer how a cluster that was read already is made more even; that there is nothing to do is a yes."""
    from ullage.service.rebalance_page import rebalance_page

    loads = None
    if question.by_load:
        from ullage.service.balance_load import read_loads

        loads = read_loads(snapshot, asked, question.usage)
    report = rebalance_report(snapshot, question, loads)
    types = snapshot.resource_types
    return Answer(
        lambda: rebalance_page(report, asked),
        lambda: versioned("RebalanceReport", report, types),
        shortened=lambda: rebalance_page(report, asked, shortened=True),
    )


def rebalance_report(
    snapshot: Snapshot, question: "BalanceQuestion", loads: "Loads | None" = None
) -> RebalanceReport:
    """Return the moves with everything that is known about them; with loads, they follow what is used too."""
    check_groups(snapshot, question.groups)
    weights = weights_of(question.weights, by_load=question.by_load)
    wishes = Wishes(
        weights, question.moves_max, question.disk_moves, question.groups, question.gain_min, loads
    )
    counts = dict.fromkeys((group.name for group in snapshot.groups), 0)
    for node in snapshot.nodes:
        counts[node.group] += 1
    looks = ExactLooks(EXACT_SECONDS)
    balanced = rebalance(snapshot, wishes, looks.at_loss, listener())
    found = tuple(_group(snapshot, each, counts[each.group]) for each in balanced)
    together = _together([each.redundancy for each in found])
    by_rules = has_rules(snapshot)
    moved = dict.fromkeys(move.workload for group in found for move in group.moves)
    return RebalanceReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        moves_max=question.moves_max,
        placed_by_rules=by_rules,
        groups=found,
        redundancy=together,
        not_simulated=(
            *NOT_SIMULATED,
            BY_LOAD if question.by_load else NOT_BY_LOAD,
            *(BY_RULES if by_rules else ()),
            *([UNJUDGED] if together.not_evacuable_before is None else []),
            *([OTHER_PLACEMENTS] if looks.undecided else []),
            *(_more_moves(each) for each in balanced if each.ended_early),
            *left_behind(snapshot, moved),
            *snapshot.unknowns,
        ),
    )


def _together(parts: Sequence[Redundancy]) -> Redundancy:
    """Return the redundancy of all groups; the second is not counted where it is not in some."""
    judged = all(each.not_evacuable_before is not None for each in parts)
    return Redundancy(
        sum(each.not_taking_over_before for each in parts),
        sum(each.not_taking_over_after for each in parts),
        sum(each.not_evacuable_before or 0 for each in parts) if judged else None,
        sum(each.not_evacuable_after or 0 for each in parts) if judged else None,
    )


def _more_moves(group: GroupBalance) -> str:
    what = "judging what every loss then means took too long, or too many moves were refused"
    return f"more moves of group {group.group}: {what}"


def check_groups(snapshot: Snapshot, names: Iterable[str]) -> None:
    """Refuse a group that the cluster does not have."""
    for name in names:
        if name not in snapshot.groups:
            raise unknown("group", name, [group.name for group in snapshot.groups])


def _group(snapshot: Snapshot, found: GroupBalance, nodes: int) -> GroupStatus:
    return GroupStatus(
        found.group,
        nodes,
        found.score_before,
        found.score_after,
        tuple(_term(each) for each in found.terms if each.name not in LOADS),
        tuple(move_status(snapshot, each, number) for number, each in enumerate(found.moves, 1)),
        Redundancy(
            found.failing_before,
            found.failing_after,
            found.not_evacuable_before,
            found.not_evacuable_after,
        ),
    )


def _term(change: TermChange) -> TermStatus:
    words = BY_HTOOLS_NAME[change.name]
    return TermStatus(
        words.name,
        words.htools_name,
        words.meaning,
        change.weight,
        change.before,
        change.after,
        change.weight * change.before,
        change.weight * change.after,
    )
