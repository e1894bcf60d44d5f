"""How nodes are emptied: a plan of moves in waves, and what cannot move."""

from typing import Final, NamedTuple

from ullage.engine.columns import Columns
from ullage.engine.redundancy.drain import Drain, drain
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.plan import Plan, Step
from ullage.model.settings import rules_for
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_cluster, unknown
from ullage.service.check import BudgetStatus, budget_status

NOT_SIMULATED: Final = (
    "eviction of others, where priority would allow it",
    "whether pods are ready, and how long they take to become so",
    "data in volumes that go with their pod (emptyDir)",
)


class BalanceQuestion(NamedTuple):
    """The nodes that are to be emptied, and how the others are chosen."""

    drain: tuple[str, ...] = ()
    placement: str = ""


class Wave(Record, frozen=True):
    """Moves that may be made at the same time; the next wave starts when all of them run again."""

    number: int
    steps: tuple[Step, ...]


class BalanceReport(Record, frozen=True):
    """The answer to `ullage balance`: the plan, its moves by wave, and what stays or goes by itself.

    `daemons` and `mirror_pods` belong to their node and stay; `ending` workloads go by themselves;
    `not_restarted` are pods that nobody starts again once they are evicted.
    """

    cluster: str
    revision: int
    policy: str
    placement: str
    drained: tuple[str, ...]
    possible: bool
    plan: Plan
    waves: tuple[Wave, ...]
    daemons: tuple[str, ...]
    mirror_pods: tuple[str, ...]
    ending: tuple[str, ...]
    not_restarted: tuple[str, ...]
    budgets: tuple[BudgetStatus, ...]
    not_simulated: tuple[str, ...]


def balance(asked: Asked, question: BalanceQuestion) -> Answer:
    """Answer how nodes are emptied."""
    if not question.drain:
        raise InputError(
            "no node to empty is named", remedy="use --drain NODE: emptying nodes is what balance can do"
        )
    return balance_of(read_cluster(asked), asked, question)


def balance_of(snapshot: Snapshot, asked: Asked, question: BalanceQuestion) -> Answer:
    """Answer how nodes of a cluster are emptied that was read already."""
    from ullage.service.balance_page import balance_page

    report = balance_report(snapshot, question)
    types = snapshot.resource_types
    return Answer(
        lambda: balance_page(report, asked),
        lambda: versioned("BalanceReport", report, types),
        report.possible,
        shortened=lambda: balance_page(report, asked, shortened=True),
    )


def balance_report(snapshot: Snapshot, question: BalanceQuestion) -> BalanceReport:
    """Return the plan with everything that is known about it."""
    names = [name.removeprefix("node/") for name in question.drain]
    for name in names:
        if name not in snapshot.nodes:
            raise unknown("node", name, [each.name for each in snapshot.nodes])
    placement = question.placement or rules_for(snapshot.policy, snapshot.resource_types).placement
    return _report(snapshot, drain(Columns(snapshot), names, placement), placement)


def _report(snapshot: Snapshot, found: Drain, placement: str) -> BalanceReport:
    return BalanceReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        placement=placement,
        drained=found.nodes,
        possible=not found.refusals,
        plan=found.plan(snapshot),
        waves=tuple(Wave(number, steps) for number, steps in enumerate(found.waves, 1)),
        daemons=found.daemons,
        mirror_pods=found.mirrors,
        ending=found.ending,
        not_restarted=found.unowned,
        budgets=tuple(budget_status(each) for each in found.budgets),
        not_simulated=(*NOT_SIMULATED, *snapshot.unknowns),
    )
