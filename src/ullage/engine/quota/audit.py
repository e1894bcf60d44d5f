"""What a cluster states of its quotas beside what its workloads add up to: use and labels, counted again.

Nothing that is stated is ever an input of a decision, so a difference says that whoever wrote it counts
otherwise, was late, or is gone. A cluster in which nobody is labelled has nobody who labels: no difference.
"""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import NO_QUOTA, NOS_KINDS
from ullage.engine.quota.standing import IN_QUOTA

CAPACITY_LABEL: Final = "nos.nebuly.com/capacity"
"""The label by which nos says whether a pod is within the min of its quota."""

LabelCode = Literal["label-differs", "label-missing", "label-without-quota"]


class UsedDiffers(NamedTuple):
    """A quota of which the cluster states another use than its workloads have."""

    quota: str
    resource: str
    stated: int
    counted: int


class LabelDiffers(NamedTuple):
    """A running workload with another label than it should have; '' where it has, or should have, none."""

    code: LabelCode
    workload: str
    quota: str
    stated: str
    counted: str


class Audited(NamedTuple):
    """Every difference, and how much could be compared: quotas that state their use, pods with a label."""

    used: tuple[UsedDiffers, ...]
    labels: tuple[LabelDiffers, ...]
    quotas_stating: int
    labelled: int
    compared: int

    @property
    def agrees(self) -> bool:
        """Whether the cluster states nothing but what was counted."""
        return not self.used and not self.labels


def audit(accounts: Accounts) -> Audited:
    """Return where the cluster states something else than its workloads add up to."""
    labels = tuple(_labels(accounts))
    stating = [quota for quota in accounts.book.quotas if quota.stated_used is not None]
    labelled = sum(
        CAPACITY_LABEL in each.labels
        for each in accounts.columns.snapshot.workloads
        if each.key in accounts.running
    )
    compared = sum(each.quota != NO_QUOTA for each in accounts.running.values()) if labelled else 0
    return Audited(tuple(_used(accounts)), labels, len(stating), labelled, compared)


def _used(accounts: Accounts) -> Iterator[UsedDiffers]:
    book, standing = accounts.book, accounts.standing
    for place, quota in enumerate(book.quotas):
        if quota.stated_used is None:
            continue
        counted = book.readable(standing.used[place])
        for name in sorted(counted.keys() & {*quota.min, *quota.max, *quota.stated_used}):
            if counted[name] != quota.stated_used.of(name):
                yield UsedDiffers(quota.name, name, quota.stated_used.of(name), counted[name])


def _labels(accounts: Accounts) -> list[LabelDiffers]:
    book = accounts.book
    running = [each for each in accounts.columns.snapshot.workloads if each.key in accounts.running]
    if not any(CAPACITY_LABEL in each.labels for each in running):
        return []
    counted: dict[str, str] = {}
    for place in range(len(book.quotas)):
        counted.update(accounts.standing.labels(place))
    found = []
    for workload in running:
        stated = workload.labels.get(CAPACITY_LABEL, "")
        place = accounts.running[workload.key].quota
        if place == NO_QUOTA:
            if stated:
                found.append(LabelDiffers("label-without-quota", workload.key, "", stated, ""))
            continue
        quota, expected = book.quotas[place], counted.get(workload.key, IN_QUOTA)
        if stated == expected or (not stated and quota.kind not in NOS_KINDS):
            continue
        code: LabelCode = "label-differs" if stated else "label-missing"
        found.append(LabelDiffers(code, workload.key, quota.name, stated, expected))
    return found
