"""Quotas claim back what is theirs for pods that kube-scheduler has tried in vain."""

import asyncio

import pytest

from ullage.engine.placement.scheduling import Bound
from ullage.kube.extender.claiming import Claiming
from ullage.kube.extender.telling import Telling


@pytest.fixture
def borrowed(watched):
    """B uses what is A's."""
    watched.node("n1", cpu="2")
    for name in ("a", "b"):
        watched.quota(f"{name}/q", cpu="1")
    for index, name in enumerate(("b1", "b2")):
        watched.pod(f"b/{name}", cpu="1", on="n1", uid=f"uid-{name}-{index}")
    return watched


def look(claiming: Claiming) -> None:
    asyncio.run(claiming.look())


def reasons(written) -> list[tuple[str, str]]:
    return [(key, reason) for key, reason, _ in written.said]


def test_one_over_quota_goes_and_its_place_is_held(borrowed, written, claiming, in_vain):
    borrowed.pod("a/p", cpu="1", status=in_vain)
    look(claiming)
    assert len(written.evicted) == 1
    assert written.evicted[0].startswith("b/")
    assert borrowed.outlook.held == {"a/p": "n1"}
    assert ("a/p", "WaitingForRoom") in reasons(written)
    assert (written.evicted[0], "Preempted") in reasons(written)


def test_nobody_goes_twice_for_the_same_pod(borrowed, written, claiming, in_vain, clock):
    borrowed.pod("a/p", cpu="1", status=in_vain)
    look(claiming)
    clock.now += 100
    look(claiming)
    assert len(written.evicted) == 1
    assert borrowed.outlook.held == {"a/p": "n1"}


def test_a_place_stays_held_when_the_victim_is_gone(borrowed, written, claiming, in_vain, clock):
    borrowed.pod("a/p", cpu="1", status=in_vain)
    look(claiming)
    borrowed.gone(written.evicted[0])
    clock.now += 100
    look(claiming)
    borrowed.pod("b/again", cpu="1")
    verdicts = borrowed.outlook.catch_up()
    told = verdicts.reasons(borrowed.outlook.pod("b/again"), ("n1",), borrowed.outlook.held)["n1"]
    assert "quotas" in told or "short" in told
    assert verdicts.reasons(borrowed.outlook.pod("a/p"), ("n1",), borrowed.outlook.held) == {"n1": ""}


def test_nobody_goes_for_a_pod_that_was_not_tried_yet(borrowed, written, claiming):
    borrowed.pod("a/p", cpu="1")
    look(claiming)
    assert written.evicted == []


def test_nobody_goes_for_a_pod_for_which_kube_scheduler_evicts(borrowed, written, claiming, in_vain):
    borrowed.pod("a/p", cpu="1", status={**in_vain, "nominatedNodeName": "n1"})
    look(claiming)
    assert written.evicted == []


def test_a_pod_without_a_right_is_told_so(borrowed, written, claiming, in_vain):
    borrowed.pod("a/p", cpu="2", status=in_vain)
    look(claiming)
    assert written.evicted == []
    ((key, reason, note),) = written.said
    assert (key, reason) == ("a/p", "NoRightToRoom")
    assert note.startswith("0/1 nodes: ")
    assert borrowed.outlook.held == {}


def test_whoever_may_not_be_evicted_runs_on(borrowed, written, claiming, in_vain):
    borrowed.pod("a/p", cpu="1", status=in_vain)
    written.refused |= {"b/b1", "b/b2"}
    look(claiming)
    borrowed.outlook.catch_up()
    assert not any(borrowed.outlook.pod(f"b/{name}").terminating for name in ("b1", "b2"))
    assert "NotEvicted" in {reason for _, reason in reasons(written)}


def test_who_could_not_be_evicted_is_not_asked_at_once_again(borrowed, written, claiming, in_vain):
    borrowed.pod("a/p", cpu="1", status=in_vain)
    written.refused |= {"b/b1", "b/b2"}
    for _ in range(5):
        borrowed.outlook.line._turns.clear()
        look(claiming)
    asked = [key for key, reason in reasons(written) if reason == "NotEvicted"]
    assert len(asked) == len(set(asked)) <= 2


def test_outside_quotas_nobody_goes_and_nothing_is_said(borrowed, written, claiming, in_vain):
    borrowed.pod("free/p", cpu="1", status=in_vain, spec={"priority": 1000})
    look(claiming)
    assert (written.evicted, written.said, borrowed.outlook.held) == ([], [], {})


def test_whoever_does_not_lead_ends(written, claiming):
    written.leading.leads = False
    asyncio.run(asyncio.wait_for(claiming.run(), 5))


def test_nobody_goes_where_one_of_several_would_stay(watched, written, claiming, in_vain):
    watched.node("n1", cpu="2")
    watched.quota("a/q", cpu="2")
    watched.quota("b/q", cpu="0")
    for name in ("b1", "b2"):
        watched.pod(f"b/{name}", cpu="1", on="n1")
    watched.pod("a/p", cpu="2", status=in_vain)
    written.refused.add("b/b1")
    look(claiming)
    assert written.evicted == []
    assert watched.outlook.held == {}
    watched.outlook.catch_up()
    assert not any(watched.outlook.pod(f"b/{name}").terminating for name in ("b1", "b2"))


def test_all_of_several_go_where_none_would_stay(watched, written, claiming, in_vain):
    watched.node("n1", cpu="2")
    watched.quota("a/q", cpu="2")
    watched.quota("b/q", cpu="0")
    for name in ("b1", "b2"):
        watched.pod(f"b/{name}", cpu="1", on="n1")
    watched.pod("a/p", cpu="2", status=in_vain)
    look(claiming)
    assert sorted(written.evicted) == ["b/b1", "b/b2"]
    assert claiming.evicted == 2
    assert all(watched.outlook.pod(f"b/{name}").terminating for name in ("b1", "b2"))


def test_one_that_is_only_being_bound_makes_way(watched, written, in_vain, clock, gangs):
    made_way: list[str] = []
    telling = Telling(watched.outlook, written.tell, clock)
    claiming = Claiming(watched.outlook, written, telling, gangs=gangs, now=clock, make_way=made_way.append)
    watched.node("n1", cpu="1")
    watched.quota("a/q", cpu="1")
    watched.quota("b/q", cpu="0")
    watched.pod("b/b1", cpu="1")
    watched.outlook.catch_up()
    watched.outlook.bind(watched.outlook.pod("b/b1"), Bound("b/b1", "n1"))
    watched.pod("a/p", cpu="1", status=in_vain)
    look(claiming)
    assert (made_way, written.evicted) == (["b/b1"], [])


def test_less_important_pods_go_for_a_gang_that_no_quota_counts(watched, written, claiming, in_vain):
    for name in ("n1", "n2"):
        watched.node(name, cpu="1")
        watched.pod(f"a/low-{name}", cpu="1", on=name)
    watched.gang("a/g", 2)
    group = {"scheduling.x-k8s.io/pod-group": "g"}
    watched.pod("a/g1", cpu="1", labels=group, spec={"priority": 9}, status=in_vain)
    watched.pod("a/g2", cpu="1", labels=group, spec={"priority": 9})
    look(claiming)
    assert sorted(written.evicted) == ["a/low-n1", "a/low-n2"]
    assert sorted(watched.outlook.held) == ["a/g1", "a/g2"]


def test_those_of_a_gang_that_were_refused_are_told_at_once_that_it_has_places(
    watched, written, claiming, in_vain, judging
):
    for name in ("n1", "n2"):
        watched.node(name, cpu="1")
    watched.gang("a/g", 2)
    group = {"scheduling.x-k8s.io/pod-group": "g"}
    watched.pod("a/g1", cpu="1", labels=group, status=in_vain)
    watched.pod("a/g2", cpu="1", labels=group)
    watched.outlook.catch_up()
    judging.reasons(watched.outlook.pod("a/g2"), ("n1", "n2"))
    for _ in range(2):
        look(claiming)
    assert [key for key, _, _ in written.told] == ["a/g1"]
    assert written.evicted == []


@pytest.mark.parametrize(("is_counted", "event"), [(True, "NoRightToRoom"), (False, "NoRoomForGang")])
def test_each_of_a_gang_is_told_why_it_does_not_run_and_what_would_let_it(
    watched, written, claiming, in_vain, *, is_counted, event
):
    watched.node("n1", cpu="3")
    if is_counted:
        watched.node("n2", cpu="3")
        watched.quota("a/q", cpu="3", most={"cpu": "3"})
    made = {"kueue.x-k8s.io/pod-group-total-count": "4"}
    for number in range(4):
        group = {"kueue.x-k8s.io/pod-group-name": "g"}
        watched.pod(f"a/g{number}", cpu="1", labels=group, annotations=made, status=in_vain)
    look(claiming)
    assert reasons(written) == [(f"a/g{number}", event) for number in range(4)]
    for _, _, note in written.said:
        assert "3 of 4 like it in its gang have a place" in note
        assert "smallest change: lower the request of cpu to 750m: all 4 then fit" in note
