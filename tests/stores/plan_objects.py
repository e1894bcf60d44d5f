"""A collection of objects as an API server keeps it, in memory: a name is given once, a list is whole.

What a real server does is tested on a real one (tests/e2e/test_kube_ledger.py). Here it can be made to lose
answers, to be slow, and to be asked in an order that is chosen.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from ullage.stores.kubernetes_objects import DoubtError, ExistsError
from ullage.stores.protocol import StoreUnavailableError


class PlansInMemory:
    """One user's view of a collection that several may share.

    `before` and `after` are called with the verb and the name of each request, and may raise.
    """

    name = "memory"

    def __init__(self, stored: dict[str, bytes] | None = None) -> None:
        self.stored: dict[str, bytes] = {} if stored is None else stored
        self.asked: list[tuple[str, str]] = []
        self.before: Callable[[str, str], Awaitable[None]] | None = None
        self.after: Callable[[str, str], Awaitable[None]] | None = None
        self.may_delete = True
        self.now_seconds: int | None = None

    def server_seconds(self) -> int | None:
        return self.now_seconds

    async def create(self, document: dict[str, Any]) -> None:
        name = document["metadata"]["name"]
        await self._asks("create", name)
        if name in self.stored:
            raise ExistsError(name)
        self.stored[name] = json.dumps(document).encode()
        await self._answers("create", name)

    async def get(self, name: str) -> bytes | None:
        await self._asks("get", name)
        found = self.stored.get(name)
        await self._answers("get", name)
        return found

    async def delete(self, name: str) -> None:
        await self._asks("delete", name)
        if not self.may_delete:
            raise StoreUnavailableError("plans may not be deleted")
        self.stored.pop(name, None)
        await self._answers("delete", name)

    async def read_all(self) -> list[bytes]:
        await self._asks("list", "")
        found = [self.stored[name] for name in sorted(self.stored)]
        await self._answers("list", "")
        return found

    async def close(self) -> None:
        self.asked.append(("close", ""))

    async def _asks(self, verb: str, name: str) -> None:
        self.asked.append((verb, name))
        if self.before is not None:
            await self.before(verb, name)

    async def _answers(self, verb: str, name: str) -> None:
        if self.after is not None:
            await self.after(verb, name)


def losing(*verbs: str, times: int = 1) -> Callable[[str, str], Awaitable[None]]:
    """Return what loses the first requests, or the first answers, of some verbs."""
    left = dict.fromkeys(verbs, times)

    async def lose(verb: str, _: str) -> None:
        if left.get(verb, 0):
            left[verb] -= 1
            raise DoubtError("lost")

    return lose
