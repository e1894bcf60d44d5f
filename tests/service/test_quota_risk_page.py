"""How `quota risk` reads."""

import msgspec

from builders import cluster, node, pod, quota
from ullage.service.quota_risk import quota_risk_of


def shared(kind="ElasticQuota", capacity="10", *quotas):
    pods = [pod(f"b/p{number}", cpu="2", created_seconds=number) for number in range(3)]
    return cluster(
        node("n", cpu=capacity).holding(*pods),
        quota("b", {"cpu": "2"}, kind=kind),
        *(quotas or [quota("c", {"cpu": "7"}, kind=kind)]),
        name="shared",
    )


def test_all_of_them(asked, read):
    text = read(quota_risk_of(shared(), asked))
    assert text.startswith("2 workloads above the min of 1 quota; 2 can be claimed back now\n")
    assert [line.split()[:5] for line in text.splitlines() if line.startswith("b/p")] == [
        ["b/p2", "b", "1", "of", "2"],
        ["b/p1", "b", "2", "of", "2"],
    ]
    assert "claims of workloads of the same quota and higher priority" in " ".join(text.split())
    assert text.splitlines()[-1] == "Next: ullage explain quota/b -c small.json"


def test_one_of_them(asked, read):
    text = read(quota_risk_of(shared(), asked, "pod/b/p1"))
    assert text.startswith(
        "b/p1 is number 2 of 2 to go in quota b: it goes when owners claim more than 5 cpu\n"
    )


def test_the_first_claim_takes_it(asked, read):
    text = read(quota_risk_of(shared(capacity="6"), asked, "pod/b/p2"))
    assert "it goes with the first claim\n" in text


def test_in_mode_fair_what_others_ask_for_is_told(asked, read):
    text = read(quota_risk_of(shared("Quota"), asked, "pod/b/p1"), width=200)
    assert "claim more than 6 cpu, and others ask for 6 cpu beyond their demand\n" in text
    assert "and asked for" in text


def test_nobody_who_could_claim(asked, read):
    alone = shared("ElasticQuota", "10", quota("d", {"memory": "1"}, {"cpu": "0"}, kind="ElasticQuota"))
    text = read(quota_risk_of(alone, asked), width=200)
    assert "0 can be claimed back now" in text.splitlines()[0]
    assert "cannot be claimed now: others may not claim so much" in text


def test_nobody_above_a_min(asked, read):
    text = read(quota_risk_of(cluster(node("n", cpu="1"), quota("a", {"cpu": "1"})), asked))
    assert text.startswith("nobody runs above the min of a quota: nothing can be claimed back\n")
    assert text.splitlines()[-1] == "Next: ullage quota list -c small.json"


def test_nobody_of_a_namespace_is_not_nobody(asked, read):
    of_c = msgspec.structs.replace(asked, namespace="c")
    text = read(quota_risk_of(shared("ElasticQuota"), of_c))
    assert text.startswith("nobody in namespace c runs above the min of a quota")


def test_what_a_min_does_not_name_may_be_claimed_without_a_bound(asked, read):
    world = shared("ElasticQuota", "10", quota("d", {"memory": "1"}, kind="ElasticQuota"))
    assert "any cpu" in read(quota_risk_of(world, asked))


def test_many_are_shortened(asked):
    pods = [pod(f"b/p{number:02}", cpu="1", created_seconds=number) for number in range(50)]
    many = cluster(node("n", cpu="99").holding(*pods), quota("b", {"cpu": "1"}), quota("c", {"cpu": "60"}))
    found = quota_risk_of(many, asked)
    assert (len(found.page().blocks[0].rows), len(found.shortened().blocks[0].rows)) == (49, 40)
    assert found.shortened().blocks[0].caption.endswith("the first 40 of 49, -o wide shows all")
