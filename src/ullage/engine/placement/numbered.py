"""New replicas of a StatefulSet whose claims are known already: by their names, each goes to its volume.

Replicas of a set are all alike but for the claims that carry their numbers. Such a claim may be there from
before, be promised to somebody else, or be named by another workload of the same question. The hard thing is
that only these replicas are unlike the others: each is placed by itself and keeps its number.
"""

from collections.abc import Collection, Iterator
from typing import Final

import msgspec

from ullage.engine.ledger.naming import STATEFUL_SET
from ullage.engine.placement.disk_holders import served_on
from ullage.engine.placement.outcome import Outcome, Replanned
from ullage.engine.placement.refusal import explain_refusal
from ullage.engine.quota.judging import QuotaJudging
from ullage.engine.storage.disk_requests import is_own_claim, volumes_of_replica
from ullage.engine.trial import Trial
from ullage.model.cluster import Workload

NUMBERED_MAX: Final = 1000
"""Replicas of a set, new ones, whose claims are looked at."""


def numbered(
    trial: Trial, asked: Workload, names: Collection[str], count: int
) -> Iterator[tuple[int, Workload]]:
    """Yield those of so many new replicas whose claims are known, with their numbers, which begin with 1.

    `names` are those of replicas that stay.
    """
    templates = [each for each in asked.volumes if each.claim and not each.inline]
    if asked.kind != STATEFUL_SET or not any(is_own_claim(asked, each) for each in templates):
        return
    _, _, name = asked.owner.partition("/")
    free = (each for each in range(len(names) + count) if f"{name}-{each}" not in names)
    for _, ordinal in zip(range(min(count, NUMBERED_MAX)), free, strict=False):
        volumes = volumes_of_replica(asked, f"{name}-{ordinal}")
        own = (each for each, of_set in zip(volumes, asked.volumes, strict=True) if each is not of_set)
        if any(trial.volumes.requests.knows(asked, each) for each in own):
            yield ordinal + 1, msgspec.structs.replace(asked, volumes=volumes)


def placed_by_claims(
    trial: Trial, asked: Workload, names: Collection[str], outcome: Outcome, quotas: QuotaJudging | None
) -> tuple[Replanned, ...] | Outcome:
    """Place new replicas where their claims are, and return their disks; an outcome where one has no place.

    `outcome` says how many of them there are.
    """
    found = []
    for number, replica in numbered(trial, asked, names, outcome.replicas):
        refusal = quotas.refusal_of(asked, 1) if quotas else None
        shape = trial.shape_of(replica)
        row = trial.pick(shape) if refusal is None else -1
        if row < 0:
            taking = msgspec.structs.replace(replica, requests=outcome.requests)
            refusal = refusal or explain_refusal(trial, shape, taking, 1)
            return outcome._replace(state="error", refusal=refusal, certificate="impossible")
        if quotas:
            quotas.claims.take(asked, 1)
        trial.place(shape, row)
        disks = tuple(served_on(shape, row, 1))
        found.append(Replanned("", trial.nodes[row].name, disks, number))
    return tuple(found)
