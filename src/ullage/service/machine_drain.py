"""How nodes of virtual machines are emptied (`balance --drain`): moves, and copies of disks for standbys."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ullage.engine.balance.host_drain import HostDrain, drain_hosts
from ullage.engine.balance.rebalance import fleet_of, found_moves
from ullage.engine.balance.search import jobsets
from ullage.model.cluster import Snapshot
from ullage.model.plan import Plan, Step
from ullage.service.balance import BalanceReport, Wave
from ullage.service.moves import MoveStatus, move_status
from ullage.service.progress import listener

NOT_SIMULATED: Final = ("how long moves take", "whether instances can be migrated while they run")


def machine_drain(snapshot: Snapshot, names: Sequence[str]) -> BalanceReport:
    """Return how these nodes are emptied of instances and standbys, with all that is known about it."""
    fleet = fleet_of(snapshot)
    wanted = [host.number for host in fleet.hosts if host.name in set(names)]
    found = drain_hosts(fleet, wanted, listener())
    moves = _moves(snapshot, found)
    waves: dict[int, list[Step]] = {}
    for move in moves:
        waves.setdefault(move.set_number, []).append(_step(move))
    steps = tuple(step for wave in waves.values() for step in wave)
    return BalanceReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        placement="",
        drained=tuple(fleet.hosts[number].name for number in wanted),
        possible=not found.refusals,
        plan=Plan("drain", snapshot.revision, snapshot.policy.name, steps, found.refusals),
        waves=tuple(Wave(number, tuple(wave)) for number, wave in waves.items()),
        daemons=(),
        mirror_pods=(),
        ending=(),
        not_restarted=(),
        budgets=(),
        not_simulated=(*NOT_SIMULATED, *snapshot.unknowns),
        moves=moves,
    )


def _moves(snapshot: Snapshot, found: HostDrain) -> tuple[MoveStatus, ...]:
    """Return moves as balancing tells them; what they gain is no matter here."""
    told = found_moves(snapshot, found.fleet, jobsets(found.steps), 0.0)
    return tuple(
        msgspec.structs.replace(move_status(snapshot, move, number), gain=None, score=None)
        for number, move in enumerate(told, 1)
    )


def _step(move: MoveStatus) -> Step:
    """Return a move as a step of a plan: of the instance, or of its standby where only that moves."""
    if move.from_node != move.to_node:
        return Step("move", move.workload, move.to_node, move.from_node, evidence=move.action)
    what = f"standby: {move.action}"
    return Step("move", move.workload, move.to_standby, move.from_standby, evidence=what)
