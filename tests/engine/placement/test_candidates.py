"""Where a workload could go if there were room."""

from builders import cluster, node, pod, volume, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.candidates import Candidates
from ullage.model.constraints import Constraints
from ullage.model.drives import Drive

GIB = 1 << 30


def test_full_nodes_count_and_those_that_are_closed_or_too_small_do_not():
    made = cluster(
        node("full", cpu="4").holding(pod("x", cpu="4")),
        node("free", cpu="4"),
        node("small", cpu="1"),
        node("off", cpu="4").cordoned(),
        node("elsewhere", cpu="4").with_(labels={"zone": "b"}),
    )
    assert Candidates(Columns(made)).of(waiting("new", cpu="2")) == ("elsewhere", "free", "full")
    choosy = waiting("new", cpu="2", constraints=Constraints(node_selector={"zone": "b"}))
    assert Candidates(Columns(made)).of(choosy) == ("elsewhere",)


def test_disks_that_are_taken_are_left_aside():
    own = volume("data", "50Gi", storage_class="HDD", inline=True)
    taken = node("n1", cpu="4").with_(drives=(Drive("d", "HDD", 9 * GIB),))
    assert Candidates(Columns(cluster(taken))).of(waiting("new", cpu="2", volumes=(own,))) == ("n1",)
