"""Pods that could not be evicted count as parts of their node for a while, each time for longer."""

from builders import workload
from ullage.engine.redundancy.daemons import is_daemon
from ullage.kube.scheduler.staying import FIRST_SECONDS, SECONDS_MAX, Staying
from ullage.model.delta import Delta

RUNS = workload("a", node="n1", owner="ReplicaSet/a")


def shown(staying: Staying, now: float, *rows) -> list[tuple[str, bool]]:
    delta = staying.applied(Delta(workloads=rows), now)
    return [(row.key, is_daemon(row)) for row in delta.workloads]


def test_who_was_refused_is_of_the_node_until_its_time_is_over():
    staying = Staying()
    staying.refuse(RUNS, "1", 100.0)
    assert is_daemon(staying.shown(RUNS, 100.0))
    assert shown(staying, 101.0, RUNS) == [(RUNS.key, True)]
    assert shown(staying, 102.0) == []
    assert shown(staying, 100.0 + FIRST_SECONDS) == [(RUNS.key, False)]


def test_others_and_those_on_their_way_out_are_shown_as_they_are():
    staying = Staying()
    staying.refuse(RUNS, "1", 100.0)
    other, leaving = workload("b", node="n1"), workload("a", node="n1", terminating=True)
    assert shown(staying, 101.0, other, leaving) == [("b", False), ("a", False)]


def test_it_takes_longer_each_time_for_the_same_pod_and_begins_anew_for_another():
    staying = Staying()
    for identifier, after in [("1", FIRST_SECONDS), ("1", 2 * FIRST_SECONDS), ("2", FIRST_SECONDS)]:
        staying.refuse(RUNS, identifier, 100.0)
        assert is_daemon(staying.shown(RUNS, 100.0 + after - 0.5))
        assert not is_daemon(staying.shown(RUNS, 100.0 + after))
    for _ in range(20):
        staying.refuse(RUNS, "2", 100.0)
    assert not is_daemon(staying.shown(RUNS, 100.0 + SECONDS_MAX))


def test_nobody_is_remembered_for_ever():
    staying = Staying()
    staying.refuse(RUNS, "1", 100.0)
    staying.refuse(workload("b", node="n1"), "2", 100.0)
    staying.applied(Delta(dropped={"workloads": ("b",)}), 101.0)
    assert len(staying) == 1
    staying.applied(Delta(), 100.0 + 2 * FIRST_SECONDS)
    assert len(staying) == 0
