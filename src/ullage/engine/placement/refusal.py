"""Why something does not fit, over all nodes: what keeps it away how often, what the nearest node lacks."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from ullage.engine.capacity.admission import Place, explain_shortfalls, shortfall_of, show_down
from ullage.engine.capacity.bounds import CPU
from ullage.engine.placement.failover_room import REASON
from ullage.engine.placement.local_disks import rule_of
from ullage.engine.placement.node_columns import Flags
from ullage.engine.placement.reasons import reserved_of
from ullage.engine.placement.rules import EVERY, SIZE_REASON
from ullage.engine.placement.shapes import Integers, Shape
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload
from ullage.model.disk_plan import DiskWitness
from ullage.model.plan import Refusal
from ullage.model.resources import ResourceTypes
from ullage.model.verdict import Shortfall

MISSING: Final = "missing on node "
KEPT_OFF: Final = "no node takes it while this holds: "
"""How facts begin that stand for a remedy where none was tried."""
DISKS_LOOKED_AT: Final = 20
"""Nodes whose disks are looked at to find the one that lacks least."""


def explain_refusal(trial: Trial, shape: Shape, asked: Workload, count: int) -> Refusal:
    """Return why `count` replicas of a shape have no place; `asked` states what one of them takes.

    What stands for a remedy is a fact, as nothing is tried here: what is missing where, or who keeps it off.
    """
    missing = _missing(trial, shape)
    short = missing > 0
    named = ~trial.lost
    if asked.node:
        named[:] = False
        if asked.node in trial.row_of:
            named[trial.row_of[asked.node]] = True
    kept_off = _kept_off(shape)
    if REASON in kept_off:  # a node that lacks room by itself is told to lack room
        kept_off[REASON] &= ~short.any(axis=0)
    openly = shape.open & named
    lacking = openly & short.any(axis=0)
    if not openly.any():
        return _nowhere(trial, shape, asked, count)
    tallies = _tally(shape, openly, kept_off)
    if not lacking.any():
        nearest = _disks(shape, openly, kept_off) or _kept_for_failover(trial, shape, openly)
        reason = f"0/{int(openly.sum())} nodes may take it ({tallies}){nearest}"
        return Refusal(asked.key, count, reason, remedy=_what_keeps_off(kept_off, openly))
    against = np.sum([np.zeros(len(openly), np.bool_), *kept_off.values()], axis=0)
    row = _nearest(missing, against, shape, lacking)
    place = trial.place_of(row)
    shortfalls = _shortfalls(place, asked)
    by_resource = dict(zip(_resources(shape), (short & openly).sum(axis=1).tolist(), strict=True))
    counts = ", ".join(
        f"{name} short on {by_resource[name]}" for name in sorted(by_resource) if by_resource[name]
    )
    reason = f"0/{int(openly.sum())} nodes have room ({counts}{_and(tallies)}); nearest: "
    if against[row]:
        rules = ", ".join(reason for reason, flags in kept_off.items() if flags[row])
        lines = f"{explain_shortfalls(shortfalls, place, fitting=False)}, and kept off by {rules}"
    else:
        lines = explain_shortfalls(shortfalls, place, fitting=_is_all_it_lacks(trial, shape, missing, row))
    lines += _reserved(trial, shape, missing, lacking & (against == 0), row)
    lines += _kept_for_failover(trial, shape, openly & ~short.any(axis=0))
    return Refusal(asked.key, count, reason + lines, shortfalls, _what_is_missing(place, shortfalls))


def _disks(shape: Shape, openly: Flags, kept_off: Mapping[str, Flags]) -> str:
    """Return what the disks of one node lack, where they alone keep a shape off some; of equals the first."""
    rule = rule_of(shape)
    if rule is None:
        return ""
    others = [flags for reason, flags in kept_off.items() if reason != rule.reason]
    alone = openly & kept_off[rule.reason] & ~np.logical_or.reduce([np.zeros(len(openly), np.bool_), *others])
    rows = np.flatnonzero(alone if alone.any() else openly & kept_off[rule.reason])
    if not len(rows):
        return ""
    found = [rule.chosen(row) for row in rows[:DISKS_LOOKED_AT].tolist()]
    witnesses = [each for each in found if isinstance(each, DiskWitness)]
    nearest = min(witnesses, key=lambda each: (each.missing_bytes is None, each.missing_bytes or 0))
    return f"; nearest: node {nearest.node}: {nearest.reason}"


def _reserved(trial: Trial, shape: Shape, missing: Integers, lacking: Flags, nearest: int) -> str:
    """Return what the ledger holds where a shape lacks no more than that: on the nearest or first node."""
    if not trial.columns.reserved.nodes():
        return ""
    names = _resources(shape)
    held = np.array([reserved_of(trial, name) for name in names], np.int64)
    by_size = (rule.allows(EVERY) for rule in shape.local_rules if rule.reason.startswith(SIZE_REASON))
    rows = np.flatnonzero(np.logical_and.reduce([lacking, (missing <= held).all(axis=0), *by_size]))
    if not len(rows):
        return ""
    row = nearest if nearest in rows else int(rows[0])
    pairs = [(name, int(held[place, row])) for place, name in enumerate(names) if missing[place, row] > 0]
    where = f"node {trial.nodes[row].name}"
    where += f" and enough on {len(rows) - 1} more" if len(rows) > 1 else ""
    amounts = _amounts(pairs, trial.columns.snapshot.resource_types)
    return f"; reservations of the ledger hold {amounts} on {where}"


def _kept_for_failover(trial: Trial, shape: Shape, openly: Flags) -> str:
    """Return what a group keeps for failover that a shape would have to take."""
    why = trial.failover.why(shape, openly) if trial.failover is not None else ""
    return f"; {why}" if why else ""


def _what_keeps_off(kept_off: Mapping[str, Flags], openly: Flags) -> str:
    """Return which rule keeps a shape off every open node, if one does."""
    everywhere = [reason for reason, flags in kept_off.items() if (flags | ~openly).all()]
    return f"{KEPT_OFF}{everywhere[0]}" if everywhere else ""


def _resources(shape: Shape) -> list[str]:
    return [name for name, amount in shape.requests.items() if amount > 0]


def _missing(trial: Trial, shape: Shape) -> Integers:
    """Return what each node lacks of each resource that a shape takes; nothing or less where it suffices."""
    rows = []
    for name in _resources(shape):
        amount = shape.requests.of(name)
        column = trial.columns.resource_index.get(name)
        if column is None:
            rows.append(np.full(len(trial.nodes), amount, np.int64))
            continue
        missing = amount - trial.room.free[column]
        too_large = amount - trial.room.capacity[column]
        by_size = ~trial.room.bounded[column] if name != CPU else np.ones(len(trial.nodes), np.bool_)
        rows.append(np.where(by_size, np.maximum(missing, too_large), missing))
    return np.array(rows, np.int64).reshape(len(rows), len(trial.nodes))


def _nearest(missing: Integers, against: Integers, shape: Shape, lacking: Flags) -> int:
    """Return the node that fewest rules and resources are against, then by the smallest part of a request.

    Of equals it is the first.
    """
    amounts = np.array([shape.requests.of(name) for name in _resources(shape)], np.float64)
    part = (np.maximum(missing, 0) / amounts[:, None]).max(axis=0)
    kinds = (missing > 0).sum(axis=0)
    rows = np.flatnonzero(lacking)
    return int(rows[np.lexsort((rows, part[rows], kinds[rows], against[rows]))[0]])


def _is_all_it_lacks(trial: Trial, shape: Shape, missing: Integers, row: int) -> bool:
    """Whether what a node lacks is all: its group may lack more of what it keeps for failover."""
    if trial.failover is None:
        return True
    beyond = trial.failover.missing(shape)[:, row].tolist()
    lacking = dict(zip(_resources(shape), missing[:, row].tolist(), strict=True))
    names = (trial.columns.resources[column] for column, _ in shape.takings)
    return all(more <= max(0, lacking[name]) for name, more in zip(names, beyond, strict=True))


def _kept_off(shape: Shape) -> dict[str, Flags]:
    """Return the nodes that each rule but those about size keeps a shape off."""
    return {
        rule.reason: ~rule.allows(EVERY)
        for rule in (*shape.local_rules, *shape.wide_rules)
        if not rule.reason.startswith(SIZE_REASON)
    }


def _closed_by(shape: Shape, row: int) -> str:
    return shape.closed.reasons[int(shape.closed.codes[row])]


def _tally(
    shape: Shape,
    openly: Flags,
    kept_off: Mapping[str, Flags],
) -> str:
    """Return how many open nodes each rule keeps a shape off, and how many nodes are closed to it by what."""
    kept = {reason: int((flags & openly).sum()) for reason, flags in kept_off.items()}
    off = _counts(kept.items())
    closed = _closed(shape)
    parts = ([f"kept off: {off}"] if off else []) + ([f"closed to it: {closed}"] if closed else [])
    return "; ".join(parts)


def _closed(shape: Shape) -> str:
    tally = Counter(shape.closed.reasons[code] for code in shape.closed.codes.tolist() if code)
    return _counts(tally.items())


def _counts(pairs: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted(pairs) if count)


def _and(text: str) -> str:
    return f"; {text}" if text else ""


def _shortfalls(place: Place, asked: Workload) -> tuple[Shortfall, ...]:
    found = (shortfall_of(place, name, amount) for name, amount in asked.requests.items())
    return tuple(each for each in found if each is not None)


def _what_is_missing(place: Place, shortfalls: Sequence[Shortfall]) -> str:
    missing = [(each.resource, each.missing.value) for each in shortfalls]
    return f"{MISSING}{place.node}: {_amounts(missing, place.types)}"


def resize_remedy(shortfalls: Sequence[Shortfall], types: ResourceTypes) -> str:
    """Return how far a workload that runs already could grow where it is."""
    sizes = [(each.resource, each.requested.value - each.missing.value) for each in shortfalls]
    grown = " and ".join(f"{name} to {show_down(name, amount, types)}" for name, amount in sizes)
    return f"grow {grown} at most, or move it to a node with more room"


def _amounts(pairs: Sequence[tuple[str, int]], types: ResourceTypes) -> str:
    return " and ".join(f"{types[name].readable(amount)} of {name}" for name, amount in pairs)


def _nowhere(trial: Trial, shape: Shape, asked: Workload, count: int) -> Refusal:
    if not asked.node:
        reason = f"none of {len(trial.nodes)} nodes may take it{_and(_tally(shape, shape.open, {}))}"
        return Refusal(asked.key, count, reason)
    row = trial.row_of.get(asked.node)
    if row is None:
        return Refusal(asked.key, count, f"node {asked.node}, which it names, is unknown")
    reason = f"node {asked.node}, which it names, is closed to it ({_closed_by(shape, row)})"
    return Refusal(asked.key, count, reason)
