"""Clusters that are answered for in this process by the code of workers, and handlers that use them."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ullage.service.asked import Asked, read_to_hold
from ullage.web.clusters import ClusterState
from ullage.web.events import Events
from ullage.web.history import History
from ullage.web.http import Principal, Problem, Request, Response, Streamed
from ullage.web.ledgers import Ledgers
from ullage.web.plans import Plans
from ullage.web.routes import Route, Routes
from ullage.web.state import State
from ullage.web.work import Done, Work
from ullage.web.worker import answer


class InProcess:
    """What a pool does for those who ask, without processes; `revisions` may be moved on."""

    def __init__(self, **sources: str) -> None:
        self.held = {name: read_to_hold(name, Asked(source)) for name, source in sources.items()}
        self.revisions = dict.fromkeys(sources, 1)
        self.asked: list[str] = []

    def revision(self, cluster: str) -> int:
        if cluster not in self.held:
            raise Problem(404, f"there is no cluster {cluster!r}")
        return self.revisions[cluster]

    async def ask(
        self, cluster: str, work: Work, *, seconds_max: float, is_long: bool = False, client: str = ""
    ) -> Done:
        del seconds_max, is_long, client
        self.revision(cluster)
        self.asked.append(work.name)
        await asyncio.sleep(0)
        done = answer(work, self.held[cluster])
        done.revision = self.revisions[cluster]
        return done

    def clusters(self) -> list[ClusterState]:
        return [
            ClusterState(name, "file", "ready", revision, read_seconds=1000, workers=2)
            for name, revision in self.revisions.items()
        ]

    def become(self, cluster: str, source: str) -> None:
        """Let a cluster be another from now on."""
        self.held[cluster] = read_to_hold(cluster, Asked(source))
        self.revisions[cluster] += 1


class Standing:
    """What a server holds, around clusters that are answered for here; it asks its own handlers."""

    def __init__(self, folder: Path, routes: Iterable[Route] = (), **sources: str) -> None:
        self.pool = InProcess(**sources)
        self.state = State(folder)
        self.events = Events()
        self.ledgers = Ledgers(folder, self.pool)
        self.history = History(self.state)
        self.plans = Plans(self.state, self.pool, self.ledgers, self.history, self.events)
        self._routes = Routes(routes)

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        query: Sequence[tuple[str, str]] = (),
    ) -> Response | Streamed:
        found = self._routes.find(path)
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        who = Principal("me", "commit")
        request = Request(method, path, headers or {}, who, found.values, query, raw)
        try:
            return await found.methods[method].handler(self, request)
        except Problem as problem:
            return problem.response()

    async def close(self) -> None:
        await self.ledgers.close()
        self.state.close()


def told(
    folder: Path, routes: Iterable[Route], story: Callable[[Standing], Awaitable[Any]], **sources: str
) -> Any:
    """Return what comes of a story."""

    async def within() -> Any:
        standing = Standing(folder, routes, **(sources or {"demo": "demo"}))
        try:
            async with asyncio.timeout(30):
                return await story(standing)
        finally:
            await standing.close()

    return asyncio.run(within())
