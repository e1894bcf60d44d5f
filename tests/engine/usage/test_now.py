"""What crowds use at one moment: all members count, and only crowds that moved are told."""

import numpy as np
import pytest

from ullage.engine.usage.book import Samples
from ullage.engine.usage.homes import Homes, InOneRun
from ullage.engine.usage.now import Now
from ullage.engine.usage.summaries import AMOUNT_MAX
from ullage.model.cluster import Node, Snapshot, Workload
from ullage.model.table import Table

NOON = 20_000 * 86_400 + 43_200
HOMES = Homes(
    Snapshot(
        nodes=Table([Node("n1", group="g"), Node("n2", group="g")]),
        workloads=Table(
            [
                Workload(
                    f"{owner}-{each}", namespace="shop", owner=f"StatefulSet/{owner}", node=f"n{each + 1}"
                )
                for owner in ("web", "db")
                for each in range(2)
            ]
        ),
    )
)
WEB, DB = "workload/shop/StatefulSet/web", "workload/shop/StatefulSet/db"


def summed(points, resource="cpu"):
    """Return what crowds use, of points: subjects with moment, amount, and whether it is new."""
    now = Now(HOMES)
    subjects = [*points]
    at, amounts, new = (np.array(each) for each in zip(*points.values(), strict=True))
    now.add(Samples(resource, "usage", subjects, np.arange(len(subjects)), at, amounts), new)
    return {
        name: (int(at), int(amount))
        for each in now.sums()
        for name, at, amount in zip(each.subjects, each.at_seconds, each.amounts, strict=True)
    }


def test_members_that_were_not_measured_since_count_with_what_they_were_told_to_use():
    found = summed({"pod/shop/web-0": (NOON - 45, 100, False), "pod/shop/web-1": (NOON, 30, True)})
    assert found[WEB] == found["namespace/shop"] == (NOON, 130)


def test_a_crowd_of_which_nobody_was_measured_anew_is_not_told_again():
    found = summed(
        {
            "pod/shop/web-0": (NOON, 100, True),
            "pod/shop/web-1": (NOON, 10, True),
            "pod/shop/db-0": (NOON - 60, 7, False),
        }
    )
    assert DB not in found
    assert found["namespace/shop"] == (NOON, 117)


@pytest.mark.parametrize("border", [300, 86_400], ids=["of five minutes", "of days"])
def test_members_on_both_sides_of_a_border_are_one_sum(border):
    at = NOON // border * border
    found = summed({"pod/shop/web-0": (at - 3, 100, True), "pod/shop/web-1": (at + 4, 30, True)})
    assert found[WEB] == (at + 4, 130)


def test_what_nodes_say_of_their_group_counts_also_where_only_pods_moved():
    found = summed(
        {
            "node/n1": (NOON, 500, False),
            "node/n2": (NOON, 600, False),
            "pod/shop/web-0": (NOON + 5, 100, True),
        }
    )
    assert {"group/g", "cluster", "node/n1"}.isdisjoint(found)
    found = summed({"node/n1": (NOON, 500, True), "node/n2": (NOON, 600, False), **POD})
    assert found["group/g"] == found["cluster"] == (NOON, 1100)


POD = {"pod/shop/web-0": (NOON, 100, True)}


def test_dropped_points_and_containers_are_in_no_sum():
    points = {"container/shop/web-0/main": (NOON, 100, True), "pod/shop/web-1": (NOON, -1, True), **POD}
    assert summed(points)[WEB] == (NOON, 100)


def test_sums_are_exact_and_end_at_the_largest_amount():
    assert summed({f"pod/shop/web-{each}": (NOON, 2**61 - 1, True) for each in range(2)})[WEB][1] == 2**62 - 2
    assert summed({f"pod/shop/p-{each}": (NOON, AMOUNT_MAX, True) for each in range(9)})[
        "namespace/shop"
    ] == (NOON, AMOUNT_MAX)


def test_several_batches_of_several_resources_are_added_up_apart():
    now = Now(InOneRun(lambda _: ("cluster",)))
    for first, resource in ((0, "cpu"), (2, "cpu"), (0, "memory")):
        names = [f"pod/shop/p-{first + each}" for each in range(2)]
        [_] = now.taking(
            [Samples(resource, "usage", names, np.arange(2), np.full(2, NOON), np.array([1, 2]))]
        )
    assert {each.resource: each.amounts.tolist() for each in now.sums()} == {"cpu": [6], "memory": [3]}
