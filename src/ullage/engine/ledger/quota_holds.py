"""What a workload holds of quotas: of the one that it is under, and of those above."""

from ullage.engine.placement.before import LimitRanges
from ullage.engine.quota.accounts import counted_request
from ullage.engine.quota.book import NO_QUOTA, Book
from ullage.engine.quota.validation import in_force
from ullage.model.cluster import Snapshot, Workload
from ullage.model.ledger import COMPUTE, Hold


class QuotaHolds:
    """Looks up the quotas of one snapshot for many workloads."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._ranges = LimitRanges(snapshot)
        self._book = Book(in_force(snapshot.quotas))

    def of(self, workload: Workload, gpu_gigabytes: int) -> tuple[Hold, ...]:
        """Return what one replica holds, where a GPU counts for so many gigabytes of memory."""
        place = self._book.place_of(workload.namespace, workload.labels)
        if place == NO_QUOTA:
            return ()
        counted = counted_request(self._ranges.completed(workload), gpu_gigabytes)
        holds = []
        for above in self._book.chains[place]:
            quota = self._book.quotas[above]
            amounts = counted.only({*quota.min, *quota.max}).without_zeros()
            if amounts:
                holds.append(Hold(COMPUTE, f"quota/{quota.name}", amounts))
        return tuple(holds)
