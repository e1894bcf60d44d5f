from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from disk_judge import best_cost, random_world
from ullage.engine.storage import exact
from ullage.engine.storage.components import components_of
from ullage.engine.storage.exact import plan_nodes
from ullage.engine.storage.large import core_of, tied_together
from ullage.engine.storage.lattice import pairs_of
from ullage.model.disk_plan import DiskCapacity, DiskRequest

GIB = 1 << 30


@pytest.fixture(params=[1, 6, 12, 30], ids=lambda pairs: f"{pairs}-pairs")
def few_pairs(request):
    """Everything with more pairs than this counts as large."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "PAIRS_MAX", request.param)
        patch.setattr(exact, "PAIRS_MIN", 1)
        yield request.param


def shares(*sizes: int) -> list[DiskRequest]:
    return [DiskRequest(f"v{place}", "HDDLVG", size) for place, size in enumerate(sizes)]


@pytest.mark.usefixtures("few_pairs")
def test_what_is_said_of_large_sets_is_true_where_it_can_be_checked():
    said = set()
    for seed in range(120):
        world = random_world(Random(seed), volumes=6)  # noqa: S311 - the same worlds in every run
        best = best_cost(world.capacities, world.holds, world.requests, "n0")
        plan = plan_nodes(world.capacities, world.holds, world.requests, ["n0"])
        if plan.nodes:
            (disks,) = plan.nodes
            assert best is not None
            assert disks.opened_bound <= best[0] <= len(disks.opened)
            assert disks.proven == (disks.opened_bound == len(disks.opened))
            said.add("served")
        elif "not known" in plan.witnesses[0].reason:
            assert plan.witnesses[0].missing_bytes is None
            said.add("not known")
        else:
            assert best is None
            said.add("refused")
    assert said >= {"served", "not known"}


@settings(max_examples=12)
@given(st.lists(st.integers(1, 60), min_size=13, max_size=40, unique=True))
def test_more_than_twelve_volumes_are_served_within_bounds(sizes):
    drives = [DiskCapacity(f"d{place:02d}", "n", "HDD", (70 + place) * GIB) for place in range(40)]
    (disks,) = plan_nodes(drives, [], shares(*(size * GIB for size in sizes)), ["n"]).nodes
    assert len(disks.chosen) == len(sizes)
    assert -(-sum(sizes) // 110) <= disks.opened_bound <= len(disks.opened) <= disks.opened_bound + 1


def test_what_is_not_proven_has_a_bound():
    volumes = shares(*((60 + place) * GIB for place in range(13)))
    drives = [DiskCapacity(f"d{place:02d}", "n", "HDD", 100 * GIB) for place in range(14)]
    (disks,) = plan_nodes(drives, [], volumes, ["n"]).nodes
    assert (len(disks.opened), disks.opened_bound, disks.proven) == (13, 12, False)


def test_what_cannot_be_without_the_smallest_volumes_is_refused_with_proof():
    volumes = shares(*(GIB + place for place in range(20)), *(50 * GIB + place for place in range(3)))
    drives = [DiskCapacity(f"d{place}", "n", "HDD", 60 * GIB) for place in range(2)]
    (witness,) = plan_nodes(drives, [], volumes, ["n"]).witnesses
    assert witness.requests == ("v20", "v21", "v22")
    assert witness.missing_bytes is not None


def test_a_core_keeps_the_largest_volumes_that_are_few_enough():
    (asked,) = components_of(shares(3, 1, 2, 5, 4))
    core = core_of(asked, 3**3)
    assert [request.size_bytes for request in core.requests] == [3, 4, 5]
    assert core_of(asked, 3**5) == asked


def test_the_smallest_shares_are_tied_together_till_they_are_few():
    (asked,) = components_of(shares(30, 1, 2, 50, 40))
    tied = tied_together(asked, 3**3)
    assert tied is not None
    found = [sorted(request.size_bytes for request in sort.items[0]) for sort in tied.shares]
    assert found == [[1, 2, 30], [40], [50]]
    assert pairs_of(tied.share_counts, tied.whole_counts) <= 3**3


def test_whole_drives_cannot_be_tied_together():
    (asked,) = components_of([DiskRequest(f"v{place}", "HDD", 1) for place in range(9)])
    assert tied_together(asked, 9) is None
