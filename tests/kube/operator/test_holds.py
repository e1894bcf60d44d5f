"""Promises end when they are over, in as few steps as that takes, and only by who leads."""

import asyncio

import pytest

from builders import cluster, entry, node, pod, waiting
from engine.ledger.ledgers import capacity, hold, reserve
from stores.plan_objects import PlansInMemory
from ullage.kube.operator.holds import ORPHAN_SECONDS, HoldKeeper, used_promises
from ullage.kube.plans import Plans
from ullage.model.ledger import Bind, Reserve, Supply
from ullage.model.resources import Resources
from ullage.stores.kubernetes_writing import PlanLedger
from ullage.stores.protocol import StoreUnavailableError, asked_for

ROOM = (node("n1", cpu="8", pods="10"), node("n2", cpu="8", pods="10"))
CPU = {"cpu": 3000, "pods": 1}


class Leads:
    leads = True


def held(owner, where="n1", number=1, kind="Pod", **more):
    amounts = {"cpu": "3", "pods": "1", **more}
    return entry(f"{kind}/{owner}/{number}", f"node/{where}", owner=owner, request="compute", **amounts)


@pytest.mark.parametrize(
    ("promise", "there", "used"),
    [
        (held("shop/a"), pod("shop/a", node="n1", cpu="3", pods="1"), True),
        (held("shop/a"), pod("shop/a", node="n2", cpu="3", pods="1"), True),
        (held("shop/a"), waiting("shop/a", cpu="3", pods="1"), False),
        (held("shop/a"), pod("shop/b", node="n1", cpu="3", pods="1"), False),
        (held("shop/a"), pod("shop/a", node="n1", cpu="2", pods="1"), False),
        (held("shop/a", state="BOUND"), pod("shop/a", node="n1", cpu="3", pods="1"), False),
        (
            held("shop/s", kind="StatefulSet"),
            pod("shop/s-0", node="n1", cpu="3", pods="1", owner="StatefulSet/s"),
            True,
        ),
        (
            held("shop/s", kind="StatefulSet"),
            pod("shop/s-0", node="n2", cpu="3", pods="1", owner="StatefulSet/s"),
            False,
        ),
    ],
    ids=[
        "its pod runs there",
        "its pod runs elsewhere",
        "its pod waits",
        "another runs",
        "it is to grow",
        "bound by hand",
        "one of its set runs there",
        "one of its set runs elsewhere, and another may still come",
    ],
)
def test_a_promise_is_used_when_its_pod_has_all_of_it(promise, there, used):
    assert bool(used_promises(cluster(*ROOM, there), (promise,))) == used


class World:
    """A ledger with promises, the watch of it, and the keeper."""

    def __init__(self):
        self.objects = PlansInMemory()
        self.ledger = PlanLedger(self.objects)
        self.plans = Plans()
        self.leading = Leads()
        self.at_seconds = 100
        self.said = []
        self.hears_pods = True
        self.keeper = HoldKeeper(
            self.objects,
            self.plans,
            self.leading,
            say=self.said.append,
            now=lambda: self.at_seconds,
            hears_pods=lambda: self.hears_pods,
        )

    async def tell(self, *commands):
        for command in commands:
            await self.ledger.submit(asked_for(command, self.at_seconds, "", None, 1 << 20))
        self.watch()

    def watch(self):
        self.plans.begin()
        for name in sorted(self.objects.stored):
            self.plans.put(self.objects.stored[name])
        self.plans.end()

    async def look(self, *pods, shows=True):
        """Look once; return what ended, and whether a step was taken."""
        before = len(self.objects.stored)
        await self.keeper.look(cluster(*ROOM, *pods))
        if shows:
            self.watch()
        return len(self.objects.stored) - before

    @property
    def held(self):
        return sorted({each.reservation for each in self.plans.state.entries})


OFFERS = Supply((capacity("node/n1", **CPU), capacity("node/n2", **CPU), capacity("drive/n1/d", space=9)))
MINE = reserve("Pod/shop/a/1", hold("node/n1", "compute", **CPU), owner="shop/a", expires=1000)


def test_nothing_is_written_while_nothing_is_over():
    async def story():
        world = World()
        await world.tell(OFFERS, MINE)
        return [await world.look(), await world.look(waiting("shop/a", cpu="3", pods="1"))], world.held

    assert asyncio.run(story()) == ([0, 0], ["Pod/shop/a/1"])


def test_what_its_time_has_come_for_ends_once():
    async def story():
        world = World()
        await world.tell(OFFERS, MINE)
        world.at_seconds = 1000
        return [await world.look(), await world.look()], world.held, world.keeper.ended

    assert asyncio.run(story()) == ([1, 0], [], 1)


def test_a_pod_that_runs_is_its_own_entry_and_its_disks_stay_held():
    async def story():
        world = World()
        disk = hold("drive/n1/d", "data", space=5)
        both = reserve("Pod/shop/a/1", *MINE.holds, disk, owner="shop/a", expires=1000)
        await world.tell(OFFERS, both)
        steps = [await world.look(pod("shop/a", node="n1", cpu="3", pods="1")) for _ in range(2)]
        return steps, [each.capacity for each in world.plans.state.entries]

    assert asyncio.run(story()) == ([1, 0], ["drive/n1/d"])


def test_what_a_pod_has_by_now_is_not_for_those_who_wait_in_line():
    async def story(*there):
        world = World()
        line = Reserve("Pod/shop/z/1", "shop/z", 5000, nodes=("n1",), requests=Resources(CPU), waits=True)
        full = Supply((capacity("node/n1", **CPU), capacity("node/n2", **CPU)))
        await world.tell(full, MINE, line)
        world.at_seconds = 200 if there else 1000
        await world.keeper.look(cluster(node("n1", cpu="3", pods="10"), ROOM[1], *there))
        world.watch()
        return {each.reservation: each.state for each in world.plans.state.entries}

    runs = pod("shop/a", node="n1", cpu="3", pods="1")
    assert asyncio.run(story(runs)) == {"Pod/shop/z/1": "WAITING"}
    assert asyncio.run(story()) == {"Pod/shop/z/1": "RESERVED"}


def test_what_was_held_of_a_node_that_is_gone_is_for_nobody():
    async def story():
        world = World()
        line = Reserve("Pod/shop/z/1", "shop/z", 5000, nodes=("n1",), requests=Resources(CPU), waits=True)
        await world.tell(OFFERS, MINE, line)
        world.at_seconds = 1000
        await world.keeper.look(cluster(ROOM[1]))
        world.watch()
        return {each.reservation: each.state for each in world.plans.state.entries}

    assert asyncio.run(story()) == {"Pod/shop/z/1": "WAITING"}


def test_what_is_in_use_by_nobody_ends_after_a_while():
    async def story():
        world = World()
        await world.tell(OFFERS, MINE, Bind("Pod/shop/a/1"))
        there = pod("shop/a", node="n1", cpu="3", pods="1")
        seen = [await world.look(there)]
        for later in (1, ORPHAN_SECONDS - 1):
            world.at_seconds += later
            seen.append(await world.look())
        world.at_seconds += 1
        seen.append(await world.look(there))
        world.at_seconds += ORPHAN_SECONDS
        seen.append(await world.look())
        world.at_seconds += ORPHAN_SECONDS
        seen.append(await world.look())
        return seen, world.held

    assert asyncio.run(story()) == ([0, 0, 0, 0, 0, 1], [])


def test_what_is_in_use_by_somebody_who_is_not_seen_stays_while_pods_are_not_heard_of():
    async def story():
        world = World()
        await world.tell(OFFERS, MINE, Bind("Pod/shop/a/1"))
        world.hears_pods = False
        seen = [await world.look()]
        world.at_seconds += ORPHAN_SECONDS
        seen.append(await world.look())
        world.hears_pods = True
        seen.append(await world.look())
        world.at_seconds += ORPHAN_SECONDS
        return [*seen, await world.look()]

    assert asyncio.run(story()) == [0, 0, 0, 1]


def test_who_does_not_lead_or_has_not_seen_its_own_step_writes_nothing():
    async def story():
        world = World()
        await world.tell(OFFERS, MINE)
        world.at_seconds = 1000
        world.leading.leads = False
        steps = [await world.look()]
        world.leading.leads = True
        steps += [await world.look(shows=False), await world.look(shows=False)]
        return steps

    assert asyncio.run(story()) == [0, 1, 0]


def test_what_fails_is_told_and_tried_again():
    async def story():
        world = World()
        await world.tell(OFFERS, MINE)
        world.at_seconds = 1000

        async def refuse(_, __):
            raise StoreUnavailableError("you may not")

        world.objects.before = refuse
        await world.keeper.look(cluster(*ROOM))
        world.objects.before = None
        return world.said, await world.look(), world.held

    said, steps, left = asyncio.run(story())
    assert (said, steps, left) == (["you may not"], 1, [])
