"""Plans with volumes, committed: what changes is held as it is now, and by the names that it will have."""

import pytest

from builders import batch, cluster, entry, node, volume, waiting
from engine.ledger.ledgers import Ledger
from ullage.engine.columns import Columns
from ullage.engine.ledger.of_plan import committed
from ullage.engine.ledger.promises import with_promises
from ullage.engine.placement.fit import fit
from ullage.model.drives import PlacedVolume
from ullage.model.ledger import VOLUME_SPACE, Bind, Expire, Pause, Release, Reserve, Resize, Supply
from ullage.model.resources import Resources

HOUR = 3600
DRIVE = node("n1", cpu="4", memory="8Gi").with_drive("d1", "HDD", "10Gi")


def asked(ledger, snapshot, question):
    return fit(Columns(with_promises(snapshot, ledger.state.entries)), [question])


def planned(ledger, snapshot, question):
    found = asked(ledger, snapshot, question)
    return committed(snapshot, ledger.state.entries, [question], found, ledger.at_seconds + HOUR)


def commit(ledger, snapshot, question):
    plan = planned(ledger, snapshot, question)
    return ledger.do(plan.command) if plan.command else None


def stored(amount="1Gi", name="shop/a", *, storage_class="HDDLVG", replicas=1, kind="Pod", claim="data"):
    own = volume("data", amount, claim=claim, storage_class=storage_class)
    owner = "" if kind == "Pod" else f"{kind}/{name.rpartition('/')[2]}"
    return batch(replicas, waiting(name, cpu="1", kind=kind, owner=owner, volumes=(own,)))


@pytest.mark.parametrize(
    ("amount", "storage_class", "kinds"),
    [("1Gi", "HDDLVG", []), ("9Gi", "HDDLVG", [Resize]), ("9Gi", "SSDLVG", [Release, Reserve])],
    ids=["as it was", "larger", "on another disk"],
)
def test_volumes_that_change_are_held_as_they_are_now(amount, storage_class, kinds):
    ledger, there = Ledger(), cluster(DRIVE.with_drive("s1", "SSD", "10Gi"))
    commit(ledger, there, stored())
    plan = planned(ledger, there, stored(amount, storage_class=storage_class))
    changes = plan.command.commands if plan.command else ()
    assert [type(each) for each in changes if not isinstance(each, Expire | Supply)] == kinds
    assert plan.command is None or ledger.do(plan.command).accepted
    (disk,) = [each for each in ledger.state.entries if each.request == "data"]
    assert disk.resources == Resources({VOLUME_SPACE: int(amount[0]) << 30})


def test_a_reservation_in_use_stays_so_when_it_is_made_again():
    ledger, there = Ledger(), cluster(DRIVE.with_drive("s1", "SSD", "10Gi"))
    commit(ledger, there, stored())
    ledger.do(Bind("Pod/shop/a/1"))
    ledger.do(Pause("Pod/shop/a/1"))
    assert commit(ledger, there, stored(storage_class="SSDLVG")).accepted
    assert {(each.state, each.paused, each.expires_seconds) for each in ledger.state.entries} == {
        ("BOUND", True, None)
    }
    assert ledger.state.held("drive/n1/d1") == {}


def test_the_replicas_of_a_stateful_set_hold_by_the_names_of_their_claims():
    ledger, there = Ledger(), cluster(DRIVE)
    for replicas in (2, 3):
        commit(ledger, there, stored(name="shop/s", kind="StatefulSet", claim="data-s", replicas=replicas))
    held = [(each.reservation[-1], each.request) for each in ledger.state.entries_on("drive/n1/d1")]
    assert held == [("1", "data-s-0"), ("2", "data-s-1"), ("3", "data-s-2")]


def test_what_another_ledger_has_reserved_for_it_is_there_for_whom_it_is_for():
    theirs = entry("acr", "drive/n1/d1", owner="shop/a", resources=Resources({VOLUME_SPACE: 9 << 30}))
    there = cluster(DRIVE, theirs)
    assert commit(Ledger(), there, stored("9Gi")).accepted
    assert not asked(Ledger(), there, stored("9Gi", "shop/b")).fits


def test_a_group_is_supplied_with_all_names_of_its_bytes():
    there = cluster(DRIVE.with_volume_group("vg", "HDD", "9Gi", drives=("d1",)))
    plan = planned(Ledger(), there, stored())
    (supply,) = [each for each in plan.command.commands if isinstance(each, Supply)]
    assert {each.name for each in supply.capacities} == {"node/n1", "drive/n1/d1", "group/n1/vg"}


def test_a_volume_that_exists_stays_held_when_another_one_of_its_pod_changes():
    def question(amount):
        own = [
            volume(name, size, claim=name, storage_class="HDDLVG")
            for name, size in (("x", "2Gi"), ("y", amount))
        ]
        return batch(1, waiting("shop/a", cpu="1", volumes=tuple(own)))

    ledger = Ledger()
    commit(ledger, cluster(DRIVE), question("1Gi"))
    grouped = DRIVE.with_volume_group("vg", "HDD", "9Gi", "7Gi", drives=("d1",))
    made = PlacedVolume("lv", "vg", 2 << 30, claim="shop/x")
    assert commit(ledger, cluster(grouped.with_(placed_volumes=(made,))), question("7Gi")).accepted
    held = {each.request: each.resources.of(VOLUME_SPACE) >> 30 for each in ledger.state.entries}
    assert held == {"compute": 0, "x": 2, "y": 7}
