"""What came of a replay: what each workload waited, held and lost, and what each quota used of its min.

Sums are kept in resource-seconds, exact integers. A quota's are brought up to date before its use changes, so
an event costs what it touches.
"""

from typing import Literal, NamedTuple

from ullage.engine.quota.book import NO_QUOTA, Amounts
from ullage.engine.quota.standing import Standing

End = Literal["finished", "runs", "waits", "withdrawn"]


class JobOutcome(NamedTuple):
    """A workload: how often it started and was evicted, whom it took, and how its time was spent.

    `held_seconds` is all the time in which it ran, `lost_seconds` the part of it that an eviction undid.
    `ended_seconds` is when it finished or was withdrawn.
    """

    key: str
    quota: int
    arrived_seconds: int
    starts: int
    evictions: int
    took: int
    waited_seconds: int
    held_seconds: int
    lost_seconds: int
    ended_seconds: int | None
    end: End

    @property
    def delay_seconds(self) -> int:
        """The time by which it is later than if it had run at once and undisturbed."""
        return self.waited_seconds + self.lost_seconds


class QuotaUse(NamedTuple):
    """Resource-seconds of a quota's own workloads: within its min, and beyond it; all where none is named."""

    within: Amounts
    beyond: Amounts


class Outcome(NamedTuple):
    """A replay that has been played to an end.

    `decisions` is how often it was decided about a workload, `unproven` how often victims were chosen without
    a proof that they are the best, `unsettled` how often turns were cut short.
    """

    end_seconds: int
    jobs: tuple[JobOutcome, ...]
    quotas: tuple[QuotaUse, ...]
    decisions: int
    unproven: int
    unsettled: int
    cut_short: bool


class Record:
    """The account of one workload while a replay goes on."""

    __slots__ = (
        "ended_seconds", "evictions", "held_seconds", "lost_seconds", "run", "since_seconds",
        "started_seconds", "starts", "took", "waited_seconds", "withdrawn",
    )  # fmt: skip

    def __init__(self) -> None:
        self.starts = self.evictions = self.took = 0
        self.waited_seconds = self.held_seconds = self.lost_seconds = 0
        self.since_seconds = self.started_seconds = self.run = 0
        self.ended_seconds: int | None = None
        self.withdrawn = False

    def outcome(self, key: str, quota: int, arrived_seconds: int, state: End, end_seconds: int) -> JobOutcome:
        """Return the account as it stands at the end."""
        return JobOutcome(
            key,
            quota,
            arrived_seconds,
            self.starts,
            self.evictions,
            self.took,
            self.waited_seconds + (end_seconds - self.since_seconds if state == "waits" else 0),
            self.held_seconds + (end_seconds - self.started_seconds if state == "runs" else 0),
            self.lost_seconds,
            self.ended_seconds,
            state,
        )


class UseOverTime:
    """The resource-seconds of every quota, as the use of a standing changes."""

    def __init__(self, standing: Standing) -> None:
        self._standing = standing
        size = len(standing.book.resources)
        self._within = [[0] * size for _ in standing.book.quotas]
        self._beyond = [[0] * size for _ in standing.book.quotas]
        self._until = [0] * len(standing.book.quotas)

    def count(self, quota: int, now_seconds: int) -> None:
        """Count the use of a quota up to now, before it changes."""
        if quota == NO_QUOTA or self._until[quota] == now_seconds:
            return
        within, beyond = self.until(quota, now_seconds)
        self._within[quota], self._beyond[quota] = list(within), list(beyond)
        self._until[quota] = now_seconds

    def until(self, quota: int, end_seconds: int) -> QuotaUse:
        """Return the sums of a quota if its use stays as it is until the end."""
        seconds = end_seconds - self._until[quota]
        within, beyond = list(self._within[quota]), list(self._beyond[quota])
        least = self._standing.book.own_mins[quota]
        for place, amount in enumerate(self._standing.own_used[quota]):
            if amount:
                bound = least[place]
                inside = amount if bound is None else min(amount, bound)
                within[place] += inside * seconds
                beyond[place] += (amount - inside) * seconds
        return QuotaUse(tuple(within), tuple(beyond))

    def all_until(self, end_seconds: int) -> tuple[QuotaUse, ...]:
        """Return the sums of every quota."""
        return tuple(self.until(quota, end_seconds) for quota in range(len(self._until)))
