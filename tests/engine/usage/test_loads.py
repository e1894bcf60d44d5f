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


def test_peaks_that_the_source_noted_between_its_looks_count():
    found = of({("pod/x/a", "memory"): [(0, GI)], ("pod/x/a", "memory", "maxusage"): [(0, 3 * GI)]})
    assert found.workloads["x/a"] == 3 * GI
    assert of({("pod/x/a", "memory", "maxusage"): [(0, 3 * GI)]}).workloads["x/a"] == 3 * GI
    assert of({("node/n1", "memory", "maxusage"): [(0, 7 * GI)]}).workloads == {"x/a": 4 * GI, "x/b": 2 * GI}


def test_noted_peaks_of_workloads_come_to_no_more_than_their_node_noted():
    pods = {
        ("pod/x/a", "memory"): [(0, GI)],
        ("pod/x/b", "memory"): [(0, GI)],
        ("pod/x/a", "memory", "maxusage"): [(0, 3 * GI)],
        ("pod/x/b", "memory", "maxusage"): [(0, 5 * GI)],
    }
    assert of(pods).workloads == {"x/a": 3 * GI, "x/b": 5 * GI}
    shown = of({**pods, ("node/n1", "memory", "maxusage"): [(0, 6 * GI)]})
    assert shown.workloads == {"x/a": 2 * GI, "x/b": 3 * GI}
    assert shown.beyond == {"n1": 0}
    below = of({**pods, ("node/n1", "memory"): [(0, GI)], ("node/n1", "memory", "maxusage"): [(0, 2 * GI)]})
    assert below.workloads == {"x/a": GI, "x/b": GI}, "what was used at the looks is not taken away"
