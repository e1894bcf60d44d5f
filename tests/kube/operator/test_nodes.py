"""Each node has one NodeCapacity, with the figures of the engine, written where and when it helps."""

import asyncio
import json

import pytest

from builders import cluster, node, pod, policy
from ullage.engine.columns import Columns
from ullage.kube.following import Following
from ullage.kube.node_capacities import NODE_CAPACITY, NodeCapacities
from ullage.kube.operator.nodes import (
    AGAIN_SECONDS,
    BATCH_SECONDS,
    COMPARED_SECONDS,
    LOOKED_AT_MAX,
    NODE_SECONDS,
    WRITTEN_MAX,
    NodeKeeper,
    status_of,
    touched,
)
from ullage.kube.operator.statuses import Statuses
from ullage.kube.operator.writing import Writing
from ullage.kube.stated import Stated
from ullage.model.delta import Delta
from ullage.service.status import status_report
from ullage.sources.kubernetes.api.client import RefusedError
from ullage.sources.kubernetes.kubeconfig import Access, ClusterEntry, UserEntry

NODES = (
    node("n1", cpu="4", memory="8Gi").in_group("east").holding(pod("a", cpu="5", memory="1Gi")),
    node("n2", cpu="4", memory="8Gi").in_group("east"),
    node("n3", cpu="2", gpu=1).in_group("west").holding(pod("b", cpu="2")),
)


def columns(**settings: str) -> Columns:
    return Columns(cluster(*NODES, policy=policy(**settings)))


# What is said


@pytest.mark.parametrize("settings", [{}, {"cpu_ratio": "3/2", "memory_reserve": "1Gi"}])
def test_a_node_is_told_what_status_answers_about_it(settings):
    found = columns(**settings)
    types = found.snapshot.resource_types
    for row, each in enumerate(status_report(found.snapshot).nodes):
        said = status_of(found, row)
        assert (said["group"], said["state"]) == (each.group, each.state)
        for term in ("capacity", "reserve", "allocatable", "limit", "committed", "free"):
            printed = types.print(getattr(each, term))
            assert said[term] == {name: printed[name] for name in said["capacity"]}, term


def test_only_resources_are_told_that_a_node_has_or_has_promised():
    odd = node("n1", cpu="1", memory="0").holding(pod("a", gpu=1))
    assert set(status_of(Columns(cluster(odd)), 0)["free"]) == {"cpu", "nvidia.com/gpu"}


def condition(found: Columns, row: int, before: Stated = Stated({}, 0)) -> dict:  # noqa: B008 - it is frozen
    (only,) = status_of(found, row, before)["conditions"]
    return only


def test_a_node_that_has_promised_more_than_its_limit_says_of_what_and_by_how_much():
    over, within = condition(columns(), 0), condition(columns(), 1)
    assert (over["type"], over["status"], over["reason"]) == ("OverCommitted", "True", "AboveLimit")
    assert over["message"] == "5 of cpu promised, 1 over its limit 4"
    assert (within["status"], within["reason"]) == ("False", "WithinLimit")
    assert condition(columns(cpu_ratio="2"), 0)["status"] == "False"


def test_the_time_of_a_condition_is_that_of_its_last_change():
    since = "2020-01-01T00:00:00Z"
    before = Stated({"conditions": [condition(columns(), 0) | {"lastTransitionTime": since}]}, 0)
    assert condition(columns(), 0, before)["lastTransitionTime"] == since
    assert condition(columns(cpu_ratio="2"), 0, before)["lastTransitionTime"] != since


# What is looked at again

RUNS = pod("r", cpu="1", node="n1")
CHANGES = {
    "nothing": (Delta(), set()),
    "a node": (Delta(nodes=(node("n2", cpu="1").record,)), {"n2"}),
    "a node that is gone": (Delta(dropped={"nodes": ("n3",)}), {"n3"}),
    "a pod that comes": (Delta(workloads=(pod("c", cpu="1", node="n3"),)), {"n3"}),
    "a pod that waits": (Delta(workloads=(pod("c", cpu="1"),)), set()),
    "a pod that moves": (Delta(workloads=(pod("r", cpu="1", node="n2"),)), {"n1", "n2"}),
    "a pod that goes": (Delta(dropped={"workloads": ("r",)}), {"n1"}),
    "a pod nobody knows goes": (Delta(dropped={"workloads": ("x",)}), set()),
}


@pytest.mark.parametrize(("delta", "names"), CHANGES.values(), ids=CHANGES)
def test_a_change_concerns_the_nodes_whose_figures_it_may_change(delta, names):
    before = columns().advance(Delta(workloads=(RUNS,))).snapshot
    assert touched(before, delta) == names


# What is written, and when


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Leads:
    leads = True


class Server:
    """Keeps objects as an API server does, and shows each change as a watch does."""

    def __init__(self, shown: NodeCapacities) -> None:
        self.shown = shown
        self.objects: dict[str, dict] = {}
        self.asked: list[tuple[str, str]] = []
        self.refuses = 0

    def _ask(self, verb: str, name: str) -> None:
        self.asked.append((verb, name))
        if self.refuses:
            raise RefusedError(self.refuses, "", "no")

    def show(self, name: str, **change) -> None:
        self.objects[name] |= change
        self.shown.put(json.dumps(self.objects[name]).encode())

    async def create(self, path: str, document: dict) -> bytes:
        name = document["metadata"]["name"]
        self._ask("create", name)
        assert path == "/apis/ullage.dev/v1/nodecapacities"
        assert name not in self.objects
        self.objects[name] = {}
        self.show(name, metadata={**document["metadata"], "uid": f"object-{len(self.asked)}"})
        return b"{}"

    async def patch(self, path: str, change: dict) -> bytes:
        *_, name, part = path.split("/")
        self._ask(part, name)
        before = self.objects[name].get("status", {})
        merged = dict(before)
        for key, value in change["status"].items():
            merged[key] = (
                {k: v for k, v in value.items() if v is not None} if isinstance(value, dict) else value
            )
        self.show(name, status=merged)
        return json.dumps(self.objects[name]).encode()

    async def delete(self, path: str, options: dict) -> bytes:
        name = path.rpartition("/")[2]
        self._ask("delete", name)
        gone = self.objects.pop(name)
        assert options == {"preconditions": {"uid": gone["metadata"]["uid"]}}
        self.shown.drop(json.dumps(gone).encode())
        return b"{}"


class World:
    """A keeper, its clock, the server that it writes to, and the cluster that it looks at."""

    def __init__(self, found: Columns, *, is_wanted: bool = True) -> None:
        self.following = Following(Access("x", ClusterEntry(server="http://127.0.0.1:1"), UserEntry()), None)
        self.hears = True
        self.following.hears = lambda kind: kind == NODE_CAPACITY and self.hears
        self.uids: dict[str, str] = {}
        self.following.mirror.node_uid = lambda name: self.uids.get(name, f"uid-{name}")
        self.server = Server(self.following.node_capacities)
        self.clock = Clock()
        statuses = Statuses(self.server, None)
        self.keeper = NodeKeeper(
            self.server,
            self.following,
            statuses,
            Writing(Leads()),
            is_wanted=is_wanted,
            now=self.clock,
        )
        self.columns = found

    def look(self, delta: Delta | None = None, seconds: float = 0.0) -> list[tuple[str, str]]:
        """Let time pass and something happen; return what is asked of the server then."""
        self.clock.now += seconds
        count = len(self.server.asked)
        if delta is not None:
            self.columns = self.columns.advance(delta)
        self.keeper.seen(self.columns, delta or Delta())
        asyncio.run(self.keeper.write(self.columns))
        return self.server.asked[count:]

    def settle(self) -> None:
        """Look until there is nothing more to do; what was written is seen, too."""
        for _ in range(1000):
            asked = self.look(seconds=self.keeper.wait_seconds or 0)
            if not asked and not self.keeper.waiting:
                return
        raise AssertionError("it does not come to rest")

    def free(self) -> dict[str, str]:
        return {name: each["status"]["free"]["cpu"] for name, each in sorted(self.server.objects.items())}


def comes(name: str, on: str, cpu: str = "1") -> Delta:
    return Delta(workloads=(pod(name, cpu=cpu, node=on),))


@pytest.fixture
def world() -> World:
    made = World(columns())
    made.settle()
    return made


def test_each_node_has_one_that_belongs_to_it():
    world = World(columns())
    asked = world.look()
    assert sorted(asked) == sorted(
        (verb, name) for name in ("n1", "n2", "n3") for verb in ("create", "status")
    )
    assert world.free() == {"n1": "0", "n2": "4", "n3": "0"}
    assert world.server.objects["n2"]["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Node", "name": "n2", "uid": "uid-n2"}
    ]


def test_where_all_is_as_it_should_be_nothing_is_written_however_long(world):
    count = world.keeper.written
    for _ in range(20):
        assert world.look(seconds=COMPARED_SECONDS) == []
        assert (world.keeper.wait_seconds, world.keeper.waiting) == (None, 0)
    assert world.keeper.written == count == 3


def test_a_pod_is_told_to_its_node_alone(world):
    assert world.look(comes("c", "n2"), seconds=60) == [("status", "n2")]
    assert world.free()["n2"] == "3"


def test_a_node_is_written_once_in_a_while_and_then_as_it_is(world):
    assert world.look(comes("c", "n2"), seconds=60) == [("status", "n2")]
    assert world.look(comes("d", "n2"), seconds=1) == []
    assert world.look(comes("e", "n2"), seconds=1) == []
    assert world.keeper.wait_seconds == NODE_SECONDS - 2
    assert world.look(seconds=NODE_SECONDS - 2.5) == []
    assert world.look(seconds=0.5) == [("status", "n2")]
    assert world.free()["n2"] == "1"


def test_a_change_that_is_over_before_it_could_be_written_is_not_written(world):
    world.look(comes("c", "n2"), seconds=60)
    world.look(comes("d", "n2"), seconds=1)
    world.look(Delta(dropped={"workloads": ("d",)}), seconds=1)
    assert world.look(seconds=NODE_SECONDS) == []
    assert world.keeper.wait_seconds is None


def many(count: int) -> Columns:
    return Columns(cluster(*(node(f"n{number:04d}", cpu="4") for number in range(count)), policy=policy()))


def test_only_so_many_are_written_in_a_second_those_first_that_have_waited_longest():
    world = World(many(3 * WRITTEN_MAX))
    waits = []
    for _ in range(3):
        written = {name for verb, name in world.look() if verb == "status"}
        assert len(written) == WRITTEN_MAX
        assert world.look() == []
        waits.append(sorted(written))
        world.clock.now += BATCH_SECONDS
    assert [name for batch in waits for name in batch] == sorted(world.server.objects)
    assert set(world.free().values()) == {"4"}


def test_a_burst_that_never_ends_keeps_nobody_waiting_for_ever():
    """Pods come to every node each second: each node is told again and again, in turn."""
    world = World(many(2 * WRITTEN_MAX))
    world.settle()
    world.clock.now += 60
    told: dict[str, int] = {}
    for second in range(40):
        delta = Delta(
            workloads=tuple(pod(f"p-{second}-{name}", cpu="1m", node=name) for name in world.server.objects)
        )
        asked = world.look(delta, seconds=1)
        assert len(asked) <= WRITTEN_MAX
        for _, name in asked:
            told[name] = told.get(name, 0) + 1
    world.settle()
    assert len(told) == 2 * WRITTEN_MAX
    assert set(told.values()) <= {3, 4}
    assert set(world.free().values()) == {"3960m"}


def test_only_so_many_are_worked_out_in_one_look():
    world = World(many(3 * LOOKED_AT_MAX))
    world.settle()
    world.columns = Columns(world.columns.snapshot)
    world.keeper._look_at(world.columns.node_index)
    world.clock.now += 60
    world.look()
    assert world.keeper.waiting == 2 * LOOKED_AT_MAX


def test_another_policy_concerns_all_nodes(world):
    world.columns = columns(cpu_ratio="2")
    assert sorted(world.look(seconds=60)) == [("status", "n1"), ("status", "n2"), ("status", "n3")]
    assert world.free() == {"n1": "3", "n2": "8", "n3": "2"}


def test_what_somebody_has_written_is_put_right(world):
    world.clock.now += 60
    world.server.show("n2", status={"free": {"cpu": "99"}})
    assert world.look() == [("status", "n2")]
    assert world.free()["n2"] == "4"


def test_what_somebody_has_deleted_is_made_again(world):
    world.clock.now += 60
    asyncio.run(world.server.delete("nodecapacities/n2", uid_of(world, "n2")))
    assert world.look() == [("create", "n2"), ("status", "n2")]


def uid_of(world: World, name: str) -> dict:
    return {"preconditions": {"uid": world.server.objects[name]["metadata"]["uid"]}}


@pytest.mark.parametrize("owners", [[], [{"kind": "Node", "uid": "of-another"}]], ids=["nobody", "another"])
def test_one_that_belongs_to_somebody_else_is_replaced(world, owners):
    world.clock.now += 60
    metadata = {**world.server.objects["n2"]["metadata"], "ownerReferences": owners}
    world.server.show("n2", metadata=metadata)
    assert world.look() == [("delete", "n2"), ("create", "n2"), ("status", "n2")]
    assert world.look(seconds=60) == []


def test_a_node_that_was_replaced_by_one_of_its_name_is_noticed_though_its_figures_are_the_same(world):
    world.uids["n2"] = "another"
    assert world.look(seconds=60) == [("delete", "n2"), ("create", "n2"), ("status", "n2")]


def test_nodes_that_came_and_went_unseen_are_noticed_all_the_same(world):
    same = world.columns.snapshot.policy
    world.columns = Columns(cluster(NODES[0], node("n4", cpu="1"), policy=same))
    asked = world.look(seconds=60)
    assert sorted(asked) == [("create", "n4"), ("delete", "n2"), ("delete", "n3"), ("status", "n4")]


def test_it_goes_with_its_node_and_strangers_go_too(world):
    world.server.objects["x"] = {"metadata": {"name": "x", "uid": "u"}}
    world.server.show("x")
    gone = Delta(dropped={"nodes": ("n2",)})
    assert sorted(world.look(gone, seconds=60)) == [("delete", "n2"), ("delete", "x")]
    assert sorted(world.server.objects) == ["n1", "n3"]


def test_where_they_are_not_wanted_they_are_deleted_and_none_is_made(world):
    other = World(columns(), is_wanted=False)
    assert other.look() == []
    for name, each in world.server.objects.items():
        other.server.objects[name] = each
        other.server.show(name)
    assert sorted(other.look(seconds=60)) == [("delete", name) for name in ("n1", "n2", "n3")]
    assert other.look(seconds=60) == []


def test_what_is_refused_is_tried_again_a_little_later(world):
    world.server.refuses = 500
    assert world.look(comes("c", "n2"), seconds=60) == [("status", "n2")]
    assert world.keeper.wait_seconds == NODE_SECONDS
    world.server.refuses = 0
    assert world.look(seconds=AGAIN_SECONDS) == []
    assert world.look(seconds=NODE_SECONDS) == [("status", "n2")]
    assert world.free()["n2"] == "3"


def test_while_the_kind_is_not_there_nothing_is_done_and_all_as_soon_as_it_is():
    world = World(columns())
    world.hears = False
    assert world.look() == []
    assert world.keeper.wait_seconds is None
    world.hears = True
    assert len(world.look(seconds=1)) == 6


def test_a_list_says_which_are_gone():
    kept = NodeCapacities()
    for name in ("a", "b"):
        kept.put(json.dumps({"metadata": {"name": name}}).encode())
    assert kept.news() == {"a", "b"}
    kept.begin()
    kept.put(json.dumps({"metadata": {"name": "a"}}).encode())
    kept.end()
    assert (set(kept.stated), kept.news()) == ({"a"}, {"b"})
