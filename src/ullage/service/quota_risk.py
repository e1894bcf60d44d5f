"""Who is evicted when owners claim back what they lend: rank, how much must be claimed first, and by whom."""

from collections.abc import Sequence
from typing import Final

from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import NO_QUOTA
from ullage.engine.quota.risk import PodRisk, QuotaRisk, risks
from ullage.engine.quota.standing import OVER_QUOTA
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
    "claims larger than one workload, which may take others than the first in order",
)


class WorkloadRisk(Record, frozen=True):
    """A running workload above the min of its quota; it goes as the `rank`-th of `of`.

    It goes when of some resource more is claimed than `claimed_first`, which is what claims find free and
    what those before it free; in mode fair only once others ask for `asked_first` of one beyond their demand.
    """

    workload: str
    quota: str
    node: str
    priority: int
    rank: int
    of: int
    counts: Resources
    before: Resources
    claimed_first: Resources
    asked_first: Resources
    claimable: bool
    reason: str


class ClaimantStatus(Record, frozen=True):
    """A quota that could claim: what it leaves of its min, and the most it may claim alone.

    A resource that is missing from `at_most` its min does not bound.
    """

    quota: str
    within_min: Resources
    at_most: Resources


class QuotaRiskStatus(Record, frozen=True):
    """A quota with workloads above its min: what claims find without an eviction, and who could claim."""

    quota: str
    mode: str
    free: Resources
    claimants: tuple[ClaimantStatus, ...]


class QuotaRiskReport(Record, frozen=True):
    """The answer to `ullage quota risk`; `subject` is the workload that was asked for, `told` what it is."""

    cluster: str
    revision: int
    policy: str
    subject: str
    told: str
    workloads: tuple[WorkloadRisk, ...]
    quotas: tuple[QuotaRiskStatus, ...]
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
    """Return the risk of all workloads above the min of their quota, of one, or of those of a namespace."""
    snapshot = accounts.columns.snapshot
    found = risks(accounts)
    listed = [
        _workload(accounts, risk, pod)
        for risk in found
        for pod in risk.pods
        if (workload is None or pod.member.key == workload.key)
        and (not namespace or pod.member.key.startswith(f"{namespace}/"))
    ]
    concerned = {each.quota for each in listed}
    budgets = any(pod.member.budgets for risk in found for pod in risk.pods)
    return QuotaRiskReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        subject=workload.key if workload is not None else "",
        told=_told(accounts, workload) if workload is not None and not listed else "",
        workloads=tuple(listed),
        quotas=tuple(
            _quota(accounts, risk) for risk in found if accounts.book.quotas[risk.quota].name in concerned
        ),
        not_simulated=(*_not_simulated(listed, budgets=budgets), *snapshot.unknowns),
    )


def _not_simulated(listed: Sequence[WorkloadRisk], *, budgets: bool) -> tuple[str, ...]:
    if not listed:
        return ()
    return (*NOT_SIMULATED, *(["how disruption budgets change while workloads go"] if budgets else []))


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


def _workload(accounts: Accounts, risk: QuotaRisk, pod: PodRisk) -> WorkloadRisk:
    book, member = accounts.book, pod.member
    shown = {name for name, most in zip(book.resources, pod.claimed_first, strict=True) if most is not None}
    counts = book.readable(member.amounts)
    return WorkloadRisk(
        workload=member.key,
        quota=book.quotas[risk.quota].name,
        node=member.node,
        priority=member.priority,
        rank=pod.rank,
        of=len(risk.pods),
        counts=counts,
        before=book.readable(pod.before),
        claimed_first=book.readable(pod.claimed_first).only({name for name in shown if counts.of(name)}),
        asked_first=book.readable(pod.asked_first) if pod.asked_first is not None else Resources({}),
        claimable=pod.outcome == "claimable",
        reason=OUTCOMES[pod.outcome],
    )


def _quota(accounts: Accounts, risk: QuotaRisk) -> QuotaRiskStatus:
    book = accounts.book
    return QuotaRiskStatus(
        book.quotas[risk.quota].name,
        book.modes[risk.quota],
        book.readable(risk.free),
        tuple(
            ClaimantStatus(
                book.quotas[each.quota].name,
                book.readable(each.within_min).only(set(book.quotas[each.quota].min)),
                book.readable(each.at_most),
            )
            for each in risk.claimants
        ),
    )
