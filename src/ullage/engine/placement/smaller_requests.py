"""Smaller requests that would fit: of one resource, as little lowered as helps; where none does, of all.

How small is reckoned from the room there is (at_most.py) and then tried, so that few sizes are. A request
that the limit ranges of its namespace would not let in, or would change, is no remedy.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec
import numpy as np

from ullage.engine.capacity.admission import show_down
from ullage.engine.placement.at_most import AtMost, rows_allowed
from ullage.engine.placement.batches import all_fit
from ullage.engine.placement.before import LimitRanges
from ullage.engine.placement.refused_batch import PODS, RefusedBatch
from ullage.engine.placement.shapes import Integers
from ullage.model.plan import Remedy
from ullage.model.resources import Resources

PARTS: Final = 1000
"""Requests are lowered together in thousandths of themselves."""
TRIES_MAX: Final = 8
"""Sizes of one resource that are tried where the reckoned one does not fit."""

Changed = Callable[[int], dict[str, int]]


class SmallerRequests:
    """What a batch could ask for instead, on a trial as it was before the batch."""

    def __init__(self, batch: RefusedBatch, ranges: LimitRanges | None) -> None:
        self._batch = batch
        self._ranges = ranges
        self._columns = batch.trial.columns
        self._at_most = AtMost(batch.trial, batch.shape, rows_allowed(batch.trial, batch.shape))

    def find(self) -> Iterator[Remedy]:
        """Yield the requests of one resource that help; where there are none, those of all together."""
        requests = self._batch.workload.requests
        names = [name for name, amount in requests.items() if amount > 0 and name != PODS]
        found = False
        for name in names:
            lowered = self._largest(requests.of(name), partial(_only, name))
            if lowered:
                found = True
                yield self._remedy(lowered)
        if not found and len(names) > 1:
            scaled = self._largest(
                PARTS, lambda part: {name: requests.of(name) * part // PARTS for name in names}
            )
            if scaled:
                yield self._remedy(scaled)

    def _remedy(self, lowered: dict[str, int]) -> Remedy:
        sizes = " and ".join(f"{name} to {self._shown(name, amount)}" for name, amount in lowered.items())
        text = f"lower the request of {sizes}: {self._batch.then}"
        return Remedy("request", text, requests=self._requests(lowered))

    def _largest(self, fails: int, changed: Changed) -> dict[str, int]:
        """Return the requests changed by the largest number below `fails` that helps; nothing for none.

        Where rules are in the way of what was reckoned, the largest is only come near to.
        """
        most = self._reckoned(fails, changed)
        if not most:
            return {}
        best = self._tried(changed(most))
        if best or not self._tried(changed(1)):
            return best
        fits, fails = 1, most
        for _ in range(TRIES_MAX):
            if fails - fits <= 1:
                break
            middle = (fits + fails) // 2
            found = self._tried(changed(middle))
            best = found or best
            fits, fails = (middle, fails) if found else (fits, middle)
        return best or self._tried(changed(1))

    def _reckoned(self, fails: int, changed: Changed) -> int:
        """Return the largest number below `fails` for which there is room, 0 for none."""
        fits = 0
        while fails - fits > 1:
            middle = (fits + fails) // 2
            if self._at_most.replicas(self._amounts(changed(middle))) >= self._batch.replicas:
                fits = middle
            else:
                fails = middle
        return fits

    def _amounts(self, lowered: dict[str, int]) -> Integers:
        changed = msgspec.structs.replace(self._batch.workload, requests=self._requests(lowered))
        taken = self._columns.taken(changed)
        names = (self._columns.resources[column] for column in self._batch.shape.columns.tolist())
        return np.array([taken.of(name) for name in names], np.int64)

    def _tried(self, lowered: dict[str, int]) -> dict[str, int]:
        """Return requests as they are shown, where these were tried and fit; else nothing."""
        types = self._columns.snapshot.resource_types
        shown = {name: types[name].parse(self._shown(name, amount)) for name, amount in lowered.items()}
        requests = self._requests(shown)
        if not all(shown.values()) or not self._is_let_in(requests):
            return {}
        batch = self._batch
        return shown if all_fit(batch.trial, batch.variant(requests=requests), batch.replicas) else {}

    def _is_let_in(self, requests: Resources) -> bool:
        return self._ranges is None or self._ranges.let_in(self._batch.workload, requests)

    def _requests(self, lowered: dict[str, int]) -> Resources:
        return Resources({**self._batch.workload.requests, **lowered})

    def _shown(self, name: str, amount: int) -> str:
        return show_down(name, amount, self._columns.snapshot.resource_types)


def _only(name: str, amount: int) -> dict[str, int]:
    return {name: amount}
