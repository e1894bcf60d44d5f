"""Who would make room: the fewest workloads of one node, the least important first."""

import pytest

from builders import cluster, node, pod, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.victims import EVICTED_MAX, Victims
from ullage.engine.trial import Trial
from ullage.model.admission import DisruptionBudget
from ullage.model.constraints import LabelSelector

ASKED = waiting("a", memory="4")


def fewest(*nodes, asked=ASKED, priority=0, kept=(), gone=()):
    trial = Trial(Columns(cluster(*nodes)))
    running = trial.columns.snapshot.workloads
    found = Victims(trial).fewest(trial.shape_of(asked), priority, kept, [running[name] for name in gone])
    assert trial.mark().placements == 0
    return [each.name for each in found]


def held(name, *pods):
    return node(name, memory="4").holding(*pods)


def test_one_that_frees_enough_comes_before_several():
    several = held("n1", pod("x", memory="2"), pod("y", memory="2"))
    one = held("n2", pod("z", memory="4"))
    assert fewest(several, one) == ["z"]
    assert fewest(several) == ["x", "y"]


def test_the_lowest_priority_goes_first_then_the_smallest_then_the_first_node():
    assert fewest(
        held("n1", pod("x", memory="4", priority=1)), held("n2", pod("y", memory="4")), priority=1
    ) == ["y"]
    large = node("n1", memory="9").holding(pod("x", memory="9"))
    small = node("n2", memory="9").holding(pod("y", memory="8"))
    assert fewest(large, small) == ["y"]
    assert fewest(held("n2", pod("x", memory="4")), held("n1", pod("y", memory="4"))) == ["y"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["x", "y"]),
        ({"priority": -1}, []),
        ({"kept": ("x",)}, []),
        ({"gone": ("x",)}, []),
    ],
)
def test_the_important_the_kept_and_the_gone_stay(options, expected):
    assert fewest(held("n1", pod("x", memory="2"), pod("y", memory="2")), **options) == expected


def test_daemons_and_closed_nodes_are_left_alone():
    assert fewest(held("n1", pod("x", memory="4", owner="DaemonSet/d"))) == []
    assert fewest(held("n1", pod("x", memory="4")).cordoned()) == []


def test_whom_two_budgets_protect_stays_whatever_they_allow():
    """The API server evicts nobody who has more than one."""

    def budget(name):
        selector = LabelSelector({"app": "web"})
        return DisruptionBudget(name, "shop", selector=selector, min_available="0", disruptions_allowed=5)

    there = held("n1", pod("shop/x", memory="4", labels={"app": "web"}))
    assert fewest(there, budget("one")) == ["x"]
    assert fewest(there, budget("one"), budget("two")) == []


def test_what_is_promised_stays_and_no_label_makes_a_pod_that():
    assert fewest(held("n1", pod("x", memory="4", promised=True))) == []
    assert fewest(held("n1", pod("x", memory="4", labels={"ullage.dev/promised": "held"}))) == ["x"]


def test_no_more_than_a_few_go():
    def crowded(count):
        return node("n1", memory=str(count)).holding(*(pod(f"p{each}", memory="1") for each in range(count)))

    asked = waiting("a", memory=str(EVICTED_MAX))
    assert len(fewest(crowded(EVICTED_MAX), asked=asked)) == EVICTED_MAX
    larger = waiting("a", memory=str(EVICTED_MAX + 1))
    assert fewest(crowded(EVICTED_MAX + 1), asked=larger) == []


def test_an_empty_cluster_has_no_victims():
    assert fewest(node("n1", memory="1")) == []


def test_sizes_beyond_64_bits_are_compared_all_the_same():
    crowded = node("n1", memory="1").holding(pod("x", memory=str(1 << 40)), pod("y", memory=str(1 << 39)))
    assert fewest(crowded, node("n2", memory="1"), asked=waiting("a", memory="1")) == []
