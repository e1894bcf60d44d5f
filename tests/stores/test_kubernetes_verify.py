"""What is wrong with a ledger of objects is found, and what is right is proved."""

import asyncio
import json

import pytest

from stores.ledger_files import STORY
from stores.plan_objects import PlansInMemory
from ullage.stores import codec
from ullage.stores.kubernetes_chain import Chain, parts_of
from ullage.stores.kubernetes_objects import Step, document_of, read_object
from ullage.stores.kubernetes_verify import verify_objects
from ullage.stores.kubernetes_writing import PlanLedger
from ullage.stores.protocol import asked_for


@pytest.fixture
def steps():
    async def story():
        objects = PlansInMemory()
        ledger = PlanLedger(objects)
        for at_seconds, key, command in STORY:
            await ledger.submit(asked_for(command, at_seconds, key, None, 1 << 20))
        return [read_object(each) for each in await objects.read_all()]

    return asyncio.run(story())


def written(made):
    return [json.dumps(document_of(each)).encode() for each in made]


def errors(made):
    return [(each.code, each.subject) for each in verify_objects(written(made)) if each.severity == "error"]


def chained_anew(steps):
    """Return steps whose hashes follow, whatever they say: the work of somebody who knows how."""
    last, found = codec.GENESIS, []
    for step in steps:
        last = codec.chained(last, step[:5])
        found.append(Step(*step[:5], last, step.writer))
    return found


def test_a_sound_ledger_is_proved_also_from_a_kept_state(steps):
    assert errors(steps) == []
    kept = parts_of(Chain(steps[:4]).state, steps[3].hash)
    assert errors([*steps, *kept]) == []
    assert errors([*steps[4:], *kept]) == []


def test_a_step_that_was_changed_is_found(steps):
    steps[2] = steps[2]._replace(at_seconds=121)
    assert errors(steps) == [("ledger-unreadable", "objects")]


def test_a_decision_that_does_not_follow_is_found_though_its_hash_does(steps):
    steps[1] = steps[1]._replace(command=steps[1].command.replace("1000", "2000"))
    found = errors(chained_anew(steps))
    assert ("ledger-decision-wrong", "revision 2") in found


def test_time_that_goes_backwards_is_found(steps):
    steps[3] = steps[3]._replace(at_seconds=1)
    assert ("ledger-order-wrong", "revision 4") in errors(chained_anew(steps))


def test_what_cannot_be_read_is_found(steps):
    steps[3] = steps[3]._replace(command="{}")
    assert ("ledger-unreadable", "revision 4") in errors(chained_anew(steps))


def test_a_kept_state_that_was_another_one_is_found(steps):
    wrong = parts_of(Chain(steps[:4]).state, steps[4].hash)
    (part,) = (each._replace(revision=5) for each in wrong)
    assert ("ledger-checkpoint-wrong", "revision 5") in errors([*steps, part])
