"""A batch that does not fit, as those see it who look for a remedy: what is asked for, and what must be said.

A remedy speaks of all replicas, also of those that run already. Where the question is about several batches,
it was tried with the others as they are: another that is refused too may want the same room.
"""

from typing import Final, NamedTuple

import msgspec

from ullage.engine.placement.outcome import Outcome
from ullage.engine.placement.shapes import Shape
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload
from ullage.model.plan import Refusal

PODS: Final = "pods"


class Own(NamedTuple):
    """Running replicas of a batch: their keys, and how many of them keep their place."""

    keys: frozenset[str]
    kept: int


NONE_OWN: Final = Own(frozenset(), 0)


class RefusedBatch(NamedTuple):
    """So many replicas of a workload, of which so many fit, on a trial as it was before them."""

    trial: Trial
    workload: Workload
    shape: Shape
    replicas: int
    placed: int
    own: Own

    @property
    def rest(self) -> int:
        """How many replicas have no place."""
        return self.replicas - self.placed

    @property
    def then(self) -> str:
        """What a remedy does, in words."""
        whole = self.replicas + self.own.kept
        fits = "it then fits" if whole == 1 else f"all {whole} then fit"
        return f"{fits}, the others as they are" if len(self.trial.devices.expected) > 1 else fits

    def variant(self, **changes: object) -> Shape:
        """Return the shape that the workload would be with these changes."""
        return self.trial.compile(msgspec.structs.replace(self.workload, **changes))


def with_bound(outcome: Outcome, replicas: int, bound: str) -> Outcome:
    """Return an outcome of which a quota lets in only a part, or of which that part has no place either."""
    reason, _, remedy = bound.rpartition("; ")
    count = replicas - outcome.placed
    refusal = outcome.refusal
    if refusal is not None:
        reason = f"{reason}; and of what it admits: {refusal.reason}"
        remedy = f"{remedy}; and then: {refusal.remedy}"
    refusal = Refusal(outcome.subject, count, reason, refusal.shortfalls if refusal else (), remedy)
    return outcome._replace(replicas=replicas, state="error", refusal=refusal, certificate="impossible")
