"""Gangs among those who could be claimed back: who may go, and who goes along."""

import pytest

from ullage.engine.quota.book import Member
from ullage.engine.quota.claimed_gangs import ClaimedGangs
from ullage.model.resources import Resources


def gang(size: int, least: int) -> list[Member]:
    return [
        Member(f"b/{number}", 1, (number + 1,), Resources({"gpu": 1}), "n", gang="g", gang_min=least)
        for number in range(size)
    ]


def gangs_of(members: list[Member], candidates: list[Member]) -> ClaimedGangs:
    return ClaimedGangs({"g": members}, candidates)


@pytest.mark.parametrize(
    ("least", "gone", "along"),
    [
        (3, [], ["b/0", "b/1"]),
        (2, [], []),
        (2, ["b/0"], ["b/1"]),
        (1, ["b/0", "b/1"], []),
    ],
)
def test_the_rest_goes_along_where_none_is_to_spare(least, gone, along):
    members = gang(3, least)
    found = gangs_of(members, members).dragged(members[2], gone)
    assert [each.key for each in found] == along


@pytest.mark.parametrize(("least", "stay"), [(3, []), (2, ["b/0"]), (1, ["b/0", "b/1"])])
def test_of_a_gang_that_cannot_go_as_one_those_to_spare_may_go(least, stay):
    members = gang(3, least)
    gangs = gangs_of(members, members[:2])
    assert [each.key for each in gangs.may_go(members[:2])] == stay


def test_one_alone_is_no_gang():
    (member,) = gang(1, 1)
    assert not gangs_of([member], [member])


def test_a_gang_none_of_which_is_a_candidate_does_not_count():
    assert not gangs_of(gang(3, 3), [])


def test_a_whole_gang_has_the_size_of_all_of_it():
    members = gang(3, 3)
    assert gangs_of(members, members).amounts(0) == {6}
    assert gangs_of(members, members[:2]).amounts(0) == {0}


def test_candidates_stand_in_for_their_members():
    members = gang(3, 2)
    moved = [each._replace(node="") for each in members[1:]]
    found = gangs_of(members, members).left(moved, {"b/0"})["g"]
    assert (found.members, found.spare) == (tuple(moved), 0)
