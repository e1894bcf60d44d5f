"""A volume that exists stands for one promise, for as much of it as it has."""

import pytest

from builders import cluster, entry, node, pod
from ullage.engine.ledger.made import as_it_is, made_of
from ullage.engine.ledger.view import key_of
from ullage.model.drives import PlacedVolume
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.resources import Resources

MIB = 1 << 20
GIB = 1 << 30


def space(mebibytes):
    return Resources({VOLUME_SPACE: mebibytes * MIB})


def promise(request="data", mebibytes=40, capacity="group/n/vg", owner="shop/p", kind="Pod", **more):
    fields = {"resources": space(mebibytes), **more}
    return entry(f"{kind}/{owner}/1", capacity, request=request, owner=owner, **fields)


def there(*volumes, pods=()):
    disks = node("n").with_drive("d", "HDD", "1Gi").with_drive("e", "HDD", "1Gi")
    disks = disks.with_volume_group("vg", "HDD", "1Gi", drives=("d",))
    return cluster(disks.with_(placed_volumes=volumes).holding(*pods))


def lv(name, mebibytes=40, location="vg", **whose):
    return PlacedVolume(name, location, mebibytes * MIB, **whose)


def exists(snapshot, *entries):
    found = made_of(snapshot, entries)
    return {
        each.request: found[key_of(each)].of(VOLUME_SPACE) // MIB for each in entries if key_of(each) in found
    }


OWN = {"claim": "shop/data"}


@pytest.mark.parametrize(
    ("volume", "given", "expected"),
    [
        (lv("v", **OWN), promise(), {"data": 40}),
        (lv("v", 20, **OWN), promise(), {"data": 20}),
        (lv("v", 60, **OWN), promise(), {"data": 40}),
        (lv("v", 39, **OWN), promise(), {"data": 40}),
        (lv("v", **OWN), promise(capacity="drive/n/d"), {"data": 40}),
        (lv("v", **OWN), promise(capacity="group/n/old", drives=("drive/n/d",)), {"data": 40}),
        (lv("v", **OWN), promise(capacity="group/n/old", drives=("drive/n/e",)), {}),
        (lv("v", **OWN), promise(capacity="drive/n/e"), {}),
        (lv("v", **OWN), promise(owner="web/p"), {}),
        (lv("v", claim="shop/other"), promise(), {}),
        (lv("v", owner="shop/p"), promise("p-scratch"), {"p-scratch": 40}),
        (lv("v", owner="shop/p"), promise("data"), {}),
        (lv("v", owner="shop/q"), promise("p-scratch"), {}),
        (lv("v"), promise("p-scratch"), {}),
        (lv("v", **OWN), promise(state="WAITING"), {}),
        (lv("v", **OWN), promise(capacity="node/n"), {}),
    ],
    ids=[
        "as promised", "smaller", "larger", "in extents", "the drive became a group", "the group was renamed",
        "the group was elsewhere", "elsewhere", "another namespace", "another claim", "goes with its pod",
        "a claim is not what goes along", "goes with another", "of nobody", "waits", "no disk",
    ],
)  # fmt: skip
def test_which_volume_was_promised(volume, given, expected):
    assert exists(there(volume), given) == expected


def test_a_volume_that_goes_with_a_workload_stands_for_one_promise():
    both = [promise("p-a"), promise("p-b")]
    assert list(exists(there(lv("v", owner="shop/p")), *both).values()) == [40]
    assert len(exists(there(lv("v", owner="shop/p"), lv("w", owner="shop/p")), *both)) == 2


def test_of_several_that_go_along_each_stands_for_the_one_of_its_size():
    given = [promise("p-a", 20), promise("p-b", 40)]
    assert exists(there(lv("v", 40, owner="shop/p")), *given) == {"p-b": 40}


def test_what_goes_with_pods_of_a_set_was_promised_to_the_set():
    runs = pod("shop/web-5d-a", owner="ReplicaSet/web-5d")
    given = promise("web-scratch", owner="shop/web", kind="Deployment")
    snapshot = there(lv("v", owner="shop/web-5d-a"), pods=(runs,))
    assert exists(snapshot, given) == {"web-scratch": 40}
    assert exists(snapshot, promise("web-scratch", owner="shop/web", kind="StatefulSet")) == {}


def test_a_whole_drive_that_is_in_use_is_in_use_as_a_whole():
    whole = Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: GIB})
    given = promise(capacity="drive/n/e", resources=whole)
    assert made_of(there(lv("v", location="e", **OWN)), [given]) == {key_of(given): whole}


@pytest.mark.parametrize(
    ("made", "parts"),
    [
        (0, [("RESERVED", 40)]),
        (30, [("BOUND", 30), ("RESERVED", 10)]),
        (40, [("BOUND", 40)]),
    ],
)
def test_an_entry_is_bound_as_far_as_its_volume_exists(made, parts):
    given = promise(state="BOUND")
    found = as_it_is(given, {key_of(given): space(made)} if made else {})
    assert [(each.state, each.resources.of(VOLUME_SPACE) // MIB) for each in found] == parts


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        ([lv("data")], {"data": 40}),
        ([lv("vg/data")], {"data": 40}),
        ([lv("data", 8)], {}),
        ([lv("data", 80)], {}),
        ([lv("data"), lv("v", claim="shop/other")], {}),
    ],
    ids=["as promised", "with its group", "smaller", "larger", "where claims are known"],
)
def test_where_nobody_has_claims_name_and_size_are_what_was_promised(volumes, expected):
    assert exists(there(*volumes), promise()) == expected


def test_what_was_there_before_was_not_made_for_a_promise():
    given, owned = promise(), promise("own", owner="shop/q")
    snapshot = there(lv("data"))
    assert made_of(snapshot, [given], {key_of(given)}) == {}
    assert made_of(there(lv("v", claim="shop/own")), [owned], {key_of(owned)}) != {}, "claims are for sure"
