"""What happens in a replay: workloads that come, how long they would run, and the capacity they find.

A trace says who arrives when; the cluster's quotas say what each of them counts. The cluster is one pool, and
a gang counts as one workload of all its replicas, which goes as one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import Amounts, Book, Member
from ullage.engine.quota.standing import DEFAULT_ORDER
from ullage.model.cluster import Workload
from ullage.model.resources import NOTHING, Resources

POOL: Final = "cluster"
"""The one node of a replay: all the room of the cluster."""


class Arrival(NamedTuple):
    """A workload that comes; one without a duration runs on once it runs.

    A gang of several replicas is one arrival; `others` are members of another kind, with how many there are
    of each. `leaves_seconds` is when it is withdrawn, whether it runs or waits; `runs` means that it ran
    already when the record began.
    """

    workload: Workload
    at_seconds: int
    duration_seconds: int | None = None
    replicas: int = 1
    leaves_seconds: int | None = None
    runs: bool = False
    others: tuple[tuple[Workload, int], ...] = ()

    @property
    def key(self) -> str:
        """Arrivals are known by their workload."""
        return self.workload.key

    @property
    def parts(self) -> tuple[tuple[Workload, int], ...]:
        """All that comes, with how many there are of each."""
        return ((self.workload, self.replicas), *self.others)


class CapacityChange(NamedTuple):
    """What the cluster can promise in all from a moment on."""

    at_seconds: int
    capacity: Mapping[str, int]


class Job(NamedTuple):
    """An arrival as its quota counts it; jobs of one `kind` are the same for every rule.

    `takes` is what it takes of the pool.
    """

    member: Member
    kind: int
    takes: tuple[tuple[str, int], ...]
    at_seconds: int
    duration_seconds: int | None
    leaves_seconds: int | None
    runs: bool


class Setting(NamedTuple):
    """What a replay is played under: the quotas, the order of labels, and the room there is."""

    book: Book
    capacity: Mapping[str, int]
    order: Sequence[str] = DEFAULT_ORDER


def setting_of(accounts: Accounts) -> Setting:
    """Return the quotas, the order and the room of a cluster."""
    return Setting(accounts.book, accounts.capacity, accounts.standing.order)


def jobs_of(accounts: Accounts, arrivals: Iterable[Arrival]) -> list[Job]:
    """Return arrivals as the quotas of a cluster count them, in order of time and name."""
    kinds: dict[tuple[int, Amounts, Resources, int], tuple[int, tuple[tuple[str, int], ...]]] = {}
    found: list[Job] = []
    for arrival in sorted(arrivals, key=lambda each: (each.at_seconds, each.key)):
        one = accounts.member_of(arrival.workload)
        if arrival.replicas > 1 or arrival.others:
            one = _summed(accounts, arrival)
        member = one._replace(
            node=POOL,
            created_seconds=arrival.at_seconds,
            budgets=(),
        )
        same = (member.quota, member.amounts, member.takes, member.priority)
        kind, takes = kinds.setdefault(
            same, (len(kinds) + 1, tuple((name, amount) for name, amount in member.takes.items() if amount))
        )
        found.append(
            Job(
                member,
                kind,
                takes,
                arrival.at_seconds,
                arrival.duration_seconds,
                arrival.leaves_seconds,
                arrival.runs,
            )
        )
    return found


def _summed(accounts: Accounts, arrival: Arrival) -> Member:
    """Return all members of a gang as one."""
    parts = [(accounts.member_of(workload), count) for workload, count in arrival.parts]
    amounts = zip(*([amount * count for amount in one.amounts] for one, count in parts), strict=True)
    takes = sum((one.takes * count for one, count in parts), NOTHING)
    return parts[0][0]._replace(amounts=tuple(map(sum, amounts)), takes=takes)
