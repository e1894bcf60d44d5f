"""How `quota audit` reads."""

from builders import cluster, node, pod, quota, resources
from ullage.engine.quota.audit import CAPACITY_LABEL
from ullage.service.quota_audit import quota_audit_of


def audited(stated, labels=()):
    pods = [
        pod(f"ml/p{number:02}", cpu="1", created_seconds=number, labels={CAPACITY_LABEL: label})
        for number, label in enumerate(labels)
    ]
    share = quota("ml", {"cpu": "2"}, kind="ElasticQuota", stated_used=stated)
    return cluster(node("n", cpu="64").holding(*pods), share, name="audited")


def test_nothing_differs(asked, read):
    text = read(quota_audit_of(audited(resources(cpu="1"), ["in-quota"]), asked))
    assert text.startswith("✓ nothing differs: use of 1 quota and 1 label compared\n")
    assert text.splitlines()[-1] == "Next: ullage quota list -c small.json"


def test_nothing_is_stated(asked, read):
    text = read(quota_audit_of(audited(None), asked))
    assert text.startswith("✓ nothing to compare: the cluster states neither")


def test_differences_come_first(asked, read):
    text = read(quota_audit_of(audited(resources(cpu="5"), ["over-quota"]), asked), width=200)
    assert text.startswith("✗ 2 differences: use of 1 quota and 1 label compared\n")
    assert "quota ml states 5 of cpu used, its workloads add up to 1: 4 too much" in text
    assert "workload ml/p00 is labelled over-quota, but is in-quota of quota ml" in text
    assert "5 ✗" in text
    assert text.splitlines()[-1] == "Next: ullage explain quota/ml -c small.json"


def test_many_differences_are_shortened(asked):
    found = quota_audit_of(audited(None, ["wrong"] * 30), asked)
    assert len(found.page().blocks[0].rows) == 31
    assert len(found.shortened().blocks[0].rows) == 12
