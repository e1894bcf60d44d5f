"""A capacity that a driver publishes is given away once, until it publishes what is left."""

import msgspec
import pytest

from builders import claim, cluster, node, waiting
from ullage.engine.placement.scheduling import Bound
from ullage.kube.scheduler.holds import Holds
from ullage.kube.scheduler.storage_room import PUBLISHED_SECONDS
from ullage.model.cluster import Snapshot, Volume
from ullage.model.constraints import LabelSelector, Requirement
from ullage.model.delta import Delta, apply
from ullage.model.storage import StorageCapacity, StorageClass, StorageDriver

GIB = 1 << 30
HOST = "kubernetes.io/hostname"
CLASS = StorageClass("fast", provisioner="driver")
DRIVER = StorageDriver("driver", checks_capacity=True)


def capacity(name: str, gibibytes: int, host: str = "n1", **fields) -> StorageCapacity:
    topology = fields.pop("topology", LabelSelector({HOST: host}))
    return StorageCapacity(
        name, "default", "fast", topology=topology, capacity_bytes=gibibytes * GIB, **fields
    )


class World:
    """A node with a capacity, and claims of 60 GiB."""

    def __init__(self, *capacities: StorageCapacity) -> None:
        self.seconds = 0.0
        self.holds = Holds(lambda _: "", lambda: self.seconds)
        self.claims = [claim(f"web/{name}", "60Gi", storage_class="fast") for name in "abc"]
        names = ("n1", "n2")
        nodes = [msgspec.structs.replace(node(name, cpu="8").record, labels={HOST: name}) for name in names]
        self.snapshot: Snapshot = cluster(*nodes, *self.claims)
        self.see(
            storage_classes=(CLASS,),
            storage_drivers=(DRIVER,),
            storage_capacities=capacities or (capacity("c", 100),),
        )

    def see(self, **changes) -> None:
        self.snapshot = apply(self.snapshot, self.holds.applied(Delta(**changes)))

    def bind(self, name: str, where: str = "n1") -> bool:
        """Take a pod for bound, if there is room for its claim."""
        pod = waiting(f"web/{name}", volumes=(Volume(name, name),))
        bound = Bound(pod.key, where)
        if not self.holds.take_room(pod, bound, self.snapshot):
            return False
        self.snapshot = apply(self.snapshot, self.holds.hold(pod, bound, self.snapshot))
        return True

    def made(self, name: str) -> None:
        row = self.snapshot.claims.get(f"web/{name}")
        self.see(claims=(msgspec.structs.replace(row, bound=True, volume=f"pv-{name}"),))

    @property
    def left(self) -> dict[str, int]:
        return {each.name: each.capacity_bytes // GIB for each in self.snapshot.storage_capacities}


def test_what_one_has_another_has_not():
    world = World(capacity("c", 100), capacity("d", 100, "n2"))
    assert world.bind("a")
    assert world.left == {"c": 40, "d": 100}
    assert not world.bind("b")
    assert world.bind("b", "n2")
    assert not world.bind("c", "n2")


def test_what_was_not_bound_after_all_is_given_back():
    world = World()
    assert world.bind("a")
    world.holds.let_go("web/a")
    world.see()
    assert world.left == {"c": 100}
    assert world.bind("b")


def test_it_counts_until_the_volume_is_made_and_the_driver_says_what_is_left():
    world = World()
    assert world.bind("a")
    world.see(storage_capacities=(capacity("c", 99),))
    assert world.left == {"c": 39}, "it was published before the volume was made"
    world.made("a")
    world.holds.let_go("web/a")
    world.see()
    assert world.left == {"c": 39}
    world.see(storage_capacities=(capacity("c", 38),))
    assert world.left == {"c": 38}


def test_a_driver_that_says_nothing_is_believed_after_a_while():
    world = World()
    assert world.bind("a")
    world.made("a")
    world.seconds = PUBLISHED_SECONDS + 1
    world.see()
    assert world.left == {"c": 100}


def test_a_claim_that_is_gone_takes_nothing():
    world = World()
    assert world.bind("a")
    world.see(dropped={"claims": ("web/a",)})
    assert world.left == {"c": 100}


def test_a_capacity_that_is_gone_and_comes_again_is_counted_anew():
    world = World()
    assert world.bind("a")
    world.see(dropped={"storage_capacities": ("default/c",)})
    assert world.left == {}
    world.see(storage_capacities=(capacity("c", 100),))
    assert world.left == {"c": 40}


@pytest.mark.parametrize(
    "topology",
    [LabelSelector(), LabelSelector({}, (Requirement(HOST, "In", ("n1", "n3")),))],
    ids=["of all nodes", "by a condition"],
)
def test_capacities_are_found_by_whatever_selects_their_nodes(topology):
    world = World(capacity("c", 100, topology=topology))
    assert world.bind("a")
    assert not world.bind("b")


def test_it_is_taken_from_the_largest():
    world = World(capacity("c", 70), capacity("d", 100), capacity("e", 500, "n2"))
    assert world.bind("a")
    assert world.left == {"c": 70, "d": 40, "e": 500}
    assert world.bind("b")
    assert not world.bind("c")


def test_the_largest_volume_is_no_larger_than_what_is_left():
    world = World(capacity("c", 100, volume_bytes_max=80 * GIB))
    assert world.bind("a")
    (row,) = world.snapshot.storage_capacities
    assert (row.capacity_bytes, row.volume_bytes_max) == (40 * GIB, 40 * GIB)


def test_where_only_the_largest_volume_is_said_nothing_is_counted():
    world = World(capacity("c", 0, volume_bytes_max=80 * GIB))
    assert world.bind("a")
    assert world.bind("b")


def test_drivers_whose_capacities_are_not_checked_are_left_alone():
    world = World()
    world.see(storage_drivers=(StorageDriver("driver"),))
    assert world.bind("a")
    assert world.bind("b")
    assert world.left == {"c": 100}
