"""What is followed is what is there: policies, types and statuses beside the mirror, after every list too."""

import asyncio
import json
import time

import msgspec
import pytest

from builders import node, pod, resources
from ullage.kube.following import FOLLOWED, Following
from ullage.kube.resource_types import RESOURCE_TYPE
from ullage.kube.stated import Stated
from ullage.model.delta import Delta
from ullage.model.policy import Layer
from ullage.model.resources import ResourceType, ResourceTypes
from ullage.model.settings import rules_for
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.capacity_policies import CAPACITY_POLICY
from ullage.sources.kubernetes.items import NODE, POD, Kind
from ullage.sources.kubernetes.kubeconfig import Access, ClusterEntry, UserEntry
from ullage.sources.kubernetes.object_kinds import OWN_GROUP

QUOTA = Kind(OWN_GROUP, "Quota")
RUNS = pod("p", cpu="1", node="n1")
ACCESS = Access("here", ClusterEntry(server="http://127.0.0.1:1"), UserEntry())


def content(name: str, revision: str = "1", /, status: dict | None = None, **spec) -> bytes:
    metadata = {"name": name, "resourceVersion": revision, "generation": 2, "uid": f"uid-{name}"}
    return json.dumps({"metadata": metadata, "spec": spec, "status": status}).encode()


def following(types: ResourceTypes | None = None) -> Following:
    return Following(
        ACCESS, ApiClient(ACCESS), types=types, layer=Layer("command line", cluster={"spare-nodes": "1"})
    )


def listed(sink: Following, kind: Kind, *contents: bytes) -> None:
    sink.begin(kind)
    for each in contents:
        sink.put(kind, each)
    sink.end(kind)


def spare(found: Following) -> int:
    snapshot = found.advance(found.take()).snapshot
    return rules_for(snapshot.policy, snapshot.resource_types).spare_nodes


def test_nodes_and_pods_are_in_the_snapshot():
    found = following()
    machine = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4"}, "capacity": {"cpu": "4"}}}
    runs = {
        "metadata": {"name": "p", "namespace": "a"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c"}]},
    }
    listed(found, NODE, json.dumps(machine).encode())
    listed(found, POD, json.dumps(runs).encode())
    snapshot = found.advance(found.take()).snapshot
    assert [each.name for each in snapshot.nodes] == ["n1"]
    assert [each.key for each in snapshot.workloads] == ["a/p"]
    found.drop(POD, json.dumps(runs).encode())
    assert not found.advance(found.take()).snapshot.workloads


def test_what_is_known_to_be_so_changes_nothing():
    found = following()
    columns = found.advance(Delta(nodes=(node("n1", cpu="4").record,), workloads=(RUNS,)))
    assert found.advance(Delta(workloads=(msgspec.structs.replace(RUNS),))) is columns
    other = pod("other", cpu="2", node="n1")
    after = found.advance(Delta(workloads=(RUNS, other)))
    assert after.promised.tolist() == [[3000]]
    grown = msgspec.structs.replace(RUNS, requests=resources(cpu="2"))
    assert found.advance(Delta(workloads=(grown,))).promised.tolist() == [[4000]]
    renewed = found.advance(Delta(workloads=(grown,), dropped={"workloads": (grown.key,)}))
    assert [each.key for each in renewed.snapshot.workloads] == ["other", "p"]


def test_a_policy_counts_from_the_next_look_on_and_not_after_it_is_gone():
    found = following()
    assert spare(found) == 1
    assert found.put(CAPACITY_POLICY, content("a", "7", cluster={"spare-nodes": 3})) == "7"
    assert spare(found) == 3
    assert found.drop(CAPACITY_POLICY, content("a", "8")) == "8"
    assert spare(found) == 1
    listed(found, CAPACITY_POLICY, content("a", cluster={"spare-nodes": 4}), content("b"))
    assert spare(found) == 4
    listed(found, CAPACITY_POLICY, content("b"))
    assert spare(found) == 1
    assert set(found.stated[CAPACITY_POLICY]) == {"b"}


def test_a_status_that_changes_does_not_count_the_cluster_anew():
    found = following()
    found.put(CAPACITY_POLICY, content("a", cluster={"spare-nodes": 3}))
    columns = found.advance(found.take())
    found.put(CAPACITY_POLICY, content("a", status={"groups": []}, cluster={"spare-nodes": 3}))
    assert found.advance(found.take()) is columns


def test_what_statuses_say_is_known_also_while_all_is_listed_anew():
    found = following()
    listed(found, QUOTA, content("a", status={"used": {"cpu": "1"}}), content("b"))
    before = found.stated_changes
    assert found.stated[QUOTA] == {
        "a": Stated({"used": {"cpu": "1"}}, 2, "uid-a"),
        "b": Stated({}, 2, "uid-b"),
    }
    found.begin(QUOTA)
    assert set(found.stated[QUOTA]) == {"a", "b"}
    found.put(QUOTA, content("b", status={"used": {}}))
    assert found.stated_changes == before + 1
    found.end(QUOTA)
    assert set(found.stated[QUOTA]) == {"b"}
    assert [each.name for each in found.mirror.quotas()] == ["b"]
    found.drop(QUOTA, content("b"))
    assert not found.stated[QUOTA]
    assert not found.mirror.quotas()


def test_types_that_are_otherwise_than_those_all_was_read_by_make_it_outdated():
    licences = {"name": "example.com/licences", "internalScaleExponent": 3}
    known = ResourceTypes([ResourceType("example.com/licences", internal_scale_exponent=3)])
    same = following(known)
    listed(same, RESOURCE_TYPE, content("a", **licences))
    assert not same.outdated.is_set()
    listed(same, RESOURCE_TYPE, content("b", **licences), content("a", **licences))
    assert not same.outdated.is_set()
    same.drop(RESOURCE_TYPE, content("a"))
    assert not same.outdated.is_set()
    listed(same, RESOURCE_TYPE)
    assert same.outdated.is_set()
    other = following()
    listed(other, RESOURCE_TYPE)
    assert not other.outdated.is_set()
    other.put(RESOURCE_TYPE, content("a", **licences))
    assert other.outdated.is_set()


def test_a_watch_that_has_died_is_told():
    async def dies() -> None:
        raise RuntimeError("it should never end")

    async def work() -> None:
        found = following()
        found._begin_task(dies())
        async with asyncio.timeout(10):
            with pytest.raises(RuntimeError, match="never end"):
                await found.died()
        await found.stop()

    asyncio.run(work())


def test_the_time_is_that_of_the_server_as_soon_as_it_has_said_it():
    found = following()
    assert abs(found.now_seconds() - time.time()) < 60
    found._client._known.time.note(b"Fri, 15 Jan 2027 08:00:00 GMT")
    assert abs(found.now_seconds() - 1_800_000_000) < 60


def test_promises_are_listed_anew_before_what_they_may_have_become():
    """A reservation that has become a volume between two lists would be in neither."""
    found = following()
    order: list[str] = []

    class Listed:
        """A watch that lists at once."""

        def __init__(self, kind: Kind) -> None:
            self.kind = kind
            self.synced = asyncio.Event()
            self.synced.set()

        def forget(self) -> None:
            self.synced.clear()

        async def run(self) -> None:
            await asyncio.sleep(0)
            order.append(self.kind.name)
            self.synced.set()
            await asyncio.sleep(3600)

    async def run() -> None:
        for kind in FOLLOWED:
            found._watches[kind] = Listed(kind)
            found._run(kind, found._watches[kind])
        await asyncio.sleep(0.01)
        order.clear()
        await found.look_again()
        await found.stop()

    asyncio.run(run())
    promises, things = set(order[:2]), set(order[2:])
    assert promises == {"Plan", "AvailableCapacityReservation"}
    assert things == {
        "Pod", "PersistentVolumeClaim", "PersistentVolume", "CSIStorageCapacity",
        "AvailableCapacity", "Volume", "LogicalVolumeGroup",
    }  # fmt: skip


def test_a_server_that_knows_few_kinds_is_followed_and_stopped(plane):
    from ullage.sources.kubernetes.api.client import ApiClient
    from ullage.sources.kubernetes.kubeconfig import find_access

    async def work() -> None:
        access = find_access(kubeconfig=str(plane.kubeconfig()))
        client = ApiClient(access)
        found = Following(access, client, kinds=FOLLOWED)
        await found.start()
        try:
            assert found.follows(POD)
            assert not found.follows(Kind("nobody.example", "Nothing"))
            assert found.lists >= 1
            assert found.failures == {}
            names = {each.name for each in found.advance(found.take()).snapshot.namespaces}
            assert "default" in names
            await asyncio.to_thread(
                plane.create, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "followed"}}
            )
            async with asyncio.timeout(30):
                while "followed" not in names:
                    await found.changed.wait()
                    found.changed.clear()
                    names = {each.name for each in found.advance(found.take()).snapshot.namespaces}
        finally:
            await found.stop()
            await client.close()

    with plane.scratch():
        asyncio.run(work())
