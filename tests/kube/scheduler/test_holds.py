"""What was decided is held until its volume is seen, whatever else is seen before, and in which order."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import claim, cluster, node, persistent_volume, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.local_disks import LocalDisks
from ullage.engine.placement.outcome import ChosenVolume, Served
from ullage.engine.placement.scheduling import Bound
from ullage.kube.scheduler.holds import LINGER_SECONDS, Holds
from ullage.model.cluster import Snapshot, Volume
from ullage.model.delta import Delta, apply
from ullage.model.drives import PlacedVolume
from ullage.model.ledger import VOLUME_SPACE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources

GIB = 1 << 30
NODE = node("n1", cpu=8).with_drive("h1", "HDD", "100Gi").with_drive("h2", "HDD", "100Gi")
GROUPED = (
    node("n1", cpu=8)
    .with_drive("h1", "HDD", "100Gi", clean=False)
    .with_drive("h2", "HDD", "100Gi")
    .with_volume_group("g1", "HDD", "96Gi", drives=("h1",))
)
CLAIMS = claim("web/a", "10Gi", storage_class="group"), claim("web/b", "20Gi", storage_class="group")
POD = waiting("web/p", cpu=1, volumes=(Volume("a", "a"), Volume("b", "b")))
BOUND = Bound(
    "web/p",
    "n1",
    (
        Served("a", "n1", "h1", "HDDLVG", 10 * GIB, fresh=True),
        Served("b", "n1", "h1", "HDDLVG", 20 * GIB, fresh=True),
    ),
)


class World:
    """A snapshot that follows what is seen and what is held."""

    def __init__(self, *parts) -> None:
        self.seconds = 0.0
        self.holds = Holds({"web/a": "uid-a", "web/b": "uid-b"}.get, lambda: self.seconds)
        self.snapshot: Snapshot = cluster(NODE, *CLAIMS, *parts)

    def hold(self, pod=POD, bound=BOUND) -> None:
        self.snapshot = apply(self.snapshot, self.holds.hold(pod, bound, self.snapshot))

    def see(self, **changes) -> None:
        self.snapshot = apply(self.snapshot, self.holds.applied(Delta(**changes)))

    def held(self) -> dict[str, int]:
        """Return the bytes that are held of each disk, as the engine counts them."""
        columns = Columns(self.snapshot)
        found: dict[str, int] = {}
        for each in LocalDisks(columns, list(self.snapshot.nodes)).of(0).holds:
            found[each.capacity] = found.get(each.capacity, 0) + each.size_bytes
        return found


@pytest.fixture
def world() -> World:
    return World()


def reserved(request: str, capacity: str = "drive/n1/h1") -> LedgerEntry:
    held = Resources({VOLUME_SPACE: {"a": 10, "b": 20}[request] * GIB})
    return LedgerEntry("web-p", request, capacity, "web/p", held, "RESERVED")


def made(*names: str, on=NODE, place: str = "h1"):
    volumes = tuple(PlacedVolume(f"pvc-uid-{name}", place, GIB) for name in names)
    return on.with_(placed_volumes=volumes).record


def test_disks_are_held_from_the_decision_on(world):
    world.hold()
    assert world.held() == {"h1": 30 * GIB}


def test_a_whole_drive_is_held_whole(world):
    world.hold(bound=Bound("web/p", "n1", (Served("a", "n1", "h2", "HDD", 10 * GIB, fresh=False),)))
    assert world.held() == {"h2": 100 * GIB}


def test_what_the_watch_shows_is_counted_once(world):
    world.hold()
    world.see(reservations=(reserved("a"), reserved("b")))
    assert world.held() == {"h1": 30 * GIB}
    assert len(world.snapshot.reservations) == 2


def test_a_drive_that_becomes_a_group_holds_what_was_held_of_it(world):
    world.hold()
    world.see(reservations=(reserved("a"), reserved("b")))
    moved = tuple(reserved(name, "group/n1/g1") for name in "ab")
    gone = tuple(reserved(name).key for name in "ab")
    world.see(nodes=(GROUPED.record,), reservations=moved, dropped={"reservations": gone})
    assert world.held() == {"g1": 30 * GIB}


def test_a_reservation_that_is_gone_before_its_volume_is_seen_still_holds(world):
    world.hold()
    world.see(reservations=(reserved("a"), reserved("b")))
    world.see(dropped={"reservations": (reserved("a").key, reserved("b").key)})
    assert world.held() == {"h1": 30 * GIB}
    world.seconds += 10 * LINGER_SECONDS
    world.see()
    assert world.held() == {"h1": 30 * GIB}


def test_volumes_that_are_seen_need_not_be_held(world):
    world.hold()
    on = GROUPED.with_(
        volume_groups=(msgspec.structs.replace(GROUPED.record.volume_groups[0], free_bytes=0),)
    )
    world.see(nodes=(GROUPED.record,))
    world.see(nodes=(made("a", on=on, place="g1"),))
    assert {each.request for each in world.snapshot.reservations} == {"b"}
    world.see(nodes=(made("a", "b", on=GROUPED, place="g1"),))
    assert not len(world.snapshot.reservations)
    assert not len(world.holds)


def test_a_volume_that_is_seen_before_its_reservation_is_gone_is_counted_once(world):
    world.hold()
    rows = reserved("a"), reserved("b")
    world.see(reservations=rows)
    world.see(nodes=(made("a"),))
    assert {each.request for each in world.snapshot.reservations} == {"b"}
    world.see(nodes=(made("a", "b"),))
    assert not len(world.snapshot.reservations)
    world.see(reservations=(msgspec.structs.replace(rows[1], created_seconds=5),))
    assert not len(world.snapshot.reservations)
    world.see(dropped={"reservations": tuple(each.key for each in rows)})
    assert not len(world.snapshot.reservations)
    assert not len(world.holds)


def test_a_reservation_that_stays_though_its_volumes_are_there_is_shown_again_in_the_end(world):
    world.hold()
    world.see(reservations=(reserved("a"), reserved("b")))
    world.see(nodes=(made("a", "b"),))
    world.holds.settle("web/p")
    world.see(reservations=(reserved("a", "drive/n1/h2"),), dropped={"reservations": (reserved("a").key,)})
    assert not len(world.snapshot.reservations)
    world.hold(bound=Bound("web/p", "n1", (Served("a", "n1", "h1", "HDDLVG", 10 * GIB, fresh=True),)))
    world.see()
    assert {each.key for each in world.snapshot.reservations} == {
        "web-p/a@drive/n1/h1", "web-p/a@drive/n1/h2", "web-p/b@drive/n1/h1",
    }  # fmt: skip


@given(st.permutations(["shown", "moved", "gone", "volume"]))
def test_in_whatever_order_events_come_nothing_is_free_before_the_volumes_are_there(order):
    world = World()
    world.hold()
    has_volume = False
    for event in order:
        if event == "shown":
            world.see(reservations=(reserved("a"), reserved("b")))
        elif event == "moved":
            moved = tuple(reserved(name, "group/n1/g1") for name in "ab")
            keys = tuple(reserved(name).key for name in "ab")
            world.see(nodes=(GROUPED.record,), reservations=moved, dropped={"reservations": keys})
        elif event == "gone":
            keys = tuple(each.key for each in world.snapshot.reservations)
            world.see(dropped={"reservations": keys})
        else:
            has_volume = True
            world.see(nodes=(made("a", "b"),))
        if not has_volume:
            assert sum(world.held().values()) >= 30 * GIB


def test_what_is_let_go_of_stays_held_for_a_while_because_the_driver_may_be_at_work(world):
    world.hold()
    world.holds.let_go("web/p")
    world.see()
    assert world.held() == {"h1": 30 * GIB}
    world.seconds += LINGER_SECONDS
    world.see()
    assert world.held() == {}
    assert not len(world.holds)


def test_a_pod_that_is_gone_holds_nothing_after_a_while(world):
    world.hold()
    world.see(reservations=(reserved("a"), reserved("b")))
    world.see(dropped={"workloads": ("web/p",)})
    world.seconds += LINGER_SECONDS
    world.see()
    assert world.held() == {"h1": 30 * GIB}, "its reservation is still there"
    world.see(dropped={"reservations": (reserved("a").key, reserved("b").key)})
    world.seconds += LINGER_SECONDS
    world.see()
    assert world.held() == {}


def test_a_pod_that_is_bound_holds_what_its_reservation_holds_and_no_longer(world):
    world.hold()
    world.holds.settle("web/p")
    world.see(reservations=(reserved("b"),))
    world.seconds += 10 * LINGER_SECONDS
    world.see()
    assert world.held() == {"h1": 30 * GIB}, "the last that was seen of it is of now"
    world.see(dropped={"reservations": (reserved("b").key,)})
    world.seconds += LINGER_SECONDS
    world.see()
    assert world.held() == {}


def test_an_older_reservation_of_the_pod_does_not_stand_for_the_new_one(world):
    older = reserved("a", "drive/n1/h2")
    world.see(reservations=(older,))
    world.hold()
    assert world.held() == {"h1": 30 * GIB, "h2": 10 * GIB}
    world.see()
    assert world.held() == {"h1": 30 * GIB, "h2": 10 * GIB}
    world.see(reservations=(reserved("a"), reserved("b")), dropped={"reservations": (older.key,)})
    assert world.held() == {"h1": 30 * GIB}


def test_a_reservation_of_another_pod_that_is_called_the_same_is_not_taken_for_its_own(world):
    other = msgspec.structs.replace(reserved("a"), owner="web-x/p")
    world.hold()
    world.see(nodes=(made("a"),), reservations=(other,))
    assert other in list(world.snapshot.reservations), "it holds, though there is a volume for one like it"
    world.holds.let_go("web/p")
    world.see()
    world.seconds += LINGER_SECONDS
    world.see()
    assert list(world.snapshot.reservations) == [other]


def test_volumes_without_claims_are_held_until_as_many_are_seen(world):
    pod = waiting("web/p", cpu=1, volumes=(Volume("x", inline=True), Volume("y", inline=True)))
    served = tuple(Served(f"p-{name}", "n1", "h1", "HDDLVG", GIB, fresh=True) for name in "xy")
    world.hold(pod, Bound("web/p", "n1", served))
    volumes = tuple(PlacedVolume(f"csi-{index}", "h1", GIB, owner="web/p") for index in range(2))
    world.see(nodes=(NODE.with_(placed_volumes=volumes[:1]).record,))
    assert len(world.snapshot.reservations) == 1
    world.see(nodes=(NODE.with_(placed_volumes=volumes).record,))
    assert len(world.snapshot.reservations) == 0


def test_a_claim_is_taken_to_name_the_node_and_a_free_volume_the_claim():
    world = World(persistent_volume("v1", "50Gi", storage_class="local"))
    world.hold(bound=Bound("web/p", "n1", chosen=(ChosenVolume("b", "v1"),)))
    assert world.snapshot.claims["web/a"].selected_node == "n1"
    assert world.snapshot.claims["web/b"].selected_node == "", "its volume says where it is"
    assert world.snapshot.volumes["v1"].claim == "web/b"
    world.holds.let_go("web/p")
    world.see()
    assert world.snapshot.claims["web/a"].selected_node == ""
    assert world.snapshot.volumes["v1"].claim == ""


def test_a_claim_that_has_its_volume_holds_nothing_more(world):
    world.see(claims=(msgspec.structs.replace(CLAIMS[0], bound=True, volume="v"),))
    world.hold()
    assert world.held() == {"h1": 20 * GIB}
    assert world.snapshot.claims["web/a"].selected_node == ""


def test_where_nothing_is_held_deltas_pass_as_they_are(world):
    delta = Delta(reservations=(reserved("a"),))
    assert world.holds.applied(delta) is delta
