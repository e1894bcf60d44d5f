"""In which turns nodes can be maintained: those of one turn at once, after the moves that empty them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.maintenance import Shift, Unable, maintenance
from ullage.engine.balance.moves import COMMANDS
from ullage.engine.balance.rebalance import cost_of, fleet_of, has_rules
from ullage.engine.columns import Columns
from ullage.engine.redundancy.together import in_turns, names_of
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.plan import Refusal
from ullage.model.quantity import readable_bytes
from ullage.model.settings import rules_for
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked
from ullage.service.moves import MoveStatus, done_to, drain_moves
from ullage.service.progress import listener
from ullage.service.rebalance import check_groups

if TYPE_CHECKING:
    from ullage.engine.balance.fleet import Fleet
    from ullage.service.balance import BalanceQuestion

NOT_SIMULATED: Final = ("how long moves and maintenance take",)
BY_RULES: Final = (
    "where a scheduler puts a pod that is started again: it chooses by itself, unless it is told",
    "whether pods are ready, and how long they take to become so",
    "data in volumes that go with their pod (emptyDir)",
)


class Turn(Record, frozen=True):
    """Nodes that can be maintained at the same time, and the moves that empty them first.

    Afterwards everything returns to where it was, before the next turn begins.
    """

    number: int
    nodes: tuple[str, ...]
    moves: tuple[MoveStatus, ...]


class StuckNode(Record, frozen=True):
    """A node that cannot be emptied, and why."""

    node: str
    refusals: tuple[Refusal, ...]


class RollingReport(Record, frozen=True):
    """The answer to `ullage balance --rolling`: turns in order, and nodes that have none."""

    cluster: str
    revision: int
    policy: str
    possible: bool
    turns: tuple[Turn, ...]
    stuck: tuple[StuckNode, ...]
    not_simulated: tuple[str, ...]


def rolling_of(snapshot: Snapshot, asked: Asked, question: "BalanceQuestion") -> Answer:
    """Answer in which turns nodes of a cluster that was read already are maintained."""
    from ullage.service.rolling_page import rolling_page

    report = rolling_report(snapshot, question)
    types = snapshot.resource_types
    return Answer(
        lambda: rolling_page(report, asked),
        lambda: versioned("RollingReport", report, types),
        report.possible,
        shortened=lambda: rolling_page(report, asked, shortened=True),
    )


def rolling_report(snapshot: Snapshot, question: "BalanceQuestion") -> RollingReport:
    """Return the turns with everything that is known about them."""
    check_groups(snapshot, question.groups)
    by_rules = has_rules(snapshot)
    turns, stuck = _by_rules(snapshot, question) if by_rules else _by_room(snapshot, question.groups)
    return RollingReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        possible=not stuck,
        turns=tuple(turns),
        stuck=tuple(stuck),
        not_simulated=(*NOT_SIMULATED, *(BY_RULES if by_rules else ()), *snapshot.unknowns),
    )


def _by_rules(snapshot: Snapshot, question: "BalanceQuestion") -> tuple[list[Turn], list[StuckNode]]:
    placement = question.placement or rules_for(snapshot.policy, snapshot.resource_types).placement
    columns = Columns(snapshot)
    found = in_turns(columns, names_of(columns, question.groups), placement, listener())
    turns = [Turn(number, each.nodes, drain_moves(each.waves)) for number, each in enumerate(found.drains, 1)]
    return turns, [StuckNode(each.node, each.refusals) for each in found.stuck]


def _by_room(snapshot: Snapshot, groups: Sequence[str]) -> tuple[list[Turn], list[StuckNode]]:
    fleet = fleet_of(snapshot)
    names = [group.name for group in fleet.cluster.groups]
    if groups:
        fleet.scope = tuple(
            number for number in fleet.scope if names[fleet.hosts[number].group] in set(groups)
        )
    found = maintenance(fleet, listener())
    turns = [
        Turn(
            number,
            tuple(fleet.hosts[host].name for host in turn.hosts),
            tuple(_shift(snapshot, fleet, shift, at) for at, shift in enumerate(turn.shifts, 1)),
        )
        for number, turn in enumerate(found.turns, 1)
    ]
    return turns, [_stuck(fleet, each) for each in sorted(found.unable)]


def _shift(snapshot: Snapshot, fleet: "Fleet", shift: Shift, number: int) -> MoveStatus:
    machine = fleet.machines[shift.machine]
    names = [*(host.name for host in fleet.hosts), ""]
    cost, disk_bytes = cost_of(snapshot, machine, shift.move)
    action = COMMANDS[shift.move.kind].format(names[shift.move.target])
    done = done_to(snapshot.workloads[machine.name], action, names[shift.after.primary])
    return MoveStatus(
        number,
        1,
        machine.name,
        done.words,
        names[shift.before.primary],
        names[shift.after.primary],
        cost,
        disk_bytes,
        names[shift.before.standby],
        names[shift.after.standby],
        commands=done.commands,
    )


def _stuck(fleet: "Fleet", unable: Unable) -> StuckNode:
    node = fleet.hosts[unable.host].name
    if unable.machine == NOWHERE or unable.failure is None:
        reason = "a workload that has no standby finds no room on the other nodes"
        refusal = Refusal(node, 1, reason, remedy="free memory or disk on another node, or shut it down")
        return StuckNode(node, (refusal,))
    failure, name = unable.failure, fleet.machines[unable.machine].name
    standby = fleet.places[unable.machine].standby
    elsewhere = "the other node" if standby == NOWHERE else fleet.hosts[standby].name
    if failure.kind == "FailMig":
        reason = f"migration tags keep it from moving to {elsewhere} while it runs"
        return StuckNode(node, (Refusal(name, 1, reason, remedy="shut it down meanwhile"),))
    remedy = "ullage balance may find a better standby"
    lacks = f"{failure.resource} is short"
    if failure.missing > 0 and failure.resource in {"memory", "disk"}:
        lacks = f"{lacks} by {readable_bytes(failure.missing)}"
    return StuckNode(node, (Refusal(name, 1, f"it cannot start on {elsewhere}: {lacks}", remedy=remedy),))
