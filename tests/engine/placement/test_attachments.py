"""Volumes on a node are counted once for each claim, up to the limit of their driver."""

import numpy as np
import pytest

from ullage.engine.placement.attachments import AttachLimit, Attachments
from ullage.engine.placement.rules import EVERY
from ullage.model.cluster import Node

NODES = [Node("n0", attach_limits={"d": 1, "e": 2}), Node("n1", attach_limits={"d": 2}), Node("n2")]


def attached(*added):
    made = Attachments(NODES)
    for driver, claim, row, count in added:
        made.add(driver, claim, row, count)
    return made


ALLOWED = {
    "an empty node takes as many as its limit": ([], [("d", "x")], [0, 1, 2]),
    "two volumes need two": ([], [("d", "x"), ("d", "y")], [1, 2]),
    "a node without a limit takes any number": ([("d", "z", 2, 1)], [("d", "x")] * 2 + [("d", "y")], [2]),
    "what is attached counts": ([("d", "z", 0, 1)], [("d", "x")], [1, 2]),
    "a volume that is attached already is not new": ([("d", "x", 0, 1)], [("d", "x")], [0, 1, 2]),
    "two users of a claim count once": ([("d", "z", 1, 2)], [("d", "x")], [0, 1, 2]),
    "volumes without a claim count each": ([("d", "", 1, 2)], [("d", "x")], [0, 2]),
    "another driver has its own limit": ([("d", "z", 0, 1)], [("e", "x")], [0, 1, 2]),
    "every driver counts": ([("e", "", 0, 2)], [("d", "x"), ("e", "y")], [1, 2]),
    "a driver that nobody limits counts nowhere": ([("f", "z", 0, 9)], [("f", "x")], [0, 1, 2]),
    "too many already do not matter to what needs no more": (
        [("d", "x", 0, 1), ("d", "", 0, 5)],
        [("d", "x")],
        [0, 1, 2],
    ),
}


@pytest.mark.parametrize("rule", ALLOWED)
def test_which_nodes_can_attach_more(rule):
    added, asked, rows = ALLOWED[rule]
    limit = AttachLimit(attached(*added), lambda: asked, "limit")
    some = np.array([2, 0], np.intp)
    assert np.flatnonzero(limit.allows(EVERY)).tolist() == rows
    assert limit.allows(some).tolist() == [row in rows for row in some]


def test_the_last_user_to_leave_detaches_a_claim():
    made = attached(("d", "x", 0, 2))
    assert made.used["d"].tolist() == [1, 0, 0]
    made.add("d", "x", 0, -1)
    assert made.where("x") == [0]
    made.add("d", "x", 0, -1)
    assert made.where("x") == []
    assert made.used["d"].tolist() == [0, 0, 0]


def test_one_that_was_never_counted_leaves_and_comes_back_without_a_trace():
    made = attached(("d", "x", 0, -1))
    assert made.where("x") == []
    made.add("d", "x", 0, 1)
    assert made.where("x") == []
    assert made.used["d"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(("driver", "used"), [("d", [1, 0, 0]), ("e", [0, 0, 0]), ("f", [0, 0, 0])])
def test_a_claim_that_gets_a_volume_of_another_driver_counts_there(driver, used):
    made = attached(("d", "x", 0, 1))
    made.change_driver("x", driver)
    assert made.used["d"].tolist() == used
    assert made.used["e"].tolist() == [int(driver == "e"), 0, 0]
    made.add(driver, "x", 0, -1)
    assert not any(column.any() for column in made.used.values())
