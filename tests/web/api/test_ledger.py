"""The ledger over HTTP: what is asked, what is answered, and how a refusal tells what is missing."""

import asyncio
import json
from contextlib import closing
from types import SimpleNamespace

import msgspec
import pytest

from ullage.engine.ledger.room import TYPES
from ullage.model.ledger import Bind, Extend, Hold, Release, Reserve
from ullage.model.wire import to_builtins
from ullage.web.api.ledger import ROUTES, Binding, Extending, Releasing, Reserving
from ullage.web.http import Principal, Problem, Request
from ullage.web.ledgers import Ledgers
from ullage.web.routes import Routes
from ullage.web.state import State
from web.standing import InProcess

PATH = "/v1/clusters/demo/ledger"
NODE = "node/n3"
RESERVE = {
    "reservation": "one",
    "owner": "team/x",
    "expiresSeconds": 1 << 40,
    "holds": [{"request": "web", "capacity": NODE, "resources": {"cpu": "1500m", "memory": "1Gi"}}],
}


class Client:
    """Asks what the routes of the ledger answer, as the server does."""

    def __init__(self, folder):
        self.pool = InProcess(demo="demo")
        self.server = SimpleNamespace(ledgers=Ledgers(folder, self.pool), state=State(folder))
        self.routes = Routes(ROUTES)

    async def ask(self, method, path, body=None, headers=None, query=()):
        found = self.routes.find(path)
        route = found.methods[method]
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        who = Principal("me", "commit")
        request = Request(method, path, headers or {}, who, found.values, query, raw)
        try:
            return await route.handler(self.server, request)
        except Problem as problem:
            return problem.response()


def told(tmp_path, story):
    async def within():
        client = Client(tmp_path)
        try:
            async with asyncio.timeout(20):
                return await story(client)
        finally:
            await client.server.ledgers.close()
            client.server.state.close()

    return asyncio.run(within())


def etag(response):
    return dict(response.headers)["etag"]


def test_a_reservation_goes_from_held_to_given_back(tmp_path):
    async def story(client):
        answers = [
            await client.ask("POST", f"{PATH}/reserve", RESERVE),
            await client.ask("POST", f"{PATH}/extend", {"reservation": "one", "expiresSeconds": 2 << 40}),
            await client.ask("POST", f"{PATH}/bind", {"reservation": "one"}),
            await client.ask("POST", f"{PATH}/release", {"reservation": "one"}),
        ]
        assert [answer.status for answer in answers] == [200] * 4
        steps = [json.loads(answer.body) for answer in answers]
        assert {(step["apiVersion"], step["kind"]) for step in steps} == {("ullage.dev/v1", "LedgerStep")}
        assert [step["asked"] for step in steps] == ["reserve one", "extend one", "bind one", "release one"]
        assert [step["changed"][0]["state"] for step in steps] == [
            "RESERVED",
            "RESERVED",
            "BOUND",
            "RELEASED",
        ]
        assert steps[0]["changed"][0]["resources"] == {"cpu": "1500m", "memory": "1Gi"}
        assert [etag(answer) for answer in answers] == ['"2"', '"3"', '"4"', '"5"']

    told(tmp_path, story)


def test_a_refusal_is_a_problem_that_tells_what_is_missing(tmp_path):
    async def story(client):
        large = {**RESERVE, "holds": [{**RESERVE["holds"][0], "resources": {"cpu": "9k"}}]}
        answer = await client.ask("POST", f"{PATH}/reserve", large)
        assert (answer.status, answer.content) == (409, "application/problem+json")
        problem = json.loads(answer.body)
        assert problem["detail"].startswith(f"{NODE}: cpu short by ")
        (short,) = problem["shortfalls"]
        assert (short["node"], short["resource"], short["requested"]) == (NODE, "cpu", "9000")
        assert problem["revision"] == 2

    told(tmp_path, story)


def test_a_key_makes_it_safe_to_ask_again_and_is_for_one_step(tmp_path):
    async def story(client):
        key = {"idempotency-key": "k"}
        first = json.loads((await client.ask("POST", f"{PATH}/reserve", RESERVE, key)).body)
        again = json.loads((await client.ask("POST", f"{PATH}/reserve", RESERVE, key)).body)
        assert "repeated" not in first
        assert again == {**first, "repeated": True}
        other = await client.ask("POST", f"{PATH}/release", {"reservation": "one"}, key)
        assert other.status == 422
        assert "was used for another command" in json.loads(other.body)["title"]

    told(tmp_path, story)


def test_every_step_is_in_the_audit_log_also_one_that_was_refused(tmp_path):
    async def story(client):
        await client.ask("POST", f"{PATH}/reserve", RESERVE)
        large = [{**RESERVE["holds"][0], "resources": {"cpu": "1M"}}]
        await client.ask("POST", f"{PATH}/reserve", {**RESERVE, "reservation": "two", "holds": large})
        await client.ask("POST", f"{PATH}/extend", {"reservation": "one", "expiresSeconds": 2 << 40})
        await client.ask("POST", f"{PATH}/bind", {"reservation": "one"})
        await client.ask("POST", f"{PATH}/release", {"reservation": "one"})

    told(tmp_path, story)
    with closing(State(tmp_path)) as state:
        found = [entry for _, entry in state.audited()]
    assert {(entry.who, entry.cluster) for entry in found} == {("me", "demo")}
    assert [(entry.action, entry.subject, entry.outcome.partition(":")[0]) for entry in found] == [
        ("reserve", "one", "accepted"),
        ("reserve", "two", "refused"),
        ("extend", "one", "accepted"),
        ("bind", "one", "accepted"),
        ("release", "one", "accepted"),
    ]
    assert [entry.revision for entry in found] == sorted({entry.revision for entry in found})


def test_a_step_that_is_asked_for_again_is_noted_as_repeated(tmp_path):
    async def story(client):
        for _ in range(2):
            await client.ask("POST", f"{PATH}/reserve", RESERVE, {"idempotency-key": "k"})

    told(tmp_path, story)
    with closing(State(tmp_path)) as state:
        assert [entry.outcome for _, entry in state.audited()] == ["accepted", "repeated, accepted"]


def test_a_key_of_the_servers_own_is_refused_to_others(tmp_path):
    async def story(client):
        answer = await client.ask("POST", f"{PATH}/reserve", RESERVE, {"idempotency-key": "plan/0123"})
        assert answer.status == 422
        assert json.loads(answer.body)["title"].startswith("Idempotency-Key: keys that begin with 'plan/' ")
        assert await client.server.ledgers.known("demo", "plan/0123") is None
        near = await client.ask("POST", f"{PATH}/reserve", RESERVE, {"idempotency-key": "plans/0123"})
        assert near.status == 200

    told(tmp_path, story)


def test_nothing_is_done_on_another_revision_than_the_one_that_is_named(tmp_path):
    async def story(client):
        await client.ask("POST", f"{PATH}/reserve", RESERVE)
        stale = await client.ask("POST", f"{PATH}/bind", {"reservation": "one"}, {"if-match": '"1"'})
        assert stale.status == 412
        assert "at revision 2, not 1" in json.loads(stale.body)["title"]
        current = await client.ask("POST", f"{PATH}/bind", {"reservation": "one"}, {"if-match": '"2"'})
        assert current.status == 200
        anything = await client.ask("POST", f"{PATH}/release", {"reservation": "one"}, {"if-match": "*"})
        assert anything.status == 200

    told(tmp_path, story)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "the body is no JSON"),
        (b'\xff"', 400, "the body is no JSON"),
        ({}, 422, "missing required field `reservation`"),
        ({**RESERVE, "waist": True}, 422, "unknown field `waist`"),
        ({**RESERVE, "holds": [{**RESERVE["holds"][0], "claims": ""}]}, 422, "unknown field `claims`"),
        ({**RESERVE, "requests": {"cpu": True}}, 422, "True is no quantity"),
        ({**RESERVE, "requests": {"cpu": "1x"}}, 422, "unknown suffix 'x'"),
        ({**RESERVE, "requests": {"cpu": [1]}}, 422, "is no quantity"),
        ({**RESERVE, "requests": ["cpu"]}, 422, "expected a map of resources"),
        ({**RESERVE, "command": "bind"}, 422, "Invalid value 'bind'"),
        ({**RESERVE, "owner": ""}, 409, "has no owner"),
    ],
)
def test_a_body_that_cannot_be_used_is_told_why(tmp_path, body, status, words):
    async def story(client):
        answer = await client.ask("POST", f"{PATH}/reserve", body)
        problem = json.loads(answer.body)
        assert answer.status == status
        assert words in problem["title"] + problem.get("detail", "")

    told(tmp_path, story)


def test_a_number_is_a_quantity_and_true_is_none_though_python_takes_them_for_the_same(tmp_path):
    async def story(client):
        one = {**RESERVE, "holds": [{**RESERVE["holds"][0], "resources": {"cpu": 1}}]}
        assert (await client.ask("POST", f"{PATH}/reserve", one)).status == 200
        true = {**one, "reservation": "two", "holds": [{**one["holds"][0], "resources": {"cpu": True}}]}
        assert (await client.ask("POST", f"{PATH}/reserve", true)).status == 422

    told(tmp_path, story)


@pytest.mark.parametrize("match", ["x", '"-1"', '"' + "1" * 30 + '"', 'W/"1"'])
def test_what_is_no_revision_matches_none(tmp_path, match):
    async def story(client):
        answer = await client.ask("POST", f"{PATH}/reserve", RESERVE, {"if-match": match})
        assert answer.status == 412

    told(tmp_path, story)


def test_entries_come_page_by_page(tmp_path):
    async def story(client):
        for name in ("one", "two", "three"):
            await client.ask("POST", f"{PATH}/reserve", {**RESERVE, "reservation": name})
        first = await client.ask("GET", PATH, query=[("limit", "2")])
        page = json.loads(first.body)
        assert (page["kind"], page["live"], page["revision"], etag(first)) == ("LedgerEntries", 3, 4, '"4"')
        rest = json.loads((await client.ask("GET", PATH, query=[("after", page["after"])])).body)
        names = [entry["reservation"] for entry in (*page["entries"], *rest["entries"])]
        assert (names, "after" in rest) == (["one", "two", "three"], False)
        owned = await client.ask("GET", PATH, query=[("reservation", "two"), ("state", "RESERVED")])
        assert [entry["reservation"] for entry in json.loads(owned.body)["entries"]] == ["two"]

    told(tmp_path, story)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ([("limit", "0")], 400),
        ([("limit", "1001")], 400),
        ([("state", "held")], 400),
        ([("colour", "red")], 400),
        ([("after", "x")], 422),
    ],
)
def test_a_query_that_cannot_be_used_is_refused(tmp_path, query, status):
    async def story(client):
        await client.ask("POST", f"{PATH}/reserve", RESERVE)
        assert (await client.ask("GET", PATH, query=query)).status == status

    told(tmp_path, story)


@pytest.mark.parametrize(
    ("body", "record"), [(Reserving, Reserve), (Binding, Bind), (Releasing, Release), (Extending, Extend)]
)
def test_a_body_has_the_fields_of_the_command_and_none_is_lost_on_the_way(body, record):
    assert body.__struct_fields__ == record.__struct_fields__
    others = {"holds": (), "volumes": (), "requests": ()}
    filled = {
        field.name: others[field.name]
        if field.name in others
        else {str: "x", int: 7, bool: not field.default, tuple[str, ...]: ("x",)}.get(
            field.type, field.default
        )
        for field in msgspec.structs.fields(record)
    }
    command = body(**filled).command()
    assert type(command) is record
    assert command == record(**filled)


def test_every_field_of_a_hold_and_a_volume_is_taken_over():
    told_hold = {"request": "web", "capacity": NODE, "resources": {"cpu": "1"}, "claim": "c", "adopts": "r"}
    told_volume = {
        "name": "v",
        "storageClass": "HDD",
        "sizeBytes": 5,
        "storageGroup": "g",
        "virtualDisk": True,
        "claim": "c",
    }
    body = json.dumps({**RESERVE, "holds": [told_hold], "volumes": [told_volume]}).encode()
    from ullage.web.api.ledger import _RESERVING, decoded

    command = decoded(_RESERVING, body).command()
    assert type(command.holds[0]) is Hold
    assert to_builtins(command.holds[0], TYPES) == told_hold
    assert to_builtins(command.volumes[0], TYPES) == told_volume
