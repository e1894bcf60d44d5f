"""Who has a turn, and when: nobody at once again, nobody never."""

import pytest

from builders import node, waiting, workload
from ullage.kube.scheduler.waiting_line import (
    AGAIN_SECONDS,
    SECONDS_MAX,
    SOON_SECONDS,
    WaitingLine,
    first_of,
)
from ullage.model.constraints import Constraints
from ullage.model.delta import Delta

NAME = "ullage"


@pytest.fixture
def taken() -> set[str]:
    return set()


@pytest.fixture
def line(taken) -> WaitingLine:
    return WaitingLine((NAME, "nos-scheduler"), taken.__contains__)


def pod(name: str, **parts):
    return waiting(name, **{"scheduler": NAME, "cpu": 1, **parts})


def names(line: WaitingLine, now: float = 0.0) -> list[str]:
    return sorted(each.key for each in line.ready(now))


@pytest.mark.parametrize(
    ("row", "waits"),
    [
        (pod("a"), True),
        (pod("a", scheduler="nos-scheduler"), True),
        (pod("a", scheduler="default-scheduler"), False),
        (pod("a", terminating=True), False),
        (pod("a", constraints=Constraints(scheduling_gates=frozenset({"gate"}))), False),
        (workload("a", scheduler=NAME, cpu=1, node="n1"), False),
        (workload("a", scheduler=NAME, cpu=1, state="deleted"), False),
    ],
)
def test_who_waits_names_this_scheduler_and_is_not_held_back(line, row, waits):
    line.seen(Delta(workloads=(row,)))
    assert names(line) == (["a"] if waits else [])


def test_who_is_being_bound_has_no_turn(line, taken):
    line.seen(Delta(workloads=(pod("a"), pod("b"))))
    taken.add("a")
    assert names(line) == ["b"]


def test_who_has_a_place_later_has_a_turn_soon_after_each_move_however_often_it_waited(line):
    line.seen(Delta(workloads=(pod("a"),)))
    for _ in range(5):
        line.had_no_place("a", now=0.0)
    line.has_place_later("a", now=0.0)
    assert names(line, 5.0) == []
    line.moved()
    assert names(line, SOON_SECONDS / 2) == []
    assert names(line, SOON_SECONDS) == ["a"]
    assert line.tries("a") == 5


@pytest.mark.parametrize("changed", [{"cpu": 2}, {"priority": 3}, {"labels": {"team": "b"}}])
def test_who_asks_for_something_else_has_a_turn_at_once(line, changed):
    line.seen(Delta(workloads=(pod("a"),)))
    line.had_no_place("a", now=0.0)
    line.seen(Delta(workloads=(pod("a"),)))
    assert names(line) == []
    line.seen(Delta(workloads=(pod("a", **changed),)))
    assert names(line) == ["a"]


def test_who_had_no_place_waits_until_something_happens_and_some_time_more(line):
    line.seen(Delta(workloads=(pod("a"),)))
    line.had_no_place("a", now=0.0)
    assert names(line, 5.0) == []
    line.seen(Delta(nodes=(node("n1", cpu=1).record,)))
    assert names(line, 0.5) == []
    assert names(line, 1.0) == ["a"]


def test_each_time_it_waits_longer_but_never_too_long(line):
    line.seen(Delta(workloads=(pod("a"),)))
    waits = []
    for _ in range(8):
        line.had_no_place("a", now=0.0)
        line.seen(Delta(dropped={"workloads": ("gone",)}))
        waits.append(line.next_seconds(0.0))
    assert waits == sorted(waits)
    assert waits[0] == 1.0
    assert waits[-1] == SECONDS_MAX


def test_everybody_has_a_turn_once_in_a_while_whatever_happens(line):
    line.seen(Delta(workloads=(pod("a"),)))
    line.had_no_place("a", now=0.0)
    assert names(line, AGAIN_SECONDS - 1) == []
    assert names(line, AGAIN_SECONDS) == ["a"]
    assert line.next_seconds(0.0) == AGAIN_SECONDS


def test_one_for_whom_room_is_to_be_made_has_the_next_turn(line):
    line.seen(Delta(workloads=(pod("a"), pod("b"))))
    for name in ("a", "b"):
        line.had_no_place(name, now=0.0)
    line.at_once("a")
    assert names(line, 0.1) == ["a"]


def test_another_one_that_waits_helps_nobody(line):
    line.seen(Delta(workloads=(pod("a"),)))
    line.had_no_place("a", now=0.0)
    line.seen(Delta(workloads=(pod("b"),)))
    assert names(line, 5.0) == ["b"]


@pytest.mark.parametrize(
    "delta",
    [
        Delta(dropped={"workloads": ("runs",)}),
        Delta(workloads=(workload("runs", cpu=1, node="n1", terminating=True),)),
        Delta(dropped={"nodes": ("n1",)}),
        Delta(dropped={"quotas": ("q",)}),
    ],
    ids=["a pod is gone", "a pod ends", "a node is gone", "a quota is gone"],
)
def test_what_may_help_gives_a_turn(line, delta):
    line.seen(Delta(workloads=(pod("a"),)))
    line.had_no_place("a", now=0.0)
    line.seen(delta)
    assert names(line, 1.0) == ["a"]


def test_a_gang_has_its_turn_together(line):
    members = (pod("a", gang="g"), pod("b", gang="g"), pod("c"))
    line.seen(Delta(workloads=members))
    line.had_no_place("a", now=0.0)
    line.had_no_place("c", now=0.0)
    assert names(line) == ["a", "b"]


def test_a_pod_whose_gates_were_lifted_has_a_turn_at_once(line):
    line.seen(Delta(workloads=(pod("a"),)))
    line.had_no_place("a", now=0.0)
    line.seen(Delta(workloads=(pod("a", constraints=Constraints(host_ports=())),)))
    line.seen(Delta(workloads=(pod("a", constraints=Constraints(node_selector={"x": "y"})),)))
    assert names(line) == ["a"]


def test_who_could_not_be_bound_after_all_waits_again(line):
    line.seen(Delta(workloads=(pod("a"),)))
    line.take(["a"])
    assert "a" not in line
    line.put_back(pod("a"), now=0.0)
    assert "a" in line
    assert line.tries("a") == 1


def test_who_cannot_be_bound_again_and_again_waits_longer_each_time(line, taken):
    line.seen(Delta(workloads=(pod("a"),)))
    waits = []
    for _ in range(6):
        line.take(["a"])
        taken.add("a")
        line.seen(Delta(workloads=(workload("a", scheduler=NAME, cpu=1, node="n1"),)))
        taken.clear()
        line.put_back(pod("a"), now=0.0)
        waits.append(line.next_seconds(0.0))
    assert waits == [1.0, 2.0, 4.0, 8.0, SECONDS_MAX, SECONDS_MAX]


@pytest.mark.parametrize(
    "delta",
    [
        Delta(workloads=(workload("a", scheduler=NAME, cpu=1, node="n1"),)),
        Delta(dropped={"workloads": ("a",)}),
    ],
    ids=["bound", "gone"],
)
def test_how_often_who_was_taken_had_no_place_is_forgotten_when_it_is_bound_or_gone(line, delta):
    line.seen(Delta(workloads=(pod("a"),)))
    line.put_back(pod("a"), now=0.0)
    line.take(["a"])
    assert line.tries("a") == 1
    line.seen(delta)
    assert line.tries("a") == 0


def test_who_is_gone_is_forgotten(line):
    line.seen(Delta(workloads=(pod("a"),)))
    line.had_no_place("a", now=0.0)
    line.seen(Delta(dropped={"workloads": ("a",)}))
    assert len(line) == 0
    assert line.next_seconds(0.0) is None
    assert line.get("a") is None


def test_who_was_put_back_has_a_turn_again_though_nothing_happens(line):
    line.put_back(pod("a"), 0.0)
    assert names(line, 0.5) == []
    assert line.next_seconds(0.0) == 1.0
    assert names(line, 1.0) == ["a"]


def test_what_is_given_back_may_help_others(line):
    line.seen(Delta(workloads=(pod("a"),)))
    line.had_no_place("a", 0.0)
    assert names(line, SECONDS_MAX) == []
    line.moved()
    assert names(line, SECONDS_MAX) == ["a"]


def test_a_cycle_takes_the_most_important_first_with_all_of_their_gangs():
    pods = [
        waiting("old", created_seconds=1),
        waiting("new", created_seconds=2),
        waiting("important", priority=5, created_seconds=3),
        waiting("gang-1", gang="g", priority=4, created_seconds=4),
        waiting("gang-2", gang="g", created_seconds=5),
        waiting("nominated", created_seconds=6),
    ]

    def chosen(most: int) -> list[str]:
        return [each.key for each in first_of(pods, {"nominated"}, most)]

    assert chosen(6) == [each.key for each in pods]
    assert chosen(2) == ["nominated", "important"]
    assert chosen(3) == ["nominated", "important", "gang-1", "gang-2"]
    assert chosen(4) == ["nominated", "important", "gang-1", "old", "gang-2"]


@pytest.mark.parametrize(
    ("in_turn", "most", "chosen"),
    [
        (False, 3, ["a/a0", "a/a1", "a/a2"]),
        (True, 3, ["a/a0", "b/b0", "a/a1"]),
        (True, 4, ["a/a0", "b/b0", "a/a1", "b/b1"]),
        (True, 5, ["a/a0", "b/b0", "a/a1", "b/b1", "a/a2"]),
        (True, 9, ["a/a0", "a/a1", "a/a2", "a/a3", "b/b0", "b/b1"]),
    ],
)
def test_where_quotas_decide_namespaces_are_served_in_turn_however_many_wait_in_one(in_turn, most, chosen):
    pods = [pod(f"a/a{number}", created_seconds=number) for number in range(4)]
    pods += [pod(f"b/b{number}", created_seconds=10 + number) for number in range(2)]
    assert [each.key for each in first_of(pods, (), most, in_turn=in_turn)] == chosen
