"""Replicas of a StatefulSet go to the claims that carry their numbers; all others are alike."""

import pytest

from builders import batch, claim, cluster, node, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.numbered import NUMBERED_MAX, numbered
from ullage.engine.trial import Trial
from ullage.model.cluster import Volume
from ullage.model.drives import PlacedVolume

GIB = 1 << 30


def a_set(**fields):
    volume = Volume("data", "data-q", "HDD", GIB)
    facts = {"kind": "StatefulSet", "owner": "StatefulSet/q", "volumes": (volume,)}
    return waiting("s/q", cpu="1", **{**facts, **fields})


def machines(*claims, made="", cpu="8"):
    first = node("n1", cpu=cpu).with_drive("d1", "HDD", "20Gi")
    if made:
        first = first.with_(placed_volumes=(PlacedVolume("pv", "d1", GIB, made),))
    second = node("n2", cpu="9").with_drive("d1", "HDD", "20Gi").with_drive("d2", "HDD", "20Gi")
    return cluster(first, second, *claims)


KNOWN = {
    "none": (machines(), {}, []),
    "a claim that waits": (machines(claim("s/data-q-1", "1Gi", storage_class="HDD")), {}, [2]),
    "a volume on a disk": (machines(made="s/data-q-2"), {}, [3]),
    "a volume of a replica that is not asked for": (machines(made="s/data-q-3"), {}, []),
    "one of another namespace": (machines(made="t/data-q-0"), {}, []),
    "one that goes with it": (
        machines(made="s/data-q-0"),
        {"volumes": (Volume("data", "data-q", "HDD", GIB, inline=True),)},
        [],
    ),
    "a set whose replicas have no numbers": (
        machines(made="s/data-q-0"),
        {"kind": "Deployment", "owner": "Deployment/q"},
        [],
    ),
}


@pytest.mark.parametrize(("there", "fields", "numbers"), KNOWN.values(), ids=KNOWN)
def test_those_are_unlike_the_others_whose_claims_are_known(there, fields, numbers):
    trial = Trial(Columns(there))
    assert [number for number, _ in numbered(trial, a_set(**fields), (), 3)] == numbers


def test_numbers_of_those_who_stay_are_not_given_again():
    trial = Trial(Columns(machines(made="s/data-q-2")))
    assert [number for number, _ in numbered(trial, a_set(), {"q-0"}, 2)] == [3]
    assert list(numbered(trial, a_set(), {"q-0"}, 1)) == []
    assert list(numbered(trial, a_set(), {"q-2"}, NUMBERED_MAX * 2)) == []


@pytest.mark.parametrize("ordinal", [0, 1, 2])
def test_a_replica_is_placed_where_its_volume_is(ordinal):
    there = machines(made=f"s/data-q-{ordinal}")
    (outcome,) = fit(Columns(there), [batch(3, a_set())]).outcomes
    (tied,) = outcome.replanned
    assert (tied.node, tied.number, outcome.placed, outcome.action) == ("n1", ordinal + 1, 3, "place")
    assert len(outcome.new_disks) == 2


def test_where_its_node_has_no_room_the_set_is_refused_and_nothing_stays_placed():
    there = machines(made="s/data-q-1", cpu="500m")
    refused, other = fit(Columns(there), [batch(2, a_set()), batch(1, waiting("s/z", cpu="9"))]).outcomes
    assert (refused.placed, refused.replicas, refused.nodes) == (0, 2, ())
    assert "volume of claim data-q-1 is on node n1" in refused.refusal.reason
    assert other.placed == 1
