"""Decisions in words: the bound, the amount, and why nobody goes."""

import pytest

from builders import quota, resources
from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.decision import Decision
from ullage.engine.quota.rights import Refusal, Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.told import Words
from ullage.model.resources import ResourceTypes


def words(mode: str = "fair") -> tuple[Words, Rules]:
    book = Book([quota("a", {"cpu": "4"}, {"cpu": "9"}, borrowing_limit=resources(cpu="2"))], mode)
    rules = Rules(Standing(book, [Member("a/1", 0, (3000,), resources())]), [(5000,)])
    return Words(rules, ResourceTypes()), rules


def decision(rules: Rules, *refusals: Refusal, barred: str = "", place: int = 0) -> Decision:
    claim = rules.claim([Member("a/new", place, (4000,), resources())])
    return Decision("refuse", claim, refusals=refusals, barred=barred)


@pytest.mark.parametrize(
    ("barrier", "text"),
    [
        ("max", "quota a would use more than its max, 1.5 of cpu beyond 9"),
        ("borrowing-limit", "quota a would borrow more than it may, 1.5 of cpu beyond 2"),
        ("sum-of-min", "all quotas together would use more than their mins, 1.5 of cpu beyond 4"),
    ],
)
def test_a_bound_is_named_with_what_is_too_much(barrier, text):
    told, rules = words("nos")
    assert told.refusals(decision(rules, Refusal(barrier, 0, 0, 1500))) == text


def test_resources_of_one_bound_are_told_together_and_many_bounds_are_cut():
    book = Book([quota(name, {}, {"cpu": "1", "memory": "1"}) for name in "abcde"])
    rules = Rules(Standing(book, []), [(None, None)] * 5)
    told = Words(rules, ResourceTypes())
    refusals = [Refusal("max", place, resource, 1000) for place in range(5) for resource in range(2)]
    claim = rules.claim([Member("a/new", 0, (1, 1), resources())])
    text = told.refusals(Decision("refuse", claim, refusals=tuple(refusals)))
    assert text.startswith(
        "quota a would use more than its max, 1 of cpu beyond 1, 1000 of memory beyond 1; quota b"
    )
    assert text.endswith("; and 2 more bounds")


@pytest.mark.parametrize(
    ("mode", "barred", "text"),
    [
        ("fair", "above-entitlement", "quota a would pass its entitlement, 7 of cpu where 5 is its own"),
        (
            "nos",
            "above-guarantee",
            "quota a would pass its min and its part of what others leave unused, 7 of cpu where 5 is",
        ),
        ("fair", "nobody-to-take", "no quota uses enough beyond what is its own"),
        ("nos", "would-take-turns", "they could take the place back, or those of others, in turn"),
    ],
)
def test_why_nobody_goes(mode, barred, text):
    told, rules = words(mode)
    assert text in told.barred(decision(rules, barred=barred))


def test_nothing_is_said_of_who_has_no_quota():
    told, rules = words()
    assert told.barred(decision(rules, barred="nobody-to-take", place=NO_QUOTA)) == ""
