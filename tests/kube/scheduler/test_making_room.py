"""Evictions on a real API server: nobody goes in vain, and who cannot go is not asked again and again."""

import asyncio

import pytest

from kube_scheduled import scheduled
from ullage.engine.placement.outcome import Evicted
from ullage.engine.placement.scheduling import Nominated
from ullage.kube.scheduler.actions import NotDoneError
from ullage.kube.scheduler.making_room import Hooks, MakingRoom
from ullage.model.resources import Resources
from ullage.sources.kubernetes.api.mirrored_pods import PodFacts

pytestmark = pytest.mark.slow
ASKED_SECONDS = 3.0


@pytest.fixture(scope="module", autouse=True)
def _important(bare):
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    bare.create({**kind, "metadata": {"name": "important"}, "value": 1000})


@pytest.fixture
def protect(bare, namespace):
    """Return what protects pods of a label, so many times."""

    def make(app: str, budgets: int) -> None:
        for number in range(budgets):
            bare.create(
                {
                    "apiVersion": "policy/v1",
                    "kind": "PodDisruptionBudget",
                    "metadata": {"name": f"{app}-{number}", "namespace": namespace},
                    "spec": {"minAvailable": 0, "selector": {"matchLabels": {"app": app}}},
                }
            )

    return make


def asks(cluster, **spec):
    def step() -> bool:
        cluster.create("boss", priorityClassName="important", **spec)
        return True

    return step


def leaving(cluster) -> set[str]:
    return {name for name, each in cluster.pods().items() if "deletionTimestamp" in each["metadata"]}


def gone(cluster, name: str) -> bool:
    return name not in cluster.pods() or name in leaving(cluster)


def test_who_cannot_be_evicted_is_not_asked_again_and_another_goes(proxy, cluster):
    cluster.create("a", "b", "c", "d")
    refused = proxy.refuse(500, "POST", "/a/eviction$", times=None)
    scheduled(proxy, lambda: len(cluster.bound()) == 4, asks(cluster), lambda: bool(leaving(cluster) - {"a"}))
    assert refused.used == 1
    assert "a" not in leaving(cluster)


def test_nobody_whom_two_budgets_protect_is_asked_to_go(bare, proxy, cluster, namespace, protect):
    """The API server evicts none of them, whatever the budgets allow."""
    protect("twice", 2)
    for name in ("a", "b", "c"):
        cluster.create(name)
        bare.patch(f"/api/v1/namespaces/{namespace}/pods/{name}", {"metadata": {"labels": {"app": "twice"}}})
    cluster.create("z")
    scheduled(proxy, lambda: len(cluster.bound()) == 4, asks(cluster), lambda: gone(cluster, "z"))
    assert proxy.count("POST", "/eviction") == 1


def test_once_one_stays_nobody_else_goes_for_the_same_pod_and_it_is_told_why(proxy, cluster):
    cluster.create("a", "b", "c", "d")
    refused = proxy.refuse(403, "POST", "/eviction$", times=None)
    scheduled(
        proxy,
        lambda: len(cluster.bound()) == 4,
        asks(cluster),
        lambda: refused.used >= 4,
        lambda: "nobody is evicted" in cluster.why("boss") or "not evicted" in cluster.why("boss"),
    )
    assert refused.used == 4
    assert not leaving(cluster)
    assert not cluster.pods()["boss"]["status"].get("nominatedNodeName")


def test_a_pod_that_waits_for_room_says_so_in_its_condition(proxy, cluster):
    cluster.create("a", "b", "c", "d")
    scheduled(proxy, lambda: len(cluster.bound()) == 4, asks(cluster), lambda: bool(leaving(cluster)))
    assert "runs on only once" in cluster.why("boss")
    assert cluster.pods()["boss"]["status"]["nominatedNodeName"] == "only"


def test_nobody_is_evicted_for_a_pod_that_is_gone(proxy, cluster):
    cluster.create("a", "b", "c", "d")
    told = proxy.refuse(404, "PATCH", "/boss/status$")

    def goes() -> bool:
        if told.used:
            cluster.delete("boss")
        return bool(told.used)

    scheduled(proxy, lambda: len(cluster.bound()) == 4, asks(cluster), goes)
    assert proxy.count("POST", "/eviction") == 0


def test_who_is_only_being_bound_is_not_deleted_but_waits_again(proxy, cluster):
    slow = proxy.delay(2.0, "POST", "/binding$", times=4)
    cluster.create("a", "b", "c", "d")
    scheduled(
        proxy,
        lambda: slow.used == 4,
        asks(cluster),
        lambda: len(cluster.bound()) == 4,
        lambda: bool(leaving(cluster)),
    )
    named = [each for each in proxy.asked if "/eviction" in each.target]
    bound_before = [each for each in proxy.asked if "/binding" in each.target]
    assert len(bound_before) == 4
    assert len(named) == 1


class Evictions:
    """Evictions of which some are refused, for good or not, when they are tried too."""

    def __init__(self, **refused: NotDoneError) -> None:
        self.refused = refused
        self.asked: list[tuple[str, bool]] = []
        self.spared: list[str] = []
        self.stay: list[str] = []
        self.given_up: list[str] = []
        hooks = Hooks(
            lambda _: PodFacts("u"),
            self.spared.append,
            lambda key, _: self.stay.append(key),
            lambda key, _: self.given_up.append(key),
        )
        self.room = MakingRoom(self, hooks)  # type: ignore[arg-type]  # all that is used

    async def nominate(self, *_: object) -> None:
        """Nothing is said here."""

    def say(self, *_: object, **__: object) -> None:
        """Nothing is said here."""

    async def evict(self, key: str, _: str, *, is_trial: bool = False) -> None:
        self.asked.append((key, is_trial))
        if key in self.refused:
            raise self.refused[key]

    def make(self, *victims: str) -> list[str]:
        """Evict pods for another one, and return who has gone."""
        evicted = tuple(Evicted(key, "only", "", "", Resources()) for key in victims)
        asyncio.run(self.room.make(Nominated("boss", "only", evicted), [(each, "u") for each in evicted]))
        return [key for key, is_trial in self.asked if not is_trial and key not in self.refused]


def test_nobody_goes_before_all_of_several_were_tried():
    world = Evictions(b=NotDoneError("no", is_for_good=True))
    assert world.make("a", "b") == []
    assert world.asked == [("a", True), ("b", True)]
    assert (world.spared, world.stay, world.given_up) == (["a", "b"], ["b"], ["boss"])
    world = Evictions()
    assert world.make("a", "b") == ["a", "b"]
    assert world.room.evicted == 2
    assert world.spared == []


def test_one_alone_is_not_tried_first():
    world = Evictions()
    assert world.make("a") == ["a"]
    assert world.asked == [("a", False)]


def test_a_server_that_is_busy_says_nothing_against_anybody():
    world = Evictions(b=NotDoneError("busy"))
    assert world.make("a", "b") == []
    assert (world.spared, world.stay, world.given_up) == (["a", "b"], [], [])
