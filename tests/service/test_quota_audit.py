"""The findings of `quota audit`."""

from builders import cluster, node, pod, quota, resources
from ullage.engine.quota.audit import CAPACITY_LABEL
from ullage.service.quota_audit import quota_audit_of, quota_audit_report
from ullage.service.quota_list import accounts_of


def labelled(name, label="", **parts):
    return pod(name, labels={CAPACITY_LABEL: label} if label else {}, **parts)


def audited(*pods, stated=None):
    share = quota("ml", {"cpu": "2"}, kind="ElasticQuota", stated_used=stated)
    return cluster(node("n", cpu="64").holding(*pods), share, name="audited")


WRONG = audited(
    labelled("ml/a", "over-quota", cpu="2", created_seconds=1),
    labelled("ml/b", cpu="1", created_seconds=2),
    labelled("web/c", "in-quota", cpu="1"),
    stated=resources(cpu="2"),
)


def test_every_difference_is_a_finding_with_its_numbers():
    report = quota_audit_report(accounts_of(WRONG))
    assert not report.agrees
    assert [(each.code, each.severity, each.subject) for each in report.findings] == [
        ("quota-used-differs", "error", "quota/ml"),
        ("quota-label-differs", "error", "workload/ml/a"),
        ("quota-label-missing", "error", "workload/ml/b"),
        ("quota-label-without-quota", "error", "workload/web/c"),
    ]
    assert report.findings[0].message == (
        "quota ml states 2 of cpu used, its workloads add up to 3: 1 too little"
    )
    (share,) = report.quotas
    assert (share.used, share.stated_used) == (resources(cpu="3"), resources(cpu="2"))
    assert (share.workloads, share.over_quota, share.differences) == (2, 1, 3)


def test_the_answer_is_no_when_something_differs(asked):
    assert not quota_audit_of(WRONG, asked).yes
    assert quota_audit_of(audited(), asked).yes


def test_what_is_not_stated_is_a_note():
    report = quota_audit_report(accounts_of(audited(pod("ml/a", cpu="9"))))
    assert report.agrees
    assert [(each.code, each.severity) for each in report.findings] == [
        ("quota-used-not-stated", "info"),
        ("quota-labels-not-stated", "info"),
    ]
