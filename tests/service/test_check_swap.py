"""Swap behind over-committed memory: both warnings, and one finding where it is not known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import BUILT_IN_TYPES, cluster, node, pod, policy
from ullage.engine.columns import Columns
from ullage.service.check_swap import SwapNeed, swap_findings, swap_needs

MEMORY = BUILT_IN_TYPES["memory"]
GIB = 1 << 30


def found(snapshot, standby=None):
    needs = swap_needs(Columns(snapshot), standby or {})
    return [(each.code, each.subject, each.message, each.remedy) for each in swap_findings(needs, MEMORY)]


def one(name="n1", *, ratio="1.5", used="1Gi", swap=None, **settings):
    built = node(name, memory="16Gi").reserving(memory="1Gi").holding(pod("a", memory=used))
    built = built if swap is None else built.with_swap(swap)
    return cluster(built, policy=policy(memory_ratio=ratio, **settings))


def test_too_little_swap_says_what_the_ratio_needs():
    assert found(one(swap="4Gi")) == [
        (
            "swap-short",
            "node/n1",
            "node n1: swap short by 3.5Gi (has 4Gi, memory-ratio 1.5 of 15Gi needs 7.5Gi)",
            "add 3.5Gi of swap, or lower memory-ratio to 1.26",
        )
    ]


def test_just_enough_swap_is_enough():
    assert found(one(swap=15 * GIB // 2)) == []
    assert len(found(one(swap=15 * GIB // 2 - 1))) == 1


def test_more_used_than_memory_and_swap_hold():
    ((code, _, message, remedy),) = found(one(ratio="1.1", used="16Gi", swap="2Gi"), {"n1": 3 * GIB})
    assert code == "swap-overrun"
    assert message == (
        "node n1: memory and swap short by 2Gi (used 19Gi, 3Gi of it kept for failover; "
        "there are 15Gi and 2Gi of swap)"
    )
    assert remedy == "add 2Gi of swap, or move workloads of 2Gi away"


def test_memory_and_swap_may_be_used_to_the_last_byte():
    snapshot = one(ratio="1.1", used="16Gi", swap="2Gi")
    assert found(snapshot, {"n1": GIB}) == []
    assert [code for code, *_ in found(snapshot, {"n1": GIB + 1})] == ["swap-overrun"]


@pytest.mark.parametrize(("used", "swap", "codes"), [("16Gi", 0, []), ("17Gi", "1Gi", ["swap-overrun"])])
def test_what_exceeds_the_limit_is_not_said_twice(used, swap, codes):
    assert [code for code, *_ in found(one(ratio="1", used=used, swap=swap))] == codes


def test_all_nodes_of_which_swap_is_not_known_are_one_finding():
    nodes = [node(f"n{number}", memory=f"{number}Gi") for number in range(1, 6)]
    ((code, subject, message, remedy),) = found(cluster(*nodes, policy=policy(memory_ratio="1.5")))
    assert (code, subject) == ("swap-unknown", "cluster")
    assert message == (
        "swap of 5 nodes (n1, n2, n3 and 2 more) is not known: "
        "2.5Gi are needed on n5 by memory-ratio 1.5 of 5Gi"
    )
    assert remedy == "give it: ullage policy set node/n5 swap=2560Mi --policy FILE"


def test_a_policy_says_what_the_source_does_not_tell():
    assert found(one(nodes={"n1": {"swap": "8Gi"}})) == []
    assert [code for code, *_ in found(one(swap="4Gi", nodes={"n1": {"swap": "8Gi"}}))] == ["swap-short"]


def test_without_a_bound_there_is_no_need_to_name():
    ((code, _, message, remedy),) = found(one(ratio="unlimited"))
    assert (code, message) == (
        "swap-unknown",
        "swap of 1 node (n1) is not known, and memory may be promised there without bound",
    )
    assert "swap=AMOUNT" in remedy
    assert found(one(ratio="unlimited", swap="1Gi")) == []


def test_nodes_that_promise_no_more_than_they_have_need_none():
    assert found(one(ratio="1")) == []
    assert found(cluster(node("n1", memory="8Gi").offline(), policy=policy(memory_ratio="2"))) == []
    assert found(cluster(node("n1", cpu="8"), policy=policy(memory_ratio="2"))) == []


@given(st.integers(1, 1 << 50), st.fractions(1, 9, max_denominator=999), st.integers(0, 1 << 53))
def test_swap_is_short_exactly_where_it_is_less_than_the_ratio_asks_for(available, ratio, swap):
    need = SwapNeed("n", available, ratio, swap, 0, 0)
    codes = [each.code for each in swap_findings([need], MEMORY)]
    assert (codes == ["swap-short"]) == (swap < (ratio - 1) * available)
