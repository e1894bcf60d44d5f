"""kube-scheduler is told to ask again about a pod that has a place by now: surely, and seldom."""

import asyncio
from itertools import pairwise

import pytest

from builders import entry
from kube_cluster import pod
from ullage.kube.extender.telling import (
    PAUSE_SECONDS,
    PAUSE_SECONDS_MAX,
    ROOM_AGAIN,
    SURE_SECONDS,
    TOLD_MAX,
    Conditions,
)
from ullage.kube.scheduler.actions import NotDoneError
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.kubeconfig import find_access

STEP_SECONDS = 0.25
GANG_LABEL = "scheduling.x-k8s.io/pod-group"


@pytest.fixture
def full(watched, in_vain):
    """One pod runs, and another of the same team finds no place beside it."""
    watched.node("n1", cpu="2")
    watched.quota("team/q", cpu="1", most={"cpu": "1"})
    watched.quota("idle/q", cpu="1")
    watched.pod("team/runs", cpu="1", on="n1")
    watched.pod("team/waits", cpu="1", status=in_vain)
    return watched


@pytest.fixture
def passes(claiming, clock):
    """Let time pass in which it is looked again and again, as it is where much happens."""

    with asyncio.Runner() as runner:

        def pass_seconds(seconds):
            until = clock.now + seconds
            while clock.now < until:
                runner.run(claiming.look())
                clock.now += STEP_SECONDS

        yield pass_seconds


def keys(written):
    return [key for key, _, _ in written.told]


def test_nothing_is_told_where_there_is_no_place(full, written, passes):
    passes(200)
    assert written.told == []
    assert "team/waits" in full.outlook.line


def test_room_that_another_pod_leaves_is_told_once_it_is_sure(full, written, passes):
    passes(5)
    full.gone("team/runs")
    passes(SURE_SECONDS)
    assert written.told == []
    passes(2 * STEP_SECONDS)
    assert written.told == [("team/waits", "uid-waits", "n1")]


def test_a_max_that_is_raised_is_told(full, written, passes):
    passes(5)
    full.quota("team/q", cpu="1", most={"cpu": "2"})
    passes(15)
    assert keys(written) == ["team/waits"]


def test_a_policy_that_changes_is_told_to_a_pod_outside_quotas(watched, written, passes, in_vain):
    watched.node("n1", cpu="2")
    watched.policy(cpu_ratio="0.5")
    watched.pod("free/waits", cpu="2", status=in_vain)
    passes(5)
    assert written.told == []
    watched.policy(cpu_ratio="1")
    passes(15)
    assert written.told == [("free/waits", "uid-waits", "n1")]


@pytest.fixture
def promise(watched, monkeypatch):
    def hold(*entries):
        monkeypatch.setattr(watched.following.plans, "standing", lambda _: entries)

    return hold


def test_the_end_of_a_promise_is_told(watched, written, passes, in_vain, promise):
    watched.node("n1", cpu="2")
    promise(entry("r/1", "node/n1", owner="else/where", request="compute", cpu="2"))
    watched.pod("free/waits", cpu="2", status=in_vain)
    passes(5)
    assert written.told == []
    promise()
    passes(15)
    assert keys(written) == ["free/waits"]


def test_room_that_is_promised_to_a_pod_is_told_with_the_node_where_it_is(
    watched, written, passes, in_vain, promise
):
    for name in ("n1", "n2"):
        watched.node(name, cpu="2")
    everywhere = [
        entry(f"r/{name}", f"node/{name}", owner=f"else/{name}", request="compute", cpu="2")
        for name in ("n1", "n2")
    ]
    promise(*everywhere)
    watched.pod("shop/waits", cpu="2", status=in_vain)
    passes(5)
    assert written.told == []
    own = entry("Pod/shop/waits/1", "node/n2", owner="shop/waits", request="compute", cpu="2")
    promise(everywhere[0], own)
    passes(15)
    assert written.told == [("shop/waits", "uid-waits", "n2")]


def test_room_that_is_promised_comes_before_other_room(watched, written, passes, in_vain, promise):
    for name in ("n1", "n2", "n3"):
        watched.node(name, cpu="2")
    promise(entry("Pod/shop/waits/1", "node/n2", owner="shop/waits", request="compute", cpu="2"))
    watched.pod("shop/waits", cpu="2", status=in_vain)
    passes(5)
    assert written.told == [("shop/waits", "uid-waits", "n2")]


def test_whoever_is_bound_meanwhile_is_not_told_of(full, written, passes):
    full.gone("team/runs")
    passes(SURE_SECONDS / 2)
    full.pod("team/waits", cpu="1", on="n1")
    passes(100)
    assert written.told == []


def test_a_place_that_comes_and_goes_is_not_told(full, written, passes):
    for _ in range(10):
        full.gone("team/runs")
        passes(SURE_SECONDS / 2)
        full.pod("team/runs", cpu="1", on="n1")
        passes(20)
    assert written.told == []


def test_a_place_that_comes_back_is_told_when_the_pause_is_over_and_it_is_sure(full, written, passes):
    full.gone("team/runs")
    passes(3)
    full.pod("team/runs", cpu="1", on="n1")
    passes(7)
    full.gone("team/runs")
    passes(4)
    assert len(written.told) == 1
    passes(PAUSE_SECONDS)
    assert len(written.told) == 2
    full.pod("team/runs", cpu="1", on="n1")
    passes(3 * PAUSE_SECONDS)
    full.gone("team/runs")
    passes(SURE_SECONDS)
    assert len(written.told) == 2
    passes(10)
    assert len(written.told) == 3


def test_a_pod_that_was_not_tried_yet_is_not_told_of(watched, written, passes):
    watched.node("n1", cpu="2")
    watched.pod("free/waits", cpu="1")
    passes(100)
    assert written.told == []


def test_what_is_written_makes_nobody_write_again_before_a_pause_that_grows(
    watched, written, passes, in_vain, clock
):
    """As it is with a pod that kube-scheduler does not place for reasons of its own."""
    watched.node("n1", cpu="2")
    watched.pod("free/waits", cpu="1", status=in_vain)
    times = []
    while len(times) < 8:
        passes(STEP_SECONDS)
        if len(written.told) > len(times):
            times.append(clock.now)
            told = {"type": ROOM_AGAIN, "status": "True", "lastTransitionTime": str(clock.now)}
            watched.pod("free/waits", cpu="1", status={"conditions": [*in_vain["conditions"], told]})
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses == sorted(pauses)
    assert pauses[0] >= PAUSE_SECONDS
    assert pauses[-2] == pytest.approx(PAUSE_SECONDS_MAX, abs=2 * STEP_SECONDS)
    assert pauses[-1] == pytest.approx(PAUSE_SECONDS_MAX, abs=2 * STEP_SECONDS)


def test_a_pod_of_the_same_name_is_another_one(full, written, passes, in_vain):
    full.gone("team/runs")
    passes(SURE_SECONDS / 2)
    full.pod("team/waits", cpu="1", status=in_vain, uid="second")
    passes(SURE_SECONDS)
    assert written.told == []
    passes(SURE_SECONDS)
    assert written.told == [("team/waits", "second", "n1")]


def test_what_cannot_be_written_is_tried_again_after_the_pause(full, written, passes):
    written.refused.add("team/waits")
    full.gone("team/runs")
    passes(PAUSE_SECONDS)
    written.refused.clear()
    passes(PAUSE_SECONDS)
    assert keys(written) == ["team/waits"]


@pytest.mark.parametrize("labels", [{}, {GANG_LABEL: "all"}], ids=["alone", "gang"])
def test_many_are_told_of_bit_by_bit(watched, written, passes, in_vain, labels):
    watched.node("n1", cpu="100")
    names = {f"free/p{index:02}" for index in range(2 * TOLD_MAX)}
    watched.gang("free/all", len(names))
    for name in names:
        watched.pod(name, cpu="1", status=in_vain, labels=labels)
    passes(SURE_SECONDS + 3 * STEP_SECONDS)
    assert len(written.told) == TOLD_MAX
    passes(3)
    assert set(keys(written)) == names
    assert len(written.told) == len(names)


def test_no_more_are_told_of_than_there_is_room_for(watched, written, passes, in_vain):
    watched.node("n1", cpu="1")
    for index in range(5):
        watched.pod(f"free/p{index}", cpu="1", status=in_vain)
    passes(10)
    assert len(written.told) == 1


def test_room_that_is_held_for_another_pod_is_not_told(full, written, passes, in_vain):
    full.quota("team/q", cpu="2")
    full.outlook.catch_up()
    full.outlook.held["team/waits"] = "n1"
    full.pod("free/other", cpu="1", status=in_vain)
    passes(10)
    assert keys(written) == ["team/waits"]


def test_whoever_does_not_lead_tells_nothing(full, written, passes):
    full.gone("team/runs")
    written.leading.leads = False
    passes(10)
    assert written.told == []


# On a real API server


class Leads:
    """A replica that leads, or not."""

    def __init__(self, *, leads=True):
        self.leads = leads


def write(plane, key, uid, *, leads=True):
    async def run():
        client = ApiClient(find_access(kubeconfig=str(plane.kubeconfig())))
        try:
            await Conditions(client, Leads(leads=leads)).write(key, uid, "n1")
        finally:
            await client.close()

    asyncio.run(run())


@pytest.fixture
def namespace(plane):
    with plane.scratch() as name:
        yield name


@pytest.fixture
def waiting(plane, namespace, in_vain):
    """Make a pod that was tried in vain, and return it."""
    plane.create(pod(f"{namespace}/waits", "nobody"))
    return plane.patch(f"/api/v1/namespaces/{namespace}/pods/waits/status", {"status": in_vain})


def conditions(plane, namespace):
    found = plane.get(f"/api/v1/namespaces/{namespace}/pods/waits")
    return {each["type"]: each for each in found["status"]["conditions"]}


@pytest.mark.slow
def test_the_condition_stands_beside_those_of_others(plane, namespace, waiting):
    write(plane, f"{namespace}/waits", waiting["metadata"]["uid"])
    found = conditions(plane, namespace)
    assert {name: each["status"] for name, each in found.items()} == {
        "PodScheduled": "False",
        ROOM_AGAIN: "True",
    }
    assert "n1" in found[ROOM_AGAIN]["message"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("uid", "leads"), [("of-another", True), ("", False)], ids=["another pod", "another replica leads"]
)
def test_nothing_is_written_that_is_not_to_be(plane, namespace, waiting, uid, leads):
    with pytest.raises(NotDoneError):
        write(plane, f"{namespace}/waits", uid or waiting["metadata"]["uid"], leads=leads)
    assert set(conditions(plane, namespace)) == {"PodScheduled"}
