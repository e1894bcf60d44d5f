"""The audit log over HTTP: read page by page, by those alone who may commit."""

import json

import pytest

from ullage.web.api.audit import ROUTES
from ullage.web.api.table import routes
from ullage.web.state import Audited
from web.standing import told

PATH = "/v1/audit"


async def page(client, **query):
    answer = await client.ask("GET", PATH, query=[(name, str(each)) for name, each in query.items()])
    return answer.status, json.loads(answer.body)


def test_the_log_is_read_page_by_page_the_oldest_first(tmp_path):
    async def story(client):
        for number in range(5):
            await client.state.note(Audited(number, "me", "demo", "reserve", f"r{number}", "accepted", 7))
        pages = [(await page(client, limit=2))[1]]
        while "after" in pages[-1]:
            pages.append((await page(client, limit=2, after=pages[-1]["after"]))[1])
        assert [[each["subject"] for each in one["entries"]] for one in pages] == [
            ["r0", "r1"],
            ["r2", "r3"],
            ["r4"],
        ]
        assert pages[0]["kind"] == "AuditLog"
        assert pages[0]["entries"][1] == {
            "number": 2,
            "at": "1970-01-01T00:00:01Z",
            "who": "me",
            "cluster": "demo",
            "action": "reserve",
            "subject": "r1",
            "outcome": "accepted",
            "revision": 7,
        }
        assert (await page(client, limit=5))[1].get("after") is None

    told(tmp_path, ROUTES, story)


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 1001}, {"after": -1}, {"who": "me"}])
def test_a_page_that_cannot_be_is_refused(tmp_path, query):
    async def story(client):
        assert (await page(client, **query))[0] == 400

    told(tmp_path, ROUTES, story)


def test_the_server_shows_it_to_those_alone_who_may_commit():
    assert routes().find(PATH).methods["GET"].scope == "commit"
