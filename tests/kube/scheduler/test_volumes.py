"""Volumes are made ready step by step, by what the watch tells, and what was begun is given back."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from builders import waiting
from sources.kubernetes.api.object_pool import BAREMETAL, GIB, pod, stored
from sources.kubernetes.api.raw_server import END, RawServer, answer, serving
from ullage.engine.placement.outcome import ChosenVolume, Served
from ullage.engine.placement.scheduling import Bound
from ullage.kube.scheduler import reserving, volumes
from ullage.kube.scheduler.actions import NotDoneError
from ullage.kube.scheduler.volumes import LOOK_SECONDS, Volumes
from ullage.model.cluster import Volume
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.api.mirror import Mirror

SELECTED = "volume.kubernetes.io/selected-node"
POD = waiting("web/p", volumes=(Volume("a", claim="a"),))
ON_NODE = Bound("web/p", "n1")
ON_DRIVE = Bound("web/p", "n1", (Served("a", "n1", "d1", "HDDLVG", 5 * GIB, fresh=True),))
BY_HAND = Bound("web/p", "n1", chosen=(ChosenVolume("a", "disk"),))
AT_REVISION_9 = [answer(200, b'{"metadata": {"resourceVersion": "9", "uid": "made-1"}}')]
FORBIDDEN = [answer(403, b'{"reason": "Forbidden", "message": "you may not"}')]
CONFLICT = [answer(409, b'{"reason": "Conflict", "message": "it has changed"}')]


class Leading:
    leads = True


class World:
    """A mirror that sees what a test says, a server that answers by a script, and what prepares volumes."""

    def __init__(self, client: ApiClient, server: RawServer, seconds_max: float) -> None:
        self.server = server
        self.leading = Leading()
        self.mirror = Mirror()
        self.see(stored("v1", "Node", "n1", status={"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}))
        self.see(pod("web", "p", metadata={"uid": "pod-1"}))
        drive = {
            "UUID": "d1", "Type": "HDD", "Size": 100 * GIB, "NodeId": "n1", "IsClean": True,
            "Status": "ONLINE", "Usage": "IN_USE", "Health": "GOOD",
        }  # fmt: skip
        self.see(stored(BAREMETAL, "Drive", "d1", spec=drive))
        offer = {"Location": "d1", "Size": 100 * GIB, "storageClass": "HDD", "NodeId": "n1"}
        self.see(stored(BAREMETAL, "AvailableCapacity", "ac-1", spec=offer))
        self.mirror.delta()
        self.volumes = Volumes(client, self.mirror, self.leading, seconds_max=seconds_max)

    def see(self, each) -> None:
        self.mirror.put(each.kind, each.text)

    def mirror_drops(self, each) -> None:
        self.mirror.drop(each.kind, each.text)

    def claim(self, revision: int, node: str = "", *, bound: bool = False) -> None:
        annotations = {SELECTED: node} if node else {}
        annotations |= {"pv.kubernetes.io/bind-completed": "yes"} if bound else {}
        metadata = {"uid": "claim-1", "resourceVersion": str(revision), "annotations": annotations}
        spec = {"volumeName": "v"} if bound else {}
        self.see(stored("v1", "PersistentVolumeClaim", "a", namespace="web", metadata=metadata, spec=spec))

    def asked(self) -> list[tuple[str, str, Any]]:
        """Return method, path and document of everything that was asked."""
        found = []
        for each in self.server.asked:
            head, _, body = each.partition(b"\r\n\r\n")
            method, path, _ = head.split(b"\r\n")[0].decode().split(" ")
            found.append((method, path.partition("?")[0].rpartition("/")[2], json.loads(body or b"null")))
        return found

    async def prepare(self, bound: Bound, writes: int) -> asyncio.Task[None]:
        """Begin to prepare, and return when so much was written and something is waited for."""
        task = asyncio.create_task(self.volumes.prepare(POD, bound))
        while not self._has_got_to(task, writes):  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.001)
        return task

    def _has_got_to(self, task: asyncio.Task[None], writes: int) -> bool:
        return task.done() or (len(self.server.asked) >= writes and self.volumes.waiting > 0)


def doing(work: Callable[[World], Awaitable[None]], *script: list, seconds_max: float = 60) -> None:
    async def run() -> None:
        async with serving(*(script or (AT_REVISION_9,))) as server:
            client = ApiClient(server.access())
            try:
                await work(World(client, server, seconds_max))
            finally:
                await client.close()

    asyncio.run(run())


def free(**fields: Any) -> list:
    spec = {"spec": {"claimRef": fields}} if fields else {}
    return [answer(200, json.dumps({"metadata": {"resourceVersion": "7"}, **spec}).encode())]


def selecting(node: str | None) -> dict:
    return {"annotations": {SELECTED: node}}


def test_a_claim_names_its_node_and_is_waited_for():
    async def work(world: World) -> None:
        world.claim(3)
        task = await world.prepare(ON_NODE, 1)
        assert world.asked() == [("PATCH", "a", {"metadata": selecting("n1")})]
        world.claim(9, "n1")
        await asyncio.sleep(0.01)
        assert not task.done()
        world.claim(11, "n1", bound=True)
        await task
        assert world.volumes.waiting == 0

    doing(work)


def test_nothing_is_written_about_a_claim_that_is_bound_or_names_the_node_already():
    async def work(world: World) -> None:
        world.claim(3, bound=True)
        await world.volumes.prepare(POD, ON_NODE)
        world.claim(4, "n1")
        task = await world.prepare(ON_NODE, 0)
        world.claim(5, "n1", bound=True)
        await task
        assert world.asked() == []

    doing(work)


def test_a_node_that_the_provisioner_takes_back_is_no_place_for_the_pod():
    async def work(world: World) -> None:
        world.claim(3)
        task = await world.prepare(ON_NODE, 1)
        world.claim(8)  # from before the node was named
        await asyncio.sleep(0.01)
        assert not task.done()
        world.claim(10)
        with pytest.raises(NotDoneError, match="no volume can be made for claim web/a on n1"):
            await task

    doing(work)


def test_a_claim_that_does_not_exist_yet_is_waited_for():
    async def work(world: World) -> None:
        task = await world.prepare(ON_NODE, 0)
        await asyncio.sleep(0.01)
        assert world.asked() == []
        world.claim(3, bound=True)
        await task

    doing(work)


@pytest.mark.parametrize("claimed", [False, True])
def test_a_pod_waits_for_so_long_and_no_longer(claimed):
    async def work(world: World) -> None:
        if claimed:
            world.claim(3)
        with pytest.raises(NotDoneError, match=r"claim web/a has no volume after 0\.05 s"):
            await world.volumes.prepare(POD, ON_NODE)

    doing(work, seconds_max=0.05)


ENDINGS = {
    "the pod is gone": (lambda world: world.mirror.drop(*_gone(pod("web", "p"))), "the pod is gone"),
    "another pod has its name": (
        lambda world: world.see(pod("web", "p", metadata={"uid": "pod-2"})),
        "the pod is gone",
    ),
    "the node is gone": (
        lambda world: world.mirror.drop(*_gone(stored("v1", "Node", "n1"))),
        "node n1 is gone",
    ),
    "another leads": (lambda world: setattr(world.leading, "leads", False), "another replica leads"),
    "the claim is gone": (
        lambda world: world.mirror.drop(*_gone(stored("v1", "PersistentVolumeClaim", "a", namespace="web"))),
        "claim web/a is gone",
    ),
}


def _gone(each):
    return each.kind, each.text


@pytest.mark.parametrize(("end", "why"), ENDINGS.values(), ids=ENDINGS)
def test_nobody_waits_in_vain(end, why, monkeypatch):
    monkeypatch.setattr("ullage.kube.scheduler.volumes.LOOK_SECONDS", 0.01)

    async def work(world: World) -> None:
        world.claim(3)
        task = await world.prepare(ON_NODE, 1)
        end(world)
        with pytest.raises(NotDoneError, match=why):
            await task

    doing(work)


def test_disks_are_reserved_before_the_claim_names_the_node():
    async def work(world: World) -> None:
        world.claim(3)
        task = await world.prepare(ON_DRIVE, 2)
        (verb, name, document), (_, _, second) = world.asked()
        assert (verb, name) == ("POST", "availablecapacityreservations")
        assert document["metadata"]["name"] == "web-p"
        assert document["spec"] == {
            "Namespace": "web",
            "Status": "RESERVED",
            "NodeRequests": {"Requested": ["n1"], "Reserved": ["n1"]},
            "ReservationRequests": [
                {
                    "CapacityRequest": {"Name": "a", "StorageClass": "HDDLVG", "Size": 5 * GIB},
                    "Reservations": ["ac-1"],
                }
            ],
        }
        assert second == {"metadata": selecting("n1")}
        world.claim(9, "n1", bound=True)
        await task

    doing(work)


def test_one_that_is_to_make_way_does_not_wait_for_its_volumes_any_longer():
    async def work(world: World) -> None:
        world.volumes.stop("web/p", "nobody is made ready")
        world.claim(3)
        task = await world.prepare(ON_NODE, 1)
        world.volumes.stop("web/p", "it makes way")
        async with asyncio.timeout(LOOK_SECONDS / 2):
            with pytest.raises(NotDoneError, match="it makes way") as found:
                await task
        assert not found.value.is_for_good

    doing(work)


BUSY = [answer(429, b'{"message": "busy"}')]


@pytest.mark.parametrize(
    ("bound", "reads"), [(ON_DRIVE, 0), (ON_NODE, 0), (BY_HAND, 1)], ids=["reservation", "claim", "volume"]
)
def test_who_leads_no_more_does_not_write_again_what_was_not_done_at_first(bound, reads):
    async def work(world: World) -> None:
        world.claim(3)
        task = asyncio.create_task(world.volumes.prepare(POD, bound))
        while len(world.server.asked) <= reads:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.001)
        world.leading.leads = False
        with pytest.raises(NotDoneError, match="another replica leads"):
            await task
        assert len(world.server.asked) == reads + 1

    doing(work, *[free()] * reads, BUSY, AT_REVISION_9)


def test_a_disk_that_is_not_offered_any_more_cannot_be_reserved():
    async def work(world: World) -> None:
        world.claim(3)
        elsewhere = ON_DRIVE._replace(disks=(ON_DRIVE.disks[0]._replace(place="d9"),))
        with pytest.raises(NotDoneError, match="d9 on n1 is not offered any more"):
            await world.volumes.prepare(POD, elsewhere)
        assert world.asked() == []

    doing(work)


def test_a_reservation_that_somebody_deletes_is_not_waited_for_in_vain(monkeypatch):
    """For a moment it may be gone: a driver that has made the volumes deletes it before claims have them."""
    made = stored(
        BAREMETAL,
        "AvailableCapacityReservation",
        "web-p",
        metadata={"uid": "made-1", "resourceVersion": "9"},
        spec={"Namespace": "web", "Status": "RESERVED"},
    )
    seconds = [0.0]
    monkeypatch.setattr(volumes, "LOOK_SECONDS", 0.01)

    async def work(world: World) -> None:
        world.volumes._now = lambda: seconds[0]
        world.claim(3)
        task = await world.prepare(ON_DRIVE, 2)
        for at, sees in enumerate((world.see, world.mirror_drops, world.see, world.mirror_drops)):
            seconds[0] = at * volumes.MISSING_SECONDS_MAX
            sees(made)
            await asyncio.sleep(0.1)
        assert not task.done()
        seconds[0] += volumes.MISSING_SECONDS_MAX + 1
        with pytest.raises(NotDoneError, match="reservation web-p was deleted before the volumes were made"):
            await asyncio.wait_for(task, 5)

    doing(work, seconds_max=1000)


def test_a_reservation_of_another_pod_that_is_called_the_same_is_left_alone():
    async def work(world: World) -> None:
        world.claim(3)
        spec = {"Namespace": "web-x", "Status": "RESERVED"}
        world.see(stored(BAREMETAL, "AvailableCapacityReservation", "web-x-p", spec=spec))
        world.see(pod("web-x", "p"))
        world.see(pod("web", "x-p", metadata={"uid": "pod-3"}))
        with pytest.raises(NotDoneError, match="reservation web-x-p is that of pod web-x/p"):
            await world.volumes.prepare(
                waiting("web/x-p", volumes=POD.volumes), ON_DRIVE._replace(workload="web/x-p")
            )
        assert world.asked() == []

    doing(work)


class TestReservationsThatAreCalledTheSame:
    """`web/x-p` and `web-x/p` both call theirs `web-x-p`: one after the other has it."""

    FIRST = waiting("web-x/p", volumes=POD.volumes)
    SECOND = waiting("web/x-p", volumes=POD.volumes)
    OF_NODE = Bound("web/x-p", "n1")
    OF_FIRST, OF_SECOND = (ON_DRIVE._replace(workload=key) for key in ("web-x/p", "web/x-p"))

    def begin(self, world: World) -> None:
        world.see(pod("web-x", "p", metadata={"uid": "pod-2"}))
        world.see(pod("web", "x-p", metadata={"uid": "pod-3"}))

    def reservation(self, world: World, namespace: str) -> None:
        spec = {"Namespace": namespace, "Status": "RESERVED"}
        metadata = {"uid": "made-7", "resourceVersion": "7"}
        world.see(stored(BAREMETAL, "AvailableCapacityReservation", "web-x-p", metadata=metadata, spec=spec))

    def test_while_one_is_made_ready_the_other_is_told_so_and_nothing_is_written_for_it(self):
        async def work(world: World) -> None:
            self.begin(world)
            first = asyncio.create_task(world.volumes.prepare(self.FIRST, self.OF_FIRST))
            await asyncio.sleep(0)
            with pytest.raises(NotDoneError, match="reservation web-x-p is that of pod web-x/p") as found:
                await world.volumes.prepare(self.SECOND, self.OF_SECOND)
            assert not found.value.is_for_good
            await world.volumes.give_back(self.SECOND, self.OF_SECOND)
            while not world.volumes.waiting:  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0.001)
            assert [verb for verb, _, _ in world.asked()] == ["POST"]
            first.cancel()
            await world.volumes.give_back(self.FIRST, self.OF_FIRST)
            world.claim(3, bound=True)
            await world.volumes.prepare(self.SECOND, self.OF_NODE)

        doing(work)

    def test_what_another_process_was_first_to_write_is_neither_changed_nor_deleted(self):
        async def work(world: World) -> None:
            self.begin(world)
            with pytest.raises(NotDoneError, match="reservation web-x-p was written by somebody else"):
                await world.volumes.prepare(self.SECOND, self.OF_SECOND)
            self.reservation(world, "web-x")
            await world.volumes.give_back(self.SECOND, self.OF_SECOND)
            assert [verb for verb, _, _ in world.asked()] == ["POST"]

        doing(work, CONFLICT)

    @pytest.mark.parametrize("namespace", ["web", "web-y"])
    def test_one_of_its_own_or_of_a_pod_that_is_gone_is_overwritten_unless_it_has_changed(self, namespace):
        async def work(world: World) -> None:
            self.begin(world)
            self.reservation(world, namespace)
            with pytest.raises(NotDoneError, match="was written by somebody else meanwhile"):
                await world.volumes.prepare(self.SECOND, self.OF_SECOND)
            ((_, _, document),) = world.asked()
            assert document["metadata"]["resourceVersion"] == "7"
            assert b"force=true" in world.server.asked[0]

        doing(work, CONFLICT)

    def test_one_whose_answer_was_lost_is_deleted_where_it_is_seen(self):
        async def work(world: World) -> None:
            self.begin(world)
            with pytest.raises(NotDoneError, match="out of order"):
                await world.volumes.prepare(self.SECOND, self.OF_SECOND)
            self.reservation(world, "web")
            await world.volumes.give_back(self.SECOND, self.OF_SECOND)
            seen = {"uid": "made-7", "resourceVersion": "7"}
            assert world.asked()[1:] == [("DELETE", "web-x-p", {"preconditions": seen})]

        doing(work, [answer(422, b'{"message": "out of order"}')], AT_REVISION_9)


def test_a_free_volume_names_the_claim_as_kube_scheduler_writes_it():
    async def work(world: World) -> None:
        world.claim(3)
        task = await world.prepare(BY_HAND, 2)
        assert world.asked()[1:] == [
            (
                "PATCH",
                "disk",
                {
                    "metadata": {
                        "resourceVersion": "7",
                        "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
                    },
                    "spec": {
                        "claimRef": {
                            "apiVersion": "v1",
                            "kind": "PersistentVolumeClaim",
                            "namespace": "web",
                            "name": "a",
                            "uid": "claim-1",
                            "resourceVersion": "3",
                        }
                    },
                },
            )
        ]
        world.claim(9, bound=True)
        await task

    doing(work, free(), AT_REVISION_9)


def test_a_volume_that_somebody_else_has_by_now_is_left_alone():
    async def work(world: World) -> None:
        world.claim(3)
        with pytest.raises(NotDoneError, match="volume disk is that of claim web/other"):
            await world.volumes.prepare(POD, BY_HAND)
        assert [verb for verb, _, _ in world.asked()] == ["GET"]

    doing(work, free(namespace="web", name="other", uid="x"))


class TestGivingBack:
    """What was begun is undone, as long as it is as it was written."""

    def test_claims_then_volumes_then_the_reservation(self):
        async def work(world: World) -> None:
            world.claim(3)
            task = await world.prepare(ON_DRIVE, 2)
            world.claim(9, "n1")
            task.cancel()
            await world.volumes.give_back(POD, ON_DRIVE)
            assert world.asked()[2:] == [
                ("PATCH", "a", {"metadata": {"resourceVersion": "9", **selecting(None)}}),
                ("DELETE", "web-p", {"preconditions": {"uid": "made-1", "resourceVersion": "9"}}),
            ]
            await world.volumes.give_back(POD, ON_DRIVE)
            assert len(world.asked()) == 4, "what was given back is not given back again"

        doing(work)

    def test_a_reservation_that_cannot_be_deleted_now_is_deleted_later(self, monkeypatch):
        monkeypatch.setattr(reserving, "FIRST_SECONDS", 0.01)

        async def work(world: World) -> None:
            task = await world.prepare(ON_DRIVE, 1)
            task.cancel()
            await world.volumes.give_back(POD, ON_DRIVE)
            while len(world.server.asked) < 4:  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.05)
            assert [verb for verb, _, _ in world.asked()] == ["POST", *["DELETE"] * 3]

        doing(work, AT_REVISION_9, FORBIDDEN, CONFLICT, AT_REVISION_9)

    def test_a_reservation_that_the_pod_has_again_is_not_deleted(self, monkeypatch):
        monkeypatch.setattr(reserving, "FIRST_SECONDS", 0.05)

        async def work(world: World) -> None:
            task = await world.prepare(ON_DRIVE, 1)
            task.cancel()
            await world.volumes.give_back(POD, ON_DRIVE)
            again = await world.prepare(ON_DRIVE._replace(chosen=()), 3)
            await asyncio.sleep(0.1)
            assert [verb for verb, _, _ in world.asked()] == ["POST", "DELETE", "POST"]
            again.cancel()

        doing(work, AT_REVISION_9, FORBIDDEN, AT_REVISION_9)

    def test_one_of_which_nobody_knows_whether_it_was_made_is_looked_for(self, monkeypatch):
        monkeypatch.setattr(reserving, "FIRST_SECONDS", 0.01)

        async def work(world: World) -> None:
            with pytest.raises(NotDoneError):
                await world.volumes.prepare(POD, ON_DRIVE)
            await world.volumes.give_back(POD, ON_DRIVE)
            assert len(world.server.asked) == 1
            spec = {"Namespace": "web", "Status": "RESERVED"}
            metadata = {"uid": "made-7", "resourceVersion": "7"}
            kind = "AvailableCapacityReservation"
            world.see(stored(BAREMETAL, kind, "web-p", metadata=metadata, spec=spec))
            while len(world.server.asked) < 2:  # noqa: ASYNC110 - the server has no event for it
                await asyncio.sleep(0.001)
            seen = {"uid": "made-7", "resourceVersion": "7"}
            assert world.asked()[1:] == [("DELETE", "web-p", {"preconditions": seen})]

        doing(work, [END], AT_REVISION_9)

    def test_a_volume_names_no_claim_unless_it_has_changed(self):
        async def work(world: World) -> None:
            world.claim(3)
            task = await world.prepare(BY_HAND, 2)
            task.cancel()
            await world.volumes.give_back(POD, BY_HAND)
            assert world.asked()[2:] == [
                (
                    "PATCH",
                    "disk",
                    {
                        "metadata": {
                            "resourceVersion": "9",
                            "annotations": {"pv.kubernetes.io/bound-by-controller": None},
                        },
                        "spec": {"claimRef": None},
                    },
                )
            ]

        doing(work, free(), AT_REVISION_9, CONFLICT)

    @pytest.mark.parametrize(("node", "bound"), [("n1", True), ("n2", False), ("", False)])
    def test_a_claim_that_has_its_volume_or_another_node_is_left_alone(self, node, bound):
        async def work(world: World) -> None:
            world.claim(3)
            task = await world.prepare(ON_NODE, 1)
            task.cancel()
            world.claim(12, node, bound=bound)
            await world.volumes.give_back(POD, ON_NODE)
            assert len(world.asked()) == 1

        doing(work)

    def test_a_claim_that_has_changed_meanwhile_is_looked_at_again(self, monkeypatch):
        monkeypatch.setattr("ullage.kube.scheduler.volumes.GIVE_BACK_SECONDS", 0.001)

        async def work(world: World) -> None:
            world.claim(3)
            task = await world.prepare(ON_NODE, 1)
            world.claim(9, "n1")
            task.cancel()
            await world.volumes.give_back(POD, ON_NODE)
            assert [verb for verb, _, _ in world.asked()] == ["PATCH"] * 3

        doing(work, AT_REVISION_9, CONFLICT, AT_REVISION_9)

    def test_what_was_begun_for_a_later_decision_is_not_given_back_by_an_earlier_one(self):
        async def work(world: World) -> None:
            world.claim(3)
            earlier = await world.prepare(ON_DRIVE, 2)
            earlier.cancel()
            again = ON_DRIVE._replace(chosen=())
            later = await world.prepare(again, 3)
            written = len(world.asked())
            await world.volumes.give_back(POD, ON_DRIVE)
            assert len(world.asked()) == written
            later.cancel()

        doing(work)

    def test_one_that_is_done_has_nothing_to_give_back(self):
        async def work(world: World) -> None:
            world.claim(3, bound=True)
            await world.volumes.prepare(POD, ON_NODE)
            world.volumes.done(POD, ON_NODE)
            await world.volumes.give_back(POD, ON_NODE)
            assert world.asked() == []

        doing(work)

    def test_who_leads_no_more_writes_nothing(self):
        async def work(world: World) -> None:
            world.claim(3)
            task = await world.prepare(ON_DRIVE, 2)
            task.cancel()
            world.leading.leads = False
            await world.volumes.give_back(POD, ON_DRIVE)
            assert len(world.asked()) == 2

        doing(work)
