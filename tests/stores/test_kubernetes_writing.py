"""One order of steps, whatever is lost on the way, and whoever has slept meanwhile."""

import asyncio
import itertools
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.ledger.ledgers import capacity, hold, reserve
from simulation.concurrency import fleet, wishes
from simulation.linearizability import Operation, violations
from stores.plan_objects import PlansInMemory, losing
from ullage.model.errors import InputError
from ullage.model.ledger import Outcome, Release, Supply
from ullage.stores import kubernetes_compaction as compaction
from ullage.stores import kubernetes_writing as writing
from ullage.stores.kubernetes_chain import Chain, row_of
from ullage.stores.kubernetes_objects import DoubtError, read_object
from ullage.stores.kubernetes_writing import PlanLedger
from ullage.stores.protocol import StoreBusyError, StoreUnavailableError, asked_for

NODE = Supply((capacity("node/a", cpu=10),))
ALL = reserve("all", hold("node/a", cpu=10), expires=10**9)
SOME = reserve("some", hold("node/a", cpu=5), expires=10**9)


def asked(command, at_seconds=100, key="", revision=None):
    return asked_for(command, at_seconds, key, revision, 1 << 20)


async def no_sleep(_):
    await asyncio.sleep(0)


def opened(objects, **more):
    return PlanLedger(objects, sleep=no_sleep, **more)


def run(work):
    return asyncio.run(work)


def names(objects):
    return sorted(objects.stored)


def steps(count):
    return [f"step-{number:016}" for number in range(1, count + 1)]


@pytest.fixture
def objects():
    return PlansInMemory()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("verb", ["create", "get", "list"])
def test_a_request_or_an_answer_that_is_lost_changes_nothing(objects, when, verb):
    async def story():
        ledger = opened(objects)
        await ledger.submit(asked(NODE))
        setattr(objects, when, losing(verb, times=3))
        return await ledger.submit(asked(ALL)), await ledger.submit(asked(SOME))

    first, second = run(story())
    assert [(each.revision, each.decision.accepted) for each in (first, second)] == [(2, True), (3, False)]
    assert names(objects) == steps(3)


def test_one_that_never_answers_is_given_up_and_may_have_done_it(objects):
    async def story():
        ledger = opened(objects, patience_seconds=0.05)
        await ledger.submit(asked(NODE))
        objects.after = losing("create", times=10**6)
        objects.before = losing("get", times=10**6)
        with pytest.raises(StoreUnavailableError, match=r"no answer .*ask again under the same key"):
            await ledger.submit(asked(ALL, key="k"))
        objects.before = objects.after = None
        return await ledger.submit(asked(ALL, key="k"))

    again = run(story())
    assert (again.revision, again.repeated, again.decision.accepted) == (2, True, True)


def test_a_step_from_far_ahead_of_the_cluster_is_refused(objects):
    """The ledger never goes back in time: what is held would end before its time, or an hour late."""

    async def story():
        ledger = opened(objects)
        objects.now_seconds = 1000
        await ledger.submit(asked(NODE, 1000 + writing.AHEAD_SECONDS_MAX))
        with pytest.raises(InputError, match="the clock here is 3600 s ahead of the cluster's"):
            await ledger.submit(asked(ALL, 4600))
        return await ledger.submit(asked(ALL, 400))

    assert run(story()).decision.accepted
    assert names(objects) == steps(2)


def test_of_two_who_are_first_one_is_and_the_other_is_judged_on_what_is_left(objects):
    async def story():
        first, second = opened(objects), opened(objects)
        await first.submit(asked(NODE))
        await second.read()
        return await asyncio.gather(first.submit(asked(ALL)), second.submit(asked(SOME)))

    told = run(story())
    assert sorted(each.revision for each in told) == [2, 3]
    assert sorted(each.decision.accepted for each in told) == [False, True]


def test_the_same_words_of_two_writers_are_two_steps(objects):
    async def story():
        first, second = opened(objects), opened(objects)
        await first.submit(asked(NODE))
        await second.read()
        return await asyncio.gather(first.submit(asked(ALL)), second.submit(asked(ALL)))

    assert sorted(each.revision for each in run(story())) == [2, 3]


def test_others_who_are_always_first_are_not_waited_for_for_ever(objects):
    async def story():
        ledger, other = opened(objects, patience_seconds=0.02), opened(objects)
        await ledger.submit(asked(NODE))

        async def be_first(verb, _):
            if verb == "create":
                objects.before = None
                await other.submit(asked(SOME))
                objects.before = be_first

        objects.before = be_first
        with pytest.raises(StoreBusyError, match="others were writing"):
            await ledger.submit(asked(ALL))

    run(story())


def test_what_others_wrote_is_read_step_by_step_and_of_many_at_once(objects, monkeypatch):
    monkeypatch.setattr(writing, "CATCH_UP_STEPS_MAX", 3)

    async def story(count):
        first, second = opened(objects), opened(objects)
        await first.submit(asked(NODE))
        await second.read()
        for _ in range(count):
            await first.submit(asked(Release("nobody")))
        objects.asked.clear()
        return (await second.read()).revision, ("list", "") in objects.asked

    assert run(story(2)) == (3, False)
    objects.stored.clear()
    assert run(story(4)) == (5, True)


def test_who_planned_on_what_is_not_seen_here_yet_is_served(objects):
    async def story():
        first, second = opened(objects), opened(objects)
        await first.submit(asked(NODE))
        await second.read()
        await first.submit(asked(SOME))
        told = await second.submit(asked(ALL, revision=2))
        with pytest.raises(InputError, match="revision 9 is not reached yet"):
            await second.submit(asked(ALL, revision=9))
        return told

    assert not run(story()).moved


def keep_few(patched):
    """Have steps go after a few others."""
    patched.setattr(compaction, "KEEP_STATE_STEPS", 4)
    patched.setattr(compaction, "STEPS_KEPT_MIN", 6)
    patched.setattr(compaction, "STEPS_KEPT_MAX", 12)
    patched.setattr(compaction, "SECONDS_KEPT", 0)
    patched.setattr(writing, "COMPACTION_AFTER_FAILURE_SECONDS", 0.0)


@pytest.fixture
def small(monkeypatch):
    keep_few(monkeypatch)


@pytest.mark.parametrize("slept_at", [0, 1, 2], ids=["before the first step", "at the first", "later"])
@pytest.mark.usefixtures("small")
def test_a_name_that_is_free_again_is_no_step(objects, slept_at):
    async def story():
        sleeper, busy = opened(objects), opened(objects)
        for _ in range(slept_at):
            await busy.submit(asked(NODE))
        await sleeper.read()
        for number in range(30):
            await busy.submit(asked(SOME if number == 20 else NODE))
            await busy.compact_if_due()
        assert f"step-{slept_at + 1:016}" not in objects.stored
        told = await sleeper.submit(asked(ALL))
        return told, slept_at + 31, await sleeper.read_anew()

    told, revision, chain = run(story())
    assert (told.revision, told.decision.accepted) == (revision, False)
    assert chain.revision == revision
    assert chain.state.held_amount("node/a", "cpu") == 5


@pytest.mark.usefixtures("small")
def test_who_reads_after_a_long_sleep_reads_the_present(objects):
    async def story():
        sleeper, busy = opened(objects), opened(objects)
        await busy.submit(asked(NODE))
        await sleeper.read()
        for _ in range(30):
            await busy.submit(asked(NODE))
            await busy.compact_if_due()
        return (await sleeper.read()).revision

    assert run(story()) == 31


@pytest.mark.usefixtures("small")
def test_who_cannot_tell_whether_a_step_counts_says_so(objects):
    async def story():
        sleeper, busy = opened(objects), opened(objects)
        await busy.submit(asked(NODE))
        await sleeper.read()
        for _ in range(30):
            await busy.submit(asked(NODE))
            await busy.compact_if_due()

        async def remove(verb, name):
            if verb == "create":
                objects.stored.pop(name)

        objects.after = remove
        with pytest.raises(StoreUnavailableError, match="no longer there to tell whether it counts"):
            await sleeper.submit(asked(ALL))

    run(story())


class _World:
    """Writers of one collection whose requests and answers are lost and late, as chance has it."""

    def __init__(self, seed):
        self.draw = random.Random(seed)  # noqa: S311 - the same in every run
        self.objects = PlansInMemory()
        self.created = {}
        self.history = []
        self.clock = itertools.count()
        self.objects.before = self.objects.after = self.disturb
        create = self.objects.create

        async def create_noted(document):
            try:
                await create(document)
            finally:
                name = document["metadata"]["name"]
                if name in self.objects.stored:
                    self.created.setdefault(name, self.objects.stored[name])

        self.objects.create = create_noted

    async def disturb(self, verb, _):
        for _ in range(self.draw.choice((0, 0, 0, 1, 2, 25))):
            await asyncio.sleep(0)
        if verb in {"create", "get", "list"} and self.draw.random() < 0.05:
            raise DoubtError("lost")

    async def client(self, name, count):
        ledger = PlanLedger(self.objects, sleep=no_sleep, now=lambda: 0.0)
        for key, command in itertools.islice(wishes(name, time.monotonic()), count):
            begun = next(self.clock)
            try:
                outcome = await ledger.submit(asked(command, 0, key))
            except StoreUnavailableError:
                continue
            self.history.append(Operation(begun, next(self.clock), command, outcome, 0, key))
            await ledger.compact_if_due()

    def unseen(self):
        """Yield the steps of which nobody was told."""
        known = {each.outcome.revision for each in self.history if not each.outcome.repeated}
        for name, content in self.created.items():
            if name.startswith("step-"):
                row = row_of(read_object(content))
                if row.revision > 1 and row.revision not in known:
                    outcome = Outcome(row.revision, row.decision)
                    yield Operation(-1, float("inf"), row.command, outcome, row.at_seconds, row.key)


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6))
def test_any_number_of_writers_see_one_order_of_steps(seed):
    world = _World(seed)

    async def story():
        await PlanLedger(world.objects, sleep=no_sleep, now=lambda: 0.0).submit(asked(fleet(), 0))
        await asyncio.gather(*(world.client(name, 20) for name in "abc"))

    with pytest.MonkeyPatch.context() as patched:
        keep_few(patched)
        run(story())
    start = Chain([read_object(world.created["step-0000000000000001"])]).state
    assert violations([*world.history, *world.unseen()], start) == []
    chain = Chain(map(read_object, world.objects.stored.values()))
    assert len(world.objects.stored) < len(world.created)
    assert chain.revision == sum(name.startswith("step-") for name in world.created)
