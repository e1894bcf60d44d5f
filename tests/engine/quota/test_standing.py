"""Use, labels, guarantees and entitlements follow from who runs, whatever happened before."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import quota, resources
from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.standing import DEFAULT_ORDER, OVER_QUOTA, Standing

SEED = Book([quota("A", {"cpu": "40m"}), quota("B", {"cpu": "10m"}), quota("C", {"cpu": "30m"})], "nos")


def member(key: str, place: int, *amounts: int, created: int = 0, priority: int = 0) -> Member:
    return Member(key, place, amounts, resources(), created_seconds=created, priority=priority)


def seed_standing() -> Standing:
    return Standing(SEED, [member("a", 0, 40), member("b0", 1, 10), member("b1", 1, 30)])


def test_the_example_of_nos_comes_out():
    standing = seed_standing()
    assert [standing.guaranteed(place) for place in range(3)] == [(15,), (3,), (11,)]
    assert standing.unused() == [30]
    assert standing.entitlements([member("new", 0, 10)], {"cpu": 80}) == ((50,), (30,), (0,))


def test_without_any_min_nothing_is_guaranteed():
    book = Book([quota("A", {"cpu": "0"}), quota("B", {"memory": "1"})], "nos")
    assert Standing(book, []).guaranteed(0) == (0, None)


def test_a_composite_counts_once_for_all_its_namespaces():
    book = Book([quota("ceq", {"cpu": "10m"}, namespaces=("x", "y"))], "nos")
    standing = Standing(book, [member("x/1", 0, 4), member("y/1", 0, 4)])
    assert standing.book.sum_of_mins == (10,)
    assert standing.sum_of_use() == (8,)


ORDERS = {
    "older first": (DEFAULT_ORDER, [member("late", 0, 6, created=2), member("early", 0, 9, created=1)]),
    "then fewer requested": (DEFAULT_ORDER, [member("large", 0, 9), member("small", 0, 6)]),
    "then by name": (DEFAULT_ORDER, [member("b", 0, 6), member("a", 0, 6)]),
    "priority where the policy says so": (
        ("-priority", "name"),
        [member("low", 0, 6, priority=1), member("high", 0, 6, priority=9)],
    ),
    "younger first": (("-created",), [member("old", 0, 6, created=1), member("new", 0, 6, created=2)]),
    "larger first": (("-requests",), [member("small", 0, 6), member("large", 0, 7)]),
}


@pytest.mark.parametrize(("order", "members"), ORDERS.values(), ids=ORDERS)
def test_those_that_come_last_are_over_quota(order, members):
    book = Book([quota("A", {"cpu": "10m"})], "nos")
    over, within_min = members
    standing = Standing(book, members, order)
    assert standing.labels(0) == {within_min.key: "in-quota", over.key: "over-quota"}
    assert standing.is_over_quota(over)
    assert not standing.is_over_quota(within_min)


def test_the_newest_comes_last_whatever_its_creation_time():
    book = Book([quota("A", {"cpu": "10m"})], "nos")
    newcomer = member("a", 0, 6)
    standing = Standing(book, [newcomer, member("b", 0, 6, created=5)])
    assert standing.labels(0, newcomer) == {"b": "in-quota", "a": "over-quota"}


def test_all_after_the_first_that_is_too_much_are_over_quota_too():
    book = Book([quota("A", {"cpu": "10m"})], "nos")
    standing = Standing(book, [member("a", 0, 6), member("b", 0, 7), member("c", 0, 8)])
    assert list(standing.labels(0).values()) == ["in-quota", "over-quota", "over-quota"]


def test_a_parent_uses_what_its_children_use():
    book = Book([quota("top", {"cpu": "9m"}), quota("a", {"cpu": "5m"}, parent="top")])
    standing = Standing(book, [member("a/1", 0, 4), member("top/1", 1, 2)])
    assert (standing.used[1], standing.own_used[1]) == ([6], [2])


def test_one_without_a_quota_counts_nowhere():
    standing = seed_standing()
    stranger = member("x", NO_QUOTA, 7)
    standing.add(stranger)
    standing.remove(stranger)
    assert standing.sum_of_use() == (80,)


@given(st.integers(0, 1 << 40))
def test_the_ledger_equals_recomputation_after_any_sequence_of_events(seed):
    random = Random(seed)  # noqa: S311 - nothing secret
    book = Book(
        [quota("top", {"cpu": "9m"}), quota("a", {"cpu": "5m"}, parent="top"), quota("b", {"cpu": "2m"})]
    )
    standing = Standing(book, [])
    running: dict[str, Member] = {}
    for number in range(30):
        if running and random.random() < 0.4:
            standing.remove(running.pop(random.choice(sorted(running))))
        else:
            each = member(
                f"m{number}", random.randrange(3), random.randint(0, 5), created=random.randint(0, 3)
            )
            running[each.key] = each
            standing.add(each)
    fresh = Standing(book, running.values())
    assert (standing.used, standing.own_used) == (fresh.used, fresh.own_used)
    assert [standing.labels(place) for place in range(3)] == [fresh.labels(place) for place in range(3)]
    for place in range(3):
        over = [key for key, label in standing.labels(place).items() if label == OVER_QUOTA]
        assert standing.over_quota(place) == tuple(over)
