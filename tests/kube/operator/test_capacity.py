"""The room of groups as a status writes it is what `ullage status` shows."""

import asyncio
import json

import pytest

from builders import cluster, node, pod, policy
from ullage.engine.capacity.summary import summarise_groups
from ullage.engine.columns import Columns
from ullage.kube.following import Following
from ullage.kube.operator.capacity import (
    GROUPS_MAX,
    CapacityKeeper,
    applies_to,
    in_force,
    over_committed,
    room_of,
)
from ullage.kube.operator.writing import Writing
from ullage.kube.stated import Stated
from ullage.model.cluster import Group
from ullage.model.delta import Delta
from ullage.model.policy import Layer
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.capacity_policies import CAPACITY_POLICY
from ullage.sources.kubernetes.kubeconfig import Access, ClusterEntry, UserEntry

NODES = (
    node("n1", cpu="4", memory="8Gi").in_group("east").holding(pod("a", cpu="5", memory="1Gi")),
    node("n2", cpu="4", memory="8Gi").in_group("east"),
    node("n3", cpu="2", gpu=1).in_group("west").holding(pod("b", cpu="2")),
)


def columns(**settings: str) -> Columns:
    return Columns(cluster(*NODES, policy=policy(**settings) if settings else policy()))


def test_room_is_what_the_summary_of_the_group_says_of_what_its_nodes_have():
    east, west = (room_of(each, ResourceTypes()) for each in summarise_groups(columns(spare_nodes="1")))
    assert (east["name"], east["nodes"]) == ("east", 2)
    assert east["allocatable"] == east["limit"] == {"cpu": "8", "memory": "16Gi"}
    assert east["committed"] == {"cpu": "5", "memory": "1Gi"}
    assert east["free"] == {"cpu": "4", "memory": "15Gi"}
    assert east["spare"] == {"cpu": "5", "memory": "8Gi"}
    assert east["ullage"] == {"cpu": "-1", "memory": "7Gi"}
    assert west["allocatable"] == {"cpu": "2", "nvidia.com/gpu": "1"}


def test_nodes_that_have_promised_more_than_they_may_are_counted():
    assert over_committed(columns()) == {"east": 1, "west": 0}
    assert over_committed(columns(cpu_ratio="2")) == {"east": 0, "west": 0}


class Recorder:
    """Takes what would be written."""

    def __init__(self) -> None:
        self.written = []

    def differ(self, wanted) -> bool:
        return wanted.before.status.get("groups") != wanted.status["groups"]

    async def write(self, wanted) -> bool:
        self.written.append(wanted)
        return True


class Leads:
    leads = True


def kept(found: Columns) -> tuple[CapacityKeeper, Following, Recorder]:
    following = Following(Access("x", ClusterEntry(server="http://127.0.0.1:1"), UserEntry()), None)
    recorder = Recorder()
    keeper = CapacityKeeper(following, recorder, Writing(Leads()))
    following.stated[CAPACITY_POLICY]["good"] = Stated({}, 3)
    keeper.seen(found, Delta())
    return keeper, following, recorder


def test_figures_that_change_with_every_pod_are_written_only_once_in_a_while():
    async def work() -> None:
        found = columns()
        keeper, following, recorder = kept(found)
        await keeper.write(found)
        (first,) = recorder.written
        assert [each["name"] for each in first.status["groups"]] == ["east", "west"]
        assert first.status["observedGeneration"] == 3
        following.stated[CAPACITY_POLICY]["good"] = Stated(dict(first.status), 3)
        assert keeper.wait_seconds is None
        more = Delta(workloads=(pod("c", cpu="1", node="n2"),))
        found = found.advance(more)
        keeper.seen(found, more)
        await keeper.write(found)
        assert len(recorder.written) == 1
        assert 0 < keeper.wait_seconds <= 10

    asyncio.run(work())


def test_a_status_that_is_taken_away_right_after_it_was_written_is_written_again():
    async def work() -> None:
        found = columns()
        keeper, following, recorder = kept(found)
        await keeper.write(found)
        (first,) = recorder.written
        metadata = {"name": "good", "generation": 3}
        for status in (first.status, None):
            document = {"metadata": metadata, "spec": {}, "status": status}
            following.put(CAPACITY_POLICY, json.dumps(document).encode())
        keeper.seen(found, Delta())
        await keeper.write(found)
        assert [each.status["groups"] for each in recorder.written] == [first.status["groups"]] * 2

    asyncio.run(work())


def test_a_cluster_without_policies_is_not_summed_up_for_them():
    async def work() -> None:
        found = columns()
        keeper, following, recorder = kept(found)
        following.stated[CAPACITY_POLICY].clear()
        await keeper.write(found)
        assert not recorder.written
        assert keeper.wait_seconds is None
        assert [each.name for each in keeper.summaries()] == ["east", "west"]
        assert keeper.over_committed() == {"east": 1, "west": 0}

    asyncio.run(work())


def test_a_status_stays_small():
    many = Columns(cluster(*(node(f"n{number}", cpu="1").in_group(f"g{number}") for number in range(600))))

    async def work() -> None:
        keeper, _, recorder = kept(many)
        await keeper.write(many)
        assert len(recorder.written[0].status["groups"]) == GROUPS_MAX

    asyncio.run(work())


# Whether a policy is in force

EVERYWHERE = {"cluster": {"cpu-ratio": "2"}}
IN_FORCE = {
    "for all": (EVERYWHERE, "InForce", "in force for the whole cluster"),
    "for some": (
        {"groups": {"east": {"spare-nodes": "1"}}, "nodes": {"n1": {"cpu-ratio": "2"}, "n2": {}}},
        "InForce",
        "in force for group east; nodes n1, n2",
    ),
    "for nobody": ({}, "InForce", "in force for nobody: it has no settings"),
    "for many": (
        {"nodes": {f"n{number}": {} for number in (1, 2, 3)}, **EVERYWHERE},
        "InForce",
        "in force for the whole cluster; nodes n1, n2, n3",
    ),
    "for a group that is not there": (
        {"groups": {"north": {"spare-nodes": "1"}}},
        "Warned",
        (
            "in force for group north · CapacityPolicy p: group/north: the cluster has no such group; "
            "correct the name, or remove its settings"
        ),
    ),
    "where a setting has no effect": (
        {"nodes": {"n1": {"spare-nodes": "1"}}},
        "Warned",
        (
            "in force for node n1 · CapacityPolicy p: node/n1: spare-nodes has no effect there; "
            "set it for a group or the cluster"
        ),
    ),
}


@pytest.mark.parametrize(("said", "reason", "message"), IN_FORCE.values(), ids=IN_FORCE)
def test_a_policy_says_what_it_applies_to_and_what_of_it_has_no_effect(said, reason, message):
    found = in_force(Layer("CapacityPolicy p", **said), columns().snapshot)
    assert found == (True, reason, message)


def test_of_many_names_some_are_told():
    many = Layer("p", groups={f"g{number}": {} for number in range(7)})
    assert applies_to(many) == "groups g0, g1, g2, g3, g4 and 2 more"


def condition(recorder: Recorder) -> dict:
    return recorder.written[-1].status["conditions"][0]


def test_a_group_that_appears_ends_the_warning_and_a_wrong_policy_is_told_why():
    async def work() -> None:
        found = columns()
        keeper, following, recorder = kept(found)
        recorder.differ = lambda _: True

        async def judged(**spec) -> dict:
            document = {"metadata": {"name": "good", "generation": 3}, "spec": spec}
            following.put(CAPACITY_POLICY, json.dumps(document).encode())
            keeper.seen(found, Delta())
            await keeper.write(found)
            return condition(recorder)

        assert (await judged(groups={"north": {"spare-nodes": 1}}))["reason"] == "Warned"
        new = Delta(nodes=(node("n9", cpu="1").in_group("north").record,), groups=(Group("north"),))
        found = found.advance(new)
        keeper.seen(found, new)
        await keeper.write(found)
        assert (condition(recorder)["status"], condition(recorder)["reason"]) == ("True", "InForce")
        wrong = await judged(cluster={"cpu-ratio": "often"})
        assert (wrong["status"], wrong["reason"]) == ("False", "Invalid")
        assert "'often' is no number" in wrong["message"]

    asyncio.run(work())
