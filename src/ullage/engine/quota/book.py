"""The quotas of a cluster as one table of terms: who counts where, what is guaranteed, what is forbidden.

A resource that a bound does not name is not compared (None in the terms), which differs from a bound of 0.
The hard thing is a parent with workloads of its own: these are guaranteed what its children leave of its min.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from ullage.engine.quota.entitlement import FairTable
from ullage.model.cluster import Quota
from ullage.model.resources import Resources

NO_QUOTA: Final = -1
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
NOS_KINDS: Final = frozenset(("ElasticQuota", "CompositeElasticQuota"))

Mode = Literal["nos", "fair"]
Terms = tuple[int | None, ...]
Amounts = tuple[int, ...]


class Member(NamedTuple):
    """A workload as its quota counts it: `amounts` over the book's resources, `takes` from its node.

    The one without a creation time counts as the oldest. `budgets` are the disruption budgets it is under.
    Of its `gang`, if it is of one, `gang_min` must run for it to be of use; 0 for all.
    """

    key: str
    quota: int
    amounts: Amounts
    takes: Resources
    node: str = ""
    priority: int = 0
    created_seconds: int = 0
    budgets: tuple[int, ...] = ()
    gang: str = ""
    gang_min: int = 0


class Book:
    """Quotas by name, with their terms over the resources that some of them names."""

    def __init__(self, quotas: Iterable[Quota], mode: Literal["by-kind", "nos", "fair"] = "by-kind") -> None:
        self._mode = mode
        self.quotas: tuple[Quota, ...] = tuple(sorted(quotas, key=lambda quota: quota.name))
        self.index: dict[str, int] = {quota.name: place for place, quota in enumerate(self.quotas)}
        self._of_namespace: dict[str, int] = {
            namespace: place for place, quota in enumerate(self.quotas) for namespace in quota.namespaces
        }
        self._of_queue: dict[str, int] = {
            queue: place for place, quota in enumerate(self.quotas) for queue in quota.queues
        }
        named = {name for quota in self.quotas for bound in _bounds(quota) for name in bound}
        self.resources: tuple[str, ...] = tuple(sorted(named))
        self.fair_table = FairTable(self.quotas)
        self.shared: tuple[str, ...] = tuple(self.fair_table.resources)
        self.shared_places = [self.resources.index(name) for name in self.shared]
        self.modes: tuple[Mode, ...] = tuple(
            ("nos" if quota.kind in NOS_KINDS else "fair") if mode == "by-kind" else mode
            for quota in self.quotas
        )
        self.mins: tuple[Terms, ...] = tuple(self.terms(quota.min) for quota in self.quotas)
        self.maxes: tuple[Terms, ...] = tuple(self.terms(quota.max) for quota in self.quotas)
        self.most_borrowed: tuple[Terms, ...] = tuple(
            self.terms(quota.borrowing_limit or {}) for quota in self.quotas
        )
        self.chains: tuple[tuple[int, ...], ...] = tuple(self._chain(quota) for quota in self.quotas)
        self.own_mins: tuple[Terms, ...] = self._own_mins()
        self.nos_places: tuple[int, ...] = tuple(
            place for place, each in enumerate(self.modes) if each == "nos"
        )
        self.sum_of_mins: Amounts = tuple(
            sum(self.own_mins[quota][place] or 0 for quota in self.nos_places)
            for place in range(len(self.resources))
        )

    def with_quotas(self, *quotas: Quota) -> "Book":
        """Return this book with other quotas in place of those of their names."""
        names = {each.name for each in quotas}
        kept = (each for each in self.quotas if each.name not in names)
        return Book((*kept, *quotas), self._mode)

    def place_of(self, namespace: str, labels: Mapping[str, str]) -> int:
        """Return the place of the quota under which a workload counts: its queue's, else its namespace's."""
        if self._of_queue and QUEUE_LABEL in labels:
            return self._of_queue.get(f"{namespace}/{labels[QUEUE_LABEL]}", NO_QUOTA)
        return self._of_namespace.get(namespace, NO_QUOTA)

    def terms(self, bound: Mapping[str, int]) -> Terms:
        """Return a bound over the book's resources; None where it does not name one."""
        return tuple(bound.get(name) for name in self.resources)

    def amounts(self, resources: Mapping[str, int]) -> Amounts:
        """Return amounts over the book's resources; what is absent is 0."""
        return tuple(resources.get(name, 0) for name in self.resources)

    def readable(self, amounts: Sequence[int | None]) -> Resources:
        """Return the amounts that are stated, by name."""
        return Resources(
            {name: each for name, each in zip(self.resources, amounts, strict=True) if each is not None}
        )

    def _chain(self, quota: Quota) -> tuple[int, ...]:
        """Return a quota's place and those of all above it; the tree was checked when it was read."""
        places = [self.index[quota.name]]
        while quota.parent:
            places.append(self.index[quota.parent])
            quota = self.quotas[places[-1]]
        return tuple(places)

    def _own_mins(self) -> tuple[Terms, ...]:
        left = [list(terms) for terms in self.mins]
        for quota, terms in zip(self.quotas, self.mins, strict=True):
            if quota.parent:
                above = left[self.index[quota.parent]]
                for place, amount in enumerate(terms):
                    kept = above[place]
                    if amount is not None and kept is not None:
                        above[place] = max(0, kept - amount)
        return tuple(tuple(terms) for terms in left)


def _bounds(quota: Quota) -> tuple[Mapping[str, int], ...]:
    return quota.min, quota.max, quota.lending_limit or {}, quota.borrowing_limit or {}


def share_something(book: Book, one: int, other: int) -> bool:
    """Whether two quotas share something: both are in mode nos, or in one tree."""
    if NO_QUOTA in (one, other):
        return False
    if book.modes[one] == book.modes[other] == "nos":
        return True
    return book.chains[one][-1] == book.chains[other][-1]


def within(amounts: Sequence[int], bound: Terms) -> bool:
    """Whether no amount is above its bound."""
    return all(most is None or amount <= most for amount, most in zip(amounts, bound, strict=True))


def plus(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """Return the sum, resource by resource."""
    return [each + more for each, more in zip(one, other, strict=True)]
