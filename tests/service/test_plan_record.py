"""A plan that is committed later: held for as long as was asked for, on the cluster that it was made on."""

import msgspec
import pytest

from ullage.model.errors import InputError
from ullage.model.ledger import Expire, Extend, Hold, Refuse, Release, Reserve, Together
from ullage.model.resources import Resources
from ullage.service.plan_record import FitPlan, MovedPlanError, step_to_commit
from ullage.stores.codec import command_text

RESERVE = Reserve("r", "team/a", 1600, (Hold("r1", "node/n", Resources({"cpu": 1})),))
STEP = Together((Release("gone"), RESERVE, Extend("kept", 1600)), "question", line_last=True)


def plan(**fields):
    told = {"report": {}, "fits": True, "atomic": False, "step": command_text(STEP), "ledger_revision": 3}
    return FitPlan(**{**told, "at_seconds": 1000, "hold_seconds": 600, "cluster_revision": 7, **fields})


@pytest.mark.parametrize(("at", "until"), [(1000, 1600), (1250, 1850), (900, 1600)])
def test_what_is_held_is_held_as_long_from_the_commit_on(at, until):
    step = step_to_commit(plan(), cluster_revision=7, at_seconds=at)
    gone, reserve, extend = step.commands
    assert gone == Release("gone")
    assert (reserve.expires_seconds, extend.expires_seconds) == (until, until)
    assert (step.question, step.line_last) == ("question", True)
    assert reserve.holds == RESERVE.holds


def test_a_plan_of_another_revision_of_the_cluster_is_refused():
    with pytest.raises(MovedPlanError, match="made on revision 7 of the cluster, now it is 8"):
        step_to_commit(plan(), cluster_revision=8, at_seconds=1000)


@pytest.mark.parametrize(
    ("fields", "may_be"),
    [
        ({}, True),
        ({"fits": False}, True),
        ({"fits": False, "atomic": True}, False),
        ({"atomic": True}, True),
        ({"step": ""}, False),
        (
            {"fits": False, "step": command_text(Together((Expire(), Refuse("r", "team/a", "r1", "full"))))},
            False,
        ),
        ({"fits": False, "step": command_text(Together((Release("gone"),)))}, False),
        ({"fits": True, "step": command_text(Together((Release("gone"),)))}, True),
        ({"fits": False, "step": command_text(Together((Extend("kept", 1600),)))}, True),
    ],
)
def test_there_must_be_something_that_may_be_held(fields, may_be):
    assert plan(**fields).may_be_committed is may_be
    if not may_be:
        with pytest.raises(InputError, match="nothing to commit"):
            step_to_commit(plan(**fields), cluster_revision=7, at_seconds=1000)


def test_only_a_step_of_a_plan_is_one():
    with pytest.raises(InputError, match="damaged"):
        step_to_commit(plan(step=command_text(Release("r"))), cluster_revision=7, at_seconds=1000)


def test_a_plan_travels_as_json_and_back():
    assert msgspec.json.decode(msgspec.json.encode(plan()), type=FitPlan) == plan()
