"""The ledger for programs that use it from elsewhere: what is told, and steps that are taken or refused."""

import json
import sqlite3

import pytest

from ullage.model.ledger import Expire, Hold, Release, Reserve, Together
from ullage.model.resources import Resources
from ullage.stores import exchange
from ullage.stores.codec import command_text
from ullage.web.api.ledger_records import ROUTES
from web.standing import told

PATH = "/v1/clusters/demo/ledger"
ONE = Reserve("one", "team/x", 1 << 40, (Hold("web", "node/n3", Resources({"cpu": 1500})),))


async def take(server, command, headers=None, query=()):
    text = command if isinstance(command, bytes) else command_text(command).encode()
    return await server.ask("POST", f"{PATH}/commands", text, headers, query)


async def get(server, what, **query):
    return await server.ask(
        "GET", f"{PATH}/{what}", query=[(name, str(each)) for name, each in query.items()]
    )


def test_where_nothing_was_promised_the_ledger_is_empty(tmp_path):
    async def story(server):
        answer = await get(server, "state")
        assert (answer.status, answer.content) == (200, exchange.MEDIA)
        assert exchange.to_state(answer.body).revision == 0
        assert exchange.to_journal((await get(server, "journal")).body).rows == ()
        assert exchange.to_findings((await get(server, "proof")).body) == []

    told(tmp_path, ROUTES, story)


def test_a_step_is_taken_told_and_audited(tmp_path):
    async def story(server):
        answer = await take(server, ONE, {"idempotency-key": "ä".encode().decode("latin-1")})
        outcome = exchange.to_outcome(answer.body)
        assert (answer.status, outcome.decision.accepted) == (200, True)
        assert dict(answer.headers)["etag"] == f'"{outcome.revision}"'
        state = exchange.to_state((await get(server, "state")).body)
        assert [entry.reservation for entry in state.entries] == ["one"]
        assert len(exchange.to_state((await get(server, "state", revision=0)).body)) == 0
        (row,) = exchange.to_journal((await get(server, "journal", key="ä")).body).rows
        assert (row.revision, row.command) == (outcome.revision, ONE)
        assert exchange.to_findings((await get(server, "proof")).body) == []
        again = exchange.to_outcome((await take(server, ONE, {"idempotency-key": "Ã¤"})).body)
        assert (again.repeated, again.revision) == (True, outcome.revision)
        return outcome.revision

    revision = told(tmp_path, ROUTES, story)
    with sqlite3.connect(tmp_path / "server.db") as connection:
        rows = connection.execute("SELECT * FROM audit").fetchall()
    assert [row[-6:] for row in rows] == [
        ("me", "demo", "ledger step", "reserve", outcome, revision)
        for outcome in ("accepted", "repeated, accepted")
    ]


def test_a_key_of_the_servers_own_is_refused_to_others(tmp_path):
    async def story(server):
        answer = await take(server, ONE, {"idempotency-key": "plan/0123"})
        assert (answer.status, "'plan/'" in json.loads(answer.body)["title"]) == (422, True)
        assert exchange.to_journal((await get(server, "journal")).body).rows == ()

    told(tmp_path, ROUTES, story)


def test_a_refusal_is_an_outcome(tmp_path):
    async def story(server):
        large = Reserve("one", "team/x", 1 << 40, (Hold("web", "node/n3", Resources({"cpu": 10**9})),))
        answer = await take(server, large)
        decision = exchange.to_outcome(answer.body).decision
        assert (answer.status, decision.accepted) == (200, False)
        assert decision.reason.startswith("node/n3: cpu short by ")

    told(tmp_path, ROUTES, story)


def test_a_moved_revision_is_told_or_refused(tmp_path):
    async def story(server):
        revision = exchange.to_outcome((await take(server, ONE)).body).revision
        release = Together((Expire(), Release("one")))
        stale = await take(server, release, {"if-match": f'"{revision - 1}"'})
        assert stale.status == 412
        assert json.loads(stale.body)["what"] == f"the ledger is at revision {revision}, not {revision - 1}"
        moved = exchange.to_outcome((await take(server, release, query=[("planned", "0")])).body)
        assert (moved.moved, moved.decision.accepted) == (True, True)

    told(tmp_path, ROUTES, story)


def test_a_step_that_was_planned_on_another_cluster_is_refused(tmp_path):
    async def story(server):
        server.pool.revisions["demo"] = 2
        stale = await take(server, ONE, query=[("clusterRevision", "1")])
        assert stale.status == 412
        assert json.loads(stale.body)["title"] == (
            "the cluster is at revision 2, not 1; look again and plan anew"
        )
        assert exchange.to_state((await get(server, "state")).body).revision == 0
        assert (await take(server, ONE, query=[("clusterRevision", "2")])).status == 200

    told(tmp_path, ROUTES, story)


@pytest.mark.parametrize(
    ("body", "title"),
    [
        (b"", "the body is no command of a ledger"),
        (b"\xff", "the body is no command of a ledger"),
        (b'{"command":"dance"}', "the body is no command of a ledger"),
        (b'{"command":"expire","of":"all"}', "the command is not written as this version writes it"),
    ],
)
def test_what_is_no_command_of_this_version_is_refused(tmp_path, body, title):
    async def story(server):
        answer = await take(server, body)
        assert answer.status == 422
        assert json.loads(answer.body)["title"].startswith(title)

    told(tmp_path, ROUTES, story)


def test_a_key_is_text(tmp_path):
    async def story(server):
        assert (await take(server, ONE, {"idempotency-key": "\xff"})).status == 422
        used = await take(server, ONE, {"idempotency-key": "k"})
        assert used.status == 200
        assert (await take(server, Release("one"), {"idempotency-key": "k"})).status == 422

    told(tmp_path, ROUTES, story)


def test_another_cluster_has_no_ledger_here(tmp_path):
    async def story(server):
        assert (await server.ask("GET", "/v1/clusters/lab/ledger/state")).status == 404
        assert (await server.ask("POST", "/v1/clusters/lab/ledger/commands", b"{}")).status in {404, 422}

    told(tmp_path, ROUTES, story)
