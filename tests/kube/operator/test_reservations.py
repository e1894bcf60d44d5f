"""A reservation goes when its pod is gone, when its volumes are made, or when its pod waits for too long."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from sources.kubernetes.api.object_pool import BAREMETAL, GIB, pod, stored
from sources.kubernetes.api.raw_server import RawServer, answer, serving
from ullage.kube.operator.reservations import SECONDS, ReservationKeeper
from ullage.model.delta import apply
from ullage.model.policy import Policy
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.api.mirror import Mirror

OK = [answer()]
CONFLICT = [answer(409, b'{"reason": "Conflict", "message": "it has changed"}')]
MOUNTS = {"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "a"}}]}
INLINE = {"volumes": [{"name": "x", "csi": {"driver": "csi-baremetal", "volumeAttributes": {"size": "1Gi"}}}]}


class World:
    """A mirror that sees what a test says, and a keeper whose clock a test moves."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.mirror = Mirror()
        self.see(stored("v1", "Node", "n1", status={"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}))
        drive = {"UUID": "d1", "Type": "HDD", "Size": 100 * GIB, "NodeId": "n1"}
        self.see(stored(BAREMETAL, "Drive", "d1", spec=drive))
        self.snapshot = self.mirror.snapshot(Policy("kubernetes"))
        self.noticed: dict = {}

    def see(self, each) -> None:
        self.mirror.put(each.kind, each.text)

    def reserve(self, *requests: str, name: str = "web-p", revision: str = "7", **spec) -> None:
        listed = [{"CapacityRequest": {"Name": each, "StorageClass": "HDD", "Size": 1}} for each in requests]
        spec = {"Namespace": "web", "Status": "RESERVED", "ReservationRequests": listed, **spec}
        metadata = {"uid": f"uid-{name}", "resourceVersion": revision}
        self.see(stored(BAREMETAL, "AvailableCapacityReservation", name, metadata=metadata, spec=spec))

    def claim(self, *, bound: bool) -> None:
        spec = {"volumeName": "v"} if bound else {}
        status = {"phase": "Bound" if bound else "Pending"}
        self.see(stored("v1", "PersistentVolumeClaim", "a", namespace="web", spec=spec, status=status))

    def looks(self, *script: list, after: tuple[float, ...] = (0.0,)) -> list[dict]:
        """Look once after each of so many seconds; return what was deleted, with its preconditions."""

        async def run(server: RawServer) -> None:
            client = ApiClient(server.access(), tries_max=1)
            keeper = ReservationKeeper(client, self.mirror, lambda: self.seconds)
            for each in after:
                self.seconds += each
                self.snapshot = apply(self.snapshot, self.mirror.delta())
                await keeper.look(self.snapshot)
            await client.close()

        async def served() -> RawServer:
            async with serving(*(script or (OK,))) as server:
                await run(server)
                return server

        return list(_deleted(asyncio.run(served())))


def _deleted(server: RawServer) -> Iterator[dict]:
    for each in server.asked:
        head, _, body = each.partition(b"\r\n\r\n")
        method, path, _ = head.split(b"\r\n")[0].decode().split(" ")
        if method == "GET":
            assert path == "/api/v1/namespaces/web/pods?fieldSelector=metadata.name%3Dp&limit=1"
            continue
        assert method == "DELETE"
        yield {"name": path.rpartition("/")[2], **json.loads(body)["preconditions"]}


@pytest.fixture
def world() -> World:
    return World()


THIS = {"name": "web-p", "uid": "uid-web-p", "resourceVersion": "7"}
GONE, MADE, WAITS = SECONDS["pod gone"], SECONDS["volumes made"], SECONDS["pod waits"]


def test_one_whose_pod_is_gone_is_deleted_as_it_was_seen_and_not_at_once(world):
    world.reserve("a")
    assert world.looks(after=(0, GONE - 1)) == []
    assert world.looks(after=(0, GONE)) == [THIS]


def test_one_whose_pod_is_seen_a_little_later_stays(world):
    world.reserve("a")
    world.looks()
    world.see(pod("web", "p", nodeName="n1", **MOUNTS))
    assert world.looks(after=(0, GONE)) == []


THERE = [answer(200, b'{"items": [{"spec": {}}]}')]
ON_A_NODE = [answer(200, b'{"items": [{"spec": {"nodeName": "n1"}}]}')]
AWAY = [answer(503, b"{}")]


@pytest.mark.parametrize("said", [THERE, ON_A_NODE, AWAY], ids=["waits", "on a node", "not to be asked"])
def test_one_whose_pod_is_not_seen_stays_unless_the_server_says_that_it_is_gone(world, said):
    world.reserve("a")
    assert world.looks(said, OK, after=(0, GONE, GONE - 1)) == []
    assert world.looks(said, OK, after=(0, GONE, GONE)) == [THIS]


def test_one_whose_pod_was_not_seen_on_its_node_stays(world):
    world.reserve("a")
    world.claim(bound=False)
    world.see(pod("web", "p", **MOUNTS))
    assert world.looks(ON_A_NODE, after=(0, WAITS)) == []
    assert world.looks(THERE, OK, after=(0, WAITS)) == [THIS]


def test_one_whose_pod_is_over_is_deleted(world):
    world.reserve("a")
    world.see(pod("web", "p", nodeName="n1", status={"phase": "Failed"}, **MOUNTS))
    assert world.looks(after=(0, GONE)) == [THIS]


@pytest.mark.parametrize("bound", [False, True])
def test_one_whose_claims_have_their_volumes_is_deleted(world, bound):
    world.reserve("a")
    world.see(pod("web", "p", nodeName="n1", **MOUNTS))
    world.claim(bound=bound)
    assert world.looks(after=(0, MADE)) == [THIS][: int(bound)]


@pytest.mark.parametrize("made", [False, True])
def test_one_whose_pod_has_volumes_of_its_own_is_deleted_once_they_are_there(world, made):
    world.reserve("p-x")
    world.see(pod("web", "p", nodeName="n1", **INLINE))
    if made:
        spec = {"Id": "csi-1", "Location": "d1", "Size": GIB, "Ephemeral": True, "Owners": ["p"]}
        world.see(stored(BAREMETAL, "Volume", "csi-1", namespace="web", spec=spec))
    assert world.looks(after=(0, MADE)) == [THIS][: int(made)]


def test_one_whose_pod_waits_for_long_expires(world):
    world.reserve("a")
    world.claim(bound=False)
    world.see(pod("web", "p", **MOUNTS))
    assert world.looks(after=(0, WAITS - 1)) == []
    assert world.looks(after=(0, WAITS)) == [THIS]


def test_one_that_is_written_again_has_its_time_again(world):
    world.reserve("a")
    world.claim(bound=False)
    world.see(pod("web", "p", **MOUNTS))

    async def run() -> int:
        async with serving(OK) as server:
            client = ApiClient(server.access())
            keeper = ReservationKeeper(client, world.mirror, lambda: world.seconds)
            snapshot = apply(world.snapshot, world.mirror.delta())
            await keeper.look(snapshot)
            world.seconds += WAITS
            world.reserve("a", revision="8")
            await keeper.look(snapshot)
            await client.close()
            return len(server.asked)

    assert asyncio.run(run()) == 0


def test_one_that_has_changed_meanwhile_is_looked_at_again(world):
    world.reserve("a")
    assert world.looks(OK, CONFLICT, OK, after=(0, GONE, 0)) == [THIS, THIS]


@pytest.mark.parametrize("state", ["CANCELLED", "REQUESTED", "REJECTED", "unheard of"])
def test_whatever_its_state_it_does_not_survive_its_pod(world, state):
    world.reserve("a", Status=state)
    assert world.looks(after=(0, GONE)) == [THIS]
