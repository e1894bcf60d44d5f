"""After every change the cluster is shown with the promises that still stand beside it, each once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster, entry, node, pod, waiting
from ullage.engine.columns import Columns
from ullage.engine.ledger.promises import with_promises
from ullage.kube.held_room import HeldRoom
from ullage.model.delta import Delta
from ullage.model.delta import apply as apply_delta

NAMES = ("a", "b", "c")
NODES = ("n1", "n2")


class Standing:
    """A ledger that says what it is told to."""

    def __init__(self):
        self.entries = ()

    def standing(self, _):
        return self.entries


class World:
    """What is shown, what was seen, and the room between."""

    def __init__(self, *parts):
        self.seen = self.shown = cluster(*parts)
        self.columns = Columns(self.shown)
        self.ledger = Standing()
        self.room = HeldRoom(self.ledger, now=lambda: 0)

    def change(self, delta=None):
        delta = Delta() if delta is None else delta
        self.seen = apply_delta(self.seen, delta)
        self.take(self.room.applied(delta, self.shown))

    def take(self, delta):
        self.columns = self.columns.advance(delta)
        self.shown = self.columns.snapshot

    def promise(self, *entries):
        self.ledger.entries = entries
        self.change()

    def check(self):
        wanted = with_promises(self.seen, self.ledger.entries)
        assert list(self.shown.workloads) == list(wanted.workloads)
        assert list(self.shown.reservations) == list(wanted.reservations)
        assert (self.columns.promised == Columns(self.shown).promised).all()


def held(name, where="n1", cpu="3"):
    return entry(f"Pod/shop/{name}/1", f"node/{where}", owner=f"shop/{name}", request="compute", cpu=cpu)


def runs(name, where="n1"):
    return pod(f"shop/{name}", node=where, cpu="3")


def waits(name):
    return waiting(f"shop/{name}", cpu="3")


@pytest.fixture
def world():
    return World(node("n1", cpu="8"), node("n2", cpu="8"))


def test_without_promises_a_change_is_what_it_is(world):
    delta = Delta(workloads=(waits("a"),))
    assert world.room.applied(delta, world.shown) is delta


def test_a_promise_stands_until_its_pod_runs_and_then_no_longer(world):
    world.promise(held("a"))
    assert [each.kind for each in world.shown.workloads] == ["Reservation"]
    world.change(Delta(workloads=(waits("a"),)))
    assert world.room.places == {"shop/a": "n1"}
    assert [(each.kind, each.node) for each in world.shown.workloads] == [("Pod", "n1")]
    world.change(Delta(workloads=(runs("a"),)))
    assert world.room.places == {}
    assert list(world.shown.workloads) == [runs("a")]
    world.check()


def test_who_has_a_promise_is_lent_it_for_one_look(world):
    world.promise(held("a"), held("b"))
    world.change(Delta(workloads=(waits("a"), waits("b"))))
    world.take(world.room.lifted(["shop/a", "shop/c"]))
    assert [(each.name, each.node) for each in world.shown.workloads] == [("a", ""), ("b", "n1")]
    world.change()
    world.check()


def test_room_is_free_when_the_promise_ends(world):
    world.promise(held("a"))
    world.promise()
    assert not len(world.shown.workloads)
    assert world.room.lifted(["shop/a"]).is_empty
    world.check()


def test_a_promise_on_a_node_that_goes_goes_with_it_and_comes_back(world):
    world.promise(held("a"))
    there = world.seen.nodes["n1"]
    world.change(Delta(dropped={"nodes": ("n1",)}))
    assert not len(world.shown.workloads)
    world.change(Delta(nodes=(there,)))
    assert len(world.shown.workloads) == 1
    world.check()


def test_a_promise_of_a_disk_is_a_reservation_beside_those_of_the_cluster(world):
    own = entry("other", "drive/n1/d", owner="x/y", request="v", **{"ullage.dev/volume-space": 5})
    world.change(Delta(reservations=(own,)))
    disk = entry("r", "drive/n1/d", owner="shop/a", request="v", **{"ullage.dev/volume-space": 7})
    world.promise(disk)
    assert {each.reservation for each in world.shown.reservations} == {"other", "r"}
    world.promise()
    assert list(world.shown.reservations) == [own]


changes = st.one_of(
    st.builds(lambda name: Delta(workloads=(waits(name),)), st.sampled_from(NAMES)),
    st.builds(
        lambda name, where: Delta(workloads=(runs(name, where),)),
        st.sampled_from(NAMES),
        st.sampled_from(NODES),
    ),
    st.builds(lambda name: Delta(dropped={"workloads": (f"shop/{name}",)}), st.sampled_from(NAMES)),
)
promises = st.lists(
    st.builds(held, st.sampled_from(NAMES), st.sampled_from(NODES), st.sampled_from(["2", "5"])),
    unique_by=lambda each: each.reservation,
    max_size=3,
).map(tuple)
lent = st.frozensets(st.sampled_from([f"shop/{name}" for name in NAMES]))


@given(st.lists(st.one_of(changes, promises, lent), max_size=12))
def test_whatever_happens_it_is_what_it_would_be_counted_afresh(story):
    world = World(node("n1", cpu="8"), node("n2", cpu="8"))
    for each in story:
        if isinstance(each, tuple):
            world.promise(*each)
        elif isinstance(each, frozenset):
            world.take(world.room.lifted(each))
            world.change()
        else:
            world.change(each)
        world.check()
