"""What is held for a replica stays if it is what is asked for; else its disks are planned anew."""

import pytest

from builders import batch, claim, cluster, entry, node, pod, volume, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.resources import Resources

GIB = 1 << 30
DRIVES = (Drive("d", "HDD", 101 * GIB),)


def server(name="n1", drives=DRIVES, **more):
    return node(name, cpu="8").with_(drives=drives, **more)


def promised(name="shop/a", **more):
    """Return what stands on a node for a promise."""
    return pod(name, cpu="1", kind="Reservation", promised=True, **more)


def held(gib, where="drive/n1/d", request="data-a", reservation="Pod/shop/a/1", owner="shop/a", **more):
    amounts = {"resources": Resources({VOLUME_SPACE: gib * GIB}), **more}
    return entry(reservation, where, request=request, owner=owner, **amounts)


def asked(amount="10Gi", storage_class="HDDLVG", *more):
    own = volume("data", amount, claim="data-a", storage_class=storage_class)
    return batch(1, waiting("shop/a", cpu="1", volumes=(own, *more)))


def judged(batches, *parts):
    (outcome,) = fit(Columns(cluster(*parts)), [batches]).outcomes
    return outcome


def replanned(outcome):
    return [
        (each.reservation, [(disk.volume, disk.place, disk.size_bytes // GIB) for disk in each.disks])
        for each in outcome.replanned
    ]


WHOLE = {"resources": Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: 101 * GIB - (8 << 20)})}


@pytest.mark.parametrize(
    ("entries", "question", "expected"),
    [
        ([held(10)], asked(), None),
        ([held(10)], asked("90Gi"), ("data-a", "d", 90)),
        ([held(10)], asked("5Gi"), ("data-a", "d", 5)),
        ([held(10)], asked(storage_class="HDD"), ("data-a", "d", 10)),
        ([held(10, **WHOLE)], asked(storage_class="HDD"), None),
        ([held(10, **WHOLE)], asked(storage_class="ANY"), None),
        ([held(10, **WHOLE)], asked(), ("data-a", "d", 10)),
        ([], asked(), ("data-a", "d", 10)),
        ([held(10, "group/n1/gone", drives=("drive/n1/d",))], asked(), ("data-a", "d", 10)),
        ([held(10), held(3, request="dropped")], asked(), ("data-a", "d", 10)),
    ],
    ids=[
        "as asked", "larger", "smaller", "a whole drive now", "whole as asked", "any as asked", "a share now",
        "given back", "its group has gone", "a volume is no more wanted",
    ],
)  # fmt: skip
def test_a_promise_keeps_its_disks_or_has_others_in_their_place(entries, question, expected):
    outcome = judged(question, server().holding(promised()), *entries)
    assert (outcome.placed, outcome.refusal) == (1, None)
    name = entries[0].reservation if entries else ""
    assert replanned(outcome) == ([] if expected is None else [(name, [expected])])


@pytest.mark.parametrize(
    "question", [asked("200Gi"), asked(storage_class="NVME"), asked("90Gi")], ids=["size", "class", "others"]
)
def test_a_promise_that_no_node_has_disks_for_is_refused(question):
    others = held(20, reservation="other", owner="shop/b", request="data-b")
    outcome = judged(question, server().holding(promised()), held(10), others)
    assert (outcome.placed, outcome.replanned, bool(outcome.refusal)) == (0, (), True)
    assert "data-a" in outcome.refusal.reason


def test_a_promise_goes_to_another_node_for_its_disks():
    other = server("n2", (Drive("e", "HDD", 301 * GIB),))
    outcome = judged(asked("200Gi"), server().holding(promised()), other, held(10))
    assert (outcome.action, outcome.nodes) == ("place", (("n2", 1),))
    assert [each.place for each in outcome.disks] == ["e"]


def running(free=60, size="40Gi", **more):
    group = VolumeGroup("vg", "HDD", 100 * GIB, free * GIB, drives=("d",))
    made = PlacedVolume("v", "vg", 40 * GIB, claim="shop/data-a")
    return (
        server(volume_groups=(group,), placed_volumes=(made,)).holding(pod("shop/a", cpu="1")),
        claim("shop/data-a", size, bound=True, **{"storage_class": "HDDLVG", **more}),
    )


def test_a_volume_grows_in_its_group_where_that_has_room():
    outcome = judged(asked(), *running(size="100Gi"))
    assert replanned(outcome) == [("", [("data-a", "vg", 100)])]
    assert judged(asked(), *running()).replanned == ()


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (running(size="101Gi"), "n1: data-a cannot grow by 61Gi: vg has 60Gi free"),
        (running(storage_class="SSDLVG"), "cannot become SSDLVG"),
        ((*running(size="100Gi"), held(1, owner="shop/b", reservation="b")), "vg has 59Gi free"),
    ],
    ids=["no room", "another class", "promised to others"],
)
def test_a_volume_that_cannot_become_what_is_asked_for_is_refused_and_stays(parts, reason):
    outcome = judged(asked(), *parts)
    assert (outcome.placed, outcome.certificate) == (0, "impossible")
    assert reason in outcome.refusal.reason
    assert outcome.refusal.remedy


def test_what_is_held_for_growth_is_there_for_it():
    rest = held(60, "group/n1/vg")
    made = held(40, "group/n1/vg", reservation="other", state="BOUND")
    assert judged(asked(), *running(size="100Gi"), rest).replanned == ()
    assert judged(asked(), *running(size="101Gi"), rest, made).refusal


def test_what_goes_with_a_promise_and_exists_already_is_kept_with_the_rest():
    parts = [volume(name, "40Gi", storage_class="HDDLVG", inline=True) for name in ("s1", "s2")]
    question = batch(1, waiting("shop/p", cpu="1", volumes=tuple(parts)))
    group = VolumeGroup("vg", "HDD", 100 * GIB, 60 * GIB, drives=("d",))
    made = PlacedVolume("v", "vg", 40 * GIB, owner="shop/p")
    entries = [
        held(40, request="p-s1", owner="shop/p", reservation="Pod/shop/p/1", state="BOUND"),
        held(40, request="p-s2", owner="shop/p", reservation="Pod/shop/p/1"),
    ]
    there = server(volume_groups=(group,), placed_volumes=(made,)).holding(promised("shop/p"))
    outcome = judged(question, there, *entries)
    assert (outcome.placed, outcome.replanned) == (1, ())
