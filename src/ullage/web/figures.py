"""The sums of every cluster as they were last, for those who count over time: metrics and history.

They are asked of a worker when a cluster or its ledger has moved, and now and then at any rate, because
promises end by themselves. The hard thing is that nobody waits for them: a cluster that fails to answer keeps
its last figures, and its turn comes again.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ullage.service.figures import ClusterFigures
from ullage.web.history import TERMS, History, Sample
from ullage.web.http import Problem
from ullage.web.ledgers import Ledgers
from ullage.web.logs import Log
from ullage.web.work import Work

if TYPE_CHECKING:
    from ullage.web.pool import Pool

FIGURES: Final = "figures"
WAITING: Final = "init"
"""The state of workloads that wait for a place."""
ASK_SECONDS_MAX: Final = 20.0
LOOK_SECONDS: Final = 15.0
"""How often it is looked whether a ledger has moved."""
AGAIN_SECONDS: Final = 300.0
"""After so long figures are asked for although nothing has moved."""
_FIGURES: Final = msgspec.json.Decoder(ClusterFigures)


class Known(NamedTuple):
    """The figures of a cluster, of which revisions they are, and since when they are known."""

    figures: ClusterFigures
    revision: int
    ledger_revision: int
    at_seconds: float


class Figures:
    """The last figures of every cluster."""

    def __init__(
        self,
        pool: "Pool",
        ledgers: Ledgers,
        history: History,
        *,
        log: Log | None = None,
        look_seconds: float = LOOK_SECONDS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._pool = pool
        self._ledgers = ledgers
        self._history = history
        self._log = log or Log()
        self._look_seconds = look_seconds
        self._now = now
        self._known: dict[str, Known] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def all(self) -> dict[str, Known]:
        """Return the figures of all clusters that have some."""
        return dict(self._known)

    def moved(self) -> None:
        """Take note that a cluster has moved."""
        self._wake.set()

    def forget(self, cluster: str) -> None:
        """Take note that a cluster is not served any more; its history is kept."""
        self._known.pop(cluster, None)

    async def look(self) -> None:
        """Ask for the figures of every cluster that has moved since it was last asked."""
        for state in self._pool.clusters():
            known = self._known.get(state.name)
            ledger_revision = self._ledgers.revision(state.name)
            moved = known is None or known[1:3] != (state.revision, ledger_revision)
            is_old = known is not None and self._now() >= known.at_seconds + AGAIN_SECONDS
            if state.revision and (moved or is_old):
                try:
                    await self._take(state.name, ledger_revision)
                except Problem:
                    pass  # its turn comes again
                except Exception as error:  # noqa: BLE001 - whatever it is, the others have their turn
                    self._log.say(
                        "cannot keep figures", cluster=state.name, why=f"{type(error).__name__}: {error}"
                    )

    async def _take(self, cluster: str, ledger_revision: int) -> None:
        work = Work(FIGURES, ledger=self._ledgers.place(cluster))
        done = await self._pool.ask(cluster, work, seconds_max=ASK_SECONDS_MAX)
        if done.status != 200:
            return
        figures = _FIGURES.decode(done.body)
        known = Known(figures, done.revision, ledger_revision, self._now())
        self._known[cluster] = known
        await self._history.add(cluster, int(known.at_seconds), sample_of(known))

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            await self.look()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._look_seconds):
                    await self._wake.wait()


def sample_of(known: Known) -> Sample:
    """Return what is kept of figures: the terms of each resource that have a value."""
    figures = known.figures
    return Sample(
        known.revision,
        known.ledger_revision,
        figures.total.nodes,
        sum(figures.workloads.values()),
        figures.workloads.get(WAITING, 0),
        {
            row.resource: {term: value for term in TERMS if (value := getattr(row, term)) is not None}
            for row in figures.total.resources
        },
    )
