"""What a quota uses: running workloads of its namespaces, over the resources that it names."""

import msgspec
import pytest
from hypothesis import given, settings

from builders import cluster, container, node, pod, policy, quota, resources, waiting
from strategies import snapshots
from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.shares import names_of, shares
from ullage.engine.quota.use import QuotaUse, quota_use
from ullage.model.resources import GPU_MEMORY, NOTHING

MACHINE = node("n1", cpu="64", memory="64Gi")


def used(*workloads, **fields) -> QuotaUse:
    named = {"minimum": {"cpu": "2"}, "maximum": {"memory": "9Gi"}, **fields}
    return quota_use(Columns(cluster(MACHINE.holding(*workloads), quota("ml", **named))))[0]


def test_requests_are_summed_over_the_resources_that_the_quota_names():
    use = used(pod("ml/a", cpu="1", memory="2Gi", gpu=1), pod("ml/b", cpu="3"), pod("ml/c", memory="1Gi"))
    assert use.workloads == 3
    assert use.used == resources(cpu="4", memory="3Gi")


def test_a_resource_that_nobody_asks_for_is_used_at_zero():
    assert used().used == resources(cpu="0", memory="0")
    assert used().workloads == 0


def test_what_is_used_beyond_min_is_borrowed():
    assert used(pod("ml/a", cpu="5", memory="2Gi")).borrowed == resources(cpu="3")


def test_use_below_min_borrows_nothing():
    assert used(pod("ml/a", cpu="1")).borrowed == resources(cpu="0")


def test_without_min_nothing_is_borrowed():
    assert used(pod("ml/a", memory="2Gi"), minimum={}).borrowed == NOTHING


def test_equal_workloads_are_each_counted():
    use = used(*(pod(f"ml/a{index}", cpu="1") for index in range(5)))
    assert (use.workloads, use.used.of("cpu")) == (5, 5000)


def test_other_namespaces_do_not_count():
    use = used(pod("ml/a", cpu="1"), pod("web/a", cpu="1"), pod("a", cpu="1"))
    assert (use.workloads, use.used.of("cpu")) == (1, 1000)


def test_a_namespace_named_twice_counts_once():
    use = used(pod("ml/a", cpu="1"), pod("web/a", cpu="2"), namespaces=("ml", "web", "ml"))
    assert (use.workloads, use.used.of("cpu")) == (2, 3000)


def test_a_namespace_without_workloads_adds_nothing():
    assert used(pod("ml/a", cpu="1"), namespaces=("ml", "empty")).used.of("cpu") == 1000


@pytest.mark.parametrize(
    ("state", "counted"), [("ok", 1), ("paused", 1), ("init", 0), ("error", 0), ("deleted", 0)]
)
def test_only_what_runs_or_is_paused_counts(state, counted):
    assert used(pod("ml/a", cpu="1", state=state)).workloads == counted


def test_a_workload_without_a_node_uses_nothing():
    snapshot = cluster(MACHINE, pod("ml/a", cpu="1"), quota("ml", {"cpu": "2"}))
    assert quota_use(Columns(snapshot))[0].workloads == 0


def test_quotas_come_by_name_each_with_its_record():
    snapshot = cluster(
        MACHINE.holding(pod("x/a", cpu="1")),
        quota("b", {"cpu": "1"}, namespaces=("x",)),
        quota("a", {"cpu": "1"}),
    )
    found = quota_use(Columns(snapshot))
    assert [(use.quota.name, use.workloads) for use in found] == [("a", 0), ("b", 1)]
    assert found[1].quota == quota("b", {"cpu": "1"}, namespaces=("x",))


def test_gpu_memory_is_derived_from_the_gpus_a_workload_asks_for():
    asked = pod("ml/a", {"nvidia.com/mig-1g.10gb": "1", "nvidia.com/gpu": "1"})
    share = quota("ml", minimum={GPU_MEMORY: "40"})
    (use,) = quota_use(Columns(cluster(MACHINE.holding(asked), share)))
    assert (dict(use.used), dict(use.borrowed)) == ({GPU_MEMORY: 42}, {GPU_MEMORY: 2})
    small = cluster(MACHINE.holding(asked), share, policy=policy(gpu_memory="16"))
    (smaller,) = quota_use(Columns(small))
    assert dict(smaller.used) == {GPU_MEMORY: 26}


def test_gpu_memory_counts_each_container_and_the_node_that_runs_it():
    one = container("one", more={"nvidia.com/gpu": "1"})
    first = container("first", "init", more={"nvidia.com/mig-1g.10gb": "2"})
    asked = pod("ml/a", {"nvidia.com/gpu": "1", "nvidia.com/mig-1g.10gb": "2"}, containers=(one, first))
    snapshot = cluster(
        MACHINE.holding(asked),
        node("n2", cpu="1").holding(msgspec.structs.replace(asked, name="b")),
        quota("ml", {GPU_MEMORY: "40"}),
        policy=policy(gpu_memory="16", nodes={"n2": {"gpu-memory": "80"}}),
    )
    (use,) = quota_use(Columns(snapshot))
    assert use.used.of(GPU_MEMORY) == max(16, 20) + max(80, 20)


def test_a_parent_uses_what_all_below_it_use():
    snapshot = cluster(
        MACHINE.holding(pod("a/x", cpu="3"), pod("top/x", cpu="1")),
        quota("top", {"cpu": "6"}),
        quota("a", {"cpu": "2"}, parent="top"),
        quota("b", {"cpu": "3"}, parent="top"),
    )
    found = {use.quota.name: use for use in quota_use(Columns(snapshot))}
    assert (found["top"].workloads, found["top"].used.of("cpu")) == (2, 4000)
    assert {name: use.borrowed.of("cpu") for name, use in found.items()} == {"a": 1000, "b": 0, "top": 0}
    assert {name: use.lent.of("cpu") for name, use in found.items()} == {"a": 0, "b": 1000, "top": 0}


@settings(max_examples=30, deadline=None)
@given(snapshots())
def test_it_is_what_the_accounts_say(snapshot):
    accounts = Accounts(Columns(snapshot))
    found = shares(accounts.rules, accounts.waiting.values(), accounts.capacity)
    for use, share in zip(quota_use(Columns(snapshot)), found, strict=True):
        named = names_of(accounts.book, share.place, share.used)
        assert use.used == accounts.book.readable(share.used).only(named)
        assert use.borrowed == accounts.book.readable(share.borrowed).only(named)
        assert use.lent == accounts.book.readable(share.lent).only(named)
        assert use.claimable == accounts.book.readable(share.claimable).without_zeros()
        assert use.entitlement == accounts.book.readable(share.entitlement)


def test_what_is_asked_for_counts_for_the_entitlement():
    quotas = [quota(name, {"cpu": "2"}) for name in "ab"]
    waits = [waiting("a/x", cpu="5"), waiting("b/x", cpu="9", terminating=True)]
    found = {
        use.quota.name: use
        for use in quota_use(Columns(cluster(MACHINE.holding(pod("b/y", cpu="1")), *waits, *quotas)))
    }
    assert {name: use.entitlement for name, use in found.items()} == {
        "a": resources(cpu="5"),
        "b": resources(cpu="1"),
    }
