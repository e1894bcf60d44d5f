"""Which nodes could be switched off, and the moves for it.

Where only what nodes hold decides, the others keep room for some workloads of the usual size each; where
placement rules do, the nodes are drained for good.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from ullage.engine.balance.rebalance import fleet_of, found_moves, has_rules
from ullage.engine.balance.search import jobsets
from ullage.engine.balance.squeeze import Squeezed, SqueezeOptions, squeeze
from ullage.engine.columns import Columns
from ullage.engine.redundancy.together import names_of, not_needed
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.settings import rules_for
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked
from ullage.service.moves import MoveStatus, drain_moves, left_behind, move_status
from ullage.service.progress import listener
from ullage.service.rebalance import check_groups

if TYPE_CHECKING:
    from ullage.engine.balance.fleet import Fleet
    from ullage.service.balance import BalanceQuestion

NOT_SIMULATED: Final = ("how long moves take", "what nodes save while they are off")
BY_RULES: Final = (
    "room for what comes later, and for nodes that fail: headroom and check --nodes-lost 1 tell",
    "where a scheduler puts a pod that is started again: it chooses by itself, unless it is told",
    "data in volumes that go with their pod (emptyDir)",
)


class SqueezeGroup(Record, frozen=True):
    """What comes of one group: nodes to switch off, or on where there is too little room, and why no more.

    Nodes are switched off after the moves, and on before them.
    """

    name: str
    off: tuple[str, ...] = ()
    on: tuple[str, ...] = ()
    reason: str = ""
    moves: tuple[MoveStatus, ...] = ()


class SqueezeReport(Record, frozen=True):
    """The answer to `ullage balance --squeeze`, group by group or for all nodes together."""

    cluster: str
    revision: int
    policy: str
    possible: bool
    groups: tuple[SqueezeGroup, ...]
    not_simulated: tuple[str, ...]

    @property
    def off(self) -> tuple[str, ...]:
        """All nodes that could be switched off."""
        return tuple(name for group in self.groups for name in group.off)


def squeeze_of(snapshot: Snapshot, asked: Asked, question: "BalanceQuestion") -> Answer:
    """Answer which nodes of a cluster that was read already could be switched off; none is a no."""
    from ullage.service.squeeze_page import squeeze_page

    report = squeeze_report(snapshot, question)
    types = snapshot.resource_types
    return Answer(
        lambda: squeeze_page(report, asked),
        lambda: versioned("SqueezeReport", report, types),
        report.possible,
        shortened=lambda: squeeze_page(report, asked, shortened=True),
    )


def squeeze_report(snapshot: Snapshot, question: "BalanceQuestion") -> SqueezeReport:
    """Return the nodes with the moves that empty them."""
    check_groups(snapshot, question.groups)
    by_rules = has_rules(snapshot)
    groups = _by_rules(snapshot, question) if by_rules else _by_room(snapshot, question.groups)
    return SqueezeReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        possible=any(group.off for group in groups),
        groups=groups,
        not_simulated=(
            *NOT_SIMULATED,
            *(BY_RULES if by_rules else ()),
            *left_behind(snapshot, dict.fromkeys(move.workload for group in groups for move in group.moves)),
            *snapshot.unknowns,
        ),
    )


def _by_rules(snapshot: Snapshot, question: "BalanceQuestion") -> tuple[SqueezeGroup, ...]:
    placement = question.placement or rules_for(snapshot.policy, snapshot.resource_types).placement
    columns = Columns(snapshot)
    found = not_needed(columns, names_of(columns, question.groups), placement, listener())
    reason = "" if found.nodes else "what runs on each node finds no place on the others, or may not go"
    return (SqueezeGroup(", ".join(question.groups), found.nodes, (), reason, drain_moves(found.waves)),)


def _by_room(snapshot: Snapshot, wanted: Sequence[str]) -> tuple[SqueezeGroup, ...]:
    fleet = fleet_of(snapshot)
    found = []
    for number, group in sorted(enumerate(fleet.cluster.groups), key=lambda each: each[1].name):
        part = fleet.of_group(number)
        if part.scope and (not wanted or group.name in wanted):
            found.append(_squeezed(snapshot, part, group.name))
    return tuple(found)


def _squeezed(snapshot: Snapshot, fleet: "Fleet", name: str) -> SqueezeGroup:
    options = SqueezeOptions()
    found = squeeze(fleet, options, listener())
    moves = found_moves(snapshot, fleet, jobsets(found.steps), fleet.score())
    return SqueezeGroup(
        name,
        tuple(fleet.hosts[number].name for number in found.off),
        tuple(fleet.hosts[number].name for number in found.on),
        "" if found.off else _reason(found, options),
        tuple(
            msgspec.structs.replace(move_status(snapshot, move, number), gain=None, score=None)
            for number, move in enumerate(moves, 1)
        )
        if found.off or found.on
        else (),
    )


def _reason(found: Squeezed, options: SqueezeOptions) -> str:
    """Return why no node can be switched off."""
    room = f"room for {options.target:g} workloads of the usual size"
    if found.lacks_room:
        remedy = (
            "switching nodes on helps" if found.is_enough else "all that can be switched on are not enough"
        )
        return f"not every node has {room} even now; {remedy if found.on else 'no node can be switched on'}"
    if not found.off_candidates:
        return "every node is the master, or holds disks or will, which workloads cannot leave without a copy"
    return f"without one more node the others would not each keep {room}"
