"""What of the quotas that Kueue's queues are can be changed: only what an object says.

A ClusterQueue says its nominalQuota, and inside a cohort how much it borrows. The hard thing is cohorts: most
of them are no object but a name that queues share, and what they have is the sum of their queues'. So nothing
of a cohort is changed, save the borrowing limit of one inside another; but it grows with its queues.
"""

from typing import Final

import msgspec

from ullage.engine.quota.book import Book
from ullage.engine.quota.validation import BOUNDS
from ullage.model.cluster import Quota
from ullage.model.resources import NOTHING, Resources

COHORT_PREFIX: Final = "cohort/"
"""How quotas of cohorts are called: a cohort may have the name of a queue."""
NOMINAL: Final = "nominalQuota"


def is_cohort(quota: Quota) -> bool:
    """Whether a quota is a cohort of Kueue."""
    return quota.name.startswith(COHORT_PREFIX)


def is_queue(quota: Quota) -> bool:
    """Whether a quota is a ClusterQueue: inside a cohort, or one of queues that neither lends nor borrows."""
    if quota.parent:
        return quota.parent.startswith(COHORT_PREFIX) and not is_cohort(quota)
    limits = (quota.borrowing_limit, quota.lending_limit)
    stays_alone = all(each is not None and not any(each.values()) for each in limits)
    return bool(quota.queues) and not quota.namespaces and stays_alone


def can_change(quota: Quota, bound: str) -> bool:
    """Whether a bound of a quota is said by an object, so that it can be changed there."""
    if is_cohort(quota) or is_queue(quota):
        return (bound == "borrowing_limit" and bool(quota.parent)) or (bound == "min" and is_queue(quota))
    return True


def raised(book: Book, quota: Quota, bound: str, amounts: Resources) -> list[Quota]:
    """Return a quota with a bound raised to these amounts, and the cohorts above it as they are then."""
    before: Resources = getattr(quota, bound) or NOTHING
    after = Resources({**before, **amounts})
    found = [msgspec.structs.replace(quota, **{bound: after})]
    if bound == "min" and is_queue(quota):
        above = book.chains[book.index[quota.name]][1:]
        cohorts = [book.quotas[place] for place in above]
        found += [msgspec.structs.replace(each, min=each.min + (after - before)) for each in cohorts]
    return found


def called(quota: Quota, bound: str) -> str:
    """Return what a bound of a quota is called where it is written."""
    return NOMINAL if bound == "min" and is_queue(quota) else BOUNDS[bound]
