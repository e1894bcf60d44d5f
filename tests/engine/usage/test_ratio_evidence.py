"""What a book tells of a group: parts at the same moments, gaps filled with rather too much."""

import numpy as np
import pytest

from builders import cluster, node, pod
from ullage.engine.columns import Columns
from ullage.engine.usage.ratio_evidence import group_evidence
from ullage.engine.usage.ratio_nodes import ANYWHERE
from ullage.model.usage import MAX_USAGE
from usage_builders import DAY, book, every

GI = 1 << 30
START = 100 * DAY
HOUR = 3600
GROUP = "default"


def two_nodes(**second):
    """Two nodes of 16Gi with 1Gi reserve: a web server and a database, and a daemon on the first."""
    return cluster(
        node("n1", memory="16Gi")
        .reserving(memory="1Gi")
        .holding(
            pod("web-0", memory="4Gi", namespace="a", owner="StatefulSet/web"),
            pod("log-1", memory="1Gi", namespace="a", owner="DaemonSet/log"),
        ),
        node("n2", memory="16Gi")
        .reserving(memory="1Gi")
        .holding(pod("db-0", memory="8Gi", namespace="a", owner="StatefulSet/db", **second)),
    )


def seen(gib, days=7, step=HOUR, start=START):
    return every(step, [gib * GI] * (days * DAY // step), start)


def found(snapshot, streams):
    return group_evidence(book(streams), Columns(snapshot), GROUP)


ALL = {
    ("pod/a/web-0", "memory"): seen(1),
    ("pod/a/log-1", "memory"): seen(1),
    ("pod/a/db-0", "memory"): seen(3),
}


def test_workloads_are_the_parts_where_most_promises_are_known():
    made = found(two_nodes(), ALL)
    assert (made.parts, made.known, made.slot_hours, made.evidence.days) == ("workloads", 1.0, 1, 7)
    assert made.names == ("a/StatefulSet/db", "a/DaemonSet/log", "a/StatefulSet/web")
    assert made.evidence.requests.tolist() == [8 * GI, GI, 4 * GI]
    assert made.evidence.uses[:, 0].tolist() == [3 * GI, GI, GI]
    assert made.evidence.allocatable.tolist() == [15 * GI, 15 * GI]
    assert made.evidence.day_slots == 24


def test_a_daemon_stays_on_its_node():
    assert found(two_nodes(), ALL).evidence.own.tolist() == [ANYWHERE, 0, ANYWHERE]


def test_a_workload_of_which_nothing_is_known_uses_all_that_it_was_promised():
    without_web = {key: each for key, each in ALL.items() if key[0] != "pod/a/web-0"}
    made = found(two_nodes(), without_web)
    assert made.known == 9 / 13
    assert set(made.evidence.uses[2].tolist()) == {4 * GI}


def test_what_a_node_uses_beside_its_reserve_and_its_workloads_stays_there():
    made = found(two_nodes(), {**ALL, ("node/n1", "memory"): seen(5), ("node/n2", "memory"): seen(3)})
    assert made.parts == "workloads"
    assert made.evidence.beyond[:, 0].tolist() == [2 * GI, 0]


NOTED = {(*key, MAX_USAGE): seen(3) for key in ALL}


def test_peaks_that_a_source_noted_of_workloads_are_added_up_where_no_node_tells_more():
    made = found(two_nodes(), ALL | NOTED)
    assert made.evidence.uses[:, 0].tolist() == [3 * GI, 3 * GI, 3 * GI]


@pytest.mark.parametrize(
    ("node", "uses", "beyond"),
    [
        (2, [1, 1], 0),
        (3, [1, 1], 0),
        (5, [2, 2], 0),
        (7, [3, 3], 0),
        (9, [3, 3], 2),
    ],
)
def test_of_noted_peaks_as_much_counts_as_the_node_noted_itself(node, uses, beyond):
    of_node = {("node/n1", "memory"): seen(1), ("node/n1", "memory", MAX_USAGE): seen(node)}
    made = found(two_nodes(), ALL | NOTED | of_node)
    assert made.evidence.uses[1:, 0].tolist() == [each * GI for each in uses]
    assert made.evidence.beyond[0, 0] == beyond * GI


def test_a_node_on_which_nothing_runs_changes_nothing():
    snapshot = cluster(
        node("n0", memory="16Gi"), node("n1", memory="16Gi").holding(pod("p", memory="4Gi", namespace="a"))
    )
    streams = {("pod/a/p", "memory"): seen(1), ("pod/a/p", "memory", MAX_USAGE): seen(2)}
    assert found(snapshot, streams).evidence.uses[:, 0].tolist() == [2 * GI]


def test_a_node_that_was_only_looked_at_does_not_tell_what_was_between():
    made = found(two_nodes(), ALL | NOTED | {("node/n1", "memory"): seen(4)})
    assert made.evidence.uses[1:, 0].tolist() == [3 * GI, 3 * GI]


def test_a_peak_that_a_node_noted_counts_whatever_its_workloads_used():
    made = found(two_nodes(), {**ALL, ("node/n1", "memory", MAX_USAGE): seen(15)})
    assert made.evidence.beyond[:, 0].tolist() == [12 * GI, 0]
    nodes = {(f"node/n{each}", "memory"): seen(2) for each in (1, 2)}
    made = found(two_nodes(), nodes | {("node/n1", "memory", MAX_USAGE): seen(15)})
    assert made.evidence.uses[:, 0].tolist() == [14 * GI, GI]


def test_nodes_are_the_parts_where_workloads_are_not_known():
    made = found(two_nodes(), {("node/n1", "memory"): seen(5), ("node/n2", "memory"): seen(3)})
    assert (made.parts, made.names) == ("nodes", ("node/n1", "node/n2"))
    assert made.evidence.requests.tolist() == [5 * GI, 8 * GI]
    assert made.evidence.uses[:, 0].tolist() == [4 * GI, 2 * GI]


def test_a_sum_over_some_pods_is_no_observation_of_a_node():
    made = found(two_nodes(), {("pod/a/web-0", "memory"): seen(1), ("node/n1", "memory"): seen(1)})
    assert made.evidence is None
    assert made.lacking == "only 0 of 2 nodes were observed, and workloads with 31% of what is promised"


def test_slots_are_as_long_as_the_source_looks():
    made = found(two_nodes(), {key: seen(1, step=8 * HOUR) for key in ALL})
    assert (made.slot_hours, made.evidence.day_slots, made.evidence.uses.shape) == (8, 3, (3, 21))


def test_a_gap_is_the_highest_of_that_time_of_day():
    points = [(at, amount if at != START + 2 * DAY + 5 * HOUR else None) for at, amount in seen(1)]
    points[5] = (points[5][0], 2 * GI)
    made = found(two_nodes(), {**ALL, ("pod/a/web-0", "memory"): points})
    assert made.evidence.uses[2, 2 * 24 + 5] == 2 * GI


def test_before_a_pod_was_there_its_like_tell():
    young = {**ALL, ("pod/a/web-0", "memory"): seen(1, days=2, start=START + 5 * DAY)}
    young["workload/a/StatefulSet/web", "memory"] = seen(3)
    made = found(two_nodes(), young)
    assert made.evidence.uses[2, 0] == 3 * GI
    assert made.evidence.uses[2, -1] == GI


def test_a_day_that_was_hardly_observed_does_not_count():
    short = {key: [*each, (START + 7 * DAY, GI)] for key, each in ALL.items()}
    assert found(two_nodes(), short).evidence.day_numbers.tolist() == list(range(100, 107))


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        (cluster(node("n1", memory="4Gi").with_(state="offline")), "no node of it works"),
        (cluster(node("n1", memory="4Gi")), "nothing is promised there"),
    ],
)
def test_without_nodes_or_promises_nothing_can_be_told(snapshot, expected):
    assert found(snapshot, ALL).lacking == expected


def test_swap_is_what_the_node_says():
    snapshot = cluster(
        node("n1", memory="16Gi").with_(swap_bytes=2 * GI).holding(pod("db-0", memory="8Gi", namespace="a"))
    )
    made = found(snapshot, {("pod/a/db-0", "memory"): seen(3)})
    assert np.array_equal(made.evidence.swap, [2 * GI])
