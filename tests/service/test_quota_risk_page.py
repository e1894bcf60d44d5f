"""How `quota risk` reads."""

import msgspec

from builders import cluster, node, pod, quota
from ullage.engine.quota import claimed_back
from ullage.model.policy import Layer, Policy
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
    assert text.startswith("b/p1 is number 2 of 2 to go: it goes when c claims more than 5 cpu\n")


def test_the_first_claim_takes_it(asked, read):
    text = read(quota_risk_of(shared(capacity="6"), asked, "pod/b/p2"))
    assert "it goes with the first claim of c\n" in text


def test_what_only_one_claim_or_all_together_take(asked, read):
    large = pod("b/large", cpu="3", created_seconds=0)
    pods = [pod(f"b/p{number}", cpu="1", created_seconds=1) for number in range(3)]
    quotas = [
        quota(name, {"cpu": least}, {"cpu": most} if most else {}, kind="ElasticQuota")
        for name, least, most in (("a", "3", "3"), ("b", "2", ""), ("c", "1", "1"))
    ]
    world = cluster(node("n", cpu="6").holding(large, *pods), *quotas)
    assert "it goes for one claim of 3 cpu by a\n" in read(quota_risk_of(world, asked, "pod/b/large"))
    text = read(quota_risk_of(world, asked), width=200)
    assert "one claim of 3 cpu" in text
    assert "; one claim: it takes whom several small ones would not" in text
    alone = [quota(name, {"cpu": "1"}, {"cpu": "1"}, kind="ElasticQuota") for name in "ac"]
    two = [pod(f"b/p{number}", cpu="1", created_seconds=number) for number in range(2)]
    world = cluster(node("n", cpu="2").holding(*two), quota("b", {"cpu": "0"}, kind="ElasticQuota"), *alone)
    text = read(quota_risk_of(world, asked, "pod/b/p0"))
    assert text.startswith("b/p0 is number 2 of 2 to go: it goes when a, c together claim more than 1 cpu\n")
    assert "a, c together" in read(quota_risk_of(world, asked), width=200)


def test_where_orders_differ_that_is_said(asked, read):
    said = "; where orders differ, each who claims has its own"
    pods = [
        pod(f"{name}/{number}", cpu="1", created_seconds=number) for name in ("x1", "z") for number in (0, 1)
    ]
    quotas = [
        quota("x", {"cpu": "2"}, {"cpu": "2"}),
        *(quota(name, {"cpu": "1"}, parent="x") for name in ("x1", "x2")),
        *(quota(name, {"cpu": "1"}) for name in "yz"),
    ]
    assert said in read(quota_risk_of(cluster(node("n", cpu="4").holding(*pods), *quotas), asked), width=200)
    assert said not in read(quota_risk_of(shared(), asked), width=200)


def test_nobody_who_could_claim(asked, read):
    alone = shared("ElasticQuota", "10", quota("d", {"memory": "1"}, {"cpu": "0"}, kind="ElasticQuota"))
    text = read(quota_risk_of(alone, asked), width=200)
    assert "0 can be claimed back now" in text.splitlines()[0]
    assert "cannot be claimed now: it holds nothing that owners could claim" in text


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


def test_who_is_in_quota_and_can_be_claimed_is_told_apart(asked, read):
    world = cluster(
        node("n", cpu="4").holding(pod("a/x", cpu="4")), quota("a"), quota("b", {"cpu": "4"}), name="shared"
    )
    text = read(quota_risk_of(world, asked))
    assert text.startswith("nobody runs above the min of a quota, but 1 workload can be claimed back now\n")
    assert "in-quota" in text
    mixed = cluster(
        node("n", cpu="6").holding(
            pod("a/x", cpu="2"),
            pod("c/x", cpu="2", created_seconds=1),
            pod("c/y", cpu="2", created_seconds=2),
        ),
        quota("a"),
        quota("b", {"cpu": "6"}),
        quota("c", {"cpu": "2"}),
        name="shared",
    )
    text = " ".join(read(quota_risk_of(mixed, asked)).split())
    assert text.startswith(
        "1 workload above the min of 1 quota; 3 can be claimed back now, "
        "2 of them within the min of their quota"
    )


def test_who_is_spared_is_told_last_with_its_place_of_later(asked, read):
    policy = Policy(layers=(Layer("test", cluster={"quota-run-min": "10"}),))
    world = msgspec.structs.replace(shared(capacity="6"), policy=policy, taken_seconds=11)
    text = read(quota_risk_of(world, asked))
    assert text.startswith("2 workloads above the min of 1 quota; 1 can be claimed back now\n")
    assert [line.split()[0] for line in text.splitlines() if line.startswith("b/p")] == ["b/p1", "b/p2"]
    assert "who is spared goes as is said once all have run for the minimum" in " ".join(text.split())
    one = read(quota_risk_of(world, asked, "pod/b/p2"))
    assert one.startswith("b/p2 is above the min of b: spared for 1 s: it ran too shortly\n")


def gang_of_three():
    held = [pod(f"b/g{number}", cpu="1", gang="g", created_seconds=number) for number in range(3)]
    quotas = [quota("a", {"cpu": "2"}), quota("b", {"cpu": "1"})]
    return cluster(node("n", cpu="3").holding(*held), *quotas, name="shared")


def test_a_gang_goes_as_one_when_one_of_it_does(asked, read):
    report = quota_risk_of(gang_of_three(), asked)
    text = read(report)
    lines = [line.split() for line in text.splitlines() if line.startswith("b/g")]
    assert [(line[0], line[3:6], line[7]) for line in lines] == [
        (f"b/g{place}", [str(place + 1), "of", "3"], "0") for place in range(3)
    ]
    assert "gangs as one" not in text


def test_where_too_many_could_go_gangs_are_said_to_be_counted_roughly(asked, read, monkeypatch):
    monkeypatch.setattr(claimed_back, "SEARCHED_MAX", 1)
    assert "gangs as one, where too many could go" in " ".join(
        read(quota_risk_of(gang_of_three(), asked)).split()
    )


def test_other_priorities_are_not_simulated(asked, read):
    world = cluster(
        node("n", cpu="4").holding(pod("a/x", cpu="4")),
        quota("a"),
        quota("b", {"cpu": "4"}),
        quota("c", {"cpu": "1"}, evicts_others="LowerPriority"),
        name="shared",
    )
    text = " ".join(read(quota_risk_of(world, asked)).split())
    assert "claims of other priorities than 0, by quotas that evict lower ones only" in text
