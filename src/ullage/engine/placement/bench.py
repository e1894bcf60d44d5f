"""A cluster that is asked about again and again: what costs a pass over all of it is made once and kept.

    bench = Bench(columns)
    fit(columns, batches, bench=bench)      # the first costs as much as the cluster is large
    fit(columns, others, bench=bench)       # the next ones what they ask for

One question at a time: each begins with the cluster as it is, and the trial is taken back to that. The hard
thing is what a trial learns on its way (shapes, rules between workloads): that is right for every later
question, but it grows, so a trial that has learned much is made anew.
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
from ullage.model.cluster import Batch

SHAPES_MAX: Final = 5000
"""Shapes that a trial may know before it is made anew."""


class Bench:
    """What questions about one cluster share."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._trials: dict[str, tuple[Trial, Mark]] = {}

    @cached_property
    def running(self) -> Running:
        """The replicas that run, by their set."""
        return Running(self.columns.snapshot)

    @cached_property
    def book(self) -> Book:
        """The quotas, and whom they concern."""
        return Book(in_force(self.columns.snapshot.quotas))

    @cached_property
    def accounts(self) -> Accounts:
        """Who runs and who waits under quotas."""
        return Accounts(self.columns)

    @cached_property
    def _disk_requests(self) -> DiskRequests:
        return DiskRequests(self.columns.snapshot)

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
        return Bench(Columns(msgspec.structs.replace(snapshot, reservations=left)))

    def trial(self, placement: str) -> Trial:
        """Return a trial on which nothing is placed, to be used by one question."""
        known = self._trials.get(placement)
        if known is not None and known[0].shapes_known <= SHAPES_MAX:
            trial, empty = known
            trial.undo(empty)
            return trial
        trial = Trial(self.columns, placement, keeps_spare=True)
        if not trial.devices.weighs_all:  # which nodes are best depends on what a question expects
            self._trials[placement] = trial, trial.mark()
        return trial
