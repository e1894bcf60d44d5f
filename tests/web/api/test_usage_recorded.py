"""All that is recorded over HTTP: what the ledger has, for whoever may look; what is wrong is a problem."""

import asyncio
import urllib.request
from pathlib import Path

import pytest

from ullage.stores.usage_exchange import MEDIA, to_book, to_meters, usage_message
from ullage.web.api.usage_recorded import Telling
from ullage.web.http import Problem
from ullage.web.work import Done
from web_client import started, until_ready

ROOT = Path(__file__).resolve().parents[3]
PATH = "/v1/clusters/demo/usage/recorded"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server that was sent observations of one of its clusters, and the ledger that has them."""
    data = tmp_path_factory.mktemp("data")
    room = ROOT / "examples" / "room.yaml"
    with started(data, "-c", "demo", "-c", f"room={room}", "--observe", "0") as server:
        until_ready(server)
        samples = (ROOT / "examples" / "usage.csv").read_bytes()
        headers = {"Content-Type": "text/csv"}
        assert server.ask("POST", "/v1/clusters/demo/usage/samples", headers, samples).status == 200
        yield server, data / "clusters" / "demo" / "ledger.db"


def fetched(server, path=PATH):
    with urllib.request.urlopen(f"{server.address}{path}") as reply:  # noqa: S310 - our own server
        return reply.headers["content-type"], reply.read()


@pytest.mark.slow
def test_what_is_told_is_what_the_ledger_has(served):
    server, ledger = served
    assert fetched(server) == (MEDIA, b"".join(usage_message(ledger)))
    assert len(to_book(fetched(server, f"{PATH}?only=days")[1])) > 50
    assert not len(to_book(fetched(server, f"{PATH}?only=meters")[1]))


@pytest.mark.slow
def test_who_has_it_is_told_so_until_more_is_recorded(served):
    server, _ = served
    tags = {}
    for path in (PATH, f"{PATH}?only=days", PATH.replace("demo", "room")):
        first = server.ask("GET", path)
        tags[path] = {"If-None-Match": first.headers["etag"]}
        again = server.ask("GET", path, tags[path])
        assert (again.status, again.body) == (304, b"")
    assert server.ask("GET", PATH, tags[f"{PATH}?only=days"]).status == 200
    table = b"subject,resource,time,value\nnode/n1,cpu,1768500000,1\n"
    server.ask("POST", "/v1/clusters/demo/usage/samples", {"Content-Type": "text/csv"}, table)
    assert server.ask("GET", PATH, tags[PATH]).status == 200
    assert server.ask("GET", PATH.replace("demo", "room"), tags[PATH.replace("demo", "room")]).status == 304


@pytest.mark.slow
def test_a_cluster_of_which_nothing_was_observed_has_nothing(served):
    _, message = fetched(served[0], PATH.replace("demo", "room"))
    assert not len(to_book(message))
    assert to_meters(message) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "status"),
    [
        (PATH.replace("demo", "none"), 404),
        (f"{PATH}?only=all", 400),
        (f"{PATH}?only=null", 400),
        (f"{PATH}?more=1", 400),
    ],
)
def test_what_cannot_be_asked_is_a_problem(served, path, status):
    reply = served[0].ask("GET", path)
    assert (reply.status, reply.headers["content-type"]) == (status, "application/problem+json")


@pytest.mark.slow
def test_a_ledger_that_cannot_be_read_is_a_problem_too(served):
    server, ledger = served
    broken = ledger.parents[1] / "room" / "ledger.db"
    broken.parent.mkdir(exist_ok=True)
    broken.write_bytes(b"SQLite format 3\0" + bytes(5000))
    try:
        reply = server.ask("GET", PATH.replace("demo", "room"))
    finally:
        broken.unlink()
    assert (reply.status, reply.headers["content-type"]) == (422, "application/problem+json")


async def refused_at_last():
    yield Done(body=b"two")
    yield Done(503, b"{}")


def test_what_fails_after_the_first_part_ends_the_answer_without_its_end():
    async def heard():
        telling = Telling(Done(body=b"one"), refused_at_last())
        assert [await anext(telling), await anext(telling)] == [b"one", b"two"]
        with pytest.raises(Problem, match="cannot be read to its end"):
            await anext(telling)
        await telling.aclose()

    asyncio.run(heard())
