"""Events over HTTP go on after the one that a browser names."""

import pytest

from ullage.web.api.events import ROUTES
from web.standing import told


@pytest.fixture
def run(tmp_path):
    return lambda story: told(tmp_path, ROUTES, story)


async def first(client, **asked):
    stream = await client.ask("GET", "/v1/events", **asked)
    assert stream.content == "text/event-stream"
    parts = aiter(stream.parts)
    await anext(parts)
    return parts


def test_a_stream_goes_on_after_the_last_event_that_was_seen(run):
    async def story(client):
        parts = await first(client)
        client.events.tell("revision", "demo", revision=1)
        seen = await anext(parts)
        client.events.tell("revision", "demo", revision=2)
        last = seen.decode().splitlines()[0].removeprefix("id: ")
        for asked in ({"headers": {"last-event-id": last}}, {"query": [("after", last)]}):
            again = await first(client, **asked)
            assert b'"revision":2' in await anext(again)

    run(story)


def test_a_stream_may_be_about_one_cluster_that_is_served(run):
    async def story(client):
        parts = await first(client, query=[("cluster", "demo")])
        client.events.tell("revision", "other", revision=1)
        client.events.tell("revision", "demo", revision=2)
        assert b'"cluster":"demo"' in await anext(parts)
        assert (await client.ask("GET", "/v1/events", query=[("cluster", "other")])).status == 404

    run(story)
