"""Whoever follows a kind has, sooner or later, what the server has: whatever happens in between."""

import asyncio
import contextlib
import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from msgspec import Raw

from plane.plane import Plane
from plane.proxy import Proxy
from plane.settings import API
from sources.kubernetes.api.raw_server import (
    CUT,
    END,
    HOLD,
    LAST_CHUNK,
    RawServer,
    answer,
    chunk,
    chunked,
    serving,
)
from ullage.model.delta import apply as apply_delta
from ullage.model.policy import Policy
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.api.mirror import Mirror
from ullage.sources.kubernetes.api.mirrored_disks import NOWHERE
from ullage.sources.kubernetes.api.watching import FIRST_WAIT_SECONDS, WAIT_SECONDS_MAX, Watch
from ullage.sources.kubernetes.cluster_reading import ClusterReading
from ullage.sources.kubernetes.items import NODE, POD, Item, Kind
from ullage.sources.kubernetes.kubeconfig import UserEntry, find_access
from ullage.sources.kubernetes.live_discovery import Listed
from ullage.sources.kubernetes.nodes import GROUP_LABEL

THING = Listed(Kind("x", "Thing"), "x/v1", "things", namespaced=True)
UNTIL_SECONDS = 60
HALF_CLOSED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""asyncio may lose a TLS connection of the proxy whose peer died in its handshake, and warns of it later."""


class Seen:
    """A sink that keeps the revision of each object."""

    def __init__(self) -> None:
        self.there: dict[str, str] = {}
        self._listing: set[str] | None = None
        self.log: list[str] = []

    def begin(self, _: Kind) -> None:
        self._listing = set()
        self.log.append("begin")

    def put(self, _: Kind, content: Any) -> str:
        metadata = json.loads(bytes(content))["metadata"]
        self.there[metadata["name"]] = metadata["resourceVersion"]
        if self._listing is not None:
            self._listing.add(metadata["name"])
        self.log.append(f"put {metadata['name']}")
        return metadata["resourceVersion"]

    def drop(self, _: Kind, content: Any) -> str:
        metadata = json.loads(bytes(content))["metadata"]
        self.there.pop(metadata["name"], None)
        self.log.append(f"drop {metadata['name']}")
        return metadata["resourceVersion"]

    def end(self, _: Kind) -> None:
        assert self._listing is not None
        self.there = {name: there for name, there in self.there.items() if name in self._listing}
        self._listing = None
        self.log.append("end")


def thing(name: str, revision: int) -> dict:
    return {"metadata": {"name": name, "resourceVersion": str(revision)}}


def page(revision: int, *things: dict, more: str = "") -> bytes:
    metadata = {"resourceVersion": str(revision), **({"continue": more} if more else {})}
    return answer(200, json.dumps({"metadata": metadata, "items": list(things)}).encode())


def event(word: str, document: dict, *, spaced: bool = False) -> bytes:
    separators = None if spaced else (",", ":")
    return chunk(json.dumps({"type": word, "object": document}, separators=separators).encode() + b"\n")


def gone(code: int = 410) -> bytes:
    return event("ERROR", {"kind": "Status", "code": code, "message": "too old resource version"})


def watch_targets(server: RawServer) -> list[str]:
    """What was asked, one after the other: `list`, `list+TOKEN`, or the revision a watch goes on from."""
    found = []
    for request in server.asked:
        target = request.split(b" ")[1].decode()
        assert target.startswith("/apis/x/v1/things?")
        revision = re.search(r"watch=true.*resourceVersion=(\d+)", target)
        token = re.search(r"continue=(\w+)", target)
        found.append(revision[1] if revision else f"list+{token[1]}" if token else "list")
    return found


BEGUN = chunked()


def followed(
    *script: list, asks: int, user: UserEntry | None = None, before: Callable[[int], None] | None = None
) -> tuple[Seen, list[str], list[float], Watch]:
    """Follow a server with a script until it has been asked that often."""

    async def run() -> tuple[Seen, list[str], list[float], Watch]:
        seen, waits = Seen(), []

        async def sleep(seconds: float) -> None:
            waits.append(seconds)
            if before is not None:
                before(len(waits))
            await asyncio.sleep(0)

        async with serving(*script) as server:
            client = ApiClient(server.access(user), tries_max=1)
            watch = Watch(client, THING, seen, changed=lambda: None, page_items=2, sleep=sleep)
            running = asyncio.create_task(watch.run())
            while len(server.asked) < asks:
                await asyncio.sleep(0.001)
                assert not running.done(), running.result()
            await asyncio.sleep(0.02)
            running.cancel()
            await client.close()
            return seen, watch_targets(server)[:asks], waits, watch

    return asyncio.run(asyncio.wait_for(run(), UNTIL_SECONDS))


def test_all_pages_are_read_and_then_watched_from_the_revision_of_the_first():
    first = [page(5, thing("a", 1), thing("b", 2), more="t1")]
    second = [page(6, thing("c", 3))]
    seen, targets, _, watch = followed(first, second, [BEGUN, HOLD], asks=3)
    assert targets == ["list", "list+t1", "5"]
    assert seen.log == ["begin", "put a", "put b", "put c", "end"]
    assert watch.synced.is_set()
    assert (watch.lists, watch.failure) == (1, "")


@pytest.mark.parametrize("spaced", [True, False])
def test_events_are_handed_over_and_a_watch_goes_on_from_the_last_one(spaced):
    events = [
        BEGUN,
        event("ADDED", thing("b", 6), spaced=spaced),
        event("MODIFIED", thing("a", 7), spaced=spaced),
        event("DELETED", thing("b", 8), spaced=spaced),
        LAST_CHUNK,
    ]
    seen, targets, _, _ = followed([page(5, thing("a", 1))], events, [BEGUN, HOLD], asks=3)
    assert targets == ["list", "5", "8"]
    assert seen.log[3:] == ["put b", "put a", "drop b"]
    assert seen.there == {"a": "7"}


@pytest.mark.parametrize("end", [LAST_CHUNK, END, CUT])
def test_where_nothing_happens_a_bookmark_keeps_the_revision_recent(end):
    bookmark = [BEGUN, event("BOOKMARK", {"metadata": {"resourceVersion": "99"}}), 0.02, end]
    seen, targets, _, _ = followed([page(5, thing("a", 1))], bookmark, [BEGUN, HOLD], asks=3)
    assert targets == ["list", "5", "99"]
    assert seen.there == {"a": "1"}


NEW_LIST = {
    "410 as an event": [BEGUN, gone(), HOLD],
    "410 as a status": [answer(410, b"{}")],
    "an error of another kind as an event": [BEGUN, gone(500), HOLD],
    "a revision that the server has not reached, as after a restored backup": [answer(504, b"{}")],
    "a revision that the server does not understand": [answer(400, b"{}")],
}


@pytest.mark.parametrize("acts", NEW_LIST.values(), ids=NEW_LIST)
def test_where_a_watch_cannot_go_on_all_is_listed_anew_and_what_is_gone_is_dropped(acts):
    lists = [page(5, thing("a", 1), thing("b", 2))], [page(9, thing("b", 2), thing("c", 8))]
    seen, targets, _, watch = followed(lists[0], acts, lists[1], [BEGUN, HOLD], asks=4)
    assert targets == ["list", "5", "list", "9"]
    assert seen.there == {"b": "2", "c": "8"}
    assert (watch.lists, watch.failure) == (2, "")


BUSY = {
    "too many requests": [answer(429, b"{}")],
    "not ready": [answer(503, b"{}")],
    "who asks is not known": [answer(401, b"{}")],
    "who asks may not": [answer(403, b"{}")],
    "no answer": [END],
    "garbage": [b"\0"],
    "an event that is none": [BEGUN, chunk(b"[]\n"), HOLD],
    "half an event": [BEGUN, event("ADDED", thing("x", 9))[:-9], END],
}


@pytest.mark.parametrize("acts", BUSY.values(), ids=BUSY)
def test_where_a_server_is_only_busy_the_watch_goes_on_from_where_it_was(acts):
    seen, targets, _, watch = followed([page(5, thing("a", 1))], acts, [BEGUN, HOLD], asks=3)
    assert targets == ["list", "5", "5"]
    assert seen.there == {"a": "1"}
    assert watch.failure == ""


def test_a_kind_whose_definition_is_removed_has_no_objects_until_it_is_back():
    absent = [answer(404, b"{}")]
    seen, targets, _, _ = followed(
        [page(5, thing("a", 1))], absent, absent, [page(9, thing("b", 8))], [BEGUN, HOLD], asks=5
    )
    assert targets == ["list", "5", "list", "list", "9"]
    assert seen.log == [
        "begin",
        "put a",
        "end",
        "begin",
        "end",
        "begin",
        "begin",
        "end",
        "begin",
        "put b",
        "end",
    ]
    assert seen.there == {"b": "8"}


def test_a_kind_that_is_not_there_is_as_good_as_listed():
    _, _, _, watch = followed([answer(404, b"404 page not found")], asks=2)
    assert watch.synced.is_set()
    assert "404" in watch.failure


def test_a_list_that_breaks_off_drops_nothing_and_is_begun_anew():
    first = [page(5, thing("a", 1), thing("b", 2), more="t1")]
    for broken in ([END], [answer(410, b"{}")], [answer(200, b"{")], [answer(200, b"[1]")]):
        seen, targets, _, watch = followed(
            [page(5, thing("z", 1))], [BEGUN, gone(), HOLD], first, broken, first, [HOLD], asks=6
        )
        assert targets == ["list", "5", "list", "list+t1", "list", "list+t1"]
        assert seen.there == {"z": "1", "a": "1", "b": "2"}
        assert watch.failure


def test_a_proof_that_cannot_be_read_for_a_while_is_no_end(tmp_path):
    token = tmp_path / "token"

    def write(waited: int) -> None:
        if waited == 3:
            token.write_text("t")

    seen, targets, waits, _ = followed(
        [page(5, thing("a", 1))], [BEGUN, HOLD], asks=2, user=UserEntry(token_file=str(token)), before=write
    )
    assert targets == ["list", "5"]
    assert len(waits) == 3
    assert seen.there == {"a": "1"}


def test_what_fails_again_and_again_is_tried_ever_more_slowly():
    _, _, waits, _ = followed([answer(503, b"")], asks=12)
    assert 0.8 * FIRST_WAIT_SECONDS <= waits[0] <= 1.2 * FIRST_WAIT_SECONDS
    assert all(later > 1.2 * sooner for sooner, later in itertools.pairwise(waits[:5]))
    assert 0.8 * WAIT_SECONDS_MAX <= waits[10] <= 1.2 * WAIT_SECONDS_MAX


@pytest.mark.parametrize("acts", [[BEGUN, LAST_CHUNK], [BEGUN, gone(), HOLD]])
def test_a_server_that_ends_each_watch_at_once_is_not_asked_without_a_pause(acts):
    script = [[page(5)], acts] * 10 if gone() in acts else [[page(5)], acts]
    _, _, waits, _ = followed(*script, asks=12)
    assert waits[4] > 4 * waits[0]


def test_after_anything_that_was_heard_waits_are_short_again():
    heard = [BEGUN, event("ADDED", thing("a", 6)), LAST_CHUNK]
    _, _, waits, _ = followed([page(5)], [END], [END], [END], heard, [END], asks=7)
    assert waits[2] > 2 * waits[0]
    assert waits[3] <= 1.2 * FIRST_WAIT_SECONDS


# The real API server

PODS = Listed(POD, "v1", "pods", namespaced=True)
NODES = Listed(NODE, "v1", "nodes", namespaced=False)
POD_PATH = "/api/v1/namespaces/default/pods"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def bare(plane_program) -> Iterator[Plane]:
    with Plane(plane_program, parts=()) as running:
        yield running


@pytest.fixture
def proxy(bare) -> Iterator[Proxy]:
    with Proxy(bare) as running:
        yield running
    bare.delete(POD_PATH)


def pod(name: str, **spec: Any) -> dict:
    containers = [{"name": "main", "image": "none"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers, **spec},
    }


def node(name: str) -> dict:
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"capacity": room}}


@contextlib.asynccontextmanager
async def watching(proxy: Proxy, sink: Any, *listed: Listed) -> AsyncIterator[list[Watch]]:
    """Follow kinds through the proxy."""
    client = ApiClient(find_access(kubeconfig=str(proxy.kubeconfig())))
    watches = [Watch(client, each, sink, changed=lambda: None) for each in listed]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each.run()) for each in watches]
        try:
            async with asyncio.timeout(UNTIL_SECONDS):
                for each in watches:
                    await each.synced.wait()
            yield watches
        finally:
            for task in tasks:
                task.cancel()
            await client.close()


async def until(state: Callable[[], Any], truth: Callable[[], Any]) -> None:
    """Wait until what was followed is what the plane has."""
    async with asyncio.timeout(UNTIL_SECONDS):
        while True:
            expected = await asyncio.to_thread(truth)
            if state() == expected:
                return
            await asyncio.sleep(0.05)


def there(bare: Plane, path: str = POD_PATH) -> dict[str, str]:
    """What the plane itself has, by name and revision."""
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in bare.items(path)}


@pytest.mark.slow
def test_a_mirror_that_follows_a_cluster_has_what_a_reading_of_it_gives(bare, proxy):
    def read() -> Any:
        reading = ClusterReading(ResourceTypes(), GROUP_LABEL)
        for kind, path in ((NODE, "/api/v1/nodes"), (POD, "/api/v1/pods")):
            for each in bare.items(path):
                reading.take(Item(kind, "v1", Raw(json.dumps(each).encode()), NOWHERE, ()))
        found = reading.snapshot(sees_nodes=True)
        return found.nodes, found.workloads

    async def run() -> None:
        bare.create_many([node("n1"), pod("before")])
        mirror = Mirror()
        async with watching(proxy, mirror, PODS, NODES):
            snapshot = mirror.snapshot(Policy())

            def advanced() -> Any:
                nonlocal snapshot
                snapshot = apply_delta(snapshot, mirror.delta())
                return snapshot.nodes, snapshot.workloads

            assert advanced() == read()
            bare.create_many([node("n2"), *(pod(f"p{index}") for index in range(5))])
            binding = {"target": {"kind": "Node", "name": "n2"}, "metadata": {"name": "p1"}}
            bare.client().request("POST", f"{POD_PATH}/p1/binding", binding)
            bare.patch("/api/v1/nodes/n1", {"spec": {"unschedulable": True}})
            bare.delete(f"{POD_PATH}/before")
            await until(advanced, read)
            assert snapshot.workloads["default/p1"].node == "n2"
            assert snapshot.nodes["n1"].state == "cordoned"

    asyncio.run(run())


@pytest.mark.slow
def test_a_watch_that_is_cut_again_and_again_goes_on_without_a_gap_and_without_a_list(bare, proxy):
    async def run() -> None:
        seen = Seen()
        async with watching(proxy, seen, PODS) as (watch,):
            for index in range(5):
                await asyncio.to_thread(bare.create_many, [pod(f"p{index}-{each}") for each in range(5)])
                proxy.cut_all()
                await asyncio.to_thread(bare.delete, f"{POD_PATH}/p{index}-0")
            proxy.cut("GET", "watch=true", after_bytes=3000, times=2)
            proxy.cut_all()
            await asyncio.to_thread(bare.create_many, [pod(f"q{index}") for index in range(5)])
            await until(lambda: seen.there, lambda: there(bare))
            assert watch.lists == 1
            assert sorted(set(seen.log) & {f"drop p{index}-0" for index in range(5)}) == [
                f"drop p{index}-0" for index in range(5)
            ]

    asyncio.run(run())


@pytest.mark.faults
@HALF_CLOSED
@pytest.mark.slow
def test_what_was_deleted_while_the_server_was_away_is_noticed(bare, proxy):
    async def run() -> None:
        bare.create_many([pod("stays"), pod("goes")])
        seen = Seen()
        async with watching(proxy, seen, PODS):
            with proxy.absence():
                await asyncio.to_thread(bare.delete, f"{POD_PATH}/goes")
                await asyncio.to_thread(bare.create, pod("comes"))
                bare.stop_part(API)
                await asyncio.to_thread(bare.start_part, API)
            await until(lambda: seen.there, lambda: there(bare))
            assert set(seen.there) == {"stays", "comes"}

    asyncio.run(run())


@pytest.mark.faults
@HALF_CLOSED
@pytest.mark.slow
def test_a_server_that_is_killed_and_started_again_is_followed_on(bare, proxy):
    async def run() -> None:
        seen = Seen()
        async with watching(proxy, seen, PODS):
            await asyncio.to_thread(bare.create, pod("before"))
            bare.stop_part(API)
            await asyncio.to_thread(bare.start_part, API)
            await asyncio.to_thread(bare.create, pod("after"))
            await asyncio.to_thread(bare.delete, f"{POD_PATH}/before")
            await until(lambda: seen.there, lambda: there(bare))
            assert set(seen.there) == {"after"}

    asyncio.run(run())


@pytest.mark.slow
def test_a_server_that_refuses_lists_and_watches_for_a_while_is_followed_on(bare, proxy):
    async def run() -> None:
        bare.create(pod("p"))
        seen = Seen()
        for status in (429, 503, 500):
            proxy.refuse(
                status, "GET", r"/pods\?limit", headers={"Retry-After": "1"} if status == 429 else {}
            )
        proxy.cut("GET", r"/pods\?limit", done=True)
        async with watching(proxy, seen, PODS) as (watch,):
            rules = [
                proxy.delay(0.2, "GET", "watch=true"),
                proxy.refuse(410, "GET", "watch=true"),
                proxy.refuse(429, "GET", "watch=true"),
            ]
            proxy.cut_all()
            await until(lambda: sum(rule.used for rule in rules), lambda: len(rules))
            await asyncio.to_thread(bare.create, pod("q"))
            await until(lambda: seen.there, lambda: there(bare))
            assert [rule.used for rule in rules] == [1, 1, 1]
            assert watch.lists == 2

    asyncio.run(run())


@pytest.mark.slow
def test_a_kind_that_is_removed_and_defined_again_is_followed_on(bare, proxy):
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.dev"},
        "spec": {
            "group": "example.dev",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }
    path = "/apis/example.dev/v1/namespaces/default/things"
    listed = Listed(Kind("example.dev", "Thing"), "example.dev/v1", "things", namespaced=True)

    def define(name: str) -> None:
        bare.client().request("POST", CRDS, definition)
        bare.wait_for(f"{CRDS}/things.example.dev", is_established)
        document = {"apiVersion": "example.dev/v1", "kind": "Thing", "metadata": {"name": name}}
        bare.client().request("POST", path, document)

    def remove() -> None:
        bare.delete(f"{CRDS}/things.example.dev")
        bare.wait_for(CRDS, lambda found: not found["items"])

    async def run() -> None:
        await asyncio.to_thread(define, "first")
        seen = Seen()
        async with watching(proxy, seen, listed):
            await until(lambda: set(seen.there), lambda: {"first"})
            await asyncio.to_thread(remove)
            await until(lambda: seen.there, dict)
            await asyncio.to_thread(define, "second")
            await until(lambda: seen.there, lambda: there(bare, path))
            assert set(seen.there) == {"second"}
            await asyncio.to_thread(remove)

    asyncio.run(run())


def is_established(found: dict) -> bool:
    conditions = found.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
