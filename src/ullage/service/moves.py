"""Moves as reports tell them: what is done to a workload, what it costs, and Ganeti's commands for it."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.model.cluster import Snapshot, Workload
from ullage.model.constraints import Record
from ullage.model.ganeti import LOCAL_TEMPLATES
from ullage.model.plan import Step

if TYPE_CHECKING:
    from ullage.engine.balance.rebalance import FoundMove

RUNNING: Final = frozenset(("running", "ERROR_up"))
COSTS: Final = ("reservation", "migration", "restart", "disk copy")


class MoveStatus(Record, frozen=True):
    """One move, in order; moves of one set may be made at the same time, the next set starts after them.

    `action` is what is done in words, `disk_bytes` what is copied. Where the cluster has a score, `gain` is
    by how much this move lowers it, and `score` what it is then. `commands` are those of Ganeti.
    """

    number: int
    set_number: int
    workload: str
    action: str
    from_node: str
    to_node: str
    cost: str
    disk_bytes: int
    from_standby: str = ""
    to_standby: str = ""
    gain: float | None = None
    score: float | None = None
    commands: tuple[str, ...] = ()


class Done(NamedTuple):
    """What is done to a workload: words, and commands."""

    words: str
    commands: tuple[str, ...]


def done_to(workload: Workload, action: str, to_node: str) -> Done:
    """Return what an action as htools writes it (`f`, `fa:NODE`, `r:NODE`, or some of them) comes to."""
    instance = workload.instance
    if instance is None:
        return Done(_without_commands(workload, action, to_node), ())
    if instance.forthcoming:
        return _reserved_elsewhere(workload.name, action)
    how = "migrate" if instance.status in RUNNING else "failover"
    words, commands = [], []
    for part in action.split():
        kind, _, target = part.partition(":")
        if kind == "r":
            words.append(f"copy disks to {target}")
            commands.append(f"gnt-instance replace-disks -n {target} {workload.name}")
        elif kind == "fa" and instance.template in LOCAL_TEMPLATES:
            words.append(f"copy disks to {target} and start there")
            commands.append(f"gnt-instance move -f -n {target} {workload.name}")
        elif kind == "fa":
            words.append(f"{how} to {target}")
            commands.append(f"gnt-instance {how} -f -n {target} {workload.name}")
        else:
            words.append(f"{how} to its standby")
            commands.append(f"gnt-instance {how} -f {workload.name}")
    return Done(", ".join(words), tuple(commands))


def _reserved_elsewhere(name: str, action: str) -> Done:
    """Return what an action comes to for an instance that is not created yet: only records change."""
    words, commands = [], []
    for part in action.split():
        kind, _, target = part.partition(":")
        if kind == "r":
            words.append(f"reserve its standby on {target}")
            commands.append(f"gnt-instance replace-disks -n {target} {name}")
        elif kind == "fa":
            words.append(f"reserve on {target}")
            commands.append(f"gnt-instance failover -f -n {target} {name}")
        else:
            words.append("reserve on its standby")
            commands.append(f"gnt-instance failover -f {name}")
    return Done(", ".join(words), tuple(commands))


def _without_commands(workload: Workload, action: str, to_node: str) -> str:
    """Return in words what is done to a workload of another source than Ganeti; most have no standby."""
    if not workload.standby:
        return f"restart on {to_node}"
    parts = [part.partition(":") for part in action.split()]
    return ", ".join(
        f"copy disks to {target}" if kind == "r" else "restart on its standby" for kind, _, target in parts
    )


def left_behind(snapshot: Snapshot, keys: Iterable[str]) -> tuple[str, ...]:
    """Return the line, not simulated, of how many workloads that move leave a folder of their node."""
    workloads = (snapshot.workloads.get(key) for key in keys)
    count = sum(workload is not None and workload.host_path for workload in workloads)
    if not count:
        return ()
    move = "1 pod that moves reaches" if count == 1 else f"{count} pods that move reach"
    return (f"data in folders of nodes, which stay there (hostPath): {move} some",)


def costs_of(moves: Sequence[MoveStatus]) -> dict[str, int]:
    """Return how many moves there are of each class of cost, the cheapest first."""
    counts = {cost: sum(each.cost == cost for each in moves) for cost in COSTS}
    return {cost: count for cost, count in counts.items() if count}


def move_status(snapshot: Snapshot, move: "FoundMove", number: int) -> MoveStatus:
    """Return a move that balancing found."""
    done = done_to(snapshot.workloads[move.workload], move.action, move.to_node)
    return MoveStatus(
        number,
        move.set_number,
        move.workload,
        done.words,
        move.from_node,
        move.to_node,
        move.cost,
        move.disk_bytes,
        move.from_standby,
        move.to_standby,
        move.gain,
        move.score,
        done.commands,
    )


def drain_moves(waves: Sequence[Sequence[Step]]) -> tuple[MoveStatus, ...]:
    """Return the moves of a drain; its waves are sets."""
    steps = [(number, step) for number, wave in enumerate(waves, 1) for step in wave]
    return tuple(
        MoveStatus(
            at, number, step.subject, f"restart on {step.to_node}", step.from_node, step.to_node, "restart", 0
        )
        for at, (number, step) in enumerate(steps, 1)
    )
