"""Nodes that stand in for each other, and losses that are alike because they are losses of such nodes.

Two nodes are alike if no rule and no sum can tell them apart: equal room and size, equal workloads on them,
open to the same shapes, the same zones, volumes and local disks. Then losing one means what losing the other
means.
"""

from collections.abc import Callable, Iterator, Sequence
from math import comb, prod
from typing import Final

import numpy as np

from ullage.engine.placement.local_disks import DiskRule, LocalDisks
from ullage.engine.placement.node_columns import Flags
from ullage.engine.placement.rules import EVERY, Fixed
from ullage.engine.placement.shapes import Shape
from ullage.engine.placement.volume_places import OnNodes
from ullage.engine.trial import Trial

NODES_LOST_MAX: Final = 10
"""Nodes that are lost together: counting kinds takes time by this."""


def classes_of(
    trial: Trial, shapes: Sequence[Shape], seen_on: Callable[[int], tuple[object, ...]]
) -> list[list[int]]:
    """Return nodes grouped so that those of a group stand in for each other."""
    masks = np.ascontiguousarray(np.array([*_masks(trial, shapes)], np.bool_).T)
    reached = _reached(shapes)
    labels = [trial.node_columns.topology(label) for label in sorted(trial.rules.labels)]
    codes = [topology.codes.tolist() for topology in labels if not topology.is_by_node]
    columns = [*codes, *_volume_columns(trial, shapes)]
    disks = _disks(trial, shapes)
    groups: dict[tuple[object, ...], list[int]] = {}
    for row in range(len(trial.nodes)):
        key = (
            trial.room.free[:, row].tobytes(),
            trial.room.limit[:, row].tobytes(),
            masks[row].tobytes(),
            trial.devices.free_on(row),
            tuple(column[row] for column in columns),
            tuple(reached.get(row, ())),
            seen_on(row),
            _preferred(trial, row),
            disks.of(row).signature() if disks is not None else None,
        )
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _masks(trial: Trial, shapes: Sequence[Shape]) -> Iterator[Flags]:
    """Yield the nodes that shapes may go to by what never changes, each set of nodes once."""
    seen: set[bytes] = set()
    nothing = np.zeros(len(trial.nodes), np.bool_)
    for mask in (
        nothing,
        *(shape.open for shape in shapes),
        *(rule.allows(EVERY) for shape in shapes for rule in shape.local_rules if isinstance(rule, Fixed)),
    ):
        text = mask.tobytes()
        if text not in seen:
            seen.add(text)
            yield mask


def _reached(shapes: Sequence[Shape]) -> dict[int, list[int]]:
    """Return by row which volumes that workloads have are reached from there, as numbers."""
    reaches = {
        id(rule.reach): rule.reach
        for shape in shapes
        for rule in shape.local_rules
        if isinstance(rule, OnNodes)
    }
    found: dict[int, list[int]] = {}
    for number, reach in enumerate(reaches.values()):
        for row in reach.rows.tolist():
            found.setdefault(row, []).append(number)
    return found


def _volume_columns(trial: Trial, shapes: Sequence[Shape]) -> list[list[int]]:
    """Return what nodes offer to new volumes: which free ones are reached, how many may be attached."""
    if not any(shape.workload.volumes for shape in shapes):
        return []
    volumes = trial.volumes
    columns: list[list[int]] = [pool.codes.tolist() for pool in volumes.pools.values()]
    for driver, limits in volumes.attachments.limits.items():
        columns += [limits.tolist(), volumes.attachments.used[driver].tolist()]
    return columns


def _disks(trial: Trial, shapes: Sequence[Shape]) -> LocalDisks | None:
    """Return the local disks of nodes where some volume wants one."""
    wanted = any(isinstance(rule, DiskRule) for shape in shapes for rule in shape.local_rules)
    return trial.volumes.disks if wanted else None


def _preferred(trial: Trial, row: int) -> object:
    """Return what preferences may see of a node, where they count."""
    if trial.preferences is None:
        return None
    node, topology = trial.nodes[row], trial.node_columns.topology
    shared = ((label, value) for label, value in node.labels.items() if not topology(label).is_by_node)
    return frozenset(shared), node.taints


def kinds_of_loss(classes: Sequence[list[int]], count: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield one loss of each kind, those of the first classes first, and how many losses are like it."""
    if not count:
        yield (), 1
        return
    for last in range(len(classes)):
        for others in _up_to(last, count - 1):
            chosen = (*others, last)
            times = {number: chosen.count(number) for number in chosen}
            if all(wanted <= len(classes[number]) for number, wanted in times.items()):
                rows = [row for number, wanted in times.items() for row in classes[number][:wanted]]
                alike = prod(comb(len(classes[number]), wanted) for number, wanted in times.items())
                yield tuple(sorted(rows)), alike


def _up_to(last: int, count: int) -> Iterator[tuple[int, ...]]:
    """Yield every choice of so many numbers up to the last, with repetition, smallest first."""
    if not count:
        yield ()
        return
    for number in range(last + 1):
        for others in _up_to(number, count - 1):
            yield (*others, number)


def losses_of(classes: Sequence[list[int]], count: int) -> int:
    """Return how many losses of so many nodes there are."""
    return comb(sum(map(len, classes)), count)


def number_of_kinds(classes: Sequence[list[int]], count: int) -> int:
    """Return how many kinds of loss there are, without making them.

    `ways[n]` is how many kinds of loss of n nodes the classes so far allow.
    """
    assert 0 <= count <= NODES_LOST_MAX  # noqa: S101 - nobody asks about more nodes at once
    ways = [1] + [0] * count
    for rows in classes:
        for wanted in range(count, 0, -1):
            ways[wanted] += sum(ways[wanted - taken] for taken in range(1, min(len(rows), wanted) + 1))
    return ways[count]
