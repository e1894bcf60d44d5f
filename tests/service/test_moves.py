"""Moves as reports tell them: words, commands and costs."""

import pytest

from builders import pod
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.rebalance import FoundMove
from ullage.model.plan import Step
from ullage.service.moves import MoveStatus, costs_of, done_to, drain_moves, move_status
from ullage.sources.ganeti.snapshot import snapshot_of

SNAPSHOT = snapshot_of(
    ganeti_cluster(
        [ganeti_node(name) for name in "abc"],
        instance("drbd", "a", "b"),
        instance("ext", "a"),
        instance("down", "a", "b", status="ADMIN_down"),
        instance("plain", "a", template="plain"),
        instance("coming", "a", "b", forthcoming=True),
    )
)


@pytest.mark.parametrize(
    ("name", "action", "words", "commands"),
    [
        ("drbd", "f", "migrate to its standby", ["migrate -f drbd"]),
        ("down", "f", "failover to its standby", ["failover -f down"]),
        ("drbd", "r:c", "copy disks to c", ["replace-disks -n c drbd"]),
        (
            "drbd", "f r:c f", "migrate to its standby, copy disks to c, migrate to its standby",
            ["migrate -f drbd", "replace-disks -n c drbd", "migrate -f drbd"],
        ),
        ("ext", "fa:c", "migrate to c", ["migrate -f -n c ext"]),
        ("plain", "fa:c", "copy disks to c and start there", ["move -f -n c plain"]),
        ("coming", "fa:c", "reserve on c", ["failover -f -n c coming"]),
        (
            "coming", "f r:c", "reserve on its standby, reserve its standby on c",
            ["failover -f coming", "replace-disks -n c coming"],
        ),
    ],
)  # fmt: skip
def test_what_is_done_to_an_instance(name, action, words, commands):
    done = done_to(SNAPSHOT.workloads[name], action, "c")
    assert done.words == words
    assert list(done.commands) == [f"gnt-instance {command}" for command in commands]


def test_a_pod_is_started_again():
    assert done_to(pod("w/p"), "fa:c", "c") == ("restart on c", ())


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("f", "restart on its standby"),
        ("r:c", "copy disks to c"),
        ("f r:c", "restart on its standby, copy disks to c"),
    ],
)
def test_a_workload_of_another_source_that_has_a_standby_changes_to_it_or_gets_another(action, words):
    assert done_to(pod("vm", node="a", standby="b"), action, "a") == (words, ())


def test_a_move_that_was_found_is_told_with_everything():
    move = FoundMove("drbd", "r:c", "a", "b", "a", "c", "disk copy", 7, 0.5, 1.5, 2)
    assert move_status(SNAPSHOT, move, 4) == MoveStatus(
        4, 2, "drbd", "copy disks to c", "a", "a", "disk copy", 7, "b", "c", 0.5, 1.5,
        ("gnt-instance replace-disks -n c drbd",),
    )  # fmt: skip


def test_waves_of_a_drain_are_sets():
    waves = [[Step("move", "x", "b", "a"), Step("move", "y", "c", "a")], [Step("move", "z", "b", "a")]]
    found = drain_moves(waves)
    assert [(each.number, each.set_number, each.workload, each.to_node) for each in found] == [
        (1, 1, "x", "b"), (2, 1, "y", "c"), (3, 2, "z", "b"),
    ]  # fmt: skip
    assert costs_of(found) == {"restart": 3}
