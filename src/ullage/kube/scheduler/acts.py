"""What is done beside all else: each in a task of its own, and what goes wrong in one of them is not lost."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class Acts:
    """The tasks of one process that nobody waits for."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._dead = asyncio.Event()
        self._death: BaseException | None = None

    def begin(self, act: Coroutine[Any, Any, None]) -> None:
        """Do something beside all else."""
        task = asyncio.create_task(act)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._death = self._death or task.exception()
            self._dead.set()

    async def died(self) -> None:
        """Raise what went wrong, as soon as something has."""
        await self._dead.wait()
        if self._death is not None:
            raise self._death

    async def stop(self) -> None:
        """End all that goes on."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
