"""The smallest change of a quota that lets a workload run: each that is named was tried, and holds."""

import msgspec
import pytest

from builders import batch, cluster, node, pod, quota, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.model.cluster import Snapshot
from ullage.model.delta import Delta, apply
from ullage.model.plan import Remedy


def remedies(snapshot: Snapshot, asked, replicas: int = 1) -> tuple[Remedy, ...]:
    (outcome,) = fit(Columns(snapshot), [batch(replicas, asked)]).outcomes
    return outcome.refusal.remedies


def changed(snapshot: Snapshot, remedy: Remedy) -> Snapshot:
    quota_before = snapshot.quotas.get(remedy.quota)
    bound = {**getattr(quota_before, remedy.bound), **remedy.bounds}
    after = msgspec.structs.replace(quota_before, **{remedy.bound: type(remedy.bounds)(bound)})
    return apply(snapshot, Delta(quotas=(after,)))


CASES = {
    "max": (
        cluster(node("n1", cpu="9"), quota("a", {"cpu": "1"}, {"cpu": "3"})),
        waiting("a/p", cpu="4"),
        "raise the max of quota a: cpu to 4",
        [],
    ),
    "the sum of the mins": (
        cluster(
            node("n1", cpu="9").holding(pod("b/p", cpu="4")),
            quota("a", {"cpu": "1"}, kind="ElasticQuota"),
            quota("b", {"cpu": "4"}, kind="ElasticQuota"),
        ),
        waiting("a/p", cpu="4"),
        "raise the min of quota a: cpu to 4",
        [],
    ),
    "who is evicted then is said": (
        cluster(
            node("n1", cpu="4").holding(pod("b/p", cpu="4")),
            quota("a", {"cpu": "1"}, kind="ElasticQuota"),
            quota("b", {"cpu": "1"}, kind="ElasticQuota"),
        ),
        waiting("a/p", cpu="4"),
        "raise the min of quota a: cpu to 4 (then b/p would be evicted for it)",
        ["b/p"],
    ),
}


@pytest.mark.parametrize(("snapshot", "asked", "text", "evicted"), CASES.values(), ids=CASES)
def test_a_change_that_is_named_helps(snapshot, asked, text, evicted):
    (remedy,) = remedies(snapshot, asked)
    assert (remedy.text, list(remedy.evicted)) == (text, evicted)
    (outcome,) = fit(Columns(changed(snapshot, remedy)), [batch(1, asked)]).outcomes
    assert outcome.placed == 1
    assert [each.workload for each in outcome.evicted] == evicted


def test_a_change_that_does_not_help_is_not_named():
    snapshot = cluster(node("n1", cpu="2"), quota("a", {"cpu": "1"}, {"cpu": "3"}))
    assert not [each for each in remedies(snapshot, waiting("a/p", cpu="4")) if each.kind == "quota"]


def test_two_quotas_that_bind_are_no_single_change():
    top, below = quota("top", {}, {"cpu": "2"}), quota("a", {}, {"cpu": "3"}, parent="top")
    snapshot = cluster(node("n1", cpu="9"), top, below)
    (outcome,) = fit(Columns(snapshot), [batch(1, waiting("a/p", cpu="4"))]).outcomes
    assert outcome.refusal.remedies == ()
    assert "no single change of a quota" in outcome.refusal.remedy
