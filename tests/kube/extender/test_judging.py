"""Where pods may go beside those for whom places are held, and gangs as a whole."""

import pytest

from ullage.kube.extender.gang_places import PATIENCE_SECONDS
from ullage.kube.extender.judging import Decided

GROUP = {"kueue.x-k8s.io/pod-group-name": "g"}


def gang(watched, count: int, of: int = 0, *, cpu: str = "1", first: int = 0, **spec: object) -> list[str]:
    """Let members of a gang wait, which needs all of them, or as many as `of`."""
    keys = [f"a/g{index}" for index in range(first, first + count)]
    for key in keys:
        made = {"kueue.x-k8s.io/pod-group-total-count": str(of or count)}
        watched.pod(key, cpu=cpu, labels=GROUP, annotations=made, spec=spec)
    return keys


@pytest.fixture
def asked(watched, judging):
    """Returns where a pod may go of some nodes, and why not to the others."""

    def ask(key: str, *nodes: str) -> dict[str, str]:
        watched.outlook.catch_up()
        return judging.reasons(watched.outlook.pod(key), nodes)

    return ask


@pytest.fixture
def bound(watched, judging):
    def bind(key: str, node: str) -> Decided | str:
        watched.outlook.catch_up()
        pod = watched.outlook.pod(key)
        found = judging.bound(pod, node)
        if isinstance(found, Decided):
            watched.outlook.bind(pod, found.bound)
        return found

    return bind


def opened(told: dict[str, str]) -> list[str]:
    return [name for name, why in told.items() if not why]


class TestGangs:
    """All of a gang have places, or nobody."""

    def test_of_a_gang_that_has_no_room_nobody_has_a_place(self, watched, asked):
        watched.node("n1", cpu="1")
        gang(watched, 2)
        (why,) = asked("a/g0", "n1").values()
        assert why
        assert watched.outlook.held == {}

    def test_each_of_a_gang_is_told_what_keeps_it_from_running(self, watched, asked):
        for name in ("n1", "n2"):
            watched.node(name, cpu="2")
        watched.quota("a/q", cpu="3", most={"cpu": "3"})
        for key in gang(watched, 4):
            assert all("would use more than its max" in why for why in asked(key, "n1", "n2").values())

    def test_one_of_a_gang_is_told_why_the_only_node_does_not_take_it(self, watched, asked):
        watched.node("n1", cpu="1")
        watched.node("n2", cpu="3")
        gang(watched, 2, cpu="2")
        assert asked("a/g0", "n1") == {"n1": "size of the node (cpu)"}

    def test_places_of_all_are_held_as_soon_as_one_is_asked_about(self, watched, asked):
        for name in ("n1", "n2"):
            watched.node(name, cpu="1")
        gang(watched, 2)
        (first,) = opened(asked("a/g0", "n1", "n2"))
        assert sorted(watched.outlook.held.values()) == ["n1", "n2"]
        (second,) = opened(asked("a/g1", "n1", "n2"))
        assert {first, second} == {"n1", "n2"}

    def test_nobody_else_has_a_place_that_is_held(self, watched, asked, bound):
        watched.node("n1", cpu="2")
        gang(watched, 2)
        asked("a/g0", "n1")
        watched.pod("a/other", cpu="1")
        assert opened(asked("a/other", "n1")) == []
        assert isinstance(bound("a/other", "n1"), str)

    def test_a_more_important_pod_has_it_and_the_gang_gives_up(self, watched, asked, bound, gangs):
        watched.node("n1", cpu="2")
        gang(watched, 2)
        asked("a/g0", "n1")
        decided = bound("a/g0", "n1")
        watched.pod("a/other", cpu="1", spec={"priority": 9})
        assert opened(asked("a/other", "n1")) == ["n1"]
        assert isinstance(bound("a/other", "n1"), Decided)
        assert watched.outlook.held == {}
        assert decided.gate.has_failed
        assert gangs.waited_for() == {}

    def test_one_that_comes_late_is_bound_with_those_who_wait(self, watched, asked, bound):
        watched.node("n1", cpu="3")
        gang(watched, 2)
        asked("a/g0", "n1")
        gate = bound("a/g0", "n1").gate
        gang(watched, 1, 2, first=2)
        assert opened(asked("a/g2", "n1")) == ["n1"]
        assert bound("a/g2", "n1").gate is gate

    def test_beside_enough_that_run_a_member_goes_alone(self, watched, asked, bound):
        watched.node("n1", cpu="3")
        for index in range(2):
            watched.pod(
                f"a/g{index}",
                cpu="1",
                on="n1",
                labels=GROUP,
                annotations={"kueue.x-k8s.io/pod-group-total-count": "2"},
            )
        gang(watched, 1, 2, first=2)
        assert opened(asked("a/g2", "n1")) == ["n1"]
        assert bound("a/g2", "n1").gate is None

    def test_one_that_kube_scheduler_keeps_off_its_node_gets_another(self, watched, asked):
        for name in ("n1", "n2", "n3"):
            watched.node(name, cpu="1")
        gang(watched, 2)
        asked("a/g0", "n1")
        assert watched.outlook.held["a/g0"] == "n1"
        other = watched.outlook.held["a/g1"]
        (left,) = {"n2", "n3"} - {other}
        assert opened(asked("a/g1", left)) == [left]
        assert watched.outlook.held == {"a/g0": "n1", "a/g1": left}

    def test_a_member_with_no_other_node_left_has_its_gang_judged_anew(self, watched, asked):
        for name in ("n1", "n2"):
            watched.node(name, cpu="1")
        gang(watched, 2)
        (first,) = opened(asked("a/g0", "n1", "n2"))
        assert opened(asked("a/g1", first)) == [first]
        assert watched.outlook.held["a/g1"] == first
        assert watched.outlook.held["a/g0"] != first

    @pytest.mark.parametrize("what", ["pod", "node", "time"])
    def test_places_are_given_back_where_one_is_gone_or_none_comes(self, watched, asked, gangs, clock, what):
        for name in ("n1", "n2"):
            watched.node(name, cpu="1")
        gang(watched, 2)
        asked("a/g0", "n1", "n2")
        if what == "pod":
            watched.gone("a/g1")
        elif what == "node":
            watched.node_gone(watched.outlook.held["a/g1"])
        else:
            clock.now += PATIENCE_SECONDS
        watched.outlook.catch_up()
        gangs.sweep()
        assert watched.outlook.held == {}

    def test_without_a_filter_before_a_bind_has_the_gang_judged(self, watched, bound):
        watched.node("n1", cpu="2")
        gang(watched, 2)
        assert isinstance(bound("a/g0", "n1"), Decided)
        assert watched.outlook.held == {"a/g1": "n1"}
        watched.node("n2", cpu="1")
        assert bound("a/g1", "n2").gate is not None

    def test_a_bind_of_one_whose_gang_has_no_room_is_refused(self, watched, bound):
        watched.node("n1", cpu="1")
        gang(watched, 2)
        assert isinstance(bound("a/g0", "n1"), str)


class TestNominated:
    """Two who wait for others to leave do not keep each other out."""

    @pytest.fixture(autouse=True)
    def _both(self, watched):
        """Each waits for another; the victim of the first is gone, that of the second is slow to go."""
        watched.node("n1", cpu="10")
        watched.node("n2", cpu="10")
        for name, least in (("a", "5"), ("b", "6"), ("x", "0")):
            watched.quota(f"{name}/q", cpu=least)
        watched.pod("x/slow", cpu="6", on="n2", deleted=True)
        watched.pod("a/p", cpu="5")
        watched.pod("b/q", cpu="6")
        watched.outlook.catch_up()
        watched.outlook.held.update({"a/p": "n1", "b/q": "n2"})

    def test_whose_victim_is_gone_runs_though_that_of_the_other_is_not(self, asked, bound):
        assert opened(asked("a/p", "n1", "n2")) == ["n1"]
        assert isinstance(bound("a/p", "n1"), Decided)

    def test_the_other_has_its_turn_when_its_own_is_gone(self, watched, asked, bound):
        assert opened(asked("b/q", "n1", "n2")) == []
        bound("a/p", "n1")
        watched.gone("x/slow")
        assert "n2" in opened(asked("b/q", "n1", "n2"))
        assert isinstance(bound("b/q", "n2"), Decided)
