"""`balance --drain` of virtual machines: moves with their costs and Ganeti's commands."""

import pytest

from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.service.asked import Asked
from ullage.service.balance import BalanceQuestion, balance_of
from ullage.service.machine_drain import machine_drain
from ullage.sources.ganeti.snapshot import snapshot_of
from ullage.sources.ganeti.text import read_text

ASKED = Asked("ganeti:c.data")
NODES = [ganeti_node(f"n{number}") for number in range(1, 5)]
PAIR = snapshot_of(
    ganeti_cluster(NODES, instance("a", "n1", "n2"), instance("b", "n3", "n1"), instance("c", "n4")), "c"
)
STUCK = snapshot_of(ganeti_cluster(NODES, instance("a", "n1", template="plain")), "c")


def test_moves_tell_what_is_done_at_what_cost_with_which_command():
    report = machine_drain(PAIR, ["n1"])
    assert [(each.workload, each.action, each.cost, each.disk_bytes >> 20) for each in report.moves] == [
        ("a", "migrate to its standby", "migration", 0),
        ("a", "copy disks to n4", "disk copy", 100),
        ("b", "copy disks to n4", "disk copy", 100),
    ]
    assert [each.commands for each in report.moves] == [
        ("gnt-instance migrate -f a",),
        ("gnt-instance replace-disks -n n4 a",),
        ("gnt-instance replace-disks -n n4 b",),
    ]
    assert {(each.gain, each.score) for each in report.moves} == {(None, None)}


def test_sets_are_waves_of_a_plan_that_names_nodes_and_standbys():
    report = machine_drain(PAIR, ["n1"])
    assert [(wave.number, [step.subject for step in wave.steps]) for wave in report.waves] == [
        (1, ["a"]), (2, ["a"]), (3, ["b"]),
    ]  # fmt: skip
    assert [(step.from_node, step.to_node, step.evidence) for step in report.plan.steps] == [
        ("n1", "n2", "migrate to its standby"),
        ("n1", "n4", "standby: copy disks to n4"),
        ("n1", "n4", "standby: copy disks to n4"),
    ]
    assert (report.drained, report.possible, report.plan.question) == (("n1",), True, "drain")


def test_a_stopped_instance_fails_over():
    stopped = snapshot_of(ganeti_cluster(NODES, instance("a", "n1", "n2", status="ADMIN_down")))
    assert machine_drain(stopped, ["n1"]).moves[0].commands == ("gnt-instance failover -f a",)


def test_one_that_is_not_created_yet_is_reserved_elsewhere_and_nothing_is_copied(read):
    coming = snapshot_of(ganeti_cluster(NODES[:3], instance("a", "n1", "n2", forthcoming=True)), "c")
    answer = balance_of(coming, ASKED, BalanceQuestion(("n2",)))
    assert read(answer).splitlines()[0] == "✓ n2 can be emptied: 1 move in 1 set"
    (move,) = machine_drain(coming, ["n2"]).moves
    assert (move.action, move.cost, move.disk_bytes) == ("reserve its standby on n3", "reservation", 0)
    assert "1 reservation; keep new instances off first" in read(answer, width=140)


def test_the_page_of_a_drain(read):
    answer = balance_of(PAIR, ASKED, BalanceQuestion(("node/n1",)))
    text = read(answer, width=140)
    assert answer.yes
    assert text.splitlines()[0] == "✓ n1 can be emptied: 3 moves in 3 sets"
    assert text.splitlines()[1] == "cluster c, revision 0, policy ganeti"
    assert "1 migration, 2 disk copies (200Mi); keep new instances off first" in text
    assert "gnt-instance replace-disks -n n4 a" in read(answer, width=300, output="wide")
    assert answer.data()["moves"][0]["cost"] == "migration"


@pytest.mark.parametrize(("count", "words"), [(1, "1 instance or standby"), (2, "2 instances or standbys")])
def test_what_cannot_leave_is_a_no(read, count, words):
    held = [instance(f"a{number}", "n1", template="plain") for number in range(count)]
    answer = balance_of(snapshot_of(ganeti_cluster(NODES, *held), "c"), ASKED, BalanceQuestion(("n1",)))
    assert not answer.yes
    assert f"n1 cannot be emptied: {words} cannot move; 0 moves in 0 " in read(answer, width=140)


def test_an_empty_node_needs_nothing(read):
    answer = balance_of(PAIR, ASKED, BalanceQuestion(("n4", "n2")))
    assert answer.data()["drained"] == ("n2", "n4")
    empty = balance_of(snapshot_of(ganeti_cluster(NODES), "c"), ASKED, BalanceQuestion(("n1",)))
    assert read(empty).splitlines()[0] == "✓ n1 can be emptied: nothing has to move"


def test_the_example_is_not_emptied_by_moves_that_cannot_be(pytestconfig):
    path = pytestconfig.rootpath / "examples" / "overcommitted.data"
    report = machine_drain(snapshot_of(read_text(path.read_text(encoding="utf-8"), path.name)), ["node2"])
    assert not report.possible
    assert [(each.workload, each.action) for each in report.moves] == [
        ("db", "copy disks to node4, migrate to its standby"),
        ("cache", "migrate to its standby"),
    ]
