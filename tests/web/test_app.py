"""The way from a request to an answer: what is refused before a handler is asked, and how."""

import asyncio

import msgspec
import pytest

from ullage.model.errors import InputError
from ullage.stores import exchange
from ullage.web import app as application
from ullage.web import traffic
from ullage.web.api import events, ledger, ledger_records
from ullage.web.api.operations import health
from ullage.web.api.table import routes
from ullage.web.bodies import Bodies
from ullage.web.http import Problem, Response, Streamed
from ullage.web.routes import Route
from ullage.web.tokens import add_token
from web_client import ask, closed, head, read_reply, running, until


class Named(msgspec.Struct):
    name: str


async def echo(server, request):
    del server
    told = {"query": request.query, "body": request.body.decode(), "values": dict(request.values)}
    return Response(body=msgspec.json.encode(told))


async def tagged(server, request):
    del server, request
    return Response(body=b"{}", headers=(("etag", '"7"'),))


async def refuses(server, request):
    del server, request
    raise InputError("no such thing", where="f.yaml:3", remedy="write another")


async def breaks(server, request):
    del server, request
    raise ZeroDivisionError("a secret")


async def is_busy(server, request):
    del server, request
    raise Problem(503, "busy", retryAfterSeconds=7)


ROUTES = (
    Route("GET", "/health", health, None, "Health."),
    Route("GET", "/echo/{name}", echo, "read", "Echo."),
    Route(
        "POST", "/echo", echo, "read", "Echo.", body="application/json, application/yaml", body_bytes_max=1000
    ),
    Route("POST", "/record", echo, "read", "Echo a record.", body=Named),
    Route("GET", "/tagged", tagged, "read", "Tagged."),
    Route("GET", "/refuses", refuses, "read", "Refuses."),
    Route("POST", "/refuses", refuses, "read", "Refuses.", body="application/yaml"),
    Route("GET", "/breaks", breaks, "read", "Breaks."),
    Route("GET", "/busy", is_busy, "read", "Is busy."),
    Route("DELETE", "/echo", echo, "commit", "Nothing.", answers={204: ""}),
)
YAML = {"Content-Type": "application/yaml"}
NESTED = b"[" * 5000 + b"]" * 5000


def answered(tmp_path, *request, **more):
    async def work():
        async with running(tmp_path, *ROUTES) as server:
            return await ask(server.address, *request, **more)

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("request_", "status", "title"),
    [
        (("GET", "/nothing"), 404, "there is nothing under this path"),
        (("PUT", "/echo"), 405, "PUT is not for this path"),
        (("BREW", "/echo"), 400, "invalid http request received"),
        (("GET", "/tagged", {"Accept": "text/html"}), 406, "this is answered with application/json"),
        (("POST", "/record"), 411, "a body is needed, and the length of it"),
        (("POST", "/echo", YAML, b"x" * 1001), 413, "the body is larger than 1000 bytes"),
        (("GET", "/tagged", YAML, b"x"), 413, "the body is larger than 0 bytes"),
        (("POST", "/echo", {"Content-Type": "text/plain"}, b"x"), 415, "the body is text/plain"),
        (("POST", "/echo", {}, b"x"), 415, "the body is not named"),
        (("GET", "/tagged?a=%ff"), 400, "the query cannot be read"),
        (("GET", f"/tagged?{'a' * 40_000}"), 414, "the query has more than 32768 characters"),
        (("GET", "/refuses"), 422, "f.yaml:3: no such thing; write another"),
        (("GET", "/busy"), 503, "busy"),
    ],
)
def test_what_is_not_answered_is_a_problem_of_one_line(tmp_path, request_, status, title):
    reply = answered(tmp_path, *request_)
    assert (reply.status, reply.data["title"]) == (status, title)
    assert reply.data["status"] == status
    assert reply.headers["content-type"] == "application/problem+json"


def test_a_refusal_has_the_parts_of_its_line_as_members(tmp_path):
    data = answered(tmp_path, "GET", "/refuses").data
    assert (data["what"], data["where"], data["remedy"]) == ("no such thing", "f.yaml:3", "write another")


@pytest.mark.parametrize(
    ("request_", "name", "told"),
    [
        (("PUT", "/echo"), "allow", "DELETE, OPTIONS, POST"),
        (("OPTIONS", "/echo"), "allow", "DELETE, OPTIONS, POST"),
        (("OPTIONS", "/tagged"), "allow", "GET, HEAD, OPTIONS"),
        (("GET", "/busy"), "retry-after", "7"),
        (("GET", "/tagged"), "cache-control", "no-cache"),
        (("GET", "/echo/a"), "cache-control", "no-store"),
        (("HEAD", "/tagged"), "content-length", "2"),
    ],
)
def test_headers_say_what_else_there_is_to_know(tmp_path, request_, name, told):
    assert answered(tmp_path, *request_).headers[name] == told


@pytest.mark.parametrize("path", ["/tagged", "/nothing", "/breaks", "/refuses"])
def test_every_answer_tells_browsers_what_they_may_not_do(tmp_path, path):
    headers = answered(tmp_path, "GET", path).headers
    assert headers["content-security-policy"].startswith("default-src 'self'; ")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("known", ['"7"', 'W/"7"', '"6", "7"', "*"])
def test_who_has_it_already_is_told_so(tmp_path, known):
    reply = answered(tmp_path, "GET", "/tagged", {"If-None-Match": known})
    assert (reply.status, reply.body, reply.headers["etag"]) == (304, b"", '"7"')


def test_who_has_something_else_gets_it(tmp_path):
    assert answered(tmp_path, "GET", "/tagged", {"If-None-Match": '"6"'}).status == 200


@pytest.mark.parametrize(
    ("word", "content", "body"),
    [
        ("reserve", "application/json", b'{"holds":[{"resources":{"cpu":%b}}]}' % NESTED),
        ("commands", exchange.MEDIA, b'{"command":%b}' % NESTED),
    ],
)
def test_a_body_that_is_nested_beyond_all_use_is_refused_and_no_defect(tmp_path, word, content, body):
    async def work():
        async with running(tmp_path, *ledger.ROUTES, *ledger_records.ROUTES) as server:
            path = f"/v1/clusters/demo/ledger/{word}"
            reply = await ask(server.address, "POST", path, {"Content-Type": content}, body)
        return reply, server.lines

    reply, lines = asyncio.run(work())
    assert (reply.status, reply.data["title"]) == (422, "the body is nested too deeply")
    assert not any(line["message"] == "met a defect" for line in lines)


def test_of_a_stream_only_the_head_is_sent_to_who_asks_for_that(tmp_path):
    async def work():
        async with running(tmp_path, *events.ROUTES, *ROUTES) as server:
            port = int(server.address.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head("HEAD", "/v1/events") + head("GET", "/health"))
            replies = [await read_reply(reader, "HEAD"), await read_reply(reader)]
            await closed(writer)
            return replies, server.server.traffic.streams.total()

    (first, second), streams = asyncio.run(work())
    assert (first.status, first.headers["content-type"]) == (200, "text/event-stream")
    assert (second.status, second.data, streams) == (200, {"status": "ok"}, 0)


def test_one_client_leaves_others_streams_to_listen_to(tmp_path, monkeypatch):
    monkeypatch.setattr(traffic, "STREAMS_EACH_MAX", 2)
    monkeypatch.setattr(traffic, "STREAMS_MAX", 3)

    async def work():
        async with running(tmp_path, *events.ROUTES, *ROUTES) as server:
            secrets = [add_token(server.server.state, name, "read", 0) for name in ("a", "b")]
            a, b = ({"Authorization": f"Bearer {each}"} for each in secrets)
            port = int(server.address.rpartition(":")[2])
            told, open_streams = [], []
            for headers in (a, a, a, b, b):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(head("GET", "/v1/events", headers))
                told.append(await read_reply(reader, "HEAD"))
                open_streams.append(writer)
            for writer in open_streams:
                await closed(writer)
            await until(lambda: not server.server.traffic.streams)
            return told

    told = asyncio.run(work())
    assert [each.status for each in told] == [200, 200, 503, 200, 503]


def test_where_files_are_read_clients_have_their_turns(tmp_path, monkeypatch):
    monkeypatch.setattr(traffic, "READING_MAX", 1)
    order, going = [], asyncio.Event()

    async def read(server, request):
        del server
        order.append(request.who.name)
        await going.wait()
        return Response(body=b"{}")

    async def work():
        async with running(tmp_path, Route("GET", "/read", read, "read", "Read.", in_turns=True)) as server:
            secrets = {name: add_token(server.server.state, name, "read", 0) for name in ("a", "b")}
            asked = []
            for count, client in enumerate("aaaab", 1):
                headers = {"Authorization": f"Bearer {secrets[client]}"}
                asked.append(asyncio.create_task(ask(server.address, "GET", "/read", headers)))
                await until(lambda count=count: server.server.traffic.at_once.total() == count)
            going.set()
            return [reply.status for reply in await asyncio.gather(*asked)]

    assert asyncio.run(work()) == [200] * 5
    assert order.index("b") == 2, "behind the one that was being answered, and the next"


READ = {
    "/v1/audit",
    "/v1/clusters/{cluster}/history",
    "/v1/clusters/{cluster}/ledger",
    "/v1/clusters/{cluster}/plans",
    "/v1/clusters/{cluster}/plans/{plan}",
    "/history",
    "/plans/{plan}",
}


def test_clients_have_their_turns_wherever_files_of_the_server_are_read():
    assert {route.path for route in routes().all if route.in_turns} == READ


def test_values_query_and_body_arrive(tmp_path):
    assert answered(tmp_path, "GET", "/echo/a%2Fb?x=1&x=2&y=").data == {
        "query": [["x", "1"], ["x", "2"], ["y", ""]],
        "body": "",
        "values": {"name": "a/b"},
    }
    assert answered(tmp_path, "POST", "/echo", YAML, b"a: b").data["body"] == "a: b"


def test_a_header_that_decides_something_is_there_once(tmp_path):
    async def work():
        async with running(tmp_path, *ROUTES) as server:
            port = int(server.address.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /tagged HTTP/1.1\r\nHost: localhost\r\nHost: elsewhere\r\n\r\n")
            reply = await read_reply(reader)
            await closed(writer)
            return reply

    assert asyncio.run(work()).data["title"] == "the header host is there twice"


def test_a_defect_is_told_to_the_log_and_not_to_who_asks(tmp_path):
    async def work():
        async with running(tmp_path, *ROUTES) as server:
            reply = await ask(server.address, "GET", "/breaks?token=hidden")
        return reply, server.lines

    reply, lines = asyncio.run(work())
    assert reply.status == 500
    assert b"secret" not in reply.body
    told = [line for line in lines if line["message"] == "met a defect"]
    assert "ZeroDivisionError: a secret" in told[0]["traceback"]
    assert "hidden" not in str(lines)


def chunked(*parts):
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (*parts, b""))


def test_a_body_in_chunks_is_read_up_to_its_limit(tmp_path):
    sent = {**YAML, "Transfer-Encoding": "chunked"}

    async def work():
        async with running(tmp_path, *ROUTES) as server:
            replies = []
            for parts in ((b"x" * 500, b"y" * 500), (b"x" * 500, b"y" * 501)):
                port = int(server.address.rpartition(":")[2])
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(head("POST", "/echo", sent) + chunked(*parts))
                replies.append((await read_reply(reader)).status)
                await closed(writer)
            return replies, server.server

    statuses, _ = asyncio.run(work())
    assert statuses == [200, 413]


def test_a_refused_body_that_arrives_is_passed_over_and_the_connection_stays(tmp_path):
    async def work():
        async with running(tmp_path, *ROUTES) as server:
            port = int(server.address.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            body = b"x" * 200_000
            writer.write(head("POST", "/echo", {**YAML, "Content-Length": str(len(body))}) + body)
            first = await read_reply(reader)
            writer.write(head("GET", "/health"))
            second = await read_reply(reader)
            await closed(writer)
            return first.status, second.status

    assert asyncio.run(work()) == (413, 200)


def test_what_is_refused_after_its_body_was_read_keeps_the_connection(tmp_path):
    reply = answered(tmp_path, "POST", "/refuses", YAML, b"a: b")
    assert (reply.status, "connection" in reply.headers) == (422, False)


def test_a_body_that_does_not_arrive_is_waited_for_and_given_up(tmp_path):
    async def work():
        async with running(tmp_path, *ROUTES, bodies=Bodies(grace_seconds=0.1)) as server:
            port = int(server.address.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head("POST", "/echo", {**YAML, "Content-Length": "100"}) + b"x")
            reply = await read_reply(reader)
            rest = await asyncio.wait_for(reader.read(), 5)
            await closed(writer)
            return reply, rest

    reply, rest = asyncio.run(work())
    assert (reply.status, reply.headers["connection"], rest) == (408, "close", b"")


def test_bodies_together_have_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("ullage.web.bodies.SMALL_BYTES_MAX", 50)

    async def work():
        async with running(tmp_path, *ROUTES, bodies=Bodies(held_bytes_max=100)) as server:
            return await ask(server.address, "POST", "/echo", YAML, b"x" * 101)

    assert asyncio.run(work()).status == 503


@pytest.mark.parametrize("bound", ["AT_ONCE_MAX", "AT_ONCE_EACH_MAX"])
def test_too_much_at_once_is_refused_but_health_is_told(tmp_path, monkeypatch, bound):
    monkeypatch.setattr(traffic, bound, 2)
    free = asyncio.Event()

    async def waits(server, request):
        del server, request
        await free.wait()
        return Response(body=b"{}")

    async def work():
        async with running(tmp_path, *ROUTES, Route("GET", "/waits", waits, "read", "Waits.")) as server:
            waiting = [asyncio.create_task(ask(server.address, "GET", "/waits")) for _ in range(2)]
            await until(lambda: server.server.traffic.at_once.total() == 2)
            refused = await ask(server.address, "GET", "/tagged")
            well = await ask(server.address, "GET", "/health")
            free.set()
            return refused, well, await asyncio.gather(*waiting)

    refused, well, replies = asyncio.run(work())
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert well.status == 200
    assert [each.status for each in replies] == [200, 200]


def test_who_asks_again_at_once_while_it_is_busy_is_held_up_and_not_logged(tmp_path):
    async def work():
        async with running(tmp_path, *ROUTES) as server:
            loop = asyncio.get_running_loop()
            begun = loop.time()
            refused = [await ask(server.address, "GET", "/busy") for _ in range(3)]
            return loop.time() - begun, refused, server.lines

    seconds, refused, lines = asyncio.run(work())
    assert [reply.status for reply in refused] == [503] * 3
    assert seconds >= 3 * application.BUSY_SECONDS
    assert lines == []


def test_a_stream_ends_with_whoever_listens_and_with_the_server(tmp_path):
    over = []

    async def parts(name):
        try:
            yield b"first\n"
            await asyncio.Event().wait()
        finally:
            over.append(name)

    async def listens(server, request):
        del server
        return Streamed(parts(request.values["name"]), "text/event-stream")

    async def work():
        streams = Route(
            "GET", "/streams/{name}", listens, "read", "Streams.", answers={200: "text/event-stream"}
        )
        async with running(tmp_path, streams) as server:
            port = int(server.address.rpartition(":")[2])
            ends = {}
            for name in ("leaves", "stays"):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(head("GET", f"/streams/{name}"))
                await reader.readuntil(b"first\n")
                ends[name] = (reader, writer)
            await closed(ends["leaves"][1])
            await until(lambda: over == ["leaves"])
        rest = await asyncio.wait_for(ends["stays"][0].read(), 5)
        await closed(ends["stays"][1])
        return rest

    assert asyncio.run(work()).endswith(b"0\r\n\r\n")
    assert over == ["leaves", "stays"]
