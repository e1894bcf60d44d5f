"""The part of a fit page about quotas: who goes, and who may be evicted later."""

from builders import batch, cluster, node, pod, quota, waiting
from ullage.service.asked import Asked
from ullage.service.fit import fit_of
from ullage.service.wanted import Choice, Wanted


def page(replicas: int = 1):
    held = [pod(f"b/p{number}", cpu="1") for number in range(4)]
    snapshot = cluster(
        node("n1", cpu="4").holding(*held),
        quota("a", {"cpu": "1"}),
        quota("b", {"cpu": "0"}),
        quota("c", {"cpu": "3"}),
    )
    wanted = Wanted(
        (batch(replicas, waiting("a/new", cpu="1")),), atomic=False, types=snapshot.resource_types
    )
    return fit_of(snapshot, wanted, Asked(cluster="x"))


def blocks(replicas: int = 1) -> dict[str, object]:
    return {block.title: block for block in page(replicas).page().blocks}


def test_a_verdict_names_who_is_evicted():
    assert page().page().verdict.text == "a/new fits: 1 replica on 1 node, evicting b/p0"


def test_the_evicted_are_listed_with_their_quota_label_and_what_they_free():
    table = blocks()["Evicted"]
    assert [cell.text for cell in table.rows[0]] == ["b/p0", "n1", "b", "over-quota", "1 cpu", "a/new"]
    assert table.caption == "no other choice costs less, proven"


def test_who_borrows_is_told_who_could_claim_it_back():
    later = blocks(2)["May be evicted later"]
    assert [each.message for each in later.rows] == [
        "1 of 2 replicas would be over quota; could claim it back: c (3 cpu)"
    ]
    assert "May be evicted later" not in blocks(1)


def test_the_report_carries_the_same_for_machines():
    (outcome,) = page(2).data()["outcomes"]
    assert [each["workload"] for each in outcome["evicted"]] == ["b/p0", "b/p1"]
    assert outcome["overQuota"] == 1
    assert list(outcome["laterClaims"]) == [{"quota": "c", "couldClaim": {"cpu": "3"}}]


def test_a_shape_is_judged_under_the_quota_of_the_namespace_that_is_named():
    held = [pod(f"b/p{number}", cpu="1") for number in range(4)]
    quotas = (quota("a", {"cpu": "1"}), quota("b", {"cpu": "0"}))
    snapshot = cluster(node("n1", cpu="4").holding(*held), *quotas)
    choice = Choice((), "cpu=1", None, "")
    answers = {
        namespace: fit_of(snapshot, choice.wanted(snapshot, namespace), Asked(cluster="x")).yes
        for namespace in ("", "a", "b")
    }
    assert answers == {"": False, "a": True, "b": False}
