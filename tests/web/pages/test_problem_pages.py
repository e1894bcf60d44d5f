"""A browser is told of every problem on a page, and a program in problem+json."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest

from web_client import started, until_ready

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with started(tmp_path_factory.mktemp("data"), "-c", "big=demo", "--refresh", "0") as server:
        until_ready(server)
        yield server


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/nodes/a/b/c", 404),
        ("POST", "/nodes", 405),
        ("POST", "/what-if", 403),
        ("GET", "/?" + "a" * 40_000, 414),
    ],
)
def test_browsers_see_a_page_and_others_problem_json(served, method, path, status):
    headers, body = (FORM, b"a=b") if method == "POST" else ({}, b"")
    page = served.ask(method, path, {**BROWSER, **headers}, body)
    assert page.status == status
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    told = served.ask(method, path, headers, body)
    assert (told.status, told.headers["content-type"]) == (status, "application/problem+json")
    assert told.data["title"] in unescape(page.body.decode())


def test_what_only_programs_ask_for_is_problem_json_for_everybody(served):
    reply = served.ask("GET", "/v1/clusters/nothing/status", BROWSER)
    assert (reply.status, reply.headers["content-type"]) == (404, "application/problem+json")


def test_a_page_for_a_name_that_is_not_ours_tells_nothing_else(served):
    reply = served.ask("GET", "/", {**BROWSER, "Host": "elsewhere.example"})
    assert reply.status == 421
    assert b"big" not in reply.body
    assert not re.search(rb'name="csrf" value="[^"]', reply.body)


def test_a_page_names_the_command_that_asks_this_very_server(served):
    port = served.address.rpartition(":")[2]
    page = served.ask("GET", "/drives", {"Host": f"localhost:{port}"}).body.decode()
    assert f"<code>ullage disks list -c http://localhost:{port}/v1/clusters/big</code>" in page


def test_a_plan_that_cannot_be_made_is_told_in_the_words_of_the_page(served):
    csrf = re.search(rb'name="csrf" value="([^"]+)"', served.ask("GET", "/").body)[1].decode()
    body = urlencode({"csrf": csrf, "manifest": "kind: ["}).encode()
    reply = served.ask("POST", "/plans", FORM, body)
    assert reply.status == 422
    assert b"the manifest, line" in reply.body
    assert b"standard input" not in reply.body
