"""What is done beside all else ends with it, and what goes wrong in it is told."""

import asyncio

import pytest

from ullage.kube.scheduler.acts import Acts


def test_what_goes_wrong_is_raised_where_somebody_waits_for_it():
    async def fails() -> None:
        raise ValueError("wrong")

    async def run() -> None:
        acts = Acts()
        acts.begin(asyncio.sleep(0))
        acts.begin(fails())
        async with asyncio.timeout(5):
            await acts.died()

    with pytest.raises(ValueError, match="wrong"):
        asyncio.run(run())


def test_all_end_at_once_and_that_is_nothing_wrong():
    async def run() -> None:
        acts = Acts()
        acts.begin(asyncio.sleep(3600))
        await asyncio.sleep(0)
        await acts.stop()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await acts.died()

    asyncio.run(run())
