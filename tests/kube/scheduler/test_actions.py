"""What a scheduler does to pods on a real API server: once, whatever becomes of the answers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from kube_cluster import node, pod
from plane.plane import Plane
from plane.proxy import Proxy
from ullage.kube.events import Events
from ullage.kube.scheduler.actions import Actions, NotDoneError
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.api.mirrored_pods import POD, MirroredPods, PodFacts
from ullage.sources.kubernetes.kubeconfig import find_access

pytestmark = pytest.mark.slow


class Leads:
    """A replica that leads for so many questions."""

    def __init__(self, questions: int) -> None:
        self.left = questions

    @property
    def leads(self) -> bool:
        self.left -= 1
        return self.left >= 0


def act(proxy: Proxy, work: Callable[[Actions], Awaitable[Any]], leads: int = 1000) -> None:
    """Do something as a scheduler behind the proxy."""

    async def run() -> None:
        client = ApiClient(find_access(kubeconfig=str(proxy.kubeconfig())))
        events = Events(client, component="test", identity="test")
        try:
            await work(Actions(client, events, Leads(leads)))
        finally:
            await client.close()

    asyncio.run(run())


@pytest.fixture
def waiting(bare: Plane, namespace: str) -> tuple[str, str]:
    """Make a pod that waits and two nodes, and return its key and its identifier."""
    bare.create_many([node("one", {}), node("two", {})])
    made = bare.create(pod(f"{namespace}/waits", "nobody"))
    return f"{namespace}/waits", made["metadata"]["uid"]


def found(bare: Plane, key: str) -> dict[str, Any]:
    namespace, _, name = key.partition("/")
    return bare.get(f"/api/v1/namespaces/{namespace}/pods/{name}")


def facts(bare: Plane, key: str) -> PodFacts:
    """Return what a scheduler that follows the cluster knows of a pod."""
    pods = MirroredPods(ResourceTypes())
    pods.put(key, POD.decode(msgspec.json.encode(found(bare, key))))
    known = pods.facts(key)
    assert known is not None
    return known


def test_a_pod_is_bound_and_binding_it_again_is_fine(bare, proxy, waiting):
    key, uid = waiting

    async def twice(actions: Actions) -> None:
        await actions.bind(key, uid, "one")
        await actions.bind(key, uid, "one")

    act(proxy, twice)
    assert found(bare, key)["spec"]["nodeName"] == "one"


@pytest.mark.parametrize(
    "lose",
    [
        lambda proxy: proxy.cut("POST", "/binding$", done=True),
        lambda proxy: proxy.refuse(504, "POST", "/binding$", done=True),
        lambda proxy: proxy.refuse(500, "POST", "/binding$", done=True),
        lambda proxy: proxy.refuse(503, "POST", "/binding$", done=True),
    ],
    ids=["cut", "504", "500", "503"],
)
def test_a_binding_whose_answer_is_lost_is_found_done(bare, proxy, waiting, lose):
    key, uid = waiting
    lose(proxy)
    act(proxy, lambda actions: actions.bind(key, uid, "one"))
    assert found(bare, key)["spec"]["nodeName"] == "one"


def test_a_binding_that_was_never_made_is_not_done(bare, proxy, waiting):
    key, uid = waiting
    proxy.cut("POST", "/binding$")
    with pytest.raises(NotDoneError) as error:
        act(proxy, lambda actions: actions.bind(key, uid, "one"))
    assert not error.value.is_for_good
    assert "nodeName" not in found(bare, key)["spec"]


@pytest.mark.parametrize("status", [401, 403, 500])
def test_while_nobody_can_say_whether_it_is_bound_the_binding_has_no_end(bare, proxy, waiting, status):
    """A server that has just started knows neither who asks nor what is allowed."""
    key, uid = waiting
    proxy.cut("POST", "/binding$", done=True)
    asked = proxy.refuse(status, "GET", r"/pods/waits$", times=8)
    act(proxy, lambda actions: actions.bind(key, uid, "one"))
    assert asked.used == 8
    assert found(bare, key)["spec"]["nodeName"] == "one"


def test_a_pod_that_is_gone_or_another_or_elsewhere_is_not_bound_for_good(bare, proxy, waiting):
    key, uid = waiting
    cases = [(f"{key}-not", uid, "one"), (key, "00000000-0000-0000-0000-000000000000", "one")]
    act(proxy, lambda actions: actions.bind(key, uid, "two"))
    for asked in (*cases, (key, uid, "one")):
        with pytest.raises(NotDoneError) as error:
            act(proxy, lambda actions, asked=asked: actions.bind(*asked))
        assert error.value.is_for_good, asked
    assert found(bare, key)["spec"]["nodeName"] == "two"


def test_who_leads_no_more_sends_nothing_not_even_again(bare, proxy, waiting):
    key, uid = waiting
    for leads in (0, 1):
        proxy.refuse(429, "POST", "/binding$")
        with pytest.raises(NotDoneError, match="another replica leads"):
            act(proxy, lambda actions: actions.bind(key, uid, "one"), leads=leads)
        assert proxy.count("POST", "/binding") == leads
        with pytest.raises(NotDoneError, match="another replica leads"):
            act(proxy, lambda actions: actions.evict(key, uid), leads=0)
    assert not proxy.count("POST", "/eviction")
    assert "nodeName" not in found(bare, key)["spec"]


def test_a_pod_is_evicted_and_one_that_is_gone_is_fine(bare, proxy, waiting):
    key, uid = waiting

    async def twice(actions: Actions) -> None:
        await actions.evict(key, uid)
        await actions.evict(key, uid)

    act(proxy, twice)
    assert not bare.items(f"/api/v1/namespaces/{key.partition('/')[0]}/pods")


def test_a_pod_of_the_same_name_is_not_evicted_in_its_stead(bare, proxy, waiting):
    key, _ = waiting
    with pytest.raises(NotDoneError):
        act(proxy, lambda actions: actions.evict(key, "00000000-0000-0000-0000-000000000000"))
    assert "deletionTimestamp" not in found(bare, key)["metadata"]


def test_a_disruption_budget_is_respected_and_named(bare, proxy, waiting):
    key, uid = waiting
    namespace = key.partition("/")[0]
    act(proxy, lambda actions: actions.bind(key, uid, "one"))
    labels = {"metadata": {"labels": {"app": "kept"}}}
    bare.patch(f"/api/v1/namespaces/{namespace}/pods/waits", labels)
    bare.patch(f"/api/v1/namespaces/{namespace}/pods/waits/status", {"status": {"phase": "Running"}})
    bare.create(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "kept", "namespace": namespace},
            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "kept"}}},
        }
    )
    with pytest.raises(NotDoneError, match="a disruption budget forbids it"):
        act(proxy, lambda actions: actions.evict(key, uid))
    assert proxy.count("POST", "/eviction") == 1
    assert "deletionTimestamp" not in found(bare, key)["metadata"]


@pytest.mark.parametrize("status", [0, 500, 504])
@pytest.mark.parametrize("lingers", [False, True])
def test_an_eviction_whose_answer_is_lost_is_done(bare, proxy, waiting, status, lingers):
    key, uid = waiting
    path = f"/api/v1/namespaces/{key.partition('/')[0]}/pods"
    if lingers:
        bare.patch(f"{path}/waits", {"metadata": {"finalizers": ["example.org/stays"]}})
    if status:
        proxy.refuse(status, "POST", "/eviction$", done=True)
    else:
        proxy.cut("POST", "/eviction$", done=True)
    try:
        act(proxy, lambda actions: actions.evict(key, uid))
        assert proxy.count("POST", "/eviction") == 1
        assert all("deletionTimestamp" in each["metadata"] for each in bare.items(path))
    finally:
        if lingers:
            bare.patch(f"{path}/waits", {"metadata": {"finalizers": None}})


@pytest.mark.parametrize("is_trial", [False, True])
def test_an_eviction_of_which_nobody_can_say_whether_it_was_done_is_not(bare, proxy, waiting, is_trial):
    key, uid = waiting
    proxy.cut("POST", "/eviction$")
    with pytest.raises(NotDoneError) as error:
        act(proxy, lambda actions: actions.evict(key, uid, is_trial=is_trial))
    assert not error.value.is_for_good
    assert "deletionTimestamp" not in found(bare, key)["metadata"]


def test_a_pod_whose_eviction_is_only_tried_stays(bare, proxy, waiting):
    key, uid = waiting
    act(proxy, lambda actions: actions.evict(key, uid, is_trial=True))
    assert "deletionTimestamp" not in found(bare, key)["metadata"]


def test_a_server_that_is_too_busy_to_evict_is_not_taken_for_a_budget(proxy, waiting):
    key, uid = waiting
    proxy.refuse(429, "POST", "/eviction$", times=None, message="too much to do")
    with pytest.raises(NotDoneError, match="too much to do") as error:
        act(proxy, lambda actions: actions.evict(key, uid))
    assert not error.value.is_for_good


def test_why_a_pod_waits_and_where_it_will_run_is_written_once(bare, proxy, waiting):
    key, _ = waiting

    def say() -> None:
        known = facts(bare, key)

        async def both(actions: Actions) -> None:
            await actions.say_why_not(key, known, "0/2 nodes: too small")
            await actions.nominate(key, known, "one")

        act(proxy, both)

    say()
    status = found(bare, key)["status"]
    assert status["nominatedNodeName"] == "one"
    (condition,) = (each for each in status["conditions"] if each["type"] == "PodScheduled")
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    assert condition["message"] == "0/2 nodes: too small"
    assert condition["lastTransitionTime"]
    written = proxy.count("PATCH", "/status")
    say()
    assert proxy.count("PATCH", "/status") == written == 2


def test_why_a_pod_that_has_a_place_is_not_bound_is_written_once(bare, proxy, waiting):
    key, _ = waiting

    def say() -> None:
        known = facts(bare, key)
        act(proxy, lambda actions: actions.say_not_bound(key, known, "not bound to one: too late"))

    say()
    (condition,) = found(bare, key)["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "SchedulerError")
    assert condition["message"] == "not bound to one: too late"
    say()
    assert proxy.count("PATCH", "/status") == 1


def test_a_nomination_is_taken_back(bare, proxy, waiting):
    key, _ = waiting
    act(proxy, lambda actions: actions.nominate(key, facts(bare, key), "one"))
    act(proxy, lambda actions: actions.nominate(key, facts(bare, key), ""))
    assert "nominatedNodeName" not in found(bare, key)["status"]
