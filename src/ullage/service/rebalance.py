"""How a cluster is made more even: moves in order, what each gains and costs, and the score they change."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ullage.engine.balance.rebalance import GroupBalance, TermChange, Wishes, has_rules, rebalance
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, unknown
from ullage.service.moves import MoveStatus, move_status
from ullage.service.score_terms import BY_HTOOLS_NAME, weights_of

if TYPE_CHECKING:
    from ullage.service.balance import BalanceQuestion

NOT_SIMULATED: Final = ("how long moves take", "what workloads really use: moves follow what is promised")
BY_RULES: Final = (
    "where a scheduler puts a pod that is started again: it chooses by itself, unless it is told",
    "data in volumes that go with their pod (emptyDir)",
    "whether losing a node leaves every pod a place: check --nodes-lost 1 tells",
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

    The second are not counted where placement rules decide it.
    """

    not_taking_over_before: int
    not_taking_over_after: int
    not_evacuable_before: int | None = None
    not_evacuable_after: int | None = None


class GroupStatus(Record, frozen=True):
    """A group: its score before and after, every term of it, and the moves between."""

    name: str
    nodes: int
    score_before: float
    score_after: float
    terms: tuple[TermStatus, ...]
    moves: tuple[MoveStatus, ...]
    redundancy: Redundancy


class RebalanceReport(Record, frozen=True):
    """The answer to `ullage balance`: the moves of each group."""

    cluster: str
    revision: int
    policy: str
    moves_max: int
    groups: tuple[GroupStatus, ...]
    not_simulated: tuple[str, ...]

    @property
    def moves(self) -> tuple[MoveStatus, ...]:
        """All moves, group by group."""
        return tuple(move for group in self.groups for move in group.moves)


def rebalance_of(snapshot: Snapshot, asked: Asked, question: "BalanceQuestion") -> Answer:
    """Answer how a cluster that was read already is made more even; that there is nothing to do is a yes."""
    from ullage.service.rebalance_page import rebalance_page

    report = rebalance_report(snapshot, question)
    types = snapshot.resource_types
    return Answer(
        lambda: rebalance_page(report, asked),
        lambda: versioned("RebalanceReport", report, types),
        shortened=lambda: rebalance_page(report, asked, shortened=True),
    )


def rebalance_report(snapshot: Snapshot, question: "BalanceQuestion") -> RebalanceReport:
    """Return the moves with everything that is known about them."""
    check_groups(snapshot, question.groups)
    weights = weights_of(question.weights)
    wishes = Wishes(weights, question.moves_max, question.disk_moves, question.groups, question.gain_min)
    counts = dict.fromkeys((group.name for group in snapshot.groups), 0)
    for node in snapshot.nodes:
        counts[node.group] += 1
    beside = BY_RULES if has_rules(snapshot) else ()
    return RebalanceReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        moves_max=question.moves_max,
        groups=tuple(_group(snapshot, each, counts[each.group]) for each in rebalance(snapshot, wishes)),
        not_simulated=(*NOT_SIMULATED, *beside, *snapshot.unknowns),
    )


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
        tuple(_term(each) for each in found.terms),
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
