"""What tests of the extender share: a cluster as watches tell of it, without a server."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from kube_cluster import elastic_quota, node, pod
from ullage.kube.extender.claiming import Claiming
from ullage.kube.extender.gang_places import GangPlaces
from ullage.kube.extender.judging import Judging
from ullage.kube.extender.outlook import Outlook
from ullage.kube.extender.telling import Telling
from ullage.kube.following import Following
from ullage.kube.scheduler.actions import NotDoneError
from ullage.model.policy import Layer
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.capacity_policies import CAPACITY_POLICY
from ullage.sources.kubernetes.items import NODE, POD, Kind
from ullage.sources.kubernetes.kubeconfig import Access, ClusterEntry, UserEntry

ELASTIC = Kind("nos.nebuly.com", "ElasticQuota")
GROUP = Kind("scheduling.x-k8s.io", "PodGroup")
ACCESS = Access("here", ClusterEntry(server="http://127.0.0.1:1"), UserEntry())
SCHEDULER = "default-scheduler"
IN_VAIN = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}


class Watched:
    """A cluster of which watches tell."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        layer = Layer("command line", cluster={"gpu-memory": "10"})
        self.following = Following(ACCESS, ApiClient(ACCESS), layer=layer)  # nobody is asked
        self.outlook = Outlook(self.following, (SCHEDULER,), now)
        self._revision = 0

    def _put(self, kind: Kind, document: dict[str, Any]) -> None:
        self._revision += 1
        metadata = document["metadata"]
        metadata.setdefault("uid", f"uid-{metadata['name']}")
        metadata["resourceVersion"] = str(self._revision)
        self.following.put(kind, json.dumps(document).encode())

    def node(self, name: str, **room: str) -> None:
        self._put(NODE, node(name, room))

    def pod(
        self,
        key: str,
        *,
        on: str = "",
        status: dict[str, Any] | None = None,
        uid: str = "",
        annotations: dict[str, str] | None = None,
        deleted: bool = False,
        **parts: Any,
    ) -> None:
        made = pod(key, SCHEDULER, **parts)
        made["status"] = status or {}
        made["metadata"]["annotations"] = annotations or {}
        if deleted:
            made["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
        if uid:
            made["metadata"]["uid"] = uid
        if on:
            made["spec"]["nodeName"] = on
        self._put(POD, made)

    def gone(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        self.following.drop(POD, json.dumps({"metadata": {"name": name, "namespace": namespace}}).encode())

    def node_gone(self, name: str) -> None:
        self.following.drop(NODE, json.dumps({"metadata": {"name": name}}).encode())

    def quota(self, key: str, *, most: dict[str, str] | None = None, **minimum: str) -> None:
        made = elastic_quota(key, **minimum)
        if most:
            made["spec"]["max"] = most
        self._put(ELASTIC, made)

    def gang(self, key: str, members: int) -> None:
        namespace, _, name = key.partition("/")
        self._put(GROUP, {"metadata": {"name": name, "namespace": namespace}, "spec": {"minMember": members}})

    def policy(self, **cluster: str) -> None:
        settings = {name.replace("_", "-"): value for name, value in cluster.items()}
        self._put(CAPACITY_POLICY, {"metadata": {"name": "p"}, "spec": {"cluster": settings}})


class Leads:
    """Somebody who leads, or not."""

    leads = True


class Written:
    """What was done to pods; a pod of `refused` is not done anything to."""

    def __init__(self) -> None:
        self.leading = Leads()
        self.bound: list[tuple[str, str, str]] = []
        self.evicted: list[str] = []
        self.said: list[tuple[str, str, str]] = []
        self.told: list[tuple[str, str, str]] = []
        self.refused: set[str] = set()

    async def bind(self, key: str, uid: str, where: str) -> None:
        if key in self.refused:
            raise NotDoneError("refused")
        self.bound.append((key, uid, where))

    async def evict(self, key: str, uid: str, *, is_trial: bool = False) -> None:
        del uid
        if key in self.refused:
            raise NotDoneError("a disruption budget forbids it", is_for_good=True)
        if not is_trial:
            self.evicted.append(key)

    async def tell(self, key: str, uid: str, where: str) -> None:
        if key in self.refused:
            raise NotDoneError("refused")
        self.told.append((key, uid, where))

    def say(self, key: str, uid: str, reason: str, note: str, *, is_warning: bool = False) -> None:
        del uid, is_warning
        self.said.append((key, reason, note))


class Clock:
    """Time that passes by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gangs(watched, clock) -> GangPlaces:
    return GangPlaces(watched.outlook, clock)


@pytest.fixture
def judging(watched, gangs) -> Judging:
    return Judging(watched.outlook, gangs)


@pytest.fixture
def claiming(watched, written, clock, gangs) -> Claiming:
    telling = Telling(watched.outlook, written.tell, clock)
    return Claiming(watched.outlook, written, telling, gangs=gangs, now=clock)


@pytest.fixture
def watched(clock) -> Watched:
    return Watched(clock)


@pytest.fixture
def written() -> Written:
    return Written()


@pytest.fixture
def in_vain() -> dict[str, Any]:
    """The status of a pod that kube-scheduler has no place for."""
    return IN_VAIN
