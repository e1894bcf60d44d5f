"""Who stands in line after a commit, who keeps the place, and who leaves."""

import msgspec
import pytest

from builders import batch, cluster, node, policy, quota, volume, waiting, workload
from ullage.engine.columns import Columns
from ullage.engine.ledger.apply import apply
from ullage.engine.ledger.audit import audit
from ullage.engine.ledger.decide import decide
from ullage.engine.ledger.of_plan import committed
from ullage.engine.ledger.of_waiting import Asking, lined_up
from ullage.engine.ledger.promises import with_promises
from ullage.engine.ledger.state import LedgerState
from ullage.engine.ledger.view import key_of
from ullage.engine.placement.fit import fit
from ullage.model.cluster import Volume
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.ledger import (
    VOLUME_SPACE,
    Bind,
    Expire,
    Hold,
    MadeVolume,
    Release,
    Reserve,
    Supply,
    Together,
)
from ullage.model.resources import Resources

GIB = 1 << 30
CPU = Resources({"cpu": 1000})


def server(**fields):
    return node("n1", cpu="4").with_(drives=(Drive("d", "HDD", 10 * GIB),), **fields)


class World:
    """A cluster and its ledger."""

    def __init__(self, *rows, few_drives=True, **settings):
        self.snapshot = cluster(*rows, policy=policy(**settings))
        self.few_drives = few_drives
        self.state = LedgerState()

    def commit(self, name, *, replicas=1, waits=True, at=0, until=1000, **fields):
        """Commit one workload; return whether a step was taken, and who keeps the place in line."""
        wanted = (batch(replicas, waiting(name, **fields)),)
        columns = Columns(with_promises(self.snapshot, self.state.entries))
        found = fit(columns, wanted)
        plan = committed(self.snapshot, self.state.entries, wanted, found, until)
        asking = Asking(
            columns,
            found.outcomes,
            {each.key: each.workload for each in wanted},
            [each for each in self.state.entries if each.holds],
            self.state.waiting,
            until,
            waits,
            self.few_drives,
        )
        command, in_line = lined_up(plan.command, asking)
        if command is not None:
            self.do(command, at)
        return command is not None, in_line

    def do(self, command, at=0):
        decision = decide(self.state, command, at)
        assert decision.accepted, decision.reason
        apply(self.state, decision, at)
        assert audit(self.state) == ()
        return decision

    def states(self):
        return {entry.reservation: entry.state for entry in self.state.entries}

    def line(self):
        return [each.reservation for each in self.state.waiting]


def test_what_does_not_fit_waits_and_is_held_when_there_is_room():
    world = World(server())
    world.commit("a", cpu="3")
    assert world.commit("b", cpu="2") == (True, ())
    assert world.states() == {"Pod/a/1": "RESERVED", "Pod/b/1": "WAITING"}
    world.do(Release("Pod/a/1"))
    assert world.states() == {"Pod/b/1": "RESERVED"}
    (held,) = world.state.entries
    assert (held.capacity, held.request) == ("node/n1", "compute")


def test_without_asking_to_wait_the_refusal_is_noted():
    world = World(server())
    world.commit("a", cpu="3")
    assert world.commit("b", cpu="2", waits=False) == (True, ())
    assert world.states() == {"Pod/a/1": "RESERVED"}


def test_what_can_never_have_a_place_does_not_wait():
    world = World(server())
    assert world.commit("b", cpu="9") == (True, ())
    assert world.states() == {}


@pytest.mark.parametrize("waits", [True, False])
def test_who_asks_again_keeps_the_place(waits):
    world = World(server())
    world.commit("a", cpu="3")
    world.commit("b", cpu="2")
    world.commit("c", cpu="2")
    assert world.commit("b", cpu="2", waits=waits) == (False, ("Pod/b/1",))
    assert world.line() == ["Pod/b/1", "Pod/c/1"]


def test_who_wants_something_else_stands_at_the_end():
    world = World(server())
    world.commit("a", cpu="3")
    world.commit("b", cpu="2")
    world.commit("c", cpu="2")
    world.commit("b", cpu="3")
    assert world.line() == ["Pod/c/1", "Pod/b/1"]


def test_who_fits_now_leaves_the_line():
    world = World(server())
    world.commit("a", cpu="3")
    world.commit("b", cpu="2")
    world.snapshot = cluster(server(), node("n2", cpu="4"), policy=policy())
    assert world.commit("b", cpu="2") == (True, ())
    assert (world.states()["Pod/b/1"], world.line()) == ("RESERVED", [])


def test_of_a_set_those_wait_that_have_no_place():
    world = World(server())
    world.commit("s", cpu="2", replicas=4, kind="Deployment")
    assert world.states() == {
        f"Deployment/s/{number}": "RESERVED" if number < 3 else "WAITING" for number in range(1, 5)
    }
    assert world.commit("s", cpu="2", replicas=4, kind="Deployment")[1] == (
        "Deployment/s/3",
        "Deployment/s/4",
    )
    world.commit("s", cpu="2", replicas=2, kind="Deployment")
    assert world.line() == []


def test_volumes_and_quotas_are_waited_for_too():
    own = volume("data", "6Gi", storage_class="HDDLVG", inline=True)
    world = World(server(), quota("team", maximum={"cpu": "9"}, namespaces=("web",)))
    world.commit("web/a", cpu="1", volumes=(own,))
    world.commit("web/b", cpu="1", volumes=(own,))
    assert world.states() == {"Pod/web/a/1": "RESERVED", "Pod/web/b/1": "WAITING"}
    world.do(Release("Pod/web/a/1"))
    held = {(each.request, each.capacity) for each in world.state.entries}
    assert held == {("compute", "node/n1"), ("compute", "quota/team"), ("b-data", "drive/n1/d")}


def test_another_drive_lets_the_line_move():
    own = volume("data", "6Gi", storage_class="HDD", inline=True)
    world = World(server())
    world.commit("a", cpu="1", volumes=(own,))
    world.commit("b", cpu="1", volumes=(own,))
    larger = server()
    larger = larger.with_(drives=(*larger.record.drives, Drive("e", "HDD", 10 * GIB)))
    world.snapshot = cluster(larger, policy=policy())
    world.commit("c", cpu="1", volumes=(own,), waits=False)
    assert world.states() == {"Pod/a/1": "RESERVED", "Pod/b/1": "WAITING", "Pod/c/1": "RESERVED"}
    world.do(Release("Pod/c/1"))
    assert world.states() == {"Pod/a/1": "RESERVED", "Pod/b/1": "RESERVED"}


SHARE = volume("data", "1Gi", storage_class="HDDLVG", inline=True)


def test_in_mode_compat_shares_of_a_class_are_held_one_after_the_other():
    world = World(server(), storage_mode="compat")
    world.commit("a", cpu="1", volumes=(SHARE,), waits=False)
    world.commit("b", cpu="1", volumes=(SHARE,), waits=False)
    assert world.states() == {"Pod/a/1": "RESERVED", "Pod/b/1": "WAITING"}
    assert {each.blocked_by for each in world.state.entries_of("Pod/b/1")} == {"Pod/a/1"}
    assert world.commit("b", cpu="1", volumes=(SHARE,), waits=False) == (False, ("Pod/b/1",))
    world.do(Bind("Pod/a/1"))
    assert world.states() == {"Pod/a/1": "BOUND", "Pod/b/1": "RESERVED"}
    assert {each.capacity for each in world.state.entries} == {"node/n1", "drive/n1/d"}


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"few_drives": False, "storage_mode": "compat"}, SHARE),
        ({"storage_mode": "exact"}, SHARE),
        ({"storage_mode": "zos"}, volume("data", "1Gi", storage_class="HDD", inline=True)),
    ],
)
def test_otherwise_nobody_waits_for_a_turn(settings, wanted):
    world = World(server(), **settings)
    world.commit("a", cpu="1", volumes=(wanted,), waits=False)
    world.commit("b", cpu="1", volumes=(wanted,), waits=False)
    assert world.states() == {"Pod/a/1": "RESERVED", "Pod/b/1": "RESERVED"}


def test_a_share_of_a_group_is_asked_for_as_one():
    made = server(volume_groups=(VolumeGroup("vg", "HDD", 8 * GIB, 5 * GIB, drives=("d",)),))
    world = World(made, storage_mode="compat")
    world.commit("a", cpu="1", volumes=(SHARE,), waits=False)
    assert {each.capacity for each in world.state.entries} == {"node/n1", "group/n1/vg"}


def test_the_ledger_is_told_what_all_nodes_offer_that_are_waited_for():
    world = World(server(), node("n2", cpu="4"))
    world.commit("a", cpu="3")
    world.commit("b", cpu="3")
    world.commit("c", cpu="3")
    names = {each.name for each in world.state.capacities}
    assert {"node/n1", "node/n2", "drive/n1/d"} <= names
    world.do(Supply(tuple(msgspec.structs.replace(each) for each in world.state.capacities)))
    assert world.line() == ["Pod/c/1"]


def test_who_waits_a_turn_is_held_where_there_is_room_then():
    plain = volume("data", "1Gi", storage_class="HDD", inline=True)
    share = volume("data", "6Gi", storage_class="HDDLVG", inline=True)
    other = node("n2", cpu="4").with_(drives=(Drive("e", "HDD", 10 * GIB),))
    third = node("n3", cpu="1").with_(drives=(Drive("f", "HDD", 10 * GIB),))
    world = World(server(), other, third, storage_mode="compat")
    world.commit("a", cpu="1", volumes=(share,), waits=False)
    world.commit("b", cpu="1", volumes=(share,), waits=False)
    (waits,) = world.state.waiting
    assert waits.nodes == ("n1", "n2", "n3")
    world.commit("c", cpu="2", volumes=(plain,), waits=False)
    world.do(Bind("Pod/a/1"))
    assert world.states() == {"Pod/a/1": "BOUND", "Pod/b/1": "RESERVED", "Pod/c/1": "RESERVED"}


def test_whose_turn_it_is_has_the_disks_of_the_plan():
    other = node("n2", cpu="4").with_(drives=(Drive("e", "HDD", 10 * GIB),))
    world = World(server(), other, storage_mode="compat")
    wanted = (batch(1, waiting("a", cpu="1", volumes=(SHARE,))),)
    columns = Columns(world.snapshot)
    found = fit(columns, wanted)
    world.commit("a", cpu="1", volumes=(SHARE,), waits=False)
    ((planned, _),) = found.outcomes[0].nodes
    assert {each.capacity.split("/")[1] for each in world.state.entries} == {planned}


def test_who_waits_is_not_held_where_a_volume_outlasts_its_promise():
    share = volume("data", "4Gi", storage_class="HDDLVG", inline=True)
    large = volume("data", "6Gi", storage_class="HDDLVG", inline=True)
    world = World(server())
    world.commit("s", cpu="1", volumes=(share,), replicas=2, kind="Deployment")
    group = VolumeGroup("vg", "HDD", 10 * GIB, 2 * GIB, drives=("d",))
    volumes = tuple(PlacedVolume(f"pv{each}", "vg", 4 * GIB, owner=f"s-{each}") for each in "12")
    pods = [workload(f"s-{each}", node="n1", cpu="1", owner="Deployment/s") for each in "12"]
    world.snapshot = cluster(server(volume_groups=(group,), placed_volumes=volumes), *pods, policy=policy())
    world.commit("c", cpu="1", volumes=(large,))
    assert world.line() == ["Pod/c/1"]
    world.commit("s", cpu="1", volumes=(share,), replicas=1, kind="Deployment")
    assert [name for name in world.states() if name.startswith("Deployment")] == ["Deployment/s/1"]
    assert world.line() == ["Pod/c/1"]


def test_who_has_a_volume_that_exists_does_not_wait_for_a_turn():
    world = World(server(), storage_mode="compat")
    world.commit("b", cpu="1", volumes=(SHARE,))
    space = Resources({VOLUME_SPACE: 4 * GIB})
    holds = (Hold("compute", "node/n1", CPU), Hold("data", "drive/n1/d", space))
    asked = Reserve("Pod/a/1", "a", 1000, holds=holds)
    asking = Asking(
        Columns(world.snapshot),
        (),
        {"a": waiting("a")},
        world.state.entries,
        (),
        1000,
        waits=True,
        few_drives=True,
    )
    (offered,) = (each for each in world.state.capacities if each.name == "drive/n1/d")
    made = msgspec.structs.replace(offered, made=(MadeVolume("Pod/a/1", "data", "drive/n1/d", space),))
    for supplied, waits in ((offered, True), (made, False)):
        command, _ = lined_up(Together((Expire(), Supply((supplied,)), asked)), asking)
        assert (asked not in command.commands) == waits


def in_gibibytes(world):
    held = {each.request: each.resources.of(VOLUME_SPACE) / GIB for each in world.state.entries}
    return {request: size for request, size in held.items() if request != "compute"}


@pytest.mark.parametrize("settings", [{}, {"storage_mode": "compat"}])
def test_a_claim_may_have_the_name_of_what_is_held_of_the_node(settings):
    world = World(server(), **settings)
    claim = Volume("v", "compute", "HDDLVG", 8 * GIB)
    world.commit("first", cpu="4")
    assert world.commit("a", cpu="1", volumes=(claim,)) == (True, ())
    assert world.line() == ["Pod/a/1"]
    world.do(Release("Pod/first/1"))
    assert in_gibibytes(world) == {"claim/compute": 8}
    assert world.commit("a", cpu="1", volumes=(claim,)) == (False, ())
    assert world.commit("b", cpu="1", volumes=(claim,), waits=False) == (True, ())
    assert {each.claim for each in world.state.entries} == {"", "compute"}
    world.do(Release("Pod/a/1", ("compute",)))
    assert [each.request for each in world.state.entries_of("Pod/a/1")] == ["claim/compute"]


def test_what_is_held_under_that_name_from_before_stays_as_it_is():
    world = World(server())
    claim = Volume("v", "compute", "HDDLVG", 8 * GIB)
    world.commit("a", cpu="1", volumes=(claim,))
    (held,) = [each for each in world.state.entries if each.claim]
    world.state.end(key_of(held))
    world.state.put(msgspec.structs.replace(held, request="compute", claim=""))
    assert world.commit("a", cpu="1", volumes=(claim,)) == (False, ())


def test_who_waits_for_a_node_shares_what_others_have_been_promised():
    world = World(server())
    shared = Volume("v", "data", "HDDLVG", 8 * GIB)
    world.commit("a", cpu="3", volumes=(shared,))
    assert world.commit("b", cpu="2", volumes=(shared,)) == (True, ())
    assert world.commit("b", cpu="2", volumes=(shared,)) == (False, ("Pod/b/1",))
    world.do(Release("Pod/a/1"))
    assert {each.reservation for each in world.state.entries if each.holds} == {"Pod/b/1"}
    assert in_gibibytes(world) == {"data": 8}
