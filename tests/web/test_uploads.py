"""Documents that are sent have their turns: nobody waits for long behind what another has sent."""

import asyncio

import pytest

from ullage.web.http import Problem
from ullage.web.uploads import SMALL_BYTES_MAX, Uploads

LARGE = SMALL_BYTES_MAX + 1


def refusals(*asked, wait_seconds=0.05):
    """What those are told who ask while all before them are being read: nothing where they have a turn."""

    async def work():
        uploads = Uploads(wait_seconds)
        told, turns = [], []
        for name, client, size in asked:
            turn = uploads.turn(name, client, size)
            try:
                await turn.__aenter__()
            except Problem as problem:
                told.append(f"{problem.status} {problem.title}")
            else:
                told.append("")
                turns.append(turn)
        for turn in turns:
            await turn.__aexit__(None, None, None)
        async with uploads.turn("x", "a", 1), uploads.turn("y", "a", LARGE):
            return told

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (("y", "b", SMALL_BYTES_MAX), ""),
        (("y", "a", 1), ""),
        (("y", "b", LARGE), "503 another large document is being read"),
        (("y", "a", LARGE), "503 another document of yours is being read"),
        (("x", "b", 1), "503 cluster x is being uploaded or removed already"),
    ],
)
def test_beside_a_large_document_small_ones_are_read_but_not_for_the_same_cluster(second, told):
    assert refusals(("x", "a", LARGE), second) == ["", told]


def test_small_ones_are_read_one_at_a_time_too():
    assert refusals(("x", "a", 1), ("y", "a", 1), ("z", "b", 1)) == [
        "",
        "503 another document of yours is being read",
        "503 another document is being read",
    ]


def test_clients_have_their_turns_in_the_order_in_which_they_came():
    async def work():
        uploads, order = Uploads(), []

        async def send(name):
            async with uploads.turn(name, f"client of {name}", LARGE):
                order.append(name)
                await asyncio.sleep(0.01)

        await asyncio.gather(*(send(name) for name in "abcde"))
        return order

    assert asyncio.run(work()) == [*"abcde"]


def test_what_is_removed_is_not_uploaded_at_the_same_time():
    async def work():
        uploads = Uploads()
        with uploads.alone("x"), pytest.raises(Problem, match="uploaded or removed already"):
            async with uploads.turn("x", "a", 1):
                pass
        async with uploads.turn("x", "a", 1):
            pass

    asyncio.run(work())
