"""Clients have places in turns, however much one of them asks."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from ullage.web.turns import Turns


def order_of(places, *asked):
    """In which order those are served who ask at once."""

    async def work():
        turns, order = Turns(places), []

        async def ask(client):
            async with turns.of(client):
                order.append(client)
                await asyncio.sleep(0)

        await asyncio.gather(*map(ask, asked))
        async with asyncio.timeout(1), AsyncExitStack() as every:
            for _ in range(places):
                await every.enter_async_context(turns.of("no place is lost"))
        return "".join(order)

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("places", "asked", "served"),
    [
        (1, "aaaa", "aaaa"),
        (1, "aaaab", "aabaa"),
        (1, "aaaabbc", "aabcaba"),
        (2, "aaaab", "aaaba"),
    ],
)
def test_each_place_goes_to_the_client_whose_turn_it_is(places, asked, served):
    assert order_of(places, *asked) == served


def test_who_goes_away_leaves_its_place_to_the_next():
    async def work():
        turns = Turns(1)
        served = asyncio.Event()

        async def ask(client):
            async with turns.of(client):
                served.set()

        async with turns.of("first"):
            gone, next_one = asyncio.create_task(ask("a")), asyncio.create_task(ask("b"))
            await asyncio.sleep(0)
            gone.cancel()
            await asyncio.sleep(0)
        await asyncio.wait_for(next_one, 1)
        assert served.is_set()
        async with turns.of("first"):
            late = asyncio.create_task(ask("c"))
            await asyncio.sleep(0)
        late.cancel()  # in the moment in which it was given the place
        await asyncio.gather(late, return_exceptions=True)
        async with asyncio.timeout(1), turns.of("last"):
            pass

    asyncio.run(work())
