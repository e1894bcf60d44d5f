"""Quotas as a table of terms: what is named, who counts where, and what a parent keeps for itself."""

import pytest

from builders import quota
from ullage.engine.quota.book import NO_QUOTA, QUEUE_LABEL, Book, plus, within


def test_a_bound_of_zero_is_a_bound_and_an_unnamed_resource_is_none():
    book = Book([quota("a", {"cpu": "0"}), quota("b", {"memory": "1"})])
    assert book.resources == ("cpu", "memory")
    assert book.mins == ((0, None), (None, 1))
    assert not within([1, 5], book.mins[0])
    assert within([0, 5], book.mins[0])


def test_resources_of_every_bound_are_counted():
    limits = {
        "lending_limit": quota("x", {"memory": "1"}).min,
        "borrowing_limit": quota("x", {"pods": "1"}).min,
    }
    assert Book([quota("a", {}, {"cpu": "1"}, **limits)]).resources == ("cpu", "memory", "pods")


@pytest.mark.parametrize(
    ("mode", "modes"), [("by-kind", ("nos", "nos", "fair")), ("nos", ("nos",) * 3), ("fair", ("fair",) * 3)]
)
def test_the_mode_follows_the_kind_unless_the_policy_says_otherwise(mode, modes):
    kinds = ("ElasticQuota", "CompositeElasticQuota", "Quota")
    assert Book([quota(kind, kind=kind) for kind in kinds], mode).modes == tuple(
        modes[kinds.index(each)] for each in sorted(kinds)
    )


def test_a_parent_is_guaranteed_what_its_children_leave():
    book = Book(
        [
            quota("top", {"cpu": "10", "memory": "4"}),
            quota("a", {"cpu": "3"}, parent="top"),
            quota("b", {"cpu": "4", "memory": "9"}, parent="top"),
        ]
    )
    assert book.own_mins[book.index["top"]] == (3000, 0)
    assert book.chains[book.index["a"]] == (book.index["a"], book.index["top"])


def test_a_workload_counts_where_its_queue_does_else_where_its_namespace_does():
    book = Book([quota("a"), quota("q", namespaces=(), queues=("a/fast",))])
    assert book.place_of("a", {}) == 0
    assert book.place_of("a", {QUEUE_LABEL: "fast"}) == 1
    assert book.place_of("a", {QUEUE_LABEL: "unknown"}) == NO_QUOTA
    assert book.place_of("b", {}) == NO_QUOTA


def test_another_quota_takes_the_place_of_the_one_of_its_name():
    book = Book([quota("a", {"cpu": "1"}), quota("b", {"cpu": "1"})], "nos")
    changed = book.with_quotas(quota("a", {"cpu": "5"}))
    assert changed.mins == ((5000,), (1000,))
    assert changed.modes == ("nos", "nos")


def test_amounts_of_what_is_absent_are_zero():
    book = Book([quota("a", {"cpu": "1", "memory": "1"})])
    assert book.amounts({"cpu": 5, "pods": 1}) == (5, 0)
    assert plus([1, 2], [3, 4]) == [4, 6]
    assert dict(book.readable((None, 3))) == {"memory": 3}
