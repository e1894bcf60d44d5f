"""A stream that loses nothing without saying so."""

import asyncio
import json

import pytest

from ullage.web.caching import RUN
from ullage.web.events import LOST, Events

SECONDS_MAX = 5


def run(story):
    async def within():
        async with asyncio.timeout(SECONDS_MAX):
            return await story

    return asyncio.run(within())


def parsed(part: bytes) -> tuple[str, dict]:
    fields = dict(line.split(": ", 1) for line in part.decode().strip().splitlines())
    return fields["event"], json.loads(fields["data"])


def identifier(part: bytes) -> str:
    return next(line[4:] for line in part.decode().splitlines() if line.startswith("id: "))


async def heard(stream, count: int) -> list[bytes]:
    """Return so many events; the first part only says how soon to come again."""
    found = []
    while len(found) < count:
        part = await anext(stream)
        if part.startswith(b"id: "):
            found.append(part)
    return found


async def listening(events: Events, *arguments: str):
    stream = events.listen(*arguments)
    assert await anext(stream) == b"retry: 2000\n\n"
    return stream


def test_who_listens_is_told_what_happens_from_then_on_in_order():
    async def story():
        events = Events()
        events.tell("revision", "a", revision=1)
        stream = await listening(events)
        waiting = asyncio.create_task(heard(stream, 2))
        await asyncio.sleep(0)
        events.tell("revision", "a", revision=2)
        events.tell("ended")
        return [parsed(part) for part in await waiting]

    assert run(story()) == [("revision", {"cluster": "a", "revision": 2}), ("ended", {})]


def test_who_comes_again_goes_on_after_the_event_they_had_last():
    async def story():
        events = Events()
        first = await listening(events)
        events.tell("revision", "a", revision=1)
        (part,) = await heard(first, 1)
        events.tell("revision", "a", revision=2)
        events.tell("revision", "a", revision=3)
        again = await listening(events, identifier(part))
        return [parsed(each)[1]["revision"] for each in await heard(again, 2)]

    assert run(story()) == [2, 3]


def test_who_begins_with_the_last_event_hears_all_that_follow_and_none_before():
    async def story():
        events = Events()
        names = [events.last]
        events.tell("revision", "a", revision=1)
        names.append(events.last)
        events.tell("revision", "a", revision=2)
        first = [await heard(await listening(events, name), 1) for name in names]
        return [parsed(part)[1]["revision"] for (part,) in first]

    assert run(story()) == [1, 2]


@pytest.mark.parametrize("last", ["{run}-1", "{run}-99", "{run}-x", "other-3", "3", "{run}-"])
def test_who_had_an_event_that_is_kept_no_more_is_told_that_some_are_lost(last):
    last = last.format(run=RUN)

    async def story():
        events = Events(kept_max=2)
        for number in range(4):
            events.tell("revision", "a", revision=number)
        stream = await listening(events, last)
        events.tell("revision", "a", revision=9)
        return [parsed(each) for each in await heard(stream, 2)]

    lost, after = run(story())
    assert lost[0] == LOST
    assert after == ("revision", {"cluster": "a", "revision": 9})


def test_who_is_slower_than_what_is_kept_is_told_so_and_let_go():
    async def story():
        events = Events(kept_max=3)
        stream = await listening(events)
        events.tell("revision", "a", revision=0)
        seen = [parsed(part) for part in await heard(stream, 1)]
        for number in range(1, 9):
            events.tell("revision", "a", revision=number)
        assert events.listeners == 1
        seen += [parsed(part) async for part in stream]
        return seen, events.listeners

    seen, listeners = run(story())
    assert [kind for kind, _ in seen] == ["revision", LOST]
    assert listeners == 0


def test_who_asks_for_one_cluster_hears_of_no_other():
    async def story():
        events = Events()
        stream = await listening(events, "", "b")
        for cluster in ("a", "b", "a", "b"):
            events.tell("revision", cluster)
        return [parsed(part)[1]["cluster"] for part in await heard(stream, 2)]

    assert run(story()) == ["b", "b"]


def test_many_steps_of_a_ledger_are_one_event_with_the_last_revision():
    async def story():
        events = Events(gather_seconds=0.01)
        stream = await listening(events)
        for revision in (5, 7, 6):
            events.ledger_moved("a", revision)
        events.ledger_moved("b", 1)
        found = [parsed(part) for part in await heard(stream, 2)]
        events.ledger_moved("a", 8)
        return found + [parsed(part) for part in await heard(stream, 1)]

    assert run(story()) == [
        ("ledger", {"cluster": "a", "revision": 7}),
        ("ledger", {"cluster": "b", "revision": 1}),
        ("ledger", {"cluster": "a", "revision": 8}),
    ]


def test_a_quiet_stream_says_that_it_is_there():
    async def story():
        stream = await listening(Events(quiet_seconds=0.01))
        return await anext(stream)

    assert run(story()).startswith(b":")
