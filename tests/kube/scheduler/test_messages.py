"""What pods are told is one line with its numbers, and never too long for an object."""

import pytest

from builders import cluster, node, pod, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.gang_remedies import NOTHING_HELPS as NO_GANG_RUNS
from ullage.engine.placement.outcome import Evicted
from ullage.engine.placement.remedies import NOTHING_HELPS
from ullage.engine.placement.scheduling import Nominated, schedule
from ullage.kube.scheduler.messages import MESSAGE_CHARACTERS_MAX, why_evicted, why_later, why_not, why_waits
from ullage.model.cluster import Volume
from ullage.model.plan import Refusal
from ullage.model.resources import NOTHING


def test_a_refusal_says_how_many_nodes_why_and_what_would_help():
    refusal = Refusal("a", 1, "quota q is full", remedy="raise its max to 5")
    assert why_not(refusal, 40) == "0/40 nodes: quota q is full; smallest change: raise its max to 5"


@pytest.mark.parametrize("names_remedies", [True, False])
def test_only_what_would_help_is_called_a_change(names_remedies):
    there = Columns(cluster(node("n1", cpu="4").holding(pod("web/r", cpu="3"))))
    (found,) = schedule(there, [waiting("web/a", cpu="2")], names_remedies=names_remedies).unplaced
    told = why_not(found.refusal, 1)
    if names_remedies:
        assert "; smallest change: lower the request of cpu to 1: it then fits; or evict web/r" in told
    else:
        assert told.endswith("; missing on node n1: 1 of cpu")


@pytest.mark.parametrize("nothing", [NOTHING_HELPS, NO_GANG_RUNS, "no node takes it while this holds: x"])
def test_that_nothing_helps_is_no_change(nothing):
    assert why_not(Refusal("a", 1, "full", remedy=nothing), 1) == f"0/1 nodes: full; {nothing}"


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("0/2 nodes have room (cpu short on 2)", "cpu short on 2"),
        (
            "0/3 nodes have room (cpu short on 3; closed to it: 1 shut (by hand)); nearest: node a: 1 free",
            "cpu short on 3; closed to it: 1 shut (by hand); nearest: node a: 1 free",
        ),
        (
            "0/3 nodes may take it (kept off: 3 taints); nearest: node a",
            "kept off: 3 taints; nearest: node a",
        ),
        ("none of 4 nodes may take it; closed to it: 4 cordoned", "closed to it: 4 cordoned"),
        ("none of 0 nodes may take it", "none of 0 nodes may take it"),
        ("0/3 nodes may take it ()", "0/3 nodes may take it ()"),
    ],
)
def test_the_number_of_nodes_is_said_once(reason, said):
    assert why_not(Refusal("a", 1, reason), 4) == f"0/4 nodes: {said}"


def test_who_has_no_room_because_of_promises_alone_is_told_how_much_they_hold():
    held = node("n1", cpu="4").holding(pod("web/r", cpu="3", promised=True))
    (found,) = schedule(Columns(cluster(held)), [waiting("web/a", cpu="2")]).unplaced
    assert why_not(found.refusal, 1).startswith(
        "0/1 nodes: cpu short on 1; nearest: node n1: cpu short by 1 (asked 2, free 1 of 4); "
        "fits if the request is at most 1; reservations of the ledger hold 3 of cpu on node n1; smallest "
    )


def test_a_long_reason_is_cut():
    assert len(why_not(Refusal("a", 1, "x" * 5000), 1)) == MESSAGE_CHARACTERS_MAX


@pytest.mark.parametrize(
    ("later", "text"),
    [
        (
            Nominated("a", "n1", (Evicted("b", "n1", "q", "over-quota", NOTHING),)),
            "runs on n1 once b is evicted",
        ),
        (Nominated("a", "n1", (), ("b", "c")), "runs on n1 once b, c are gone"),
        (
            Nominated("a", "n1", (), tuple(f"p{index}" for index in range(7))),
            "runs on n1 once p0, p1, p2, p3, p4 and 2 more are gone",
        ),
        (Nominated("a", "n1"), "runs on n1 once the others of its gang can run too"),
    ],
)
def test_who_waits_is_told_for_whom(later, text):
    assert why_later(later) == text


def test_who_is_evicted_is_told_why_and_for_whom():
    assert why_evicted("over-quota in quota b", "a/claim", "n1") == (
        "evicted (over-quota in quota b) so that a/claim can run on n1"
    )


def test_one_that_is_being_bound_is_told_what_it_waits_for():
    disks = (Volume("x", claim="b"), Volume("y", claim="a"))
    assert why_waits(waiting("p", volumes=disks), "n1") == "waits for its volumes (claims a, b) to run on n1"
    assert (
        why_waits(waiting("p", gang="g"), "n1") == "waits for the volumes of others of its gang to run on n1"
    )
