"""Old steps go, the oldest first, and nothing else: the state, the journal and the keys of late stay."""

import asyncio

import pytest

from engine.ledger.ledgers import capacity, hold, reserve
from stores.plan_objects import PlansInMemory, losing
from ullage.model.ledger import Supply
from ullage.stores import kubernetes_compaction as module
from ullage.stores.kubernetes_chain import Chain
from ullage.stores.kubernetes_compaction import compact, first_wanted, is_due
from ullage.stores.kubernetes_objects import DoubtError, read_object
from ullage.stores.kubernetes_writing import PlanLedger
from ullage.stores.protocol import asked_for

NODE = Supply((capacity("node/a", cpu=10),))


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(module, "KEEP_STATE_STEPS", 5)
    monkeypatch.setattr(module, "STEPS_KEPT_MIN", 10)
    monkeypatch.setattr(module, "STEPS_KEPT_MAX", 20)
    monkeypatch.setattr(module, "SECONDS_KEPT", 100)


def told(count, seconds=1000, *, compacts=True):
    """Return the objects after so many steps, each so many seconds after the one before."""

    async def story():
        objects = PlansInMemory()
        ledger = PlanLedger(objects)
        for number in range(count):
            command = NODE if number % 3 else reserve(f"r{number}", hold("node/a", cpu=1), expires=10**9)
            await ledger.submit(asked_for(command, number * seconds, f"k{number}", None, 1 << 20))
            if compacts:
                await ledger.compact_if_due()
        return objects

    return asyncio.run(story())


def chain_of(objects):
    return Chain(map(read_object, objects.stored.values()))


def test_what_is_left_adds_up_to_the_same_and_goes_back_far_enough():
    plain, objects = chain_of(told(60, compacts=False)), told(60)
    chain = chain_of(objects)
    assert (chain.state, chain.hash) == (plain.state, plain.hash)
    assert chain.earliest == 50
    assert sorted(chain.steps) == list(range(51, 61))
    assert [each.revision for each in chain.kept] == [50, 55, 60]
    assert chain.at(50) == plain.at(50)
    assert chain.row_of_key("k55") == plain.row_of_key("k55")
    assert len(objects.stored) == 13


def test_steps_of_late_are_kept_and_of_too_many_only_so_many():
    assert len(chain_of(told(60, seconds=0)).steps) == 20
    assert len(chain_of(told(60, seconds=7)).steps) == 15


@pytest.mark.parametrize(
    ("count", "seconds", "wanted"),
    [(8, 1000, 1), (15, 1000, 6), (60, 1000, 51), (60, 7, 46), (60, 0, 41)],
)
def test_the_oldest_step_that_is_wanted(count, seconds, wanted):
    assert first_wanted(chain_of(told(count, seconds, compacts=False))) == wanted


def test_it_is_due_after_so_many_steps():
    assert [is_due(chain_of(told(count, compacts=False))) for count in (4, 5)] == [False, True]
    assert not is_due(chain_of(told(59)))


def test_steps_are_removed_one_after_the_other_the_oldest_first():
    objects = told(40, compacts=False)
    asyncio.run(_compacted_twice(objects))
    removed = [name for verb, name in objects.asked if verb == "delete" and name.startswith("step-")]
    assert removed == sorted(removed)
    assert removed


async def _compacted_twice(objects):
    chain = chain_of(objects)
    await compact(objects, chain)
    ledger = PlanLedger(objects)
    for number in range(20):
        await ledger.submit(asked_for(NODE, 10**6 + number * 1000, "", None, 1 << 20))
    return await compact(objects, await ledger.read())


def test_who_is_interrupted_has_removed_nothing_out_of_order():
    objects = told(40, compacts=False)
    before = chain_of(objects)
    asyncio.run(compact(objects, before))
    more = PlanLedger(objects)

    async def story():
        for number in range(20):
            await more.submit(asked_for(NODE, 10**6 + number * 1000, "", None, 1 << 20))
        chain = await more.read()
        objects.after = losing("delete")
        with pytest.raises(DoubtError):
            await compact(objects, chain)
        objects.after = None

    asyncio.run(story())
    left = sorted(name for name in objects.stored if name.startswith("step-"))
    assert left == [f"step-{number:016}" for number in range(2, 61)]
    assert chain_of(objects).revision == 60


def test_two_who_do_it_at_once_do_it_once():
    objects = told(40, compacts=False)

    async def both():
        return await asyncio.gather(*(compact(objects, chain_of(objects)) for _ in range(2)))

    asyncio.run(both())
    assert [each.revision for each in chain_of(objects).kept] == [40]


def test_parts_of_states_that_nobody_finished_go_too():
    objects = told(40)
    orphan = "state-0000000000000007-000000000000-0001"
    kept = next(name for name in objects.stored if name.startswith("state-"))
    text = objects.stored[kept].replace(kept.encode(), orphan.encode())
    text = text.replace(b'"parts": 1', b'"parts": 2').replace(b'"part": 0', b'"part": 1')
    part = read_object(objects.stored[kept])
    text = text.replace(f'"revision": {part.revision}'.encode(), b'"revision": 7')
    objects.stored[orphan] = text.replace(part.digest.encode(), b"0" * 64)
    asyncio.run(compact(objects, chain_of(objects)))
    assert orphan not in objects.stored


def test_who_may_not_remove_anything_leaves_it_to_others():
    async def story():
        objects = PlansInMemory()
        objects.may_delete = False
        ledger = PlanLedger(objects)
        for number in range(30):
            await ledger.submit(asked_for(NODE, number * 1000, "", None, 1 << 20))
            assert await ledger.compact_if_due() == 0
        return objects

    objects = asyncio.run(story())
    assert sum(name.startswith("step-") for name in objects.stored) == 30
