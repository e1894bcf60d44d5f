"""Of a gang with volumes nobody is bound before enough of it can be."""

import asyncio

import pytest

from builders import cluster, node, waiting, workload
from ullage.kube.scheduler.actions import NotDoneError
from ullage.kube.scheduler.gang_gate import GangGate, Gates
from ullage.model.cluster import Volume

DISKS = (Volume("a", claim="a"),)


def stays() -> None:
    """Let a member stay at the gate."""


def gate_of(members: int, needed: int) -> GangGate:
    gate = GangGate(needed)
    for number in range(members):
        gate.join(f"p{number}")
    return gate


def passing(gate: GangGate, *events: str) -> list[str]:
    """Return what becomes of those who are ready, one by one with those who are not."""

    async def run() -> list[str]:
        waits = []
        for number, event in enumerate(events):
            if event == "ready":
                waits.append(asyncio.create_task(gate.passed(f"p{number}", stays)))
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
    assert passing(gate_of(members, needed), *events) == told


def test_a_member_that_comes_after_too_many_were_lost_does_not_pass():
    assert passing(gate_of(2, 2), "no disk", "ready") == ["others of its gang cannot be bound: p0: no disk"]


@pytest.mark.parametrize(("least", "runs", "needed"), [(3, 0, 3), (3, 1, 2), (3, 3, 0), (0, 1, 3), (9, 0, 3)])
def test_who_runs_already_is_not_needed(least, runs, needed):
    members = [waiting(f"web/g{each}", gang="g", gang_min=least, volumes=DISKS) for each in range(3)]
    running = [workload(f"web/r{each}", gang="g", gang_min=least) for each in range(runs)]
    there = cluster(node("n0").holding(*running), *members)
    (gate,) = Gates().joined(members, there).values()
    assert max(0, gate._needed) == needed


def test_a_gang_without_volumes_has_no_gate():
    members = [waiting(f"web/g{each}", gang="g", gang_min=2) for each in range(2)]
    alone = waiting("web/one", volumes=DISKS)
    assert Gates().joined([*members, alone], cluster(node("n0"), *members, alone)) == {}


def test_who_comes_later_joins_the_gate_that_others_of_its_gang_wait_at():
    first = waiting("web/g0", gang="g", gang_min=1, volumes=DISKS)
    later = waiting("web/g1", gang="g", gang_min=1)
    gates, there = Gates(), cluster(node("n0"), first, later)
    (gate,) = gates.joined([first], there).values()
    assert list(gates.joined([later], there).values()) == [gate]
    assert passing(gate, "no disk", "ready") == [""]
    assert gates.joined([later], there) == {}


def leaving(events: dict[str, str], members: int) -> dict[str, str]:
    """Return what becomes of a gang of which all are ready but the last, after some may not stay."""

    async def run() -> dict[str, str]:
        gate = gate_of(members, members)
        gone: dict[str, str] = {}

        async def member(key: str) -> str:
            def check() -> None:
                if key in gone:
                    raise NotDoneError(gone[key])

            try:
                await gate.passed(key, check)
            except NotDoneError as error:
                gate.lost(key, str(error))
                return str(error)
            return ""

        keys = [f"p{number}" for number in range(members)]
        tasks = [asyncio.create_task(member(key)) for key in keys[:-1]]
        await asyncio.sleep(0)
        gone |= events
        gate.look()
        await asyncio.sleep(0.01)
        tasks.append(asyncio.create_task(member(keys[-1])))
        done = await asyncio.wait_for(asyncio.gather(*tasks), 5)
        return dict(zip(keys, done, strict=True))

    return asyncio.run(run())


def test_who_may_not_stay_at_the_gate_is_not_ready_any_more():
    others = "others of its gang cannot be bound: p0: gone"
    assert leaving({"p0": "gone"}, 3) == {"p0": "gone", "p1": others, "p2": others}


def test_who_is_gone_unnoticed_does_not_count_when_the_last_comes():
    async def run() -> None:
        gate, gone = gate_of(2, 2), False

        def check() -> None:
            if gone:
                raise NotDoneError("gone")

        first = asyncio.create_task(gate.passed("p0", check))
        await asyncio.sleep(0)
        gone = True
        second = asyncio.create_task(gate.passed("p1", stays))
        with pytest.raises(NotDoneError):
            await asyncio.wait_for(first, 0.5)
        assert not second.done()
        second.cancel()

    asyncio.run(run())


def test_those_who_fail_together_are_given_back_in_one_step_with_the_last():
    async def run() -> None:
        gate = gate_of(2, 2)
        given_back: list[str] = []
        assert gate.lost("p0", "no disk") == ["p0", "p1"]
        gate.leave("p0", lambda: given_back.append("p0"))
        assert gate.is_open
        gate.join("late")
        with pytest.raises(NotDoneError, match="p0: no disk"):
            gate.refuse_failed()
        gate.leave("p1", lambda: given_back.append("p1"))
        assert given_back == []
        gate.leave("late", lambda: given_back.append("late"))
        assert given_back == ["p0", "p1", "late"]
        assert not gate.is_open

    asyncio.run(run())


def test_who_fails_while_enough_are_left_is_given_back_at_once():
    async def run() -> None:
        gate = gate_of(3, 2)
        given_back: list[str] = []
        gate.lost("p0", "no disk")
        gate.leave("p0", lambda: given_back.append("p0"))
        assert given_back == ["p0"]

    asyncio.run(run())
