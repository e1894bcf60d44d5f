"""The ledger as a watch shows it is the ledger as its objects have it."""

import asyncio
import json

import pytest

from stores.ledger_files import STORY
from stores.plan_objects import PlansInMemory
from ullage.kube.plans import Plans
from ullage.stores.kubernetes_chain import Chain, parts_of
from ullage.stores.kubernetes_objects import document_of, read_object
from ullage.stores.kubernetes_writing import PlanLedger
from ullage.stores.protocol import asked_for


@pytest.fixture(scope="module")
def contents():
    async def story():
        objects = PlansInMemory()
        ledger = PlanLedger(objects)
        for at_seconds, key, command in STORY:
            await ledger.submit(asked_for(command, at_seconds, key, None, 1 << 20))
        return await objects.read_all()

    return asyncio.run(story())


def listed(contents):
    plans = Plans()
    plans.begin()
    for content in contents:
        plans.put(content)
    plans.end()
    return plans


def state_of(contents):
    return Chain(map(read_object, contents)).state


@pytest.mark.parametrize("seen_first", [0, 3, 8])
def test_what_was_listed_and_what_came_after_add_up(contents, seen_first):
    plans = listed(contents[:seen_first])
    for content in contents[seen_first:]:
        plans.put(content)
    assert (plans.state, plans.revision, plans.problem) == (state_of(contents), len(STORY), "")


def test_a_step_that_is_shown_again_or_is_old_changes_nothing(contents):
    plans = listed(contents)
    for content in contents:
        plans.put(content)
    assert (plans.state, plans.problem) == (state_of(contents), "")


def test_a_kept_state_is_as_good_as_the_steps_before_it(contents):
    chain = Chain(map(read_object, contents[:5]))
    parts = [json.dumps(document_of(part)).encode() for part in parts_of(chain.state, chain.hash)]
    assert listed([*parts, *contents[5:]]).state == state_of(contents)


def test_what_does_not_follow_is_told_and_left_out_until_the_next_list(contents):
    plans = listed(contents[:3])
    plans.put(contents[5])
    assert plans.revision == 3
    assert "step 6 does not follow step 3" in plans.problem
    plans.put(b"{}")
    assert "cannot be read" in plans.problem
    plans.begin()
    for content in contents:
        plans.put(content)
    assert plans.revision == 3, "the list has not ended"
    plans.end()
    assert (plans.revision, plans.problem) == (8, "")


def test_a_list_that_is_damaged_leaves_what_was_known(contents):
    plans = listed(contents[:3])
    plans.begin()
    for content in contents[4:]:
        plans.put(content)
    plans.end()
    assert plans.revision == 3
    assert "step 1 is missing" in plans.problem


def test_what_has_ended_holds_nothing_though_nobody_has_said_so(contents):
    plans = listed(contents)
    names = {entry.reservation for entry in plans.standing(200)}
    assert names == {"r1", "r2"}
    assert plans.standing(300) is plans.standing(200)
    assert {entry.reservation for entry in plans.standing(900)} == {"r1"}
