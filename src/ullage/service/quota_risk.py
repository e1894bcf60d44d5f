"""Who is evicted when owners claim back what they lend: rank, how much must be claimed first, and by whom."""

from typing import Final

from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import NO_QUOTA
from ullage.engine.quota.claimed_back import NO_LIMIT
from ullage.engine.quota.rights import LOWER_PRIORITY
from ullage.engine.quota.risk import Claimant, Going, PodRisk, risks
from ullage.engine.quota.standing import IN_QUOTA, OVER_QUOTA
from ullage.engine.redundancy.daemons import is_daemon
from ullage.model.cluster import Snapshot, Workload
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.resources import Resources
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, check_namespace, read_cluster, unknown
from ullage.service.quota_list import accounts_of

POD: Final = "pod/"
OUTCOMES: Final = {
    "claimable": "",
    "too-little": "cannot be claimed now: others may not claim so much",
    "within-bounds": "cannot be claimed now: by then its quota is within what it is safe for",
    "frees-nothing": "cannot be claimed now: it holds nothing that owners could claim",
}
NOT_SIMULATED: Final = (
    "claims that find no single node with room: they may evict earlier",
    "claims of workloads of the same quota and higher priority",
    "claims of different sizes in turn, which may take others than the first in order",
)
BUDGETS_CHANGE: Final = "how disruption budgets change while workloads go"
GANGS: Final = "gangs as one, where too many could go: the rest of a gang goes when it is too small"
PRIORITIES: Final = "claims of other priorities than 0, by quotas that evict lower ones only"
CUT_SHORT: Final = "all orders: there are too many quotas and workloads, some orders end early"


class WorkloadRisk(Record, frozen=True):
    """A place in the order in which running workloads go: as the `rank`-th of `of`, for some claimants.

    It goes when of some resource more is claimed than `claimed_first`, which is what claims find free and
    what those before it free. `way` is in-order for claims that grow in small steps, by each of `claimants`
    alone; together where all of them must claim; one-claim, without a rank, for one claim of `claimed_first`.
    A workload has several places where claimants differ; one that cannot be claimed has no claimants. In mode
    fair one whose `label` is in-quota can be claimed too. One that is spared goes as is said once it has run
    for the minimum, in `spared_seconds`; others are told without it until then.
    """

    workload: str
    quota: str
    label: str
    node: str
    priority: int
    rank: int
    of: int
    way: str
    claimants: tuple[str, ...]
    counts: Resources
    claimed_first: Resources
    claimable: bool
    reason: str
    spared_seconds: int = 0


class ClaimantStatus(Record, frozen=True):
    """A quota that could claim: what it finds free, leaves of its min, and the most it may claim alone.

    A resource that is missing from `free` or `at_most` has no bound there.
    """

    quota: str
    mode: str
    free: Resources
    within_min: Resources
    at_most: Resources


class QuotaRiskReport(Record, frozen=True):
    """The answer to `ullage quota risk`; `subject` is the workload that was asked for, `told` what it is."""

    cluster: str
    revision: int
    policy: str
    subject: str
    told: str
    workloads: tuple[WorkloadRisk, ...]
    claimants: tuple[ClaimantStatus, ...]
    not_simulated: tuple[str, ...]


def quota_risk(asked: Asked, subject: str = "") -> Answer:
    """Answer who goes when owners claim; `subject` is pod/NAMESPACE/NAME, or pod/NAME with a namespace."""
    if subject and (not subject.startswith(POD) or not subject.removeprefix(POD)):
        raise InputError(f"{subject!r} is no workload", remedy="write pod/NAMESPACE/NAME, or leave it out")
    return quota_risk_of(read_cluster(asked), asked, subject)


def quota_risk_of(snapshot: Snapshot, asked: Asked, subject: str = "") -> Answer:
    """Answer who goes when owners claim, of a cluster that was read already."""
    from ullage.service.quota_risk_page import quota_risk_page

    check_namespace(snapshot, asked.namespace)
    accounts = accounts_of(snapshot)
    workload = _named(snapshot, subject.removeprefix(POD), asked.namespace) if subject else None
    report = quota_risk_report(accounts, workload, asked.namespace)
    types = snapshot.resource_types
    return Answer(
        lambda: quota_risk_page(report, types, asked),
        lambda: versioned("QuotaRiskReport", report, types),
        shortened=lambda: quota_risk_page(report, types, asked, shortened=True),
    )


def _named(snapshot: Snapshot, name: str, namespace: str) -> Workload:
    """Return the workload of a name, which may leave its namespace out where only one has it."""
    keys = [name] if "/" in name else [f"{namespace}/{name}"] if namespace else []
    found = [each for key in keys if (each := snapshot.workloads.get(key)) is not None]
    if not keys:
        found = [each for each in snapshot.workloads if each.name == name]
    if not found:
        raise unknown("workload", name, (each.key for each in snapshot.workloads))
    if len(found) > 1:
        first = ", ".join(each.key for each in found[:3])
        raise InputError(f"{len(found)} workloads are called {name}", remedy=f"write one of {first}")
    return found[0]


def quota_risk_report(
    accounts: Accounts, workload: Workload | None = None, namespace: str = ""
) -> QuotaRiskReport:
    """Return the risk of all workloads that are above a min or can be claimed, of one, or of a namespace."""
    snapshot = accounts.columns.snapshot
    found = risks(accounts)
    listed = [
        row
        for pod in found.pods
        if (workload is None or pod.member.key == workload.key)
        and (not namespace or pod.member.key.startswith(f"{namespace}/"))
        for row in _rows(accounts, pod)
    ]
    first = {row.claimants: (row.rank or len(listed) + 1) for row in reversed(listed)}
    listed.sort(
        key=lambda row: (
            not row.claimants,
            row.spared_seconds > 0,
            first[row.claimants],
            row.claimants,
            row.rank,
        )
    )
    notes = list(NOT_SIMULATED) if listed else []
    if listed and any(pod.member.budgets for pod in found.pods):
        notes.append(BUDGETS_CHANGE)
    if not found.complete and any(pod.member.gang for pod in found.pods):
        notes.append(GANGS)
    if listed and any(each.evicts_others == LOWER_PRIORITY for each in accounts.book.quotas):
        notes.append(PRIORITIES)
    if not found.complete:
        notes.append(CUT_SHORT)
    return QuotaRiskReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        subject=workload.key if workload is not None else "",
        told=_told(accounts, workload) if workload is not None and not listed else "",
        workloads=tuple(listed),
        claimants=tuple(_claimant(accounts, each) for each in found.claimants) if listed else (),
        not_simulated=(*notes, *snapshot.unknowns),
    )


def _told(accounts: Accounts, workload: Workload) -> str:
    """Return why a workload that was asked for has no rank."""
    member = accounts.running.get(workload.key)
    if workload.key in accounts.leaving:
        return "is on its way out"
    if member is None:
        return "does not run"
    if member.quota == NO_QUOTA:
        return "is under no quota: owners of quotas cannot claim it"
    quota = accounts.book.quotas[member.quota].name
    if accounts.standing.labels(member.quota)[workload.key] != OVER_QUOTA:
        return f"is within the min of quota {quota}: nobody may claim it back"
    assert is_daemon(workload)  # noqa: S101 - nothing else that runs above the min has no rank
    return f"is above the min of quota {quota}, but a daemon: nobody evicts it"


def _rows(accounts: Accounts, pod: PodRisk) -> list[WorkloadRisk]:
    """Return a workload at each of its places; one that cannot be claimed has one of no rank."""
    book, member = accounts.book, pod.member
    nowhere = Going(0, 0, "in-order", (), (None,) * len(book.resources))
    left_seconds = pod.spared_seconds
    return [
        WorkloadRisk(
            workload=member.key,
            quota=book.quotas[member.quota].name,
            label=OVER_QUOTA if pod.is_over_quota else IN_QUOTA,
            node=member.node,
            priority=member.priority,
            rank=place.rank,
            of=place.of,
            way=place.way if place.claimants else "",
            claimants=tuple(book.quotas[each].name for each in place.claimants),
            counts=book.readable(member.amounts),
            claimed_first=book.readable(place.claimed_first),
            claimable=pod.outcome == "claimable" and not left_seconds,
            reason=f"spared for {left_seconds} s: it ran too shortly"
            if left_seconds
            else OUTCOMES[pod.outcome],
            spared_seconds=left_seconds,
        )
        for place in pod.goes or (nowhere,)
    ]


def _claimant(accounts: Accounts, claimant: Claimant) -> ClaimantStatus:
    book = accounts.book
    quota = book.quotas[claimant.quota]
    return ClaimantStatus(
        quota.name,
        book.modes[claimant.quota],
        book.readable([None if each is None or each >= NO_LIMIT else each for each in claimant.free]),
        book.readable(claimant.within_min).only(set(quota.min)),
        book.readable(claimant.at_most),
    )
