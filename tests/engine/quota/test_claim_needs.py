"""What is short for a claim: under the bounds of quotas, and on nodes; and who gives some of it."""

import pytest

from builders import quota
from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.claim_needs import Need, needs_of
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import Standing
from ullage.model.resources import Resources


def world(mode: str, **maxes: int) -> tuple[Rules, list[Member]]:
    """A and B of one GPU each, each with one pod that uses it."""
    quotas = [
        quota(name, min=Resources({"gpu": 1}), max=Resources({"gpu": maxes[name]} if name in maxes else {}))
        for name in "ab"
    ]
    running = [
        Member(f"{name}/p", place, (1,), Resources({"gpu": 1}), "n") for place, name in enumerate("ab")
    ]
    standing = Standing(Book(quotas, mode), running)
    return Rules(standing, standing.entitlements((), {"gpu": 2})), running


@pytest.mark.parametrize(
    ("mode", "maxes", "left", "needs", "gives"),
    [
        ("fair", {}, 1, [], []),
        ("fair", {}, 0, [Need(0, 1, NO_QUOTA, "room")], [(1, 1)]),
        ("fair", {"a": 1}, 1, [Need(0, 1, 0, "quota")], [(1, 0)]),
        ("nos", {}, 1, [Need(0, 1, NO_QUOTA, "quota")], [(1, 1)]),
        ("nos", {}, 0, [Need(0, 1, NO_QUOTA, "quota"), Need(0, 1, NO_QUOTA, "room")], [(1, 1), (1, 1)]),
    ],
)
def test_what_is_short_and_who_of_a_and_b_gives_it(mode, maxes, left, needs, gives):
    rules, running = world(mode, **maxes)
    asking = Member("a/new", 0, (1,), Resources({"gpu": 1}))
    found = needs_of(rules.claim([asking]), rules, 0, left)
    assert found == needs
    assert [tuple(need.given_by(each, rules.book) for each in running) for need in found] == gives
