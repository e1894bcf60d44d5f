"""Whether what the cluster states of its quotas is what its workloads add up to, everything counted again."""

from typing import Final

from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.audit import CAPACITY_LABEL, Audited, LabelDiffers, UsedDiffers, audit
from ullage.engine.quota.standing import OVER_QUOTA
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.verdict import Finding
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_as_it_is
from ullage.service.quota_list import accounts_of, tree_order

WATCHES: Final = "look whether the operator runs and sees all pods, and counts GPUs as the policy does"
RELABEL: Final = "let the operator look at the quota again; nothing here is decided by the label"


class QuotaAudit(Record, frozen=True):
    """A quota as it was counted, beside what the cluster states of its use; None where it states nothing."""

    quota: str
    used: Resources
    stated_used: Resources | None
    workloads: int
    over_quota: int
    differences: int


class QuotaAuditReport(Record, frozen=True):
    """The answer to `ullage quota audit`; `compared` pods have labels or should have."""

    cluster: str
    revision: int
    policy: str
    agrees: bool
    quotas: tuple[QuotaAudit, ...]
    quotas_stating: int
    labelled: int
    compared: int
    findings: tuple[Finding, ...]
    not_simulated: tuple[str, ...]


def quota_audit(asked: Asked) -> Answer:
    """Answer whether a cluster states what was counted."""
    return quota_audit_of(read_as_it_is(asked), asked)


def quota_audit_of(snapshot: Snapshot, asked: Asked) -> Answer:
    """Answer whether a cluster that was read already states what was counted."""
    from ullage.service.quota_audit_page import quota_audit_page

    report = quota_audit_report(accounts_of(snapshot))
    types = snapshot.resource_types
    return Answer(
        lambda: quota_audit_page(report, types, asked),
        lambda: versioned("QuotaAuditReport", report, types),
        report.agrees,
        shortened=lambda: quota_audit_page(report, types, asked, shortened=True),
    )


def quota_audit_report(accounts: Accounts) -> QuotaAuditReport:
    """Return everything that was counted, and every difference."""
    snapshot = accounts.columns.snapshot
    found = audit(accounts)
    types = snapshot.resource_types
    return QuotaAuditReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        agrees=found.agrees,
        quotas=tuple(_quota(accounts, found, place) for place in tree_order(accounts.book)),
        quotas_stating=found.quotas_stating,
        labelled=found.labelled,
        compared=found.compared,
        findings=(
            *(_used_finding(each, types) for each in found.used),
            *(_label_finding(each) for each in found.labels),
            *_silent(accounts, found),
        ),
        not_simulated=snapshot.unknowns,
    )


def _quota(accounts: Accounts, found: Audited, place: int) -> QuotaAudit:
    book, quota = accounts.book, accounts.book.quotas[place]
    labels = accounts.standing.labels(place)
    differences = sum(each.quota == quota.name for each in found.used)
    differences += sum(each.quota == quota.name for each in found.labels)
    return QuotaAudit(
        quota.name,
        book.readable(accounts.standing.used[place]).only(
            {*quota.min, *quota.max, *(quota.stated_used or ())}
        ),
        quota.stated_used,
        len(labels),
        sum(label == OVER_QUOTA for label in labels.values()),
        differences,
    )


def _used_finding(differs: UsedDiffers, types: ResourceTypes) -> Finding:
    shown = types[differs.resource].readable
    apart = shown(abs(differs.stated - differs.counted))
    wrong = "much" if differs.stated > differs.counted else "little"
    message = (
        f"quota {differs.quota} states {shown(differs.stated)} of {differs.resource} used, its workloads "
        f"add up to {shown(differs.counted)}: {apart} too {wrong}"
    )
    return Finding("quota-used-differs", "error", f"quota/{differs.quota}", message, WATCHES)


def _label_finding(differs: LabelDiffers) -> Finding:
    workload, code = differs.workload, f"quota-{differs.code}"
    if differs.code == "label-without-quota":
        message = f"workload {workload} is labelled {differs.stated} and under no quota"
        remedy = f"remove its label {CAPACITY_LABEL}, or let a quota cover its namespace"
        return Finding(code, "error", f"workload/{workload}", message, remedy)
    stated = f"is labelled {differs.stated}" if differs.stated else "has no label"
    message = f"workload {workload} {stated}, but is {differs.counted} of quota {differs.quota}"
    return Finding(code, "error", f"workload/{workload}", message, RELABEL)


def _silent(accounts: Accounts, found: Audited) -> list[Finding]:
    """Return what could not be compared, because the cluster does not state it."""
    notes = []
    missing = len(accounts.book.quotas) - found.quotas_stating
    if missing:
        message = f"{missing} of {len(accounts.book.quotas)} quotas state no use to compare with"
        notes.append(Finding("quota-used-not-stated", "info", "cluster", message))
    if not found.labelled:
        message = f"no workload has the label {CAPACITY_LABEL}: there are no labels to compare with"
        notes.append(Finding("quota-labels-not-stated", "info", "cluster", message))
    return notes
