"""Jobs that carry out moves: the operations that Ganeti runs, with their fields in its order."""

from collections.abc import Sequence
from typing import Final

from ullage.engine.balance.facts import NOWHERE
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move

SHUTDOWN_SECONDS: Final = 120

Operation = dict[str, str | int | bool | list[int]]
"""An operation by field."""


def job_of(fleet: Fleet, machine: int, moves: Sequence[Move]) -> list[Operation]:
    """Return the operations that make these moves of a machine: failovers, copies and moves to any host."""
    return [_operation(fleet, machine, move) for move in moves]


def _operation(fleet: Fleet, machine: int, move: Move) -> Operation:
    name = fleet.machines[machine].name
    target = "" if move.target == NOWHERE else fleet.hosts[move.target].name
    if move.kind == "r":
        return {
            "OP_ID": "OP_INSTANCE_REPLACE_DISKS",
            "instance_name": name,
            "early_release": False,
            "ignore_ipolicy": False,
            "mode": "replace_new_secondary",
            "disks": [],
            "remote_node": target,
        }
    where: Operation = {"target_node": target} if target else {}
    if fleet.machines[machine].forthcoming:
        return {
            "OP_ID": "OP_INSTANCE_FAILOVER",
            "instance_name": name,
            "shutdown_timeout": SHUTDOWN_SECONDS,
            "ignore_consistency": False,
            **where,
            "ignore_ipolicy": False,
            "cleanup": False,
        }
    return {
        "OP_ID": "OP_INSTANCE_MIGRATE",
        "instance_name": name,
        **where,
        "allow_runtime_changes": False,
        "ignore_ipolicy": False,
        "cleanup": False,
        "allow_failover": True,
        "ignore_hvversions": True,
    }
