"""What is said about places: how good the best is, and why others are none."""

import pytest

from ganeti_builders import ganeti_cluster, ganeti_group, ganeti_node, instance
from ullage.engine.balance.facts import machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.group_choice import Best, Choice, Solution, Tried
from ullage.engine.balance.moves import Moved, Place
from ullage.service.htools.descriptions import described, described_choice

FLEET = Fleet(
    ganeti_cluster(
        [ganeti_node("a"), ganeti_node("b"), ganeti_node("c", "h")],
        groups=[ganeti_group("g"), ganeti_group("h", allocation="last_resort")],
    )
)
NEW = machine_of(instance("new"))
NONE = Solution(None, 0, {"FailMem": 2, "FailN1": 1})


def best(*rank: tuple[float, ...], place: Place = Place(0)) -> Best:  # noqa: B008 - a constant
    return Best(NEW, Moved(place, {}), rank)


@pytest.mark.parametrize(
    ("solution", "expected"),
    [
        pytest.param(
            Solution(best((1.5,), place=Place(0, 1)), 3, {"FailMem": 2, "FailN1": 1}),
            "score: 1.50000000, successes 3, failures 3 (FailMem: 2, FailN1: 1) for node(s) a/b",
            id="a score",
        ),
        pytest.param(
            Solution(best((0, 2), (20490,)), 1, {}),
            "score: ([0,2],20490), successes 1, failures 0 () for node(s) a",
            id="what a place costs on dedicated hosts",
        ),
        pytest.param(
            NONE, "No valid allocation solutions, failure reasons: FailMem: 2, FailN1: 1", id="no place"
        ),
        pytest.param(
            Solution(None, 0, {}),
            "No valid allocation solutions, failure reasons: unknown reasons",
            id="no place and no reason",
        ),
    ],
)
def test_a_solution_is_described(solution, expected):
    assert described(FLEET, solution) == expected


FAILED = "No valid allocation solutions, failure reasons: FailMem: 2, FailN1: 1"
LACKING = "is not connected to a network required by instance new"


@pytest.mark.parametrize(
    ("choice", "dedicated", "expected"),
    [
        pytest.param(
            Choice((Tried(0, NONE), Tried(1, "No online nodes"))),
            False,
            f"Group g (preferred): {FAILED}, Group h: error No online nodes",
            id="each group in its order",
        ),
        pytest.param(
            Choice((Tried(1, NONE),), (0,)),
            False,
            f"group g {LACKING}, Group h (last_resort): {FAILED}",
            id="first those that lack a network",
        ),
        pytest.param(
            Choice((Tried(0, NONE),), (1,)),
            True,
            f"Group g (preferred): {FAILED}, Group h: error The group h {LACKING}",
            id="these among the others on dedicated hosts",
        ),
        pytest.param(Choice(()), True, "", id="nothing about nothing"),
    ],
)
def test_a_choice_is_described(choice, dedicated, expected):
    assert described_choice(FLEET, choice, "new", is_dedicated=dedicated) == expected


def test_where_no_group_is_allowed_all_are_written_out():
    said = described_choice(FLEET, Choice((), allowed=(4, 5)), "new")
    assert said.startswith(
        'no groups for evacuation: allowed groups was Just [4,5], all groups: [Group {name = "g", '
    )
    assert ',Group {name = "h", ' in said
