"""Replicas of a set stay with what they hold, and all of them become what is asked for, or none does."""

from builders import batch, cluster, entry, node, pod, volume, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE
from ullage.model.resources import Resources

GIB = 1 << 30


def a_set(replicas, amount="40Gi", kind="StatefulSet"):
    own = volume("data", amount, claim="data-s", storage_class="HDDLVG")
    if kind != "StatefulSet":
        own = volume("data", amount, storage_class="HDDLVG", inline=True)
    return batch(replicas, waiting("shop/s", kind=kind, owner=f"{kind}/s", cpu="1", volumes=(own,)))


def stands(number, kind="StatefulSet"):
    return pod(f"shop/s-{number}", cpu="1", kind="Reservation", owner=f"{kind}/s", promised=True)


def held(number, gib=40, where="drive/n1/d", request="data-s-{}", kind="StatefulSet"):
    space = Resources({VOLUME_SPACE: gib * GIB})
    name = f"{kind}/shop/s/{number + 1}"
    return entry(name, where, request=request.format(number), owner="shop/s", resources=space)


def judged(question, *parts, **more):
    server = node("n1", cpu="8").with_(drives=(Drive("d", "HDD", 101 * GIB),), **more)
    pods = [each for each in parts if hasattr(each, "containers")]
    entries = [each for each in parts if not hasattr(each, "containers")]
    (outcome,) = fit(Columns(cluster(server.holding(*pods), *entries)), [question]).outcomes
    return outcome


def test_a_set_that_grows_leaves_what_its_replicas_hold_to_them():
    outcome = judged(a_set(2), stands(0), held(0))
    assert (outcome.placed, outcome.replanned) == (2, ())
    assert [each.volume for each in outcome.new_disks] == ["data-s"]
    assert judged(a_set(3), stands(0), held(0)).placed == 2


def test_unchanged_it_is_kept():
    assert judged(a_set(2), stands(0), held(0), stands(1), held(1)).action == "keep"


def test_only_replicas_whose_volumes_change_have_other_disks():
    outcome = judged(a_set(2), stands(0), held(0), stands(1), held(1, 10))
    assert [each.reservation for each in outcome.replanned] == ["StatefulSet/shop/s/2"]
    assert [each.volume for each in outcome.disks] == ["data-s-1"]
    assert outcome.new_disks == ()


def test_a_reservation_under_the_name_of_the_template_is_found_in_order():
    outcome = judged(a_set(1, "50Gi"), stands(0), held(0, request="data-s"))
    assert [each.reservation for each in outcome.replanned] == ["StatefulSet/shop/s/1"]


def test_larger_volumes_that_do_not_all_fit_are_not_promised_to_all():
    outcome = judged(a_set(2, "60Gi"), stands(0), held(0), stands(1), held(1))
    assert outcome.placed == 1
    assert outcome.refusal is not None


def test_replicas_of_a_deployment_are_all_alike():
    parts = [part for number in (0, 1) for part in (
        stands(number, "Deployment"), held(number, request="s-data", kind="Deployment"),
    )]  # fmt: skip
    assert judged(a_set(2, kind="Deployment"), *parts).action == "keep"
    outcome = judged(a_set(2, "45Gi", kind="Deployment"), *parts)
    assert len(outcome.replanned) == 2


def running(*volumes):
    group = VolumeGroup("vg", "HDD", 100 * GIB, (100 - 40 * len(volumes)) * GIB, drives=("d",))
    made = tuple(PlacedVolume(name, "vg", 40 * GIB, claim=f"shop/data-{name}") for name in volumes)
    return {"volume_groups": (group,), "placed_volumes": made}


def test_a_set_that_runs_grows_where_its_volumes_are_or_not_at_all():
    pods = [pod(f"shop/s-{number}", cpu="1", owner="StatefulSet/s") for number in (0, 1)]
    outcome = judged(a_set(2, "50Gi"), *pods, **running("s-0", "s-1"))
    assert [each.volume for each in outcome.disks] == ["data-s-0", "data-s-1"]
    outcome = judged(a_set(2, "51Gi"), *pods, **running("s-0", "s-1"))
    assert (outcome.placed, outcome.disks) == (0, ())
    assert "data-s-1 cannot grow by 11Gi: vg has 9Gi free" in outcome.refusal.reason


def test_a_set_that_is_scaled_down_needs_no_room_for_those_that_go():
    pods = [pod(f"shop/s-{number}", cpu="1", owner="StatefulSet/s") for number in (0, 1)]
    assert judged(a_set(1, "51Gi"), *pods, **running("s-0", "s-1")).placed == 1
