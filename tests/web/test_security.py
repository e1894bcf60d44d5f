"""Who is let in, how far, and what a browser cannot be tricked into."""

import asyncio
from urllib.parse import quote

import pytest

from ullage.web.api.sessions import ROUTES as SESSIONS
from ullage.web.http import Response, Streamed
from ullage.web.routes import Route
from ullage.web.security import COOKIE, forgery_token, host_name
from ullage.web.tokens import add_token
from web_client import ask, closed, head, running

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def who(server, request):
    del server
    return Response(body=f'{{"who": "{request.who.name}", "scope": "{request.who.scope}"}}'.encode())


async def endless(server, request):
    async def parts():
        yield b"first"
        await server.ending.wait()

    del request
    return Streamed(parts(), "text/plain")


ROUTES = (
    Route("GET", "/stream", endless, "read", "Listen."),
    *SESSIONS,
    Route("GET", "/open", who, None, "For everybody."),
    Route("GET", "/read", who, "read", "Look."),
    Route("POST", "/plan", who, "plan", "Plan.", body="application/json, application/x-www-form-urlencoded"),
    Route("PUT", "/put", who, "commit", "Put.", body="*/*"),
    Route("POST", "/commit", who, "commit", "Commit."),
)


def local(tmp_path, *request, **more):
    async def work():
        async with running(tmp_path, *ROUTES) as server:
            return await ask(server.address, *request, **more)

    return asyncio.run(work())


def guarded(tmp_path, work, **settings):
    """Run something against a server that wants tokens; it gets the server, and tokens by scope."""

    async def run():
        async with running(tmp_path, *ROUTES, needs_token=True, **settings) as server:
            tokens = {
                scope: add_token(server.server.state, scope, scope, 0) for scope in ("read", "plan", "commit")
            }
            tokens["ended"] = add_token(server.server.state, "ended", "commit", 0, ends_seconds=1)
            return await work(server, tokens)

    return asyncio.run(run())


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1:8480", "[::1]:8480"])
def test_this_machine_is_answered_under_its_own_names(tmp_path, host):
    assert local(tmp_path, "GET", "/read", host=host).data == {"who": "local", "scope": "commit"}


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:8480", "", None])
def test_a_name_of_somebody_else_that_leads_here_is_refused(tmp_path, host):
    assert local(tmp_path, "GET", "/open", host=host).status == 421


@pytest.mark.parametrize(
    "name", ["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "X-Real-IP", "Via", "CF-Connecting-IP"]
)
def test_what_a_proxy_brings_from_elsewhere_is_not_this_machine(tmp_path, name):
    assert local(tmp_path, "GET", "/read", {name: "192.0.2.1"}).status == 401


@pytest.mark.parametrize(
    ("host", "name"),
    [("a", "a"), ("A:1", "a"), ("[::1]", "::1"), ("[::1]:2", "::1"), ("", ""), ("127.0.0.1:80", "127.0.0.1")],
)
def test_the_name_of_a_host_is_without_its_port(host, name):
    assert host_name(host) == name


@pytest.mark.parametrize(
    ("scope", "path", "status"),
    [
        ("read", "/read", 200),
        ("read", "/plan", 403),
        ("read", "/commit", 403),
        ("plan", "/read", 200),
        ("plan", "/plan", 200),
        ("plan", "/commit", 403),
        ("commit", "/commit", 200),
        ("commit", "/read", 200),
        ("ended", "/read", 401),
    ],
)
def test_a_token_goes_as_far_as_its_scope(tmp_path, scope, path, status):
    async def work(server, tokens):
        method = "GET" if path == "/read" else "POST"
        return await ask(server.address, method, path, {"Authorization": f"Bearer {tokens[scope]}"})

    reply = guarded(tmp_path, work)
    assert reply.status == status
    if status == 200:
        assert reply.data == {"who": scope, "scope": scope}


@pytest.mark.parametrize(
    "given",
    [
        None,
        "Bearer",
        "Bearer ullage_00000000_x",
        "Basic dXNlcjpwYXNz",
        "Bearer " + "x" * 5000,
        "Bearer a_b_ü",
    ],
)
def test_without_a_token_that_is_known_nothing_is_told(tmp_path, given):
    async def work(server, _):
        return await ask(server.address, "GET", "/read", {"Authorization": given})

    reply = guarded(tmp_path, work)
    assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")


def test_a_token_with_another_secret_under_its_name_is_refused(tmp_path):
    async def work(server, tokens):
        wrong = tokens["read"][:-1] + ("A" if tokens["read"][-1] != "A" else "B")
        return await ask(server.address, "GET", "/read", {"Authorization": f"Bearer {wrong}"})

    assert guarded(tmp_path, work).status == 401


@pytest.mark.parametrize("how", ["removed", "ended", "signed out"])
def test_a_stream_ends_with_the_token_or_the_session_that_has_opened_it(tmp_path, how):
    async def work(server, tokens):
        tokens_of, state = server.server.tokens, server.server.state
        session = await tokens_of.sign_in(tokens["read"])
        shown = {"Cookie": f"{COOKIE}={session}"} if how == "signed out" else bearer(tokens["read"])
        reader, writer = await asyncio.open_connection("127.0.0.1", int(server.address.rpartition(":")[2]))
        writer.write(head("GET", "/stream", shown))
        await reader.readuntil(b"first")
        if how == "signed out":
            await tokens_of.sign_out(session)
        elif how == "removed":
            await state.run(lambda connection: connection.execute("DELETE FROM tokens WHERE name = 'read'"))
        else:
            await state.run(lambda connection: connection.execute("UPDATE tokens SET ends_seconds = 1"))
        async with asyncio.timeout(60):
            rest = await reader.read()
        await closed(writer)
        return rest

    assert not guarded(tmp_path, work).endswith(b"0\r\n\r\n"), "nobody takes it for all there was"


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def test_what_is_open_needs_no_token(tmp_path):
    async def work(server, _):
        return await ask(server.address, "GET", "/open")

    assert guarded(tmp_path, work).data == {"who": "nobody", "scope": "read"}


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/read", "/read"),
        ("/read?x=1&y=%C3%A4", "/read?x=1&y=%C3%A4"),
    ],
)
def test_people_are_sent_to_where_they_can_sign_in_and_then_to_what_they_asked_for(tmp_path, path, wanted):
    async def work(server, _):
        return await ask(server.address, "GET", path, {"Accept": "text/html,*/*"})

    reply = guarded(tmp_path, work)
    assert (reply.status, reply.headers["location"]) == (303, f"/login?next={quote(wanted)}")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
    ],
)
def test_a_page_of_another_site_changes_nothing(tmp_path, headers):
    assert local(tmp_path, "POST", "/commit", headers).status == 403
    assert local(tmp_path, "GET", "/read", headers).status == 200


@pytest.mark.parametrize(
    "headers",
    [{}, {"Origin": "http://localhost"}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}],
)
def test_programs_and_pages_of_this_server_may(tmp_path, headers):
    assert local(tmp_path, "POST", "/commit", headers).status == 200


def test_what_no_form_can_send_needs_no_such_token(tmp_path):
    assert local(tmp_path, "PUT", "/put", FORM, b"a: b").status == 200


def test_a_form_brings_the_token_that_its_page_was_given(tmp_path):
    token = forgery_token({})
    assert local(tmp_path, "POST", "/plan", FORM, b"a=b").status == 403
    assert local(tmp_path, "POST", "/plan", FORM, b"csrf=wrong").status == 403
    assert local(tmp_path, "POST", "/plan", FORM, f"a=b&csrf={token}".encode()).status == 200
    assert local(tmp_path, "POST", "/plan", {**FORM, "X-CSRF-Token": token}, b"a=b").status == 200


async def signed_in(server, token):
    reply = await ask(server.address, "POST", "/login", FORM, f"token={token}&next=/read".encode())
    assert (reply.status, reply.headers["location"]) == (303, "/read")
    return reply.headers["set-cookie"]


def test_a_session_stands_for_its_token_until_it_is_ended(tmp_path):
    async def work(server, tokens):
        session = {"Cookie": f"theme=dark; {(await signed_in(server, tokens['plan'])).partition(';')[0]}"}
        seen = await ask(server.address, "GET", "/read", session)
        unsafe = await ask(server.address, "POST", "/plan", session)
        token = forgery_token({"cookie": session["Cookie"]})
        safe = await ask(server.address, "POST", "/plan", {**session, "X-CSRF-Token": token})
        beyond = await ask(server.address, "POST", "/commit", {**session, "X-CSRF-Token": token})
        left = await ask(server.address, "POST", "/logout", {**session, "X-CSRF-Token": token})
        after = await ask(server.address, "GET", "/read", session)
        return (
            seen.data,
            [each.status for each in (unsafe, safe, beyond, left, after)],
            left.headers["set-cookie"],
        )

    seen, statuses, forgotten = guarded(tmp_path, work)
    assert seen == {"who": "plan", "scope": "plan"}
    assert statuses == [403, 200, 403, 303, 401]
    assert forgotten.startswith("ullage_session=; Path=/; Max-Age=0; ")


@pytest.mark.parametrize(
    ("certificate", "ending"), [("", "SameSite=Strict"), ("c.pem", "SameSite=Strict; Secure")]
)
def test_scripts_and_other_sites_do_not_get_the_cookie(tmp_path, certificate, ending):
    async def work(server, tokens):
        return await signed_in(server, tokens["read"])

    cookie = guarded(tmp_path, work, tls_certificate=certificate)
    assert "; HttpOnly; " in cookie
    assert cookie.endswith(ending)


def test_who_cannot_sign_in_is_asked_again_and_their_token_is_not_logged(tmp_path):
    async def work(server, _):
        reply = await ask(
            server.address, "POST", "/login", FORM, b"token=ullage_1_hidden&next=//evil.example"
        )
        server.server.log.write()
        return reply, server.lines

    reply, lines = guarded(tmp_path, work)
    assert (reply.status, reply.headers["location"]) == (303, "/login?next=%2F&failed=1")
    assert "set-cookie" not in reply.headers
    assert "hidden" not in str(lines)


@pytest.mark.parametrize(
    "path", ["//evil.example", "https://evil.example", "/\\evil.example", "", "/a\r\nb: c"]
)
def test_signing_in_leads_nowhere_else(path):
    from ullage.web.api.sessions import local_path

    assert local_path(path) == "/"
