"""Who has not run long enough to be evicted, as far as a snapshot tells who started when.

Where the start of a workload is not known, its creation is: it cannot have run for longer. What is not known
protects nobody, and is counted so that an answer can say so.
"""

from ullage.model.cluster import Workload


class RunTime:
    """A minimum run time at the moment that a snapshot shows."""

    def __init__(self, least_seconds: int, taken_seconds: int | None) -> None:
        self.least_seconds = least_seconds
        self._now_seconds = taken_seconds

    @property
    def is_known(self) -> bool:
        """Whether there is a moment from which to count, where there is a minimum."""
        return not self.least_seconds or self._now_seconds is not None

    def left_seconds(self, workload: Workload) -> int:
        """Return after how many seconds a workload may be evicted; 0 where it may now."""
        since = _since(workload)
        if not self.least_seconds or self._now_seconds is None or since is None:
            return 0
        return max(0, min(self.least_seconds, since + self.least_seconds - self._now_seconds))

    def is_open(self, workload: Workload) -> bool:
        """Whether a workload is not protected although it may have started a short while ago."""
        return (
            bool(self.least_seconds) and workload.started_seconds is None and not self.left_seconds(workload)
        )


def _since(workload: Workload) -> int | None:
    return workload.created_seconds if workload.started_seconds is None else workload.started_seconds
