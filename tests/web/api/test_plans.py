"""Plans over HTTP: where they are found, what they were made on, and how they end."""

import json
from pathlib import Path

import pytest

from ullage.web.api.plans import ROUTES
from web.standing import told

PATH = "/v1/clusters/demo/plans"
FINETUNE = Path("examples/finetune.yaml").read_bytes()


def pod(cpu="1"):
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    metadata = {"name": "new", "namespace": "web"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


@pytest.fixture
def run(tmp_path):
    return lambda story: told(tmp_path, ROUTES, story)


def test_a_plan_is_made_shown_and_committed(run):
    async def story(client):
        made = await client.ask("POST", PATH, pod(), query=[("holdSeconds", "90")])
        headers = dict(made.headers)
        plan = json.loads(made.body)
        assert (made.status, headers["location"]) == (201, f"{PATH}/{plan['id']}")
        assert headers["etag"] == '"1-0"'
        assert (plan["kind"], plan["state"], plan["fits"], plan["holdSeconds"]) == ("Plan", "open", True, 90)
        assert plan["report"]["kind"] == "FitReport"
        shown = await client.ask("GET", headers["location"])
        assert json.loads(shown.body) == plan
        done = await client.ask(
            "POST", f"{headers['location']}/commit", headers={"if-match": headers["etag"]}
        )
        committed = json.loads(done.body)
        assert (done.status, committed["state"]) == (200, "committed")
        held = [entry for entry in committed["changed"] if entry["capacity"].startswith("node/")]
        assert [(entry["owner"], entry["resources"]["cpu"]) for entry in held] == [("web/new", "1")]
        assert dict(done.headers)["ullage-ledger-revision"] == str(committed["committedRevision"])
        again = json.loads((await client.ask("POST", f"{headers['location']}/commit")).body)
        assert again["repeated"]

    run(story)


def test_a_plan_of_other_revisions_is_not_what_is_meant(run):
    async def story(client):
        path = dict((await client.ask("POST", PATH, pod())).headers)["location"]
        assert (await client.ask("POST", f"{path}/commit", headers={"if-match": '"1-7"'})).status == 412
        client.pool.revisions["demo"] += 1
        moved = await client.ask("POST", f"{path}/commit", headers={"if-match": '"1-0"'})
        assert moved.status == 412
        assert "at revision 2, not 1" in json.loads(moved.body)["title"]
        assert (await client.ask("POST", f"{path}/commit")).status == 200

    run(story)


def test_the_tag_of_a_plan_is_shown_and_changes_with_its_state(run):
    async def story(client):
        made = dict((await client.ask("POST", PATH, pod())).headers)
        path = made["location"]
        shown = await client.ask("GET", path)
        assert dict(shown.headers)["etag"] == made["etag"] == '"1-0"'
        assert (await client.ask("POST", f"{path}/commit", headers={"if-match": made["etag"]})).status == 200
        later = dict((await client.ask("GET", path)).headers)["etag"]
        assert later == '"1-0-committed"'
        for tag in (made["etag"], later):
            again = await client.ask("POST", f"{path}/commit", headers={"if-match": tag})
            assert (again.status, json.loads(again.body)["repeated"]) == (200, True)

    run(story)


@pytest.mark.parametrize(
    ("match", "status"),
    [
        ('"1-7", "1-0"', 200),
        ('"1-0","1-7"', 200),
        ("*", 200),
        ('"1-7", "2-0"', 412),
        ('W/"1-0"', 412),
        (",", 412),
    ],
)
def test_a_list_of_tags_matches_where_one_of_them_does(run, match, status):
    async def story(client):
        path = dict((await client.ask("POST", PATH, pod())).headers)["location"]
        assert (await client.ask("POST", f"{path}/commit", headers={"if-match": match})).status == status

    run(story)


def test_a_ledger_that_has_moved_is_told_apart_from_a_refusal(run):
    async def story(client):
        first, second = [
            dict((await client.ask("POST", PATH, pod(cpu))).headers)["location"] for cpu in ("1", "2")
        ]
        await client.ask("POST", f"{first}/commit")
        moved = await client.ask("POST", f"{second}/commit", headers={"if-match": '"1-0"'})
        assert moved.status == 412
        assert "the ledger is at revision 1, not 0" in json.loads(moved.body)["title"]

    run(story)


def test_a_refusal_carries_what_is_missing(tmp_path):
    nodes = [{"name": "a", "capacity": {"cpu": "4", "memory": "8Gi", "pods": "9"}}]
    document = {"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "name": "demo", "nodes": nodes}
    (tmp_path / "small.json").write_text(json.dumps(document), encoding="utf-8")

    async def story(client):
        other = pod("3")
        other["metadata"]["name"] = "other"
        first, second = [
            dict((await client.ask("POST", PATH, body)).headers)["location"] for body in (pod("3"), other)
        ]
        assert (await client.ask("POST", f"{first}/commit")).status == 200
        answer = await client.ask("POST", f"{second}/commit")
        problem = json.loads(answer.body)
        assert (answer.status, answer.content) == (409, "application/problem+json")
        assert [(each["node"], each["missing"]) for each in problem["shortfalls"]] == [("node/a", "2")]

    told(tmp_path, ROUTES, story, demo=str(tmp_path / "small.json"))


def test_a_plan_of_which_nothing_fits_is_refused_as_the_command_line_refuses_it(run):
    async def story(client):
        made = await client.ask("POST", PATH, FINETUNE)
        assert json.loads(made.body)["mayBeCommitted"] is False
        answer = await client.ask("POST", f"{dict(made.headers)['location']}/commit")
        problem = json.loads(answer.body)
        assert (answer.status, answer.content) == (409, "application/problem+json")
        assert problem["title"] == "nothing of the plan fits"
        (short,) = problem["shortfalls"]
        assert (short["node"], short["resource"], short["missing"]) == ("g2", "nvidia.com/gpu", "1")
        assert not client.ledgers.place("demo")

    run(story)


def test_a_plan_that_is_asked_for_again_under_its_key_is_the_same_as_it_stands_by_then(run):
    async def story(client):
        mine, other = {"idempotency-key": "mine"}, {"idempotency-key": "other"}
        first, again = [await client.ask("POST", PATH, pod(), mine) for _ in range(2)]
        assert (first.status, again.status) == (201, 201)
        assert (again.body, again.headers) == (first.body, first.headers)
        another = await client.ask("POST", PATH, pod(), other)
        plain = await client.ask("POST", PATH, pod())
        made = {json.loads(each.body)["id"] for each in (first, another, plain)}
        assert len(made) == 3
        location = dict(first.headers)["location"]
        await client.ask("POST", f"{location}/commit")
        later = await client.ask("POST", PATH, pod(), mine)
        assert dict(later.headers) == {"location": location, "etag": '"1-0-committed"'}
        assert json.loads(later.body)["state"] == "committed"
        listed = json.loads((await client.ask("GET", PATH)).body)["plans"]
        assert {plan["id"] for plan in listed} == made

    run(story)


@pytest.mark.parametrize(
    ("body", "query", "key", "status"),
    [
        (pod(), [], "mine", 201),
        (pod("2"), [], "mine", 422),
        (pod(), [("holdSeconds", "90")], "mine", 422),
        (pod("2"), [], "k" * 257, 422),
    ],
    ids=["the same", "another body", "other parameters", "too long a key"],
)
def test_a_key_is_for_one_plan(run, body, query, key, status):
    async def story(client):
        await client.ask("POST", PATH, pod(), {"idempotency-key": "mine"})
        answer = await client.ask("POST", PATH, body, {"idempotency-key": key}, query)
        assert answer.status == status
        if status != 201:
            assert "Idempotency-Key" in json.loads(answer.body)["title"]
        assert len(json.loads((await client.ask("GET", PATH)).body)["plans"]) == 1

    run(story)


def test_plans_are_listed_page_by_page_and_discarded(run):
    async def story(client):
        made = [json.loads((await client.ask("POST", PATH, pod())).body)["id"] for _ in range(3)]
        gone = await client.ask("DELETE", f"{PATH}/{made[0]}")
        assert json.loads(gone.body)["state"] == "discarded"
        first = json.loads((await client.ask("GET", PATH, query=[("limit", "2")])).body)
        rest = json.loads((await client.ask("GET", PATH, query=[("before", first["before"])])).body)
        assert [plan["id"] for plan in first["plans"] + rest["plans"]] == sorted(made, reverse=True)
        assert "before" not in rest
        still = json.loads((await client.ask("GET", PATH, query=[("state", "open")])).body)
        assert {plan["id"] for plan in still["plans"]} == set(made[1:])

    run(story)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", f"{PATH}/nothing", None, 404),
        ("POST", f"{PATH}/nothing/commit", None, 404),
        ("DELETE", f"{PATH}/nothing", None, 404),
        ("GET", "/v1/clusters/other/plans", None, 404),
        ("POST", "/v1/clusters/other/plans", b"{}", 404),
        ("POST", PATH, b"kind: {", 422),
    ],
)
def test_what_is_not_there_or_cannot_be_read_is_told(run, method, path, body, status):
    async def story(client):
        assert (await client.ask(method, path, body)).status == status

    run(story)
