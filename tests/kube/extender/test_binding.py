"""A bind is judged by the cluster as it is now, done once, and given back where it fails."""

import asyncio

import pytest

from ullage.engine.placement.scheduling import Bound
from ullage.kube.extender.binding import Binder
from ullage.kube.extender.gang_places import PATIENCE_SECONDS
from ullage.kube.scheduler.actions import NotDoneError


class Ready:
    """Volumes that are ready, or never."""

    def __init__(self) -> None:
        self.prepared: list[tuple[str, str]] = []
        self.given_back: list[tuple[str, str]] = []
        self.told: list[tuple[str, str]] = []
        self.stopped: list[tuple[str, str]] = []
        self.fails = False
        self.error: Exception = NotDoneError("no volume")

    async def prepare(self, workload, bound: Bound) -> None:
        self.prepared.append((workload.key, bound.node))
        if self.fails:
            raise self.error

    async def give_back(self, workload, bound: Bound) -> None:
        self.given_back.append((workload.key, bound.node))

    def done(self, workload, bound: Bound) -> None:
        self.told.append((workload.key, bound.node))

    def stop(self, key: str, why: str) -> None:
        self.stopped.append((key, why))


@pytest.fixture
def ready() -> Ready:
    return Ready()


@pytest.fixture
def binder(watched, written, ready, judging) -> Binder:
    return Binder(watched.outlook, written, ready, judging)


def bind(binder: Binder, name: str, node: str = "n1", uid: str = "") -> None:
    asyncio.run(binder.bind(f"a/{name}", uid or f"uid-{name}", node))


def test_a_pod_that_its_node_takes_is_bound(watched, written, binder):
    watched.node("n1")
    watched.pod("a/p", cpu="1")
    bind(binder, "p")
    assert written.bound == [("a/p", "uid-p", "n1")]
    assert binder.bound == 1


def test_what_does_not_hold_any_more_is_refused_with_its_reason(watched, written, binder):
    watched.node("n1", cpu="1")
    watched.pod("a/p", cpu="1")
    watched.pod("a/q", cpu="1")
    bind(binder, "p")
    with pytest.raises(NotDoneError, match="cpu short"):
        bind(binder, "q")
    assert len(written.bound) == 1


def test_two_binds_of_one_quota_do_not_pass_it(watched, binder):
    watched.node("n1")
    watched.quota("a/q", cpu="1")
    for name in ("p", "q"):
        watched.pod(f"a/{name}", cpu="1")
    bind(binder, "p")
    with pytest.raises(NotDoneError, match="all quotas together would use more than their mins"):
        bind(binder, "q")


def test_a_bind_that_was_done_before_is_done(watched, written, binder):
    watched.node("n1")
    watched.pod("a/p", cpu="1", on="n1")
    bind(binder, "p")
    assert written.bound == []


@pytest.mark.parametrize(
    ("uid", "node", "why"),
    [("another", "n1", "there is no such pod"), ("uid-p", "n2", "it does not wait for a node")],
)
def test_a_pod_that_is_not_the_one_or_runs_elsewhere_is_not_bound(watched, binder, uid, node, why):
    for name in ("n1", "n2"):
        watched.node(name)
    watched.pod("a/p", cpu="1", on="n1")
    with pytest.raises(NotDoneError, match=why):
        bind(binder, "p", node, uid)


def test_the_same_bind_asked_for_twice_at_once_is_done_once(watched, written, binder):
    watched.node("n1")
    watched.pod("a/p", cpu="1")

    async def twice() -> None:
        await asyncio.gather(*(binder.bind("a/p", "uid-p", "n1") for _ in range(2)))

    asyncio.run(twice())
    assert len(written.bound) == 1


def test_another_node_is_refused_while_a_bind_is_under_way(watched, binder):
    for name in ("n1", "n2"):
        watched.node(name)
    watched.pod("a/p", cpu="1")

    async def both() -> list[object]:
        binds = (binder.bind("a/p", "uid-p", node) for node in ("n1", "n2"))
        return await asyncio.gather(*binds, return_exceptions=True)

    first, second = asyncio.run(both())
    assert first is None
    assert str(second) == "it is being bound to n1"


def test_a_pod_that_could_not_be_bound_gives_its_room_back(watched, written, binder):
    watched.node("n1", cpu="1")
    for name in ("p", "q"):
        watched.pod(f"a/{name}", cpu="1")
    written.refused.add("a/p")
    with pytest.raises(NotDoneError, match="refused"):
        bind(binder, "p")
    bind(binder, "q")
    assert written.bound == [("a/q", "uid-q", "n1")]
    assert (binder.bound, binder.failed) == (1, 1)


INLINE = {"name": "d", "csi": {"driver": "disks.example.com", "volumeAttributes": {"size": "1Gi"}}}


def test_one_that_makes_way_is_not_bound(watched, written, binder, ready):
    watched.node("n1")
    watched.pod("a/p", cpu="1", spec={"volumes": [INLINE]})

    async def run() -> None:
        binder.make_way("a/p")
        binding = asyncio.create_task(binder.bind("a/p", "uid-p", "n1"))
        await asyncio.sleep(0)
        binder.make_way("a/p")
        with pytest.raises(NotDoneError, match="makes way"):
            await binding
        await binder.bind("a/p", "uid-p", "n1")

    asyncio.run(run())
    assert [key for key, _ in ready.stopped] == ["a/p"]
    assert ready.given_back == [("a/p", "n1")]
    assert len(written.bound) == 1


@pytest.mark.parametrize("error", [NotDoneError("no volume"), ValueError("no volume")])
def test_volumes_are_made_ready_first_and_given_back_where_that_fails(watched, written, binder, ready, error):
    watched.node("n1")
    watched.pod("a/p", cpu="1", spec={"volumes": [INLINE]})
    ready.fails = True
    ready.error = error
    there = ("a/p", "n1")
    with pytest.raises(NotDoneError, match="no volume"):
        bind(binder, "p")
    assert (ready.prepared, ready.given_back, written.bound) == ([there], [there], [])
    ready.fails = False
    bind(binder, "p")
    assert ready.told == [there]


class TestGangs:
    """Nobody of a gang is bound before enough can be."""

    @pytest.fixture(autouse=True)
    def _gang(self, watched):
        watched.node("n1", cpu="3")
        watched.gang("a/g", 2)
        for name in ("p", "q"):
            watched.pod(f"a/{name}", cpu="1", labels={"scheduling.x-k8s.io/pod-group": "g"})

    async def begun(self, binder: Binder, name: str) -> asyncio.Task[None]:
        binding = asyncio.create_task(binder.bind(f"a/{name}", f"uid-{name}", "n1"))
        await asyncio.sleep(0.01)
        return binding

    def test_the_first_waits_for_the_others(self, written, binder):
        async def run() -> None:
            first = await self.begun(binder, "p")
            assert not first.done()
            assert written.bound == []
            await binder.bind("a/q", "uid-q", "n1")
            await first

        asyncio.run(run())
        assert {key for key, _, _ in written.bound} == {"a/p", "a/q"}

    @pytest.fixture(params=["gone", "late", "makes way"])
    def happen(self, request, watched, clock, binder):
        """Something that leaves too few of the gang."""

        def late() -> None:
            clock.now += PATIENCE_SECONDS

        return {
            "gone": lambda: watched.gone("a/q"),
            "late": late,
            "makes way": lambda: binder.make_way("a/p"),
        }[request.param]

    def test_where_too_few_are_left_nobody_is_bound(self, watched, written, binder, gangs, happen):
        async def run() -> None:
            first = await self.begun(binder, "p")
            happen()
            watched.outlook.catch_up()
            gangs.sweep()
            with pytest.raises(NotDoneError):
                await first

        asyncio.run(run())
        watched.outlook.catch_up()
        assert written.bound == []
        assert watched.outlook.held == {}
        assert not watched.outlook.pod("a/p").node

    def test_one_that_fails_behind_the_gate_keeps_its_place(self, watched, written, binder):
        written.refused.add("a/q")

        async def run() -> None:
            both = [await self.begun(binder, name) for name in ("p", "q")]
            done = await asyncio.gather(*both, return_exceptions=True)
            assert [str(each) for each in done if each] == ["refused"]
            watched.outlook.catch_up()
            assert watched.outlook.held == {"a/q": "n1"}
            written.refused.clear()
            await binder.bind("a/q", "uid-q", "n1")

        asyncio.run(run())
        assert len(written.bound) == 2
