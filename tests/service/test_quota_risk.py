"""The numbers of `quota risk`."""

import msgspec
import pytest

from builders import cluster, node, pod, quota, resources, waiting
from ullage.model.errors import InputError
from ullage.model.policy import Layer, Policy
from ullage.service.quota_list import accounts_of
from ullage.service.quota_risk import quota_risk, quota_risk_of, quota_risk_report


def shared(kind="ElasticQuota"):
    return cluster(
        node("n", cpu="10").holding(
            pod("b/old", cpu="2", created_seconds=1),
            pod("b/high", cpu="2", created_seconds=2, priority=9),
            pod("b/young", cpu="2", created_seconds=3),
            pod("b/agent", cpu="1", created_seconds=4, owner="DaemonSet/agent"),
            pod("b/leaving", cpu="1", created_seconds=5, terminating=True),
            pod("other/free", cpu="1"),
        ),
        waiting("b/later", cpu="1"),
        quota("b", {"cpu": "2"}, kind=kind),
        quota("c", {"cpu": "7"}, kind=kind),
        name="shared",
    )


def departments():
    """X may not have more than it uses, so claims inside it take from each other; others from Z."""
    pods = [
        pod(f"{name}/{number}", cpu="1", created_seconds=number) for name in ("x1", "z") for number in (0, 1)
    ]
    return cluster(
        node("n", cpu="4").holding(*pods),
        quota("x", {"cpu": "2"}, {"cpu": "2"}),
        quota("x1", {"cpu": "1"}, parent="x"),
        quota("x2", {"cpu": "1"}, parent="x"),
        quota("y", {"cpu": "1"}),
        quota("z", {"cpu": "1"}),
    )


def report(snapshot, name="", namespace=""):
    workload = snapshot.workloads.get(name) if name else None
    return quota_risk_report(accounts_of(snapshot), workload, namespace)


def test_every_figure_of_those_above_the_min():
    found = report(shared())
    assert [(each.workload, each.rank, each.of) for each in found.workloads] == [
        ("b/young", 1, 2),
        ("b/high", 2, 2),
    ]
    first, second = found.workloads
    assert (first.claimed_first, second.claimed_first) == (resources(cpu="1"), resources(cpu="3"))
    assert (first.way, first.claimants, second.counts) == ("in-order", ("c",), resources(cpu="2"))
    assert (first.quota, first.node, first.claimable, first.reason) == ("b", "n", True, "")
    (claimant,) = found.claimants
    assert (claimant.quota, claimant.mode, claimant.free) == ("c", "nos", resources(cpu="1"))
    assert claimant.within_min == resources(cpu="7")


def test_where_orders_differ_each_claimant_has_its_own():
    found = report(departments())
    assert [(each.workload, each.rank, each.of, each.claimants) for each in found.workloads] == [
        ("x1/1", 1, 1, ("x2",)),
        ("z/1", 1, 1, ("y",)),
    ]


def test_one_that_cannot_be_claimed_has_no_place():
    world = cluster(
        node("n", cpu="9").holding(pod("b/x", cpu="2")), quota("b", {"cpu": "1"}), quota("c", {"cpu": "1"})
    )
    (only,) = report(world).workloads
    assert (only.rank, only.claimants, only.claimed_first) == (0, (), resources())
    assert (only.claimable, only.reason) == (False, "cannot be claimed now: others may not claim so much")


def test_who_ran_too_shortly_is_in_no_order_of_now_and_has_its_place_of_later():
    policy = Policy(layers=(Layer("test", cluster={"quota-run-min": "10"}),))
    first, second = report(msgspec.structs.replace(shared(), policy=policy, taken_seconds=12)).workloads
    assert (first.workload, first.rank, first.of, first.claimable, first.reason) == ("b/high", 1, 1, True, "")
    assert (second.workload, second.rank, second.of, second.claimable) == ("b/young", 1, 2, False)
    assert (second.reason, second.spared_seconds) == ("spared for 1 s: it ran too shortly", 1)


def test_in_mode_fair_it_goes_when_the_claim_brings_its_quota_above_its_share():
    found = report(shared("Quota"))
    assert {each.workload: (each.way, each.claimed_first.of("cpu")) for each in found.workloads} == {
        "b/young": ("one-claim", 3000),
        "b/high": ("one-claim", 7000),
        "b/old": ("one-claim", 7000),
    }
    assert {each.workload: each.label for each in found.workloads}["b/old"] == "in-quota"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("b/old", "is within the min of quota b: nobody may claim it back"),
        ("b/agent", "is above the min of quota b, but a daemon: nobody evicts it"),
        ("b/leaving", "is on its way out"),
        ("b/later", "does not run"),
        ("other/free", "is under no quota: owners of quotas cannot claim it"),
        ("b/high", ""),
    ],
)
def test_one_that_is_asked_for_and_has_no_rank_is_told_why(name, told):
    found = report(shared(), name)
    assert (found.subject, found.told) == (name, told)
    assert len(found.workloads) == (not told)


def test_of_a_namespace_only_its_own():
    assert len(report(shared(), namespace="b").workloads) == 2
    assert report(shared(), namespace="c").workloads == ()
    assert report(shared(), namespace="c").claimants == ()


@pytest.mark.parametrize(
    ("subject", "namespace", "message"),
    [
        ("node/n", "", "'node/n' is no workload; write pod/NAMESPACE/NAME"),
        ("pod/", "", "'pod/' is no workload"),
    ],
)
def test_what_is_no_workload_is_refused_before_anything_is_read(asked, subject, namespace, message):
    with pytest.raises(InputError, match=message):
        quota_risk(msgspec.structs.replace(asked, namespace=namespace), subject)


def test_a_workload_is_found_by_its_name_where_only_one_has_it(asked):
    snapshot = shared()
    in_b = msgspec.structs.replace(asked, namespace="b")
    for question, subject in ((asked, "pod/b/high"), (asked, "pod/high"), (in_b, "pod/high")):
        assert quota_risk_of(snapshot, question, subject).data()["subject"] == "b/high"
    with pytest.raises(InputError, match="no workload 'c/high'; did you mean b/high"):
        quota_risk_of(snapshot, asked, "pod/c/high")
    twice = cluster(node("n", cpu="9").holding(pod("b/x"), pod("c/x")), quota("b", {"cpu": "1"}))
    with pytest.raises(InputError, match="2 workloads are called x; write one of b/x, c/x"):
        quota_risk_of(twice, asked, "pod/x")
