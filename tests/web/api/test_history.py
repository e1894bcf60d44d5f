"""The past over HTTP, as series that a page draws as they are."""

import json
import time

import pytest

from ullage.web.api.history import ROUTES
from ullage.web.history import Mark, Sample
from web.standing import told

PATH = "/v1/clusters/demo/history"
START = 1_000_000


@pytest.fixture
def run(tmp_path):
    return lambda story: told(tmp_path, ROUTES, story)


async def filled(client):
    for number, resources in enumerate(
        ({"cpu": {"committed": 1.5}}, {"cpu": {"committed": 2}, "memory": {"free": 7}}, {})
    ):
        await client.history.add("demo", START + number * 100, Sample(1, 0, 3, 10 + number, 2, resources))
    await client.history.mark("demo", Mark(START + 50, "p", "me", "web/new"))


async def asked(client, *query):
    answer = await client.ask("GET", PATH, query=[("from", str(START)), ("until", str(START + 500)), *query])
    assert answer.status == 200
    return json.loads(answer.body)


def test_every_term_has_a_figure_for_every_moment(run):
    async def story(client):
        await filled(client)
        past = await asked(client)
        assert (past["kind"], past["cluster"]) == ("ClusterHistory", "demo")
        assert past["times"] == [START, START + 100, START + 200]
        assert (past["nodes"], past["workloads"], past["waiting"]) == ([3] * 3, [10, 11, 12], [2] * 3)
        series = {each["resource"]: each["terms"] for each in past["series"]}
        assert series["cpu"]["committed"] == [1.5, 2, None]
        assert series["memory"]["free"] == [None, 7, None]
        assert series["memory"]["ullage"] == [None] * 3
        assert past["marks"] == [{"atSeconds": START + 50, "plan": "p", "who": "me", "text": "web/new"}]

    run(story)


def test_only_the_resources_and_as_many_moments_as_are_wanted(run):
    async def story(client):
        await filled(client)
        past = await asked(client, ("resource", "memory"), ("resource", "other"), ("points", "1"))
        assert [each["resource"] for each in past["series"]] == []
        assert past["times"] == [START + 200]
        past = await asked(client, ("resource", "memory"))
        assert [each["resource"] for each in past["series"]] == ["memory"]

    run(story)


def test_without_a_span_the_last_day_is_meant(run):
    async def story(client):
        await client.history.add("demo", int(time.time()) - 3600, Sample(1))
        await client.history.add("demo", int(time.time()) - 90_000, Sample(1))
        past = json.loads((await client.ask("GET", PATH)).body)
        assert len(past["times"]) == 1
        assert past["untilSeconds"] - past["fromSeconds"] == 86_400

    run(story)


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/v1/clusters/other/history", [], 404),
        (PATH, [("from", "9"), ("until", "8")], 422),
        (PATH, [("points", "0")], 400),
        (PATH, [("from", "-1")], 400),
        (PATH, [("step", "1")], 400),
    ],
)
def test_what_cannot_be_told_is_refused(run, path, query, status):
    async def story(client):
        assert (await client.ask("GET", path, query=query)).status == status

    run(story)
