"""The ledgers of the clusters that are served: one each, opened when it is first needed.

The process that speaks HTTP knows no cluster, and keeps no ledger (kept_ledger.py). The hard thing is that
others take steps of the same ledgers: the command line of files, and of those in clusters whoever may.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from ullage.engine.ledger.state import LedgerState
from ullage.model.ledger import Capacity, Command, Expire, JournalRow, Outcome
from ullage.service.clock import now_seconds
from ullage.service.ledger_cluster import ClusterPlace, open_ledger
from ullage.stores import codec
from ullage.stores.database_file import failures
from ullage.stores.entry_pages import EntryPage, Wanted, page_of_file, page_of_state
from ullage.stores.opening import open_to_read
from ullage.stores.reading import row_of_key
from ullage.web.cluster_ledger import ClusterLedger, InCluster
from ullage.web.clusters import ClusterState
from ullage.web.http import Problem
from ullage.web.kept_ledger import KeptLedger
from ullage.web.problems import busy
from ullage.web.work import Done, Work

if TYPE_CHECKING:
    from ullage.stores.kubernetes import KubernetesLedger

OFFERS: Final = "offers"
"""The work of a worker that tells what a cluster offers."""
OFFERS_SECONDS_MAX: Final = 30.0
CLUSTERS: Final = "clusters"
FILE: Final = "ledger.db"
REMOVED: Final = "removed-"
"""What folders begin with that hold ledgers of clusters that are no more."""
WAITING_MAX: Final = 512
WAITING_EACH_MAX: Final = 128
"""So many may wait for one ledger, of all and of each client: the others have to find room beside them."""
LOOK_SECONDS: Final = 5.0
"""How often it is looked whether the time of a promise has come, and what others have done."""
OPERATOR_SECONDS: Final = 30
"""For so long it is left to the operator of a cluster to end what is promised there."""


class Asking(Protocol):
    """Whoever has questions about clusters answered by workers."""

    async def ask(self, cluster: str, work: Work, *, seconds_max: float, client: str = "") -> Done:
        """Return what a worker of this cluster answers to somebody; raises a Problem."""

    def revision(self, cluster: str) -> int:
        """Return the revision of a cluster; raises a Problem where there is none of this name."""

    def clusters(self) -> Sequence[ClusterState]:
        """Return how every cluster stands."""


class Ledgers:
    """All ledgers of a server: files of its own, except for those that are kept `in_cluster` itself.

    `told` is called with a cluster and a revision when its ledger has moved, and `say` with what is worth a
    line in the log, of which cluster, and why.
    """

    def __init__(
        self,
        folder: Path,
        pool: Asking,
        *,
        in_cluster: Mapping[str, ClusterPlace] | None = None,
        told: Callable[[str, int], None] = lambda _cluster, _revision: None,
        say: Callable[[str, str, str], None] = lambda _what, _cluster, _why: None,
    ) -> None:
        self._folder = folder
        self._pool = pool
        self._in_cluster = in_cluster or {}
        self._told = told
        self._say = say
        self._open: dict[str, asyncio.Task[ClusterLedger]] = {}
        self._ready: dict[str, ClusterLedger] = {}
        self._looking: asyncio.Task[None] | None = None
        self.opened_again: Counter[str] = Counter()
        """How often the process that kept the ledger of a cluster has ended by itself."""

    def start(self) -> None:
        """Begin to look after them."""
        self._looking = asyncio.create_task(self._look_for_ever())

    def path(self, cluster: str) -> Path:
        """Return the file of a cluster's ledger, whether it is there or not."""
        return self._folder / CLUSTERS / cluster / FILE

    def place(self, cluster: str) -> str:
        """Return what questions about a cluster name as its ledger; empty where nothing was promised yet."""
        there = self._in_cluster.get(cluster)
        if there is not None:
            return there.name
        path = self.path(cluster)
        return str(path) if cluster in self._ready or path.exists() else ""

    def observed(self, cluster: str) -> str:
        """Return the file in which use of a cluster is recorded, whether it is there or not."""
        return str(self.path(cluster))

    def revision(self, cluster: str) -> int:
        """Return the last revision of a ledger that is known here; 0 where none is."""
        ledger = self._ready.get(cluster)
        return 0 if ledger is None else ledger.revision

    async def submit(
        self,
        cluster: str,
        command: Command,
        *,
        key: str = "",
        revision: int | None = None,
        exact: bool = False,
        client: str = "",
    ) -> Outcome:
        """Take one step of a cluster's ledger for somebody, and return when it is durable."""
        self._pool.revision(cluster)
        ledger = await self._opened(cluster)
        asked = ledger.asked
        if asked[client] >= WAITING_EACH_MAX:
            raise busy(f"{asked[client]} steps of yours wait for the ledger of {cluster}")
        if asked.total() >= WAITING_MAX:
            raise busy(f"too many wait for the ledger of {cluster}")
        asked[client] += 1
        try:
            outcome = await ledger.submit(command, key=key, revision=revision, exact=exact)
        finally:
            asked[client] -= 1
            if not asked[client]:
                del asked[client]
        self._told(cluster, outcome.revision)
        return outcome

    async def page(self, cluster: str, wanted: Wanted, after: str, count: int) -> EntryPage:
        """Return some entries of a cluster's ledger."""
        self._pool.revision(cluster)
        there = await self._there(cluster)
        if there is not None:
            return page_of_state(await asyncio.to_thread(there.state), wanted, after, count)
        if not self.place(cluster):
            return page_of_state(LedgerState(), wanted, after, count)
        return await asyncio.to_thread(page_of_file, self.path(cluster), wanted, after, count)

    async def known(self, cluster: str, key: str) -> Outcome | None:
        """Return the outcome of the step that was taken under a key; None where there is none."""
        self._pool.revision(cluster)
        if not self.place(cluster):
            return None
        there = await self._there(cluster)
        if there is not None:
            row = await asyncio.to_thread(there.row_of_key, key)
        else:
            row = await asyncio.to_thread(self._row, self.path(cluster), key)
        return None if row is None else Outcome(row.revision, row.decision, repeated=True)

    @staticmethod
    def _row(path: Path, key: str) -> JournalRow | None:
        with failures(path), closing(open_to_read(path)) as connection:
            return row_of_key(connection, key)

    def is_shared(self, cluster: str) -> bool:
        """Whether others take steps of the ledger of a cluster beside this server: it is kept there."""
        return cluster in self._in_cluster

    async def _there(self, cluster: str) -> "KubernetesLedger | None":
        """Return the ledger that a cluster keeps itself; None where its ledger is a file."""
        kept = (await self._opened(cluster)).kept if self.is_shared(cluster) else None
        return kept.store if isinstance(kept, InCluster) else None

    def moved(self, cluster: str) -> None:
        """Take note that a cluster has a new revision: what it offers may be something else."""
        ledger = self._ready.get(cluster)
        if ledger is not None and ledger.has_looked:
            ledger.look_again()

    async def forget(self, cluster: str) -> None:
        """Let go of the ledger of a cluster that is no longer served, once what was asked is answered."""
        opening = self._open.pop(cluster, None)
        self._ready.pop(cluster, None)
        if opening is None:
            return
        await asyncio.wait((opening,))
        if opening.exception() is None:  # or there is nothing to let go of
            await opening.result().close()

    def put_aside(self, cluster: str) -> None:
        """Move the ledger of a cluster that was removed out of the way of whichever gets its name next."""
        path = self.path(cluster)
        aside = path.parent / f"{REMOVED}{int(time.time() * 1000)}"
        for each in sorted(path.parent.glob(f"{FILE}*")):
            aside.mkdir(mode=0o700, exist_ok=True)
            each.rename(aside / each.name)

    async def close(self) -> None:
        """Answer what was asked already, and let go of all."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        for cluster in list(self._open):
            await self.forget(cluster)

    async def look_after(self) -> None:
        """End every promise whose time has come, and tell of steps that others have taken.

        In a cluster its operator ends them; where none does so for a while, this server does.
        """
        for state in self._pool.clusters():
            if not self.place(state.name):
                continue
            grace_seconds = OPERATOR_SECONDS if self.is_shared(state.name) else 0
            try:
                ledger = await self._opened(state.name)
                before = ledger.revision
                is_due = await ledger.is_due(now_seconds() - grace_seconds)
                if ledger.revision > before:
                    self._told(state.name, ledger.revision)
                if is_due:
                    await self.submit(state.name, Expire())
            except Problem:
                pass  # it is tried again soon
            except Exception as error:  # noqa: BLE001 - whatever it is, promises of others end all the same
                self._say("cannot end promises", state.name, f"{type(error).__name__}: {error}")

    async def _look_for_ever(self) -> None:
        while True:
            await self.look_after()
            await asyncio.sleep(LOOK_SECONDS)

    async def _opened(self, cluster: str) -> "ClusterLedger":
        ready = self._ready.get(cluster)
        if ready is not None and not ready.kept.is_gone:
            return ready
        self._pool.revision(cluster)
        if ready is not None:
            self.opened_again[cluster] += 1
            self._say("opens a ledger again", cluster, "the process that kept it has ended")
            await self.forget(cluster)
        opening = self._open.get(cluster)
        if opening is None:
            opening = self._open[cluster] = asyncio.create_task(self._opening(cluster))
        try:
            ledger = await asyncio.shield(opening)
        except BaseException:
            if opening.done() and self._open.get(cluster) is opening:
                del self._open[cluster]
            raise
        if self._open.get(cluster) is opening:  # or it was let go of meanwhile
            self._ready[cluster] = ledger
        return ledger

    async def _opening(self, cluster: str) -> "ClusterLedger":
        async def offered() -> tuple[Capacity, ...]:
            work = Work(OFFERS, ledger=self.place(cluster))
            done = await self._pool.ask(cluster, work, seconds_max=OFFERS_SECONDS_MAX)
            if done.status != 200:
                raise Problem(503, f"what {cluster} offers cannot be told now", retryAfterSeconds=1)
            return tuple(codec.to_capacities(done.body.decode()))

        if cluster in self._in_cluster:
            store, state = await asyncio.to_thread(self._store, cluster)
            return ClusterLedger(InCluster(store), state.revision, state.capacities, offered)
        path = self.path(cluster)
        path.parent.mkdir(parents=True, exist_ok=True)
        kept, opened = await KeptLedger.open(path)
        return ClusterLedger(kept, opened.revision, opened.known, offered)

    def _store(self, cluster: str) -> tuple["KubernetesLedger", LedgerState]:
        store = open_ledger(self._in_cluster[cluster])
        return store, store.state()
