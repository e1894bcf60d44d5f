"""A plan as a person makes, looks at and commits it."""

import re
from urllib.parse import urlencode

import pytest

from ullage.web.api.plan_pages import ROUTES
from ullage.web.pages.what_if import EXAMPLE
from web_client import Started, started, until_ready

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with started(tmp_path_factory.mktemp("data"), "-c", "demo", "--refresh", "0") as server:
        until_ready(server)
        yield server


def sent(served, path, **fields):
    csrf = re.search(rb'name="csrf" value="([^"]+)"', served.ask("GET", "/").body)[1].decode()
    return served.ask("POST", path, FORM, urlencode({"csrf": csrf, **fields}).encode())


def made(served: Started, name="api"):
    manifest = EXAMPLE.replace("name: api\n", f"name: {name}\n", 1)
    reply = sent(served, "/plans", manifest=manifest, namespace="web")
    assert reply.status == 303, reply.body
    return reply.headers["location"]


def test_a_plan_is_kept_looked_at_committed_and_in_the_history(served):
    path = made(served)
    page = served.ask("GET", path).body
    assert b"It fits; not committed yet" in page
    assert b"Commit it" in page
    done = sent(served, f"{path}/commit")
    assert (done.status, done.headers["location"]) == (303, f"{path}?done=committed")
    page = served.ask("GET", f"{path}?done=committed").body
    assert b"the ledger holds the room" in page
    assert b"Commit it" not in page
    history = served.ask("GET", "/history").body.decode()
    assert f'href="{path}"' in history
    assert "commit plan" in history


def test_a_plan_that_was_discarded_cannot_be_committed(served):
    path = made(served)
    assert sent(served, f"{path}/discard").headers["location"] == f"{path}?done=discarded"
    reply = sent(served, f"{path}/commit")
    assert reply.status == 409
    assert b"It was not done; the plan was discarded" in reply.body


def test_what_was_committed_cannot_be_discarded(served):
    path = made(served, "other")
    sent(served, f"{path}/commit")
    assert sent(served, f"{path}/discard").status == 409


def test_a_page_does_not_say_that_something_was_done_which_was_not(served):
    path = made(served)
    assert b"the ledger holds the room" not in served.ask("GET", f"{path}?done=committed").body


@pytest.mark.parametrize("path", ["/plans/nothing/commit", "/plans/nothing/discard"])
def test_a_plan_that_is_not_there_is_not_found(served, path):
    assert sent(served, path).status == 404


def test_what_cannot_be_read_is_no_plan(served):
    reply = sent(served, "/plans", manifest="kind: [")
    assert reply.status == 422
    assert reply.headers["content-type"].startswith("text/html")


def test_making_asks_for_the_right_to_plan_and_committing_for_that_to_commit():
    scopes = {(route.method, route.path): route.scope for route in ROUTES}
    assert scopes == {
        ("GET", "/plans/{plan}"): "read",
        ("POST", "/plans"): "plan",
        ("POST", "/plans/{plan}/commit"): "commit",
        ("POST", "/plans/{plan}/discard"): "plan",
    }
