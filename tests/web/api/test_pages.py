"""The page over HTTP: tags, static files, themes, forms."""

import re
import time
from urllib.parse import urlencode

import pytest

from ullage.web.api import pages, plan_pages, sessions
from ullage.web.api.pages import ROUTES, form_page, parameters_of, refused, theme_of
from ullage.web.api.table import routes
from ullage.web.http import Principal, Problem, Request
from ullage.web.pages.shell import Shell
from web_client import Started, started, until_ready

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
FORM_HEADERS = {name.lower(): value for name, value in FORM.items()}
PAGES = (
    *("/", "/nodes", "/nodes/n1", "/what-if", "/what-breaks", "/quotas", "/drives", "/balance"),
    *("/usage", "/history"),
)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with started(tmp_path_factory.mktemp("data"), "-c", "demo", "--refresh", "0") as server:
        until_ready(server)
        yield server


def token(served):
    return re.search(rb'name="csrf" value="([^"]+)"', served.ask("GET", "/").body)[1].decode()


def sent(served, path, **fields):
    body = urlencode({"csrf": token(served), **fields}).encode()
    return served.ask("POST", path, FORM, body)


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_html_with_a_strict_policy(served: Started, path):
    reply = served.ask("GET", path)
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'self'" in reply.headers["content-security-policy"]
    assert b"<script>" not in reply.body


def test_who_has_a_page_already_is_not_sent_it_again(served):
    first = served.ask("GET", "/nodes")
    again = served.ask("GET", "/nodes", {"If-None-Match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    other = served.ask(
        "GET", "/nodes", {"If-None-Match": first.headers["etag"], "Cookie": "ullage_theme=dark"}
    )
    assert other.status == 200
    assert b'data-theme="dark"' in other.body


def test_a_page_is_sent_again_when_use_was_observed_since(tmp_path):
    table = tmp_path / "usage.csv"
    table.write_bytes(b"subject,resource,time,value\nnode/n1,cpu,1768500000,1\n")
    source = ("-c", "demo", "--refresh", "0", "--usage", str(table), "--observe", "1")
    with started(tmp_path / "data", *source) as server:
        until_ready(server)
        until_observed(server, 1)
        first = server.ask("GET", "/usage")
        known = {"If-None-Match": first.headers["etag"]}
        assert server.ask("GET", "/usage", known).status == 304
        with table.open("ab") as more:
            more.write(b"node/n1,cpu,1768586400,1\n")
        until_observed(server, 2)
        again = server.ask("GET", "/usage", known)
    assert b"until 2026-01-15" in first.body
    assert again.status == 200
    assert b"until 2026-01-16" in again.body


def until_observed(server, points, seconds_max=60.0):
    ends = time.monotonic() + seconds_max
    while (server.ask("GET", "/v1/clusters/demo").data["usage"] or {}).get("points") != points:
        assert time.monotonic() < ends, "this never came to be"
        time.sleep(0.1)


def test_a_page_knows_the_last_event_before_it_was_drawn(served):
    assert re.search(rb'data-news="[0-9a-f]{8}-[1-9]\d*"', served.ask("GET", "/").body)
    assert b"data-news" not in served.ask("GET", "/login").body


def test_a_static_file_is_kept_for_ever_and_an_old_name_is_not_found(served):
    [style] = set(re.findall(rb'href="(/static/ullage\.[^"]+css)"', served.ask("GET", "/").body))
    reply = served.ask("GET", style.decode())
    assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert reply.headers["content-type"] == "text/css; charset=utf-8"
    assert served.ask("GET", "/static/ullage.000000000000.css").status == 404
    assert served.ask("GET", "/static/..%2Fvendored.json").status == 404


def test_a_theme_is_remembered_and_leads_back_to_this_server_alone(served):
    reply = sent(served, "/theme", theme="dark", back="/nodes?q=a")
    assert (reply.status, reply.headers["location"]) == (303, "/nodes?q=a")
    assert reply.headers["set-cookie"].startswith("ullage_theme=dark; Path=/;")
    away = sent(served, "/theme", theme="system", back="//elsewhere.example")
    assert away.headers["location"] == "/"
    assert away.headers["set-cookie"].startswith("ullage_theme=; Path=/; Max-Age=0")


@pytest.mark.parametrize("path", ["/theme", "/what-if", "/plans", "/plans/x/commit", "/plans/x/discard"])
def test_a_form_without_our_token_is_refused(served, path):
    assert served.ask("POST", path, FORM, b"theme=dark&manifest=a").status == 403


def test_a_manifest_is_answered_on_the_page(served):
    manifest = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: web}\n"
        "spec: {containers: [{name: c, image: i}]}"
    )
    reply = sent(served, "/what-if", manifest=manifest)
    assert reply.status == 200
    assert b"web/p</a> fits" in reply.body or b"web/p fits" in reply.body
    assert "etag" not in reply.headers


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("/nodes/nothing", 422, b"no node"),
        ("/explain/planet/mars", 422, b"cannot be explained"),
        ("/explain/pod/web/nothing", 422, b"did you mean"),
        ("/?cluster=nothing", 404, b"there is no cluster"),
        ("/history?cluster=nothing", 404, b"there is no cluster"),
        ("/plans/nothing", 404, b"there is no such plan"),
    ],
)
def test_what_is_not_there_is_told_on_a_page(served, path, status, told):
    reply = served.ask("GET", path)
    assert reply.status == status
    assert reply.headers["content-type"].startswith("text/html")
    assert told in reply.body


def test_signing_in_shows_no_menu_and_never_leads_elsewhere(served):
    reply = served.ask("GET", "/login?next=//elsewhere.example&failed=1")
    assert b'name="next" value="/"' in reply.body
    assert b'aria-label="Pages"' not in reply.body


def test_a_form_that_took_too_long_is_sent_again_as_it_was():
    shell = Shell(path="/plans", back="/what-if", csrf="new")
    fields = {"csrf": "old", "manifest": 'kind: "Pod"\n'}
    request = Request(
        "POST", "/plans", FORM_HEADERS, Principal("me", "plan"), body=urlencode(fields).encode()
    )
    html = refused(shell, Problem(504, "it took too long"), request).body.decode()
    assert '<form class="actions" method="post" action="/plans">' in html
    assert 'name="manifest" value="kind: &#34;Pod&#34;\n"' in html
    assert 'name="csrf" value="new"' in html
    assert "old" not in html
    assert 'href="/plans"' not in html


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/plans", "/what-if"),
        ("/plans/1/commit", "/plans/1"),
        ("/plans/1/discard", "/plans/1"),
        ("/theme", "/"),
        ("/logout", "/"),
        ("/what-if", "/what-if"),
    ],
)
def test_every_form_is_on_a_page(path, page):
    assert form_page(path) == page
    assert "GET" in routes().find(page).methods


def test_every_path_of_a_form_that_is_no_page_is_known():
    for module in (pages, plan_pages, sessions):
        for route in module.ROUTES:
            assert "GET" in routes().find(form_page(route.path.replace("{plan}", "1"))).methods


def test_parameters_of_one_name_are_lines_and_what_the_path_says_counts():
    asked = Request(
        "GET", "/", {}, Principal("me", "read"), {"node": "n1"}, [("lose", "a"), ("node", "x"), ("lose", "b")]
    )
    assert parameters_of(asked) == {"lose": "a\nb", "node": "n1"}
    with pytest.raises(Problem, match="more than"):
        parameters_of(asked._replace(query=[("a", "b")] * 65))


@pytest.mark.parametrize(
    ("cookies", "theme"),
    [("", ""), ("ullage_theme=dark", "dark"), ("a=b; ullage_theme=light", "light"), ("ullage_theme=<b>", "")],
)
def test_a_theme_is_one_that_there_is(cookies, theme):
    assert theme_of({"cookie": cookies}) == theme


def test_looking_asks_for_no_more_than_the_right_to_read():
    assert {route.scope for route in ROUTES} == {"read", None}
    assert {route.path for route in ROUTES if route.scope is None} == {"/login", "/static/{name}"}
