"""Outcomes with a certificate: a second look at batches that placing one after the other has refused.

Where an exact search finds a place for all of them it is taken; else the trial stands as it did, and the
outcomes say whether that is proven.
"""

from collections.abc import Sequence

import msgspec

from ullage.engine.capacity.admission import admit
from ullage.engine.placement.exact import Certificate, prove, replay
from ullage.engine.placement.exact_model import Wanted
from ullage.engine.placement.local_disks import disks_are_decided
from ullage.engine.placement.outcome import Outcome
from ullage.engine.trial import Mark, Trial
from ullage.model.cluster import Workload


def certified(
    trial: Trial, mark: Mark, asked: Sequence[Workload], outcomes: Sequence[Outcome], seconds_max: int
) -> list[Outcome]:
    """Return the outcomes of batches that were placed since a mark, those that were refused with a proof.

    Only batches that were placed anew are looked at: one that is refused for what it is, or that grows where
    it runs, has no other place.
    """
    if any(
        each.action != "place" or each.replanned or (each.refusal and each.certificate != "unknown")
        for each in outcomes
    ):
        return list(outcomes)
    wanted = [
        (trial.shape_of(workload), outcome.replicas)
        for workload, outcome in zip(asked, outcomes, strict=True)
    ]
    first, replicas = wanted[0]
    one_by_one = not first.wide_rules and trial.devices.are_all_it_takes(first)
    if len(wanted) == 1 and (one_by_one or (replicas == 1 and disks_are_decided(first))):
        return [_alone(outcomes[0])]
    before = trial.log[mark.placements :]
    trial.undo(mark)
    found = prove(trial, wanted, seconds_max)
    if found.verdict == "placed":
        return _placed(trial, mark, wanted, outcomes, found)
    for shape, rows, counts in before:
        if isinstance(rows, int):
            trial.place(shape, rows, int(counts))
        else:
            trial.place_many(shape, rows, counts)  # type: ignore[arg-type]  # rows and counts go together
    return [
        each._replace(certificate=found.verdict, certificate_note=found.note) if each.refusal else each
        for each in outcomes
    ]


def _alone(outcome: Outcome) -> Outcome:
    """Return the outcome of a batch for which every node was filled, or for one workload tried."""
    note = f"the nodes take at most {outcome.placed} of {outcome.replicas}, each node for itself"
    return outcome._replace(certificate="impossible", certificate_note=note)


def _placed(
    trial: Trial, mark: Mark, wanted: Sequence[Wanted], outcomes: Sequence[Outcome], found: Certificate
) -> list[Outcome]:
    """Return outcomes as an exact search has placed them, with the terms of the first node of each."""
    trial.undo(mark)
    changed = []
    for (shape, _), outcome, counts in zip(wanted, outcomes, found.counts, strict=True):
        taking = msgspec.structs.replace(shape.workload, requests=outcome.requests)
        changed.append(
            outcome._replace(
                state="ok",
                placed=outcome.replicas,
                nodes=tuple(sorted((trial.nodes[row].name, count) for row, count in counts)),
                verdict=admit(trial.place_of(counts[0][0]), taking) if counts else None,
                refusal=None,
                certificate="exact",
                certificate_note=found.note,
            )
        )
    if not replay(trial, wanted, found.counts):
        raise RuntimeError("a placement was accepted once and refused the second time")
    return changed
