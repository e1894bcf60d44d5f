"""Who may be taken, in the order in which a set is judged, and who of them are alike."""

from collections.abc import Sequence

import pytest

from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import DEFAULT_ORDER, Standing
from ullage.engine.quota.victim_order import candidates_of
from ullage.engine.quota.victim_tally import Candidate
from ullage.model.cluster import Quota
from ullage.model.resources import Resources


def found(
    kind: str, *running: tuple[str, int, int, int], order: Sequence[str] = DEFAULT_ORDER
) -> list[Candidate]:
    """Return candidates for a claim of quota a, out of members (quota, cpus, priority, created) by number."""
    book = Book(
        [
            Quota("a", kind=kind, namespaces=("a",), min=Resources({"cpu": 9})),
            Quota("b", kind=kind, namespaces=("b",), min=Resources({"cpu": 2})),
        ]
    )

    def member(key: str, quota: str, cpu: int) -> Member:
        return Member(key, book.index[quota], book.amounts({"cpu": cpu}), Resources({"cpu": cpu}), "n")

    members = [
        member(f"{quota}{number}", quota, cpu)._replace(priority=priority, created_seconds=created)
        for number, (quota, cpu, priority, created) in enumerate(running)
    ]
    standing = Standing(book, members, order)
    new = member("new", "a", 1)._replace(priority=5)
    rules = Rules(standing, standing.entitlements([new], {"cpu": 3}))
    return candidates_of(rules, rules.claim([new]), members)


def keys(candidates: list[Candidate]) -> list[str]:
    return [each.member.key for each in candidates]


def test_lowest_priority_first_and_last_in_label_order_first():
    candidates = found("Quota", ("b", 2, 5, 1), ("b", 1, 0, 1), ("b", 2, 5, 2), ("b", 1, 0, 3))
    assert keys(candidates) == ["b3", "b1", "b2", "b0"]


def test_only_who_may_be_taken_is_a_candidate():
    assert keys(found("ElasticQuota", ("b", 2, 0, 1), ("b", 1, 0, 2), ("a", 1, 5, 1), ("a", 1, 4, 1))) == [
        "b1",
        "a3",
    ]


def test_who_is_within_the_min_is_guarded_from_others_alone():
    candidates = found("Quota", ("b", 2, 0, 1), ("b", 8, 0, 2), ("a", 1, 0, 1))
    assert {each.member.key: each.guarded for each in candidates} == {"b0": True, "b1": False, "a2": False}
    assert {each.member.key: each.own for each in candidates} == {"b0": False, "b1": False, "a2": True}


@pytest.mark.parametrize(
    ("kind", "running", "order", "kinds"),
    [
        ("Quota", [("b", 3, 0, 1), ("b", 3, 0, 2)], DEFAULT_ORDER, 1),
        ("Quota", [("b", 3, 0, 1), ("b", 3, 1, 2)], DEFAULT_ORDER, 2),
        ("Quota", [("b", 3, 0, 1), ("b", 1, 0, 2), ("b", 3, 0, 3)], DEFAULT_ORDER, 3),
        ("ElasticQuota", [("b", 3, 0, 1), ("b", 3, 0, 2)], ("-created", "name"), 1),
        ("ElasticQuota", [("b", 3, 5, 1), ("b", 3, 5, 2), ("b", 3, 0, 9)], ("-created", "name"), 3),
        ("ElasticQuota", [("b", 3, 5, 1), ("b", 3, 5, 2), ("b", 3, 0, 0)], DEFAULT_ORDER, 2),
    ],
    ids=[
        "alike",
        "not of another priority",
        "not with another kind between them",
        "in whatever label order, where all have one priority",
        "not where the preferred one is no longer over-quota before the other",
        "where the preferred one is over-quota for longer",
    ],
)
def test_members_are_of_one_kind(kind, running, order, kinds):
    candidates = found(kind, *running, order=order)
    assert len(candidates) == len(running)
    assert len({each.kind for each in candidates}) == kinds


def test_of_one_kind_the_youngest_comes_first_then_the_first_by_name():
    candidates = found("Quota", ("b", 3, 0, 1), ("b", 3, 0, 7), ("b", 3, 0, 7))
    assert keys(candidates) == ["b1", "b2", "b0"]
