"""Several pods for which kube-scheduler has others go: each victim for one of them, each place for one."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ullage.engine.placement.scheduling import Bound
from ullage.kube.extender import outlook
from ullage.kube.extender.answers import Answers, Leader
from ullage.kube.extender.gang_places import GangPlaces
from ullage.kube.extender.judging import Decided, Judging
from ullage.kube.extender.nominations import ANSWER_SECONDS_MAX
from ullage.kube.scheduler.actions import NotDoneError

from .conftest import Clock, Watched

HIGH = {"priority": 9}


async def never(key: str, uid: str, node: str) -> None:
    raise NotDoneError(f"{key} {uid} {node}")


class Asked:
    """What kube-scheduler asks of one cluster."""

    def __init__(self, watched: Watched, judging: Judging) -> None:
        self.watched = watched
        self.judging = judging
        self.made_way: list[str] = []
        self.renounced: list[str] = []
        leader = Leader(judging, self.made_way.append, never, renounce=self._renounce)
        self.answers = Answers(watched.outlook, leader)

    async def _renounce(self, key: str, facts: object) -> None:
        del facts
        self.renounced.append(key)

    def _ask(self, verb: str, name: str, *nodes: str) -> Any:
        facts = self.watched.outlook.facts(f"a/{name}")
        metadata = {"name": name, "namespace": "a", "uid": facts.uid if facts else ""}
        body = json.dumps({"Pod": {"metadata": metadata}, "NodeNames": list(nodes)}).encode()
        return asyncio.run(getattr(self.answers, verb)(body))

    def victims(self, name: str) -> list[str]:
        """Return who goes for a pod, as `node/name`."""
        found = self._ask("preempt", name).node_name_to_meta_victims
        return sorted(
            f"{node}/{each.uid.removeprefix('uid-')}" for node, goes in found.items() for each in goes.pods
        )

    def takes(self, name: str, *nodes: str) -> list[str]:
        return self._ask("filter", name, *nodes).node_names


@pytest.fixture
def ask(watched, judging) -> Asked:
    return Asked(watched, judging)


def waits(watched: Watched, name: str, nominated: str = "", **parts: Any) -> None:
    status = {"nominatedNodeName": nominated} if nominated else {}
    watched.pod(f"a/{name}", **{"cpu": "1", "spec": HIGH, **parts}, status=status)


def runs(watched: Watched, name: str, node: str = "n1", **parts: Any) -> None:
    watched.pod(f"a/{name}", cpu="1", on=node, **parts)


@pytest.fixture
def full(watched) -> Watched:
    """A node with two pods, and two more important ones that wait."""
    watched.node("n1", cpu="2")
    for name in ("w0", "w1"):
        runs(watched, name)
    for name in ("k0", "k1"):
        waits(watched, name)
    return watched


def other(victim: str) -> str:
    return {"n1/w0": "n1/w1", "n1/w1": "n1/w0"}[victim]


@pytest.fixture(params=[outlook.HELD_JUDGED_MAX, 0])
def however_many(request, monkeypatch) -> None:
    """Whether all for whom places are held are judged anew, or only those of the same node."""
    monkeypatch.setattr(outlook, "HELD_JUDGED_MAX", request.param)


@pytest.mark.usefixtures("however_many")
def test_no_victim_is_for_two(full, ask):
    (first,) = ask.victims("k0")
    assert ask.victims("k1") == [other(first)]
    waits(full, "k2")
    assert ask.victims("k2") == []


def test_whoever_asks_again_is_told_the_same_until_that_is_seen(full, ask):
    (first,) = ask.victims("k0")
    ask.victims("k1")
    assert ask.victims("k0") == [first]
    runs(full, first.removeprefix("n1/"), deleted=True)
    assert ask.victims("k0") == []


def test_the_place_of_one_for_whom_somebody_has_gone_is_for_no_other(full, ask, judging):
    (first,) = ask.victims("k0")
    full.gone(f"a/{first.removeprefix('n1/')}")
    assert ask.takes("k1", "n1") == []
    assert isinstance(judging.bound(full.outlook.pod("a/k1"), "n1"), str)
    assert ask.takes("k0", "n1") == ["n1"]
    assert isinstance(judging.bound(full.outlook.pod("a/k0"), "n1"), Decided)


def test_a_more_important_one_has_it_all_the_same(full, ask):
    (first,) = ask.victims("k0")
    full.gone(f"a/{first.removeprefix('n1/')}")
    waits(full, "top", spec={"priority": 99})
    assert ask.takes("top", "n1") == ["n1"]


def test_one_whose_nomination_alone_is_known_keeps_its_place_after_a_restart(full, ask):
    waits(full, "k0", "n1")
    runs(full, "w0", deleted=True)
    assert ask.victims("k1") == ["n1/w1"]
    full.gone("a/w0")
    assert ask.takes("k1", "n1") == []
    assert ask.takes("k0", "n1") == ["n1"]


@pytest.mark.usefixtures("however_many")
def test_of_two_that_are_nominated_for_one_place_one_is_given_another(full, ask):
    for name in ("k0", "k1"):
        waits(full, name, "n1")
    full.gone("a/w0")
    assert sorted(ask.victims("k0") + ask.victims("k1")) == ["n1/w1"]


def test_one_that_makes_way_before_it_runs_does_so_for_one_pod_alone(full, ask):
    waits(full, "w0", spec={})
    full.outlook.catch_up()
    full.outlook.bind(full.outlook.pod("a/w0"), Bound("a/w0", "n1"))
    told = {name: ask.victims(name) for name in ("k0", "k1")}
    assert sorted(told.values()) in ([[], ["n1/w1"]], [["n1/w1"], []])
    assert ask.made_way == ["a/w0"]


class TestEnd:
    """An answer ends where nothing follows from it any more; who has not left is for others then."""

    @pytest.fixture
    def first(self, watched, ask) -> str:
        """Who goes for k0: one of two equal pods on nodes of their own."""
        for name in ("n1", "n2"):
            watched.node(name, cpu="1")
            runs(watched, f"w-{name}", name)
        for name in ("k0", "k1"):
            waits(watched, name)
        (told,) = ask.victims("k0")
        return told

    def free(self, watched: Watched, first: str) -> bool:
        """Return whether the victim of k0 stays, and its place is held for nobody."""
        node, _, name = first.partition("/")
        watched.outlook.catch_up()
        held = node in watched.outlook.held.values()
        running = watched.outlook.pod(f"a/{name}")
        assert held == running.terminating
        return not held

    def test_by_its_time_where_no_nomination_comes(self, watched, first, clock):
        clock.now += ANSWER_SECONDS_MAX - 1
        assert not self.free(watched, first)
        clock.now += 1
        assert self.free(watched, first)

    def test_when_the_pod_is_gone(self, watched, first):
        watched.gone("a/k0")
        assert self.free(watched, first)

    def test_when_another_pod_has_its_name(self, watched, first):
        waits(watched, "k0", uid="another")
        assert self.free(watched, first)

    def test_when_it_is_bound_elsewhere(self, watched, first):
        watched.node("n3", cpu="1")
        watched.outlook.catch_up()
        watched.outlook.bind(watched.outlook.pod("a/k0"), Bound("a/k0", "n3"))
        assert self.free(watched, first)

    def test_when_it_is_nominated_elsewhere(self, watched, first):
        watched.node("n3", cpu="1")
        waits(watched, "k0", "n3")
        assert self.free(watched, first)
        assert watched.outlook.held == {"a/k0": "n3"}

    def test_when_its_nomination_is_taken_back(self, watched, first):
        waits(watched, "k0", first.partition("/")[0])
        assert not self.free(watched, first)
        waits(watched, "k0")
        assert self.free(watched, first)

    def test_not_while_an_older_nomination_still_stands(self, watched, ask, first):
        node = first.partition("/")[0]
        waits(watched, "k0", node)
        runs(watched, "critical", node, spec={"priority": 99})
        watched.gone(f"a/w-{node}")
        (second,) = ask.victims("k0")
        watched.outlook.catch_up()
        assert watched.outlook.held == {"a/k0": second.partition("/")[0]}
        assert second != first

    def test_a_victim_that_does_not_leave_is_told_again(self, watched, ask, first, clock):
        node = first.partition("/")[0]
        waits(watched, "k0", node)
        watched.outlook.catch_up()
        clock.now += ANSWER_SECONDS_MAX
        watched.outlook.catch_up()
        assert not watched.outlook.pod(f"a/w-{node}").terminating
        assert watched.outlook.held == {"a/k0": node}
        assert ask.victims("k0") == [first]

    def test_the_place_stays_where_the_victim_leaves_and_nothing_else_is_seen_for_long(
        self, watched, first, clock
    ):
        node = first.partition("/")[0]
        waits(watched, "k0", node)
        runs(watched, f"w-{node}", node, deleted=True)
        watched.outlook.catch_up()
        clock.now += 100 * ANSWER_SECONDS_MAX
        watched.outlook.catch_up()
        assert watched.outlook.held == {"a/k0": node}

    def test_with_the_node(self, watched, first):
        node = first.partition("/")[0]
        waits(watched, "k0", node)
        watched.outlook.catch_up()
        watched.node_gone(node)
        watched.outlook.catch_up()
        assert watched.outlook.held == {}


class TestRenounced:
    """A nomination that leads nowhere keeps others from a place: it is taken back."""

    @pytest.fixture(autouse=True)
    def _node(self, watched):
        """Two have been nominated; one of the two places is taken by one that nobody may evict."""
        watched.node("n1", cpu="2")
        runs(watched, "critical", spec={"priority": 99})
        for name in ("k0", "k1"):
            waits(watched, name, "n1")

    @pytest.mark.usefixtures("however_many")
    def test_of_two_for_one_place_the_one_that_has_no_right_to_any(self, ask):
        for name in ("k0", "k1"):
            assert ask.victims(name) == []
        assert len(ask.renounced) == 1
        (left,) = {"a/k0", "a/k1"} - set(ask.renounced)
        assert ask.takes(left.removeprefix("a/"), "n1") == ["n1"]

    def test_not_of_one_that_waits_for_somebody_to_leave(self, watched, ask):
        watched.node("n2", cpu="1")
        runs(watched, "slow", "n2", deleted=True)
        for name in ("k0", "k1"):
            assert ask.victims(name) == []
        assert ask.renounced == []


def test_a_claim_of_quotas_and_a_preemption_at_once_have_no_victim_in_common(
    watched, ask, claiming, written, in_vain
):
    watched.node("n1", cpu="3")
    watched.quota("a/q", cpu="2")
    watched.quota("b/q", cpu="1")
    for index in range(3):
        watched.pod(f"b/b{index}", cpu="1", on="n1")
    for name in ("k0", "k1"):
        watched.pod(f"a/{name}", cpu="1", status=in_vain if name == "k1" else None)
    body = json.dumps({"Pod": {"metadata": {"name": "k0", "namespace": "a", "uid": "uid-k0"}}}).encode()

    async def both() -> Any:
        return (await asyncio.gather(claiming.look(), ask.answers.preempt(body)))[1]

    ((_, goes),) = asyncio.run(both()).node_name_to_meta_victims.items()
    asyncio.run(claiming.look())
    (evicted,) = written.evicted
    assert {each.uid for each in goes.pods}.isdisjoint({f"uid-{evicted.removeprefix('b/')}"})
    assert watched.outlook.held == {"a/k0": "n1", "a/k1": "n1"}


class World:
    """kube-scheduler with our extender on one node: what the server has; watches may show it later."""

    def __init__(self, room: int, count: int) -> None:
        self.count = count
        self.running = {f"w{index}": "w" for index in range(room)}
        self.leaving: set[str] = set()
        self.nominated: set[str] = set()
        self.bound: set[str] = set()
        self.evicted: list[str] = []
        self.room = room
        self.restart()

    def restart(self) -> None:
        """Let the extender begin anew: it is shown all that the server has."""
        self.watched = Watched(Clock())
        gangs = GangPlaces(self.watched.outlook)
        self.ask = Asked(self.watched, Judging(self.watched.outlook, gangs))
        self.watched.node("n1", cpu=str(self.room))
        for name in (*self.running, *(f"k{index}" for index in range(self.count))):
            self.show(name)

    def show(self, name: str) -> None:
        """Let the watch show what the server has of a pod."""
        if name.startswith("w"):
            if name in self.running:
                runs(self.watched, name, deleted=name in self.leaving)
            else:
                self.watched.gone(f"a/{name}")
        elif name in self.bound:
            runs(self.watched, name, spec=HIGH)
        else:
            waits(self.watched, name, "n1" if name in self.nominated else "")

    def preempt(self, name: str) -> None:
        """Do as kube-scheduler: have evicted whom the extender names, and nominate the pod."""
        if name in self.bound:
            return
        victims = [each.removeprefix("n1/") for each in self.ask.victims(name)]
        self.evicted += [each for each in victims if each not in self.leaving]
        self.leaving |= set(victims)
        if victims:
            self.nominated.add(name)

    def leave(self, name: str) -> None:
        if name in self.leaving and self.running.pop(name, ""):
            self.show(name)

    def bind(self, name: str) -> None:
        """Bind a pod as kube-scheduler does: others that are nominated, and as important, count for it."""
        taken = len(self.running) + len(self.bound | self.nominated | {name})
        if name in self.bound or taken > self.room or self.ask.takes(name, "n1") != ["n1"]:
            return
        pod = self.watched.outlook.pod(f"a/{name}")
        decided = self.ask.judging.bound(pod, "n1")
        assert isinstance(decided, Decided)
        self.watched.outlook.bind(pod, decided.bound)
        self.bound.add(name)
        self.nominated.discard(name)


STEPS = st.lists(
    st.tuples(st.sampled_from(("preempt", "show", "leave", "bind", "restart")), st.integers(0, 3))
)


@pytest.mark.usefixtures("however_many")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(room=st.integers(1, 3), count=st.integers(1, 4), steps=STEPS)
def test_whatever_is_seen_first_all_that_have_a_right_to_room_run_and_nobody_goes_in_vain(room, count, steps):
    world, names = World(room, count), [f"k{index}" for index in range(count)]

    def do(verb: str, number: int) -> None:
        if verb == "restart":
            world.restart()
        elif verb == "leave":
            world.leave(f"w{number % room}")
        elif verb == "show":
            for name in (names[number % count], f"w{number % room}"):
                world.show(name)
        else:
            getattr(world, verb)(names[number % count])

    for verb, number in steps:
        do(verb, number)
        assert len(world.evicted) <= min(room, count)
    for _ in range(2 * count):
        for verb in ("preempt", "show", "leave", "bind"):
            for number in range(4):
                do(verb, number)
    assert len(world.bound) == len(world.evicted) == min(room, count)
