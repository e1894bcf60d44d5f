"""Why a shape cannot go to nodes: for each node the first rule that keeps it away, and how many of each."""

from collections import Counter
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.capacity.reserved import Reserved
from ullage.engine.placement.failover_room import FailoverRule
from ullage.engine.placement.node_rules import LEFT_OUT
from ullage.engine.placement.rules import EVERY, Fixed
from ullage.engine.placement.shapes import Integers, Shape
from ullage.engine.trial import Trial

LOST: Final = "lost"
RESERVED: Final = "held by reservations of the ledger"


class Reasons(NamedTuple):
    """For each row an index into texts, 0 (the empty text) where the shape may go there now."""

    codes: npt.NDArray[np.int32]
    texts: tuple[str, ...]

    def of(self, row: int) -> str:
        """Return what keeps the shape off a node; nothing where it may go there."""
        return self.texts[int(self.codes[row])]

    def tally(self) -> dict[str, int]:
        """Return how many of the nodes that are meant each reason closes, most first, then by name."""
        counts = Counter({self.texts[code]: int(n) for code, n in enumerate(np.bincount(self.codes)) if n})
        for code in ("", LEFT_OUT):
            counts.pop(code, None)
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def reasons_of(trial: Trial, shape: Shape, reserved: Reserved | None = None) -> Reasons:
    """Return why each node does not take one more workload of a shape, in the order of judgement.

    What a node is comes first, then its size, then the rules between workloads, then what is left on it, and
    last what its group keeps. What reservations hold is told apart; it is `reserved` where the trial has
    followed a cluster.
    """
    trial.scores(shape)
    codes = shape.closed.codes.copy()
    texts = list(shape.closed.reasons)

    def close(which: npt.NDArray[np.bool_], reason: str) -> None:
        newly = which & (codes == 0)
        if newly.any():
            codes[newly] = len(texts)
            texts.append(reason)

    close(trial.lost, LOST)
    local = sorted(shape.local_rules, key=lambda rule: not isinstance(rule, Fixed))
    kept = [rule for rule in shape.wide_rules if isinstance(rule, FailoverRule)]
    for rule in (*local, *(each for each in shape.wide_rules if each not in kept)):
        close(~rule.allows(EVERY), rule.reason)
    for column, amount in zip(shape.columns.tolist(), shape.amounts.tolist(), strict=True):
        resource, free = trial.columns.resources[column], trial.room.free[column]
        left = free + trial.room.standby[column]
        held = reserved_of(trial, resource, reserved)
        close(left < amount - held, f"{resource} short")
        close(left < amount, f"{resource} {RESERVED}")
        close(free < amount, f"{resource} held for failover")
    for rule in kept:
        close(~rule.allows(EVERY), rule.reason)
    return Reasons(codes, tuple(texts))


def reserved_of(trial: Trial, resource: str, reserved: Reserved | None = None) -> Integers:
    """Return what reservations of the ledger hold of a resource, for each row."""
    held = np.zeros(len(trial.nodes), np.int64)
    known = trial.columns.reserved if reserved is None else reserved
    for name in known.nodes():
        if name in trial.row_of:
            held[trial.row_of[name]] = known.of(name).of(resource)
    return held
