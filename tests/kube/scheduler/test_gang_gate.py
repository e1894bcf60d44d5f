"""Of a gang with volumes nobody is bound before enough of it can be."""

import asyncio

import pytest

from builders import cluster, node, waiting, workload
from ullage.kube.scheduler.actions import NotDoneError
from ullage.kube.scheduler.gang_gate import GangGate, gates_of
from ullage.model.cluster import Volume

DISKS = (Volume("a", claim="a"),)


def passing(gate: GangGate, *events: str) -> list[str]:
    """Return what becomes of those who are ready, one by one with those who are not."""

    async def run() -> list[str]:
        waits = []
        for number, event in enumerate(events):
            if event == "ready":
                waits.append(asyncio.create_task(gate.passed()))
            else:
                gate.lost(f"p{number}", event)
            await asyncio.sleep(0)
        done = await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), 5)
        return [str(each) if isinstance(each, NotDoneError) else "" for each in done]

    return asyncio.run(run())


NO_DISK = "others of its gang cannot be bound: p1: no disk"


@pytest.mark.parametrize(
    ("members", "needed", "events", "told"),
    [
        (2, 2, ("ready", "ready"), ["", ""]),
        (2, 2, ("ready", "no disk"), [NO_DISK]),
        (3, 2, ("ready", "no disk", "ready"), ["", ""]),
        (3, 2, ("ready", "no disk", "gone"), [NO_DISK]),
        (3, 2, ("ready", "ready", "too late", "ready"), ["", "", ""]),
        (2, 0, ("ready", "no disk"), [""]),
    ],
)
def test_all_pass_once_enough_are_ready_and_nobody_once_too_few_can_be(members, needed, events, told):
    assert passing(GangGate(members, needed), *events) == told


def test_a_member_that_comes_after_too_many_were_lost_does_not_pass():
    assert passing(GangGate(2, 2), "no disk", "ready") == ["others of its gang cannot be bound: p0: no disk"]


@pytest.mark.parametrize(("least", "runs", "needed"), [(3, 0, 3), (3, 1, 2), (3, 3, 0), (0, 1, 3), (9, 0, 3)])
def test_who_runs_already_is_not_needed(least, runs, needed):
    members = [waiting(f"web/g{each}", gang="g", gang_min=least, volumes=DISKS) for each in range(3)]
    running = [workload(f"web/r{each}", gang="g", gang_min=least) for each in range(runs)]
    there = cluster(node("n0").holding(*running), *members)
    (gate,) = gates_of(members, there).values()
    assert max(0, gate._needed) == needed


def test_a_gang_without_volumes_has_no_gate():
    members = [waiting(f"web/g{each}", gang="g", gang_min=2) for each in range(2)]
    alone = waiting("web/one", volumes=DISKS)
    assert gates_of([*members, alone], cluster(node("n0"), *members, alone)) == {}
