"""A cluster that is asked about again and again: what costs a pass over all of it is made once and kept.

    bench = Bench(columns)
    fit(columns, batches, bench=bench)      # the first costs as much as the cluster is large
    fit(columns, others, bench=bench)       # the next ones what they ask for

One question at a time: each begins with the cluster as it is, and the trial is taken back to that. The hard
thing is what a trial learns on its way. Shapes are right for every later question, but they grow, so a trial
that has learned many is made anew. So is one that has learned terms by which workloads keep others away or
draw them: whoever is asked about later is not to hear of workloads that are not there. A cluster that differs
little, as by what a ledger promises, has a bench `about` it that begins with what this one knows.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.running import Running
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import Book
from ullage.engine.quota.validation import in_force
from ullage.engine.storage.disk_requests import DiskRequests
from ullage.engine.trial import Mark, Trial
from ullage.model.cluster import Batch, Snapshot

SHAPES_MAX: Final = 5000
"""Shapes that a trial may know before it is made anew."""


class Bench:
    """What questions about one cluster share."""

    def __init__(self, columns: Columns, like: "Bench | None" = None) -> None:
        self.columns = columns
        self._like = like
        self._trials: dict[str, tuple[Trial, Mark, int]] = {}

    @cached_property
    def running(self) -> Running:
        """The replicas that run, by their set."""
        return Running(self.columns.snapshot, self._like.running if self._like else None)

    @cached_property
    def book(self) -> Book:
        """The quotas, and whom they concern."""
        return Book(in_force(self.columns.snapshot.quotas))

    @cached_property
    def accounts(self) -> Accounts:
        """Who runs and who waits under quotas."""
        return Accounts(self.columns, self._like.accounts if self._like else None)

    @cached_property
    def _disk_requests(self) -> DiskRequests:
        return DiskRequests(self.columns.snapshot)

    def about(self, snapshot: Snapshot) -> "Bench":
        """Return a bench for another state of the cluster: cheap where nodes and rules are the same."""
        known = self.columns.snapshot
        same = ("nodes", "policy", "resource_types")
        if any(getattr(known, name) is not getattr(snapshot, name) for name in same):
            return Bench(Columns(snapshot))
        return Bench(self.columns.after(snapshot), self)

    def for_question(self, batches: Sequence[Batch]) -> "Bench":
        """Return a bench on which claims that are promised on lost disks are nobody else's.

        A promise that is one's own is planned anew; of a claim that several share, if all of them ask.
        """
        if len(batches) == 1 or not any(batch.workload.volumes for batch in batches):
            return self
        lost = self._disk_requests.lost_together({batch.key for batch in batches})
        if not lost:
            return self
        snapshot = self.columns.snapshot
        left = snapshot.reservations.changed(msgspec.structs.replace(entry, claim="") for entry in lost)
        return self.about(msgspec.structs.replace(snapshot, reservations=left))

    def trial(self, placement: str) -> Trial:
        """Return a trial on which nothing is placed, to be used by one question."""
        known = self._trials.get(placement)
        if known is not None:
            trial, empty, terms = known
            if trial.shapes_known <= SHAPES_MAX and _terms_of(trial) == terms:
                trial.undo(empty)
                return trial
        like = known[0] if known is not None else self._like.trial(placement) if self._like else None
        trial = Trial(self.columns, placement, like=like, keeps_spare=True)
        if not trial.devices.weighs_all:  # which nodes are best depends on what a question expects
            self._trials[placement] = trial, trial.mark(), _terms_of(trial)
        return trial


def _terms_of(trial: Trial) -> int:
    """Return how many terms are known by which workloads keep others away, or draw them."""
    return trial.rules.terms + (trial.preferences.terms if trial.preferences else 0)
