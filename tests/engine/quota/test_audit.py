"""What the cluster states of its quotas is compared with what its workloads add up to."""

import pytest

from builders import cluster, node, pod, quota, resources
from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.audit import CAPACITY_LABEL, LabelDiffers, UsedDiffers, audit


def audited(*pods, kind="ElasticQuota", stated=None, **named):
    share = quota("ml", **{"minimum": {"cpu": "2"}, **named}, kind=kind, stated_used=stated)
    return audit(Accounts(Columns(cluster(node("n", cpu="64", memory="64Gi").holding(*pods), share))))


def labelled(name, label, **parts):
    return pod(name, labels={CAPACITY_LABEL: label} if label else {}, **parts)


TWO = (
    labelled("ml/a", "in-quota", cpu="2", created_seconds=1),
    labelled("ml/b", "over-quota", cpu="1", created_seconds=2),
)


def test_a_cluster_that_states_what_was_counted_agrees():
    found = audited(*TWO, stated=resources(cpu="3"))
    assert found.agrees
    assert (found.quotas_stating, found.labelled, found.compared) == (1, 2, 2)


@pytest.mark.parametrize(
    ("stated", "differs"),
    [
        (resources(cpu="3"), ()),
        (resources(cpu="2"), (UsedDiffers("ml", "cpu", 2000, 3000),)),
        (resources(), (UsedDiffers("ml", "cpu", 0, 3000),)),
        (resources(cpu="3", memory="1"), ()),
        (None, ()),
    ],
)
def test_use_is_compared_where_the_quota_counts(stated, differs):
    assert audited(*TWO, stated=stated).used == differs


def test_what_is_stated_of_a_resource_that_another_bound_names_is_compared():
    found = audited(*TWO, stated=resources(cpu="3"), maximum={"memory": "1Gi"})
    assert found.agrees
    found = audited(*TWO, stated=resources(cpu="3", memory="5"), maximum={"memory": "1Gi"})
    assert found.used == (UsedDiffers("ml", "memory", 5, 0),)


def test_a_label_that_is_wrong_and_one_that_is_missing():
    found = audited(
        labelled("ml/a", "over-quota", cpu="2", created_seconds=1),
        labelled("ml/b", "", cpu="1", created_seconds=2),
    )
    assert found.labels == (
        LabelDiffers("label-differs", "ml/a", "ml", "over-quota", "in-quota"),
        LabelDiffers("label-missing", "ml/b", "ml", "", "over-quota"),
    )


def test_where_nobody_is_labelled_nobody_labels():
    found = audited(pod("ml/a", cpu="9"))
    assert (found.agrees, found.labelled, found.compared) == (True, 0, 0)


def test_quotas_of_our_own_need_no_labels_but_wrong_ones_differ():
    right = labelled("ml/a", "in-quota", cpu="1", created_seconds=1)
    assert audited(right, pod("ml/b", cpu="9", created_seconds=2), kind="Quota").agrees
    wrong = labelled("ml/b", "in-quota", cpu="9", created_seconds=2)
    assert not audited(right, wrong, kind="Quota").agrees


def test_a_label_without_a_quota():
    found = audited(labelled("web/a", "in-quota", cpu="1"))
    assert found.labels == (LabelDiffers("label-without-quota", "web/a", "", "in-quota", ""),)


def test_those_that_ended_leave_or_wait_have_no_label_to_compare():
    ended = labelled("ml/c", "in-quota", cpu="9", state="deleted")
    leaving = labelled("ml/d", "in-quota", cpu="9", created_seconds=3, terminating=True)
    assert audited(*TWO, ended, leaving).agrees
