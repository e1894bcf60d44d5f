"""Pods that are being bound: whatever goes wrong with one gives it back, and the next is bound."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from builders import waiting
from ullage.engine.placement.scheduling import Bound
from ullage.kube.scheduler import binding as module
from ullage.kube.scheduler import gang_gate
from ullage.kube.scheduler.actions import NotDoneError
from ullage.kube.scheduler.acts import Acts
from ullage.kube.scheduler.binding import MAKES_WAY, Binders, Binding, Hooks
from ullage.kube.scheduler.gang_gate import GangGate
from ullage.model.cluster import Volume

PLAIN = waiting("web/plain")
DISK = waiting("web/disk", volumes=(Volume("a", claim="a"),))


class World:
    """Pods that are bound unless something goes wrong, and volumes that are waited for."""

    def __init__(self) -> None:
        self.uids = {"web/plain": "u", "web/disk": "u"}
        self.wrong: dict[str, list[Exception]] = {}
        self.bound: list[str] = []
        self.ready: list[str] = []
        self.given_back: list[tuple[str, str]] = []
        self.undone: list[str] = []
        self.told: list[str] = []
        self.stopped: dict[str, asyncio.Future[None]] = {}
        self.waits = False
        self.acts = Acts()
        self.nodes = {"n1"}
        hooks = Hooks(
            lambda key: self.uids.get(key, ""),
            lambda node: node in self.nodes,
            self._done,
            self._given_back,
            self._waits,
        )
        self.binders = Binders(self, self, hooks, self.acts)  # type: ignore[arg-type]  # all that is used

    def _done(self, binding: Binding) -> None:
        assert binding.workload.key in self.bound

    def _given_back(self, binding: Binding, error: NotDoneError) -> None:
        self.given_back.append((binding.workload.key, str(error)))

    def _waits(self, binding: Binding) -> None:
        self.told.append(binding.workload.key)

    def _go_wrong(self, what: str) -> None:
        if self.wrong.get(what):
            raise self.wrong[what].pop(0)

    # What binders call

    async def bind(self, key: str, uid: str, node: str) -> None:
        assert (uid, node) == ("u", "n1")
        self._go_wrong("bind")
        self.bound.append(key)

    async def prepare(self, workload: Any, _: Bound) -> None:
        self._go_wrong("prepare")
        if self.waits:
            self.stopped[workload.key] = asyncio.get_running_loop().create_future()
            await self.stopped[workload.key]

    async def give_back(self, workload: Any, _: Bound) -> None:
        self.undone.append(workload.key)
        self._go_wrong("give back")

    def done(self, workload: Any, _: Bound) -> None:
        self.ready.append(workload.key)

    def stop(self, key: str, why: str) -> None:
        if key in self.stopped:
            self.stopped[key].set_exception(NotDoneError(why))


async def _begun(world: World, workload: Any) -> None:
    world.binders.begin(Binding(workload, Bound(workload.key, "n1"), "u"))
    for _ in range(20):
        await asyncio.sleep(0)


def binding(work: Callable[[World], Awaitable[None]]) -> World:
    async def run() -> World:
        world = World()
        world.acts.begin(world.binders.work())
        dying = asyncio.create_task(world.acts.died())
        try:
            await work(world)
            assert not dying.done()
        finally:
            dying.cancel()
            await world.acts.stop()
        return world

    return asyncio.run(run())


@pytest.mark.parametrize("workload", [PLAIN, DISK], ids=["plain", "disk"])
@pytest.mark.parametrize("error", [NotDoneError("no"), ValueError("no")])
def test_whatever_goes_wrong_a_pod_is_given_back_and_the_next_try_succeeds(workload, error):
    async def work(world: World) -> None:
        world.wrong["bind"] = [error]
        await _begun(world, workload)
        assert [key for key, why in world.given_back if "no" in why] == [workload.key]
        assert world.undone == ([workload.key] if workload.volumes else [])
        await _begun(world, workload)
        assert world.bound == world.ready == [workload.key]

    binding(work)


def test_volumes_that_cannot_be_made_ready_for_whatever_reason_are_given_back():
    async def work(world: World) -> None:
        world.wrong["prepare"] = [ValueError("no")]
        await _begun(world, DISK)
        assert (world.undone, world.given_back) == (["web/disk"], [("web/disk", "ValueError: no")])

    binding(work)


def test_a_pod_is_given_back_though_its_volumes_are_not_and_that_is_told():
    async def work(world: World) -> None:
        world.wrong = {"bind": [NotDoneError("no")], "give back": [ValueError("worse")]}
        await _begun(world, DISK)
        assert world.given_back == [("web/disk", "no")]
        with pytest.raises(ValueError, match="worse"):
            await world.acts.died()

    with pytest.raises(AssertionError):
        binding(work)


def test_one_that_is_gone_or_another_is_not_bound():
    async def work(world: World) -> None:
        world.uids["web/plain"] = "another"
        await _begun(world, PLAIN)
        assert (world.bound, world.given_back) == ([], [("web/plain", "the pod is gone")])

    binding(work)


def test_one_that_makes_way_does_not_wait_for_its_volumes():
    async def work(world: World) -> None:
        world.waits = True
        await _begun(world, DISK)
        world.binders.make_way("web/disk", "u")
        for _ in range(20):
            await asyncio.sleep(0)
        assert (world.given_back, world.bound) == ([("web/disk", MAKES_WAY)], [])
        assert world.undone == ["web/disk"]

    binding(work)


def test_one_that_waits_long_for_its_volumes_is_told_so_once(monkeypatch):
    monkeypatch.setattr(module, "WAITS_SECONDS", 0.01)

    async def work(world: World) -> None:
        world.waits = True
        await _begun(world, DISK)
        assert world.told == []
        await asyncio.sleep(0.1)
        assert world.told == ["web/disk"]
        world.stopped["web/disk"].set_result(None)
        await asyncio.sleep(0.1)
        assert (world.bound, world.told) == (["web/disk"], ["web/disk"])

    binding(work)


def test_one_whose_node_is_gone_is_not_bound():
    async def work(world: World) -> None:
        world.waits = True
        await _begun(world, DISK)
        world.nodes.clear()
        world.stopped["web/disk"].set_result(None)
        await _begun(world, PLAIN)
        gone = "node n1 is gone"
        assert (world.bound, world.given_back) == ([], [("web/disk", gone), ("web/plain", gone)])

    binding(work)


async def _gang_begun(world: World, *, needed: int = 2) -> None:
    """Begin to bind a gang: one is at the gate, the other waits for its volumes."""
    gate = GangGate(needed)
    for each in (PLAIN, DISK):
        gate.join(each.key)
    for each in (PLAIN, DISK):
        world.binders.begin(Binding(each, Bound(each.key, "n1"), "u", gate))
    for _ in range(20):
        await asyncio.sleep(0)


def test_nobody_of_a_gang_is_bound_where_the_volumes_of_another_cannot_be_made():
    async def work(world: World) -> None:
        world.wrong["prepare"] = [NotDoneError("no disk")]
        await _gang_begun(world)
        assert world.bound == []
        assert dict(world.given_back) == {
            "web/disk": "no disk",
            "web/plain": "others of its gang cannot be bound: web/disk: no disk",
        }

    binding(work)


MAKES_WAY_FOR = "others of its gang cannot be bound: web/plain: it makes way for another pod"


def test_one_that_waits_for_its_gang_makes_way_at_once_and_the_gang_with_it():
    async def work(world: World) -> None:
        world.waits = True
        await _gang_begun(world)
        world.binders.make_way("web/plain", "u")
        for _ in range(20):
            await asyncio.sleep(0)
        assert world.bound == []
        assert dict(world.given_back) == {"web/plain": MAKES_WAY, "web/disk": MAKES_WAY_FOR}
        assert world.undone == ["web/disk"]

    binding(work)


def test_one_that_waits_for_its_gang_makes_way_alone_where_the_others_are_enough():
    async def work(world: World) -> None:
        world.waits = True
        gate = GangGate(1)
        for key in ("web/disk", "web/late"):
            gate.join(key)
        world.binders.begin(Binding(DISK, Bound(DISK.key, "n1"), "u", gate))
        for _ in range(20):
            await asyncio.sleep(0)
        world.binders.make_way("web/disk", "u")
        for _ in range(20):
            await asyncio.sleep(0)
        assert world.given_back == [("web/disk", MAKES_WAY)]
        assert not gate.has_failed

    binding(work)


@pytest.mark.parametrize("gone", ["pod", "node"])
def test_one_that_is_gone_while_it_waits_for_its_gang_is_not_counted(gone, monkeypatch):
    monkeypatch.setattr(gang_gate, "LOOK_SECONDS", 0.01)

    async def work(world: World) -> None:
        world.waits = True
        await _gang_begun(world)
        if gone == "pod":
            del world.uids["web/plain"]
        else:
            world.nodes.clear()
        await asyncio.sleep(0.1)
        assert world.bound == []
        told = dict(world.given_back)
        assert told["web/plain"] == ("the pod is gone" if gone == "pod" else "node n1 is gone")
        assert "others of its gang cannot be bound: web/plain:" in told["web/disk"]

    binding(work)
