"""What passes by itself is tried again, and nothing is done twice that must be done once."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from plane.certificate import self_signed
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
from ullage.model.errors import InputError
from ullage.sources.kubernetes.api import client as client_module
from ullage.sources.kubernetes.api.client import (
    JSON_PATCH,
    STRATEGIC_PATCH,
    ApiClient,
    HeldBackError,
    RefusedError,
    refused,
    segment,
)
from ullage.sources.kubernetes.api.connection import Answer, BrokenError
from ullage.sources.kubernetes.kubeconfig import UserEntry

OK = [answer(200, b"fine")]
VERBS: dict[str, Callable[[ApiClient], Awaitable[bytes]]] = {
    "get": lambda client: client.get("/x"),
    "create": lambda client: client.create("/x", {}),
    "replace": lambda client: client.replace("/x", {}),
    "merge patch": lambda client: client.patch("/x", {}),
    "strategic patch": lambda client: client.patch("/x", {}, STRATEGIC_PATCH),
    "JSON patch": lambda client: client.patch("/x", [], JSON_PATCH),
    "apply": lambda client: client.apply("/x", {}),
    "delete": lambda client: client.delete("/x"),
}
ONCE_ONLY = {"create", "JSON patch"}


class Waits:
    """A clock that nobody waits for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.now += seconds


def status(code: int, reason: str = "", message: str = "", cause: str = "") -> bytes:
    """How an API server refuses."""
    details = {"details": {"causes": [{"reason": cause}]}} if cause else {}
    return json.dumps(
        {"kind": "Status", "code": code, "reason": reason, "message": message, **details}
    ).encode()


def using(
    work: Callable[[ApiClient, RawServer, Waits], Awaitable[Any]],
    *script: list,
    user: UserEntry | None = None,
    **options: Any,
) -> Any:
    """Do something with a client of a server that follows a script."""

    async def run() -> Any:
        waits = Waits()
        async with serving(*script) as server:
            client = ApiClient(server.access(user), now=lambda: waits.now, sleep=waits.sleep, **options)
            try:
                return await work(client, server, waits)
            finally:
                await client.close()

    return asyncio.run(run())


PASSING = {
    "too many requests": [answer(429, status(429), "Retry-After: 1")],
    "not ready": [answer(503, b"starting")],
}
MAYBE_DONE = {
    "an internal error": [answer(500, status(500))],
    "a gateway that waited too long": [answer(504, status(504))],
    "a connection that broke before the answer": [END],
    "a connection that was reset": [CUT],
    "half an answer": [answer(200, b"fine")[:-1], END],
    "garbage": [b"\0\1\2"],
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("acts", PASSING.values(), ids=PASSING)
def test_what_the_server_did_not_begin_is_asked_again(verb, acts):
    async def work(client: ApiClient, server: RawServer, waits: Waits) -> None:
        assert await VERBS[verb](client) == b"fine"
        assert len(server.asked) == 3
        assert server.asked[0] == server.asked[1] == server.asked[2]
        assert len(waits.seconds) == 2

    using(work, acts, acts, OK)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("acts", MAYBE_DONE.values(), ids=MAYBE_DONE)
def test_what_may_have_been_done_is_asked_again_only_where_twice_is_the_same_as_once(verb, acts):
    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        if verb in ONCE_ONLY:
            with pytest.raises((BrokenError, RefusedError)):
                await VERBS[verb](client)
            assert len(server.asked) == 1
        else:
            assert await VERBS[verb](client) == b"fine"
            assert len(server.asked) == 2

    using(work, acts, OK)


def test_a_server_that_says_when_to_ask_again_is_asked_again_though_it_failed():
    async def work(client: ApiClient, _server: RawServer, waits: Waits) -> None:
        assert await client.create("/x", {}) == b"fine"
        assert 0.8 * 3 <= waits.seconds[0] <= 1.2 * 3

    using(work, [answer(500, status(500), "Retry-After: 3")], OK)


def test_each_time_before_a_request_leaves_somebody_may_stop_it():
    asked = []

    def once_only() -> None:
        asked.append(1)
        if len(asked) > 1:
            raise PermissionError

    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        with pytest.raises(PermissionError):
            await client.create("/x", {}, before=once_only)
        assert len(server.asked) == 1

    using(work, [answer(429, b"")], OK)


def test_waits_grow_and_are_bounded():
    async def work(client: ApiClient, server: RawServer, waits: Waits) -> None:
        with pytest.raises(RefusedError, match="429"):
            await client.get("/x")
        assert len(server.asked) == 12
        assert 0.08 <= waits.seconds[0] <= 0.12
        assert all(each <= 1.2 * client_module.WAIT_SECONDS_MAX for each in waits.seconds)
        assert waits.seconds[-1] >= 0.8 * client_module.WAIT_SECONDS_MAX

    using(work, [answer(429, b"")], tries_max=12)


def test_a_server_that_wants_to_be_left_alone_for_long_is_asked_after_the_bound():
    async def work(client: ApiClient, _server: RawServer, waits: Waits) -> None:
        await client.get("/x")
        assert 4 <= waits.seconds[0] <= 6

    using(work, [answer(429, b"", "Retry-After: 9999999")], OK)


@pytest.mark.parametrize("code", [400, 403, 404, 409, 410, 422, 301])
def test_a_refusal_that_stays_is_told_at_once(code):
    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        with pytest.raises(RefusedError) as caught:
            await client.get("/x")
        assert (caught.value.status, caught.value.reason, caught.value.message) == (code, "Word", "because")
        assert caught.value.is_absent == (code == 404)
        assert caught.value.is_conflict == (code == 409)
        assert len(server.asked) == 1

    using(work, [answer(code, status(code, "Word", "because"))])


def test_an_eviction_that_a_budget_forbids_is_told_at_once():
    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        with pytest.raises(RefusedError) as caught:
            await client.create("/api/v1/namespaces/a/pods/b/eviction", {})
        assert caught.value.causes == ("DisruptionBudget",)
        assert len(server.asked) == 1

    forbidden = status(429, "TooManyRequests", "budget", "DisruptionBudget")
    using(work, [answer(429, forbidden, "Retry-After: 10")])


def test_a_token_that_was_refused_is_read_again(tmp_path):
    token = tmp_path / "token"
    token.write_text("old\n")

    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        token.write_text("old")
        await client.get("/first")
        token.write_text("new")
        assert await client.create("/x", {}) == b"fine"
        assert [request.partition(b"Bearer ")[2][:3] for request in server.asked] == [b"old", b"old", b"new"]

    using(work, OK, [answer(401, status(401))], OK, user=UserEntry(token_file=str(token)))


def test_who_is_not_known_any_more_proves_it_on_another_connection():
    """A certificate is shown once, when the connection is made."""

    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        await asyncio.gather(client.get("/x"), client.get("/x"))
        assert await client.get("/x") == b"fine"
        assert server.connections == 3

    using(work, [0.005, *OK], OK, [answer(401, status(401))], OK, user=UserEntry(username="ann"))


def test_who_is_refused_twice_is_not_known():
    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        with pytest.raises(RefusedError, match="401"):
            await client.get("/x")
        assert len(server.asked) == 3

    script = [answer(503)], [answer(401)], [answer(401)]
    using(work, *script, user=UserEntry(username="ann"))


def test_a_token_file_is_read_again_after_a_minute(tmp_path):
    token = tmp_path / "token"
    token.write_text("old")

    async def work(client: ApiClient, server: RawServer, waits: Waits) -> None:
        await client.get("/x")
        token.write_text("new")
        waits.now += 59
        await client.get("/x")
        waits.now += 2
        await client.get("/x")
        assert [request.partition(b"Bearer ")[2][:3] for request in server.asked] == [b"old", b"old", b"new"]

    using(work, OK, user=UserEntry(token_file=str(token)))


@pytest.mark.parametrize("verb", VERBS)
def test_a_proof_that_was_good_and_is_not_to_be_had_for_a_while_is_waited_for(verb, tmp_path):
    token = tmp_path / "token"
    token.write_text("good")

    async def work(client: ApiClient, server: RawServer, waits: Waits) -> None:
        await client.get("/first")
        token.write_text("")
        waits.now += 61
        with pytest.raises(BrokenError, match="the token file is empty"):
            await VERBS[verb](client)
        assert len(server.asked) == 1
        client._sleep = slept(waits, lambda: token.write_text("good again"))
        assert await VERBS[verb](client) == b"fine"

    using(work, OK, user=UserEntry(token_file=str(token)))


def slept(waits: Waits, meanwhile: Callable[[], object]) -> Callable[[float], Awaitable[None]]:
    """Return a sleep in which something happens."""

    async def sleep(seconds: float) -> None:
        await waits.sleep(seconds)
        waits.now += 1
        meanwhile()

    return sleep


def test_a_proof_that_never_was_there_is_told_as_what_it_is(tmp_path):
    token = tmp_path / "token"
    token.write_text("")

    async def work(client: ApiClient, _server: RawServer, _waits: Waits) -> None:
        with pytest.raises(InputError, match="the token file is empty"):
            await client.get("/x")

    using(work, OK, user=UserEntry(token_file=str(token)))


def test_a_request_is_what_the_api_expects():
    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        await client.apply(
            f"/api/v1/namespaces/{segment('a b/c')}", {"a": 1}, field_manager="me", force=False
        )
        await client.patch("/x", {"a": None})
        await client.delete("/x", {"gracePeriodSeconds": 0})
        await client.delete("/x")
        await client.get("/x", {"limit": "5", "continue": "a&b="})
        applied, patched, deleted, plainly, got = server.asked
        assert applied.startswith(
            b"PATCH /api/v1/namespaces/a%20b%2Fc?fieldManager=me&force=false HTTP/1.1\r\n"
        )
        assert b"Content-Type: application/apply-patch+yaml\r\n" in applied
        assert applied.endswith(b'\r\n\r\n{"a":1}')
        assert b"Content-Type: application/merge-patch+json\r\n" in patched
        assert deleted.endswith(b'\r\n\r\n{"gracePeriodSeconds":0}')
        assert b"Content-Length: 0\r\n" in plainly
        assert got.startswith(b"GET /x?limit=5&continue=a%26b%3D HTTP/1.1\r\n")
        assert b"Content-Length" not in got
        for each in server.asked:
            assert f"\r\nHost: 127.0.0.1:{server.port}\r\n".encode() in each
            assert b"\r\nUser-Agent: ullage/" in each
            assert b"\r\nImpersonate-User: ann\\r\\nX: y\r\n" in each
            assert b"Authorization" not in each

    using(work, OK, user=UserEntry(impersonate="ann\r\nX: y"))


def test_connections_are_kept_for_the_next_request_and_no_longer_than_servers_keep_them():
    async def work(client: ApiClient, server: RawServer, waits: Waits) -> None:
        await client.get("/x")
        waits.now += 59
        await client.create("/x", {})
        assert server.connections == 1
        waits.now += 61
        await client.create("/x", {})
        assert server.connections == 2

    using(work, OK)


def test_a_connection_that_the_server_closed_while_it_was_idle_costs_nothing():
    async def work(client: ApiClient, server: RawServer, waits: Waits) -> None:
        await client.get("/x")
        await asyncio.sleep(0.05)
        assert await client.create("/x", {}) == b"fine"
        assert (server.connections, waits.seconds) == (2, [])

    using(work, [*OK, END], OK)


def test_no_more_connections_are_open_than_allowed():
    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        assert await asyncio.gather(*(client.get("/x") for _ in range(20))) == [b"fine"] * 20
        assert server.connections == 3

    using(work, [0.005, *OK], connections_max=3)


def test_a_lane_is_not_kept_waiting_by_others_and_its_own_bound_holds():
    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        lane = client.lane(2)
        slow = asyncio.create_task(client.get("/slow"))
        while not server.asked:  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.001)
        waiting = asyncio.create_task(client.get("/x"))
        async with asyncio.timeout(5):
            assert await asyncio.gather(*(lane.get("/x") for _ in range(10))) == [b"fine"] * 10
        assert server.connections == 3
        assert not waiting.done()
        for task in (slow, waiting):
            task.cancel()
        await asyncio.gather(slow, waiting, return_exceptions=True)

    using(work, [HOLD], [0.005, *OK], connections_max=1)


@pytest.mark.parametrize("verb", sorted(VERBS.keys() - {"get"}))
def test_who_may_write_no_more_writes_nothing_not_even_again_and_may_still_read(verb):
    may = [True, False]

    def check() -> None:
        if not may.pop(0):
            raise HeldBackError("no more")

    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        lane = client.lane(1, check)
        with pytest.raises(HeldBackError, match="no more"):
            await VERBS[verb](lane)
        assert len(server.asked) == 1
        assert await lane.get("/x") == b"fine"

    using(work, [answer(429, status(429))], OK)


def test_a_request_that_was_given_up_leaves_nothing_for_the_next_one():
    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await client.get("/slow")
        assert await client.get("/x") == b"fine"
        assert server.connections == 2

    using(work, [0.05, answer(200, b"another's")], OK)


def test_the_time_of_the_server_is_known_from_its_answers():
    async def work(client: ApiClient, _server: RawServer, _waits: Waits) -> None:
        lane = client.lane(1)
        assert client.server_seconds() is None
        await lane.get("/x")
        assert client.server_seconds() == 1_800_000_000

    using(work, [answer(200, b"fine", "Date: Fri, 15 Jan 2027 08:00:00 GMT")])


def test_an_answer_that_does_not_come_is_a_broken_connection():
    async def work(client: ApiClient, _server: RawServer, _: Waits) -> None:
        with pytest.raises(BrokenError, match=r"no answer within 0\.02 s"):
            await client.request("POST", "/x", {}, seconds_max=0.02)
        assert await client.get("/x") == b"fine"

    using(work, [HOLD], OK)


def test_an_answer_beyond_all_bounds_is_an_error(monkeypatch):
    monkeypatch.setattr(client_module, "ANSWER_BYTES_MAX", 10)

    async def work(client: ApiClient, _server: RawServer, _: Waits) -> None:
        with pytest.raises(BrokenError, match="more than 10 bytes"):
            await client.get("/x")

    using(work, [answer(200, b"x" * 11)], tries_max=1)


def test_an_answer_that_goes_on_is_followed_to_its_end():
    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        heard: list[object] = []
        await client.follow("/x", {"watch": "true"}, heard.append, begun=lambda: heard.append("begun"))
        assert heard == ["begun", b"one", b"two"]
        assert server.asked[0].startswith(b"GET /x?watch=true ")

    using(work, [chunked(), 0.02, chunk(b"one\n"), 0.02, chunk(b"two\n"), LAST_CHUNK])


def test_one_that_is_refused_says_why_and_doubts_the_token(tmp_path):
    token = tmp_path / "token"
    token.write_text("old")

    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        heard: list[object] = []
        with pytest.raises(RefusedError, match="401 Unauthorized: no"):
            await client.follow("/x", {}, heard.append, begun=lambda: heard.append("begun"))
        assert not heard
        token.write_text("new")
        await client.get("/x")
        assert b"Bearer new" in server.asked[1]

    refusal = answer(401, status(401, "Unauthorized", "no"))
    using(work, [refusal], OK, user=UserEntry(token_file=str(token)))


def test_who_follows_may_end_it_by_itself():
    async def work(client: ApiClient, server: RawServer, _: Waits) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await client.follow("/x", {}, lambda _: None)
        with pytest.raises(KeyError):
            await client.follow("/x", {}, {}.__getitem__)
        assert len(server.asked) == 2

    using(work, [chunked(b"one\n"), HOLD])


def test_one_that_does_not_begin_is_a_broken_connection(monkeypatch):
    monkeypatch.setattr(client_module, "ANSWER_SECONDS_MAX", 0.02)

    async def work(client: ApiClient, _server: RawServer, _: Waits) -> None:
        with pytest.raises(BrokenError, match="no answer within"):
            await client.follow("/x", {}, lambda _: None)

    using(work, [HOLD])


def test_a_refusal_is_one_line_whatever_the_server_says():
    assert str(refused(Answer(500, b"<html>\n\x1b[31mno"))) == "500: <html>\\n\\x1b[31mno"
    assert len(str(refused(Answer(500, b"x" * 10_000)))) < 600
    assert str(refused(Answer(404, status(404, "NotFound", 'pods "a" not found')))) == (
        '404 NotFound: pods "a" not found'
    )
    assert refused(Answer(500, b"[" * 100_000)).status == 500


def test_it_speaks_tls_to_a_server_whose_certificate_it_is_given(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def run() -> None:
        async with serving(OK, tls=context) as server:
            known = ApiClient(server.access(certificate_authority=str(certificate)))
            assert await known.get("/x") == b"fine"
            await known.close()
            stranger = ApiClient(server.access(), tries_max=1)
            with pytest.raises(BrokenError, match="CERTIFICATE_VERIFY_FAILED"):
                await stranger.get("/x")

    asyncio.run(run())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    path.write_bytes(self_signed())
    return path


@pytest.mark.parametrize("name", ["", "web-0", "a.b~c_d", "..", "a/b", "a b", "ä", "a%2fb", "a\n", "x?y#z"])
def test_a_name_is_quoted_as_a_part_of_a_path(name):
    assert segment(name) == quote(name, safe="")
