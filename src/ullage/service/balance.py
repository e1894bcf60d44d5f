"""What to move: to make a cluster more even, to empty nodes, to do without some, to maintain them in turns.

Here nodes are emptied: a plan of moves in waves, and what cannot move.
"""

from math import isfinite
from typing import Final, NamedTuple

from ullage.engine.balance.of_snapshot import is_of_machines
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
from ullage.service.moves import MoveStatus, left_behind
from ullage.service.progress import listener

MOVES_MAX: Final = 200
"""Moves that are proposed unless more are asked for."""
NOT_SIMULATED: Final = (
    "eviction of others, where priority would allow it",
    "whether pods are ready, and how long they take to become so",
    "data in volumes that go with their pod (emptyDir)",
)


class BalanceQuestion(NamedTuple):
    """What is wanted: nodes to empty, nodes to do without, turns of maintenance, or else more evenness.

    `placement` is how other nodes are chosen where placement rules decide. `weights` (TERM=NUMBER),
    `moves_max`, `gain_min`, `disk_moves` and `by_load` are of evenness; `groups` are the only ones, where any
    are named. `usage` is where use is observed.
    """

    drain: tuple[str, ...] = ()
    placement: str = ""
    squeeze: bool = False
    rolling: bool = False
    weights: tuple[str, ...] = ()
    moves_max: int = MOVES_MAX
    gain_min: float | None = None
    disk_moves: bool = True
    groups: tuple[str, ...] = ()
    by_load: bool = False
    usage: str = ""


class Wave(Record, frozen=True):
    """Moves that may be made at the same time; the next wave starts when all of them run again."""

    number: int
    steps: tuple[Step, ...]


class BalanceReport(Record, frozen=True):
    """The answer to `ullage balance --drain`: the plan, its moves by wave, and what stays or goes by itself.

    `daemons` and `mirror_pods` belong to their node and stay; `ending` workloads go by themselves;
    `not_restarted` are pods that nobody starts again once they are evicted. Of virtual machines `moves` tells
    what each move costs and Ganeti's commands for it; a wave is a set of them.
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
    moves: tuple[MoveStatus, ...] = ()


def balance(asked: Asked, question: BalanceQuestion) -> Answer:
    """Answer how a cluster is made more even, or nodes are emptied."""
    _check_question(question)
    return balance_of(read_cluster(asked), asked, question)


def balance_of(snapshot: Snapshot, asked: Asked, question: BalanceQuestion) -> Answer:
    """Answer it of a cluster that was read already."""
    if question.drain:
        return _drain_of(snapshot, asked, question)
    if question.squeeze:
        from ullage.service.squeeze import squeeze_of

        return squeeze_of(snapshot, asked, question)
    if question.rolling:
        from ullage.service.rolling import rolling_of

        return rolling_of(snapshot, asked, question)
    from ullage.service.rebalance import rebalance_of

    return rebalance_of(snapshot, asked, question)


def _check_question(question: BalanceQuestion) -> None:
    """Refuse options that mean nothing beside each other."""
    kinds = {"--drain": bool(question.drain), "--squeeze": question.squeeze, "--rolling": question.rolling}
    named = [name for name, given in kinds.items() if given]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)} are two questions", remedy="ask them one after the other")
    if question.gain_min is not None and not isfinite(question.gain_min):
        raise InputError(f"{question.gain_min} is no gain", where="--gain-min", remedy="use a number as 0.01")
    of_evenness = {
        "--weight": bool(question.weights),
        "--moves-max": question.moves_max != MOVES_MAX,
        "--gain-min": question.gain_min is not None,
        "--no-disk-moves": not question.disk_moves,
        "--by-load": question.by_load,
    }
    of_others = {"--placement": bool(question.placement)}
    alone = {"--group": bool(question.groups)} if question.drain else {}
    unheard = {**of_evenness, **alone} if named else of_others
    wrong = [name for name, given in unheard.items() if given]
    if wrong:
        what = named[0] if named else "balance without --drain, --squeeze or --rolling"
        raise InputError(f"{wrong[0]} means nothing to {what}", remedy="leave it out")


def _drain_of(snapshot: Snapshot, asked: Asked, question: BalanceQuestion) -> Answer:
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
    if is_of_machines(snapshot):
        from ullage.service.machine_drain import machine_drain

        return machine_drain(snapshot, names)
    placement = question.placement or rules_for(snapshot.policy, snapshot.resource_types).placement
    return _report(snapshot, drain(Columns(snapshot), names, placement, listener()), placement)


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
        not_simulated=(
            *NOT_SIMULATED,
            *left_behind(snapshot, dict.fromkeys(step.subject for wave in found.waves for step in wave)),
            *snapshot.unknowns,
        ),
    )
