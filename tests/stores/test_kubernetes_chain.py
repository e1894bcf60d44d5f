"""What objects add up to: the present, the past as far as it is kept, and nothing that does not belong."""

import asyncio

import pytest

from stores.ledger_files import STORY
from stores.plan_objects import PlansInMemory
from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.stores import codec
from ullage.stores import kubernetes_chain as module
from ullage.stores.kubernetes_chain import Chain, parts_of, whole_states
from ullage.stores.kubernetes_objects import read_object
from ullage.stores.kubernetes_writing import PlanLedger
from ullage.stores.protocol import StoreUnavailableError, asked_for


@pytest.fixture(scope="module")
def told():
    """The objects of a story, and the state after each step."""

    async def story():
        objects = PlansInMemory()
        ledger = PlanLedger(objects)
        states = [LedgerState()]
        for at_seconds, key, command in STORY:
            await ledger.submit(asked_for(command, at_seconds, key, None, 1 << 20))
            states.append((await ledger.read()).state.copy())
        return [read_object(each) for each in await objects.read_all()], states

    return asyncio.run(story())


def kept_at(told, revision):
    steps, states = told
    return parts_of(states[revision], steps[revision - 1].hash)


def test_steps_add_up_in_whatever_order_they_come(told):
    steps, states = told
    chain = Chain(reversed(steps))
    assert (chain.state, chain.hash, chain.earliest) == (states[-1], steps[-1].hash, 0)
    assert [row.revision for row in chain.rows(5)] == [6, 7, 8]


def test_nothing_is_an_empty_ledger():
    chain = Chain()
    assert (chain.revision, chain.hash, chain.earliest, chain.at(0)) == (0, codec.GENESIS, 0, LedgerState())


@pytest.mark.parametrize(("kept", "first", "earliest"), [(3, 4, 3), (3, 2, 3), (8, 9, 8), (5, 1, 0)])
def test_the_present_is_read_from_a_kept_state_and_the_past_as_far_as_it_goes(told, kept, first, earliest):
    steps, states = told
    chain = Chain([*steps[first - 1 :], *kept_at(told, kept)])
    assert (chain.state, chain.earliest) == (states[-1], earliest)
    for revision in range(earliest, len(states)):
        assert chain.at(revision) == states[revision]
    if earliest:
        with pytest.raises(InputError, match=f"revision 0 is no longer kept; use {earliest} to 8"):
            chain.at(0)
    with pytest.raises(InputError, match="there is no revision 9"):
        chain.at(9)


def test_of_two_kept_states_the_older_one_reaches_further_back(told):
    steps, states = told
    chain = Chain([*steps[2:], *kept_at(told, 2), *kept_at(told, 6)])
    assert (chain.earliest, chain.state, chain.at(4)) == (2, states[-1], states[4])


def test_a_state_of_which_a_part_is_missing_is_not_there(told, monkeypatch):
    monkeypatch.setattr(module, "STATE_CHARACTERS_MAX", 100)
    parts = kept_at(told, 5)
    assert len(parts) > 2
    assert [each.revision for each in whole_states(parts)] == [5]
    assert whole_states(parts[1:]) == whole_states(parts[:-1]) == []
    assert Chain([*told[0][5:], *parts]).state == told[1][-1]
    with pytest.raises(StoreUnavailableError, match="step 1 is missing, and 8 is there"):
        Chain([*told[0][5:], *parts[1:]])


def test_parts_of_two_makers_are_not_mixed(told):
    (part,) = kept_at(told, 5)
    other = part._replace(digest="0" * 64)
    found = whole_states([part, other])
    assert len(found) == 2
    with pytest.raises(StoreUnavailableError, match="the state of revision 5 is not what was written"):
        next(each for each in found if each.parts == (other,)).state()


@pytest.mark.parametrize("state", ["%", "AAAA", ""])
def test_a_state_that_is_damaged_is_refused(told, state):
    (part,) = kept_at(told, 5)
    with pytest.raises(StoreUnavailableError, match="the state of revision 5"):
        whole_states([part._replace(state=state)])[0].state()


def test_a_step_below_all_that_is_kept_does_not_count(told):
    steps, states = told
    stray = steps[1]._replace(key="stray")
    chain = Chain([stray, *steps[4:], *kept_at(told, 4)])
    assert (chain.state, sorted(chain.steps)) == (states[-1], [5, 6, 7, 8])
    assert chain.row_of_key("stray") is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda steps: steps[:3] + steps[4:], "step 4 is missing, and 8 is there"),
        (lambda steps: [*steps[:3], steps[3]._replace(at_seconds=1), *steps[4:]], "step 4 does not follow"),
        (lambda steps: [*steps[:3], steps[3]._replace(hash=bytes(32)), *steps[4:]], "step 4 does not follow"),
    ],
)
def test_what_does_not_hang_together_is_refused(told, change, said):
    with pytest.raises(StoreUnavailableError, match=said):
        Chain(change(told[0]))


def test_a_long_ledger_keeps_its_last_steps_in_memory(told, monkeypatch):
    monkeypatch.setattr(module, "STEPS_IN_MEMORY_MAX", 3)
    chain = Chain(told[0])
    assert sorted(chain.steps) == [6, 7, 8]
    assert chain.state == told[1][-1]
    assert chain.row_of_key("first") is None
