"""What balancing by load takes workloads and nodes to use."""

from builders import cluster, node, pod
from ullage.engine.usage.loads import memory_in_use
from usage_builders import DAY, book, every

GI = 1 << 30


def of(streams, **actual):
    made = node("n1", memory="16Gi").reserving(memory="1Gi")
    made = made.using(**actual) if actual else made
    snapshot = cluster(
        made.holding(pod("a", memory="4Gi", namespace="x"), pod("b", memory="2Gi", namespace="x"))
    )
    return memory_in_use(snapshot, book(streams) if streams else None)


def test_the_mean_of_the_daily_peaks_of_the_last_week_counts():
    days = [100] + [2] * 6 + [9]
    points = every(DAY, [each * GI for each in days]) + every(DAY, [GI] * 8, 3600)
    found = of({("pod/x/a", "memory"): points})
    assert found.workloads["x/a"] == (6 * 2 + 9) * GI // 7


def test_what_the_node_uses_beyond_is_of_those_who_are_not_known():
    found = of({("pod/x/a", "memory"): [(0, GI)], ("node/n1", "memory"): [(0, 5 * GI)]})
    assert (found.workloads, found.beyond) == ({"x/a": GI, "x/b": 3 * GI}, {"n1": 0})
    assert (found.observed_workloads, found.observed_nodes) == (1, 1)


def test_where_all_are_known_it_stays_on_the_node():
    both = {("pod/x/a", "memory"): [(0, GI)], ("pod/x/b", "memory"): [(0, GI)]}
    assert of({**both, ("node/n1", "memory"): [(0, 5 * GI)]}).beyond == {"n1": 2 * GI}


def test_without_usage_the_source_tells_and_promises_share_it():
    found = of(None, memory="7Gi")
    assert found.workloads == {"x/a": 4 * GI, "x/b": 2 * GI}
    assert (found.observed_workloads, found.observed_nodes) == (0, 1)


def test_what_nobody_tells_is_what_was_promised():
    found = of({("pod/x/a", "memory"): [(0, GI)]})
    assert found.workloads == {"x/a": GI, "x/b": 2 * GI}
