"""Balance: moves that make the cluster more even or empty a node, and how full nodes are before and after."""

import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ullage.render.view import Share
from ullage.service.balance import BalanceQuestion, balance
from ullage.service.words import resources_in_order
from ullage.web.pages.answers import answered
from ullage.web.pages.kept import kept_status
from ullage.web.pages.links import Links
from ullage.web.pages.overview import fullness_tone, measured_resources
from ullage.web.pages.shell import draw, shell_of, terminal

if TYPE_CHECKING:
    from ullage.model.cluster import Snapshot
    from ullage.model.resources import ResourceTypes
    from ullage.service.asked import Asked
    from ullage.service.status import NodeStatus, StatusReport

AT_ONCE_NODES: Final = 300
"""Nodes up to which moves are looked for without being asked twice."""
MOVES_DEFAULT: Final = 20
MOVES_MAX: Final = 1000
CHANGES_SHOWN: Final = 40
SCORED: Final = MappingProxyType({"gain": "#score", "score then": "#score"})
"""Where numbers of the table of moves are explained that are not about the workload that moves."""


class Change(NamedTuple):
    """A resource of a node before and after: the bar is what is committed then, the mark what is now."""

    node: str
    resource: str
    before: str
    after: str
    before_words: str
    after_words: str
    tone: str


def page(asked: "Asked", parameters: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG001 - as all pages
    """Return the moves that are proposed; for a large cluster only when they are asked for."""
    shell = shell_of(parameters)
    snapshot, report = kept_status(asked)
    drain = parameters.get("drain", "").strip()
    moves_max = _number(parameters.get("moves", ""))
    runs = bool(parameters.get("run") or drain) or len(report.nodes) <= AT_ONCE_NODES
    question = BalanceQuestion(drain=(drain,)) if drain else BalanceQuestion(moves_max=moves_max)
    found, answer, problem = answered(lambda: balance(asked, question)) if runs else (None, None, "")
    data = answer.data() if answer else {}
    names = measured_resources(report.total, resources_in_order(set(report.total.limit)))
    moves = moves_of(data)
    words = f"balance --drain {shlex.quote(drain)}" if drain else f"balance --moves-max {moves_max}"
    return draw(
        "balance",
        shell,
        links=Links(shell, snapshot, SCORED, "#score"),
        report=report,
        page=found,
        problem=problem,
        runs=runs,
        drain=drain,
        moves_max=moves_max,
        scores=[(each["name"], each["scoreBefore"], each["scoreAfter"]) for each in data.get("groups", ())],
        changes=changes_of(snapshot, report, names[:2], moves),
        plan=f"/v1/clusters/{shell.cluster}/balance",
        command=terminal(shell, words),
    )


def moves_of(data: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return what moves from where to where, of either kind of report."""
    groups = [each for group in data.get("groups", ()) for each in group["moves"]]
    found = groups or list(data.get("moves", ()))
    return [(each["workload"], each["fromNode"], each["toNode"]) for each in found]


def changes_of(
    snapshot: "Snapshot", report: "StatusReport", names: tuple[str, ...], moves: list[tuple[str, str, str]]
) -> list[Change]:
    """Return how full the nodes are that something leaves or reaches, before and after."""
    moved: dict[tuple[str, str], int] = {}
    for key, from_node, to_node in moves:
        workload = snapshot.workloads.get(key)
        for name in names if workload else ():
            amount = workload.requests.of(name) if workload else 0
            moved[from_node, name] = moved.get((from_node, name), 0) - amount
            moved[to_node, name] = moved.get((to_node, name), 0) + amount
    nodes = {node.name: node for node in report.nodes}
    changes = []
    for node_name, name in sorted(moved):
        node = nodes.get(node_name)
        if node is not None and node.limit.get(name):
            changes.append(_change(node, name, moved[node_name, name], snapshot.resource_types))
    return changes[:CHANGES_SHOWN]


def _change(node: "NodeStatus", name: str, moved: int, types: "ResourceTypes") -> Change:
    before, limit = node.committed.of(name), node.limit.of(name)
    after = before + moved
    scale = max(before, after, limit)
    return Change(
        node.name,
        name,
        f"{100 * before / scale:.2f}",
        f"{100 * max(0, after) / scale:.2f}",
        f"{types[name].readable(before)} ({Share(before, limit).percent})",
        f"{types[name].readable(after)} ({Share(after, limit).percent})",
        fullness_tone(after, limit),
    )


def _number(text: str) -> int:
    is_number = text.isdecimal() and len(text) <= len(str(MOVES_MAX))
    return min(max(1, int(text)), MOVES_MAX) if is_number else MOVES_DEFAULT
