"""Snapshots as a trace: when somebody came, how long it ran, when it was withdrawn, what nodes offered."""

import pytest

from builders import cluster, node, pod, quota, waiting
from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.recorded import capacity_changes, recorded


def snapshot(running=(), asking=(), cpu="8"):
    return cluster(
        node("n", cpu=cpu).holding(*(pod(f"a/{name}", cpu="1") for name in running)),
        *(waiting(f"a/{name}", cpu="1") for name in asking),
        quota("a", {"cpu": "4"}),
    )


@pytest.mark.parametrize(
    ("record", "arrival"),
    [
        (["r", "r", "r"], (0, None, None, True)),
        (["r", "r", "-"], (0, 20, None, True)),
        (["w", "r", "-"], (0, 10, None, False)),
        (["-", "r", "-"], (10, 10, None, False)),
        (["-", "r", "r"], (10, None, None, False)),
        (["w", "w", "-"], (0, None, 20, False)),
        (["-", "w", "w"], (10, None, None, False)),
        (["r", "w", "-"], (0, 10, None, True)),
    ],
)
def test_what_is_seen_of_a_workload_says_how_it_is_played(record, arrival):
    snapshots = [snapshot("x" if each == "r" else "", "x" if each == "w" else "") for each in record]
    (found,) = recorded(snapshots, 10)
    assert (found.at_seconds, found.duration_seconds, found.leaves_seconds, found.runs) == arrival


def test_daemons_and_who_has_ended_do_not_come():
    made = cluster(
        node("n", cpu="8").holding(
            pod("a/agent", cpu="2", owner="DaemonSet/agent"), pod("a/done", cpu="1", state="error")
        )
    )
    assert recorded([made], 10) == []
    (change,) = capacity_changes([Accounts(Columns(made))], 10)
    assert change.capacity["cpu"] == 6000


def test_capacity_is_told_where_it_changes():
    accounts = [Accounts(Columns(snapshot(cpu=cpu))) for cpu in ("8", "8", "4", "8")]
    found = capacity_changes(accounts, 10)
    assert [(each.at_seconds, each.capacity["cpu"]) for each in found] == [(0, 8000), (20, 4000), (30, 8000)]
