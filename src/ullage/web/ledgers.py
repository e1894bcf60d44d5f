"""The ledgers of the clusters that are served: one each, opened when it is first needed.

The process that speaks HTTP knows no cluster, and keeps no ledger (kept_ledger.py). What a ledger may promise
is read off its cluster by a worker, once for every revision of it, and kept here (offers.py). Whatever a
command is about is told to the ledger before it, if that is news. The hard thing is that this must not count
as others being quicker: who plans on a revision has the step on the one that the news make of it.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from ullage.engine.ledger.state import LedgerState
from ullage.model.ledger import Capacity, Command, Decision, Expire, JournalRow, Outcome, Reserve, Supply
from ullage.service.clock import now_seconds
from ullage.service.ledger_cluster import ClusterPlace, open_ledger
from ullage.stores import codec
from ullage.stores.database_file import failures
from ullage.stores.entry_pages import EntryPage, Wanted, page_of_file, page_of_state
from ullage.stores.opening import open_to_read
from ullage.stores.reading import row_of_key
from ullage.web.clusters import ClusterState
from ullage.web.http import Problem
from ullage.web.kept_ledger import KeptLedger
from ullage.web.offers import Offers
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


class Kept(Protocol):
    """A ledger that somebody keeps, for tasks of this loop."""

    is_gone: bool
    """Whether it can be asked nothing more, and is to be opened again."""

    async def submit_async(
        self, command: Command, *, at_seconds: int, key: str, revision: int | None, exact: bool
    ) -> Outcome:
        """Have a command decided; see LedgerStore."""

    async def due(self, now_seconds: int) -> tuple[int, bool]:
        """Return the revision of the ledger, and whether the time of a promise has come."""

    async def close(self) -> None:
        """Answer what was asked already, and let go of it."""


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
        self._open: dict[str, asyncio.Task[_ClusterLedger]] = {}
        self._ready: dict[str, _ClusterLedger] = {}
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
        return kept.store if isinstance(kept, _InCluster) else None

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

    async def _opened(self, cluster: str) -> "_ClusterLedger":
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

    async def _opening(self, cluster: str) -> "_ClusterLedger":
        async def offered() -> tuple[Capacity, ...]:
            work = Work(OFFERS, ledger=self.place(cluster))
            done = await self._pool.ask(cluster, work, seconds_max=OFFERS_SECONDS_MAX)
            if done.status != 200:
                raise Problem(503, f"what {cluster} offers cannot be told now", retryAfterSeconds=1)
            return tuple(codec.to_capacities(done.body.decode()))

        if cluster in self._in_cluster:
            store, state = await asyncio.to_thread(self._store, cluster)
            return _ClusterLedger(_InCluster(store), state.revision, state.capacities, offered)
        path = self.path(cluster)
        path.parent.mkdir(parents=True, exist_ok=True)
        kept, opened = await KeptLedger.open(path)
        return _ClusterLedger(kept, opened.revision, opened.known, offered)

    def _store(self, cluster: str) -> tuple["KubernetesLedger", LedgerState]:
        store = open_ledger(self._in_cluster[cluster])
        return store, store.state()


class _InCluster:
    """A ledger that is kept in its cluster itself, where a step takes as long as the network does."""

    is_gone = False

    def __init__(self, store: "KubernetesLedger") -> None:
        self.store = store
        self.submit_async = store.submit_async

    async def due(self, now_seconds: int) -> tuple[int, bool]:
        """See Kept."""
        return await asyncio.to_thread(
            self.store.ask, lambda state: (state.revision, bool(state.due(now_seconds)))
        )

    async def close(self) -> None:
        """See Kept."""
        await asyncio.to_thread(self.store.close)


class _ClusterLedger:
    """One ledger with the capacities that it knows, and what is known of the cluster beside it."""

    def __init__(
        self,
        kept: Kept,
        revision: int,
        capacities: Iterable[Capacity],
        offered: Callable[[], Awaitable[tuple[Capacity, ...]]],
    ) -> None:
        self.kept = kept
        self.revision = revision
        self.asked: Counter[str] = Counter()
        """How many wait for a step of it, by who has asked."""
        self._known = {each.name: each for each in capacities}
        self._offered = offered
        self._offers: Offers | None = None
        self._looking: asyncio.Task[None] | None = None

    async def submit(self, command: Command, *, key: str, revision: int | None, exact: bool) -> Outcome:
        """Tell the ledger what is news in a command, and take the step."""
        if self._offers is None and isinstance(command, Reserve):
            looking = self.look_again()
            await asyncio.wait((looking,))
            if looking.cancelled():
                raise busy("the ledger of the cluster is being closed")
            looking.result()
        news = self._offers.news(command) if self._offers is not None else None
        at_seconds = now_seconds()
        if news is not None:
            done = await self._supply(news, at_seconds)
            revision = done.revision if revision == done.revision - 1 else revision
        outcome = await self.kept.submit_async(
            command, at_seconds=at_seconds, key=key, revision=revision, exact=exact
        )
        self.revision = max(self.revision, outcome.revision)
        decision = outcome.decision
        if decision.accepted and (decision.capacities or decision.gone) and not outcome.repeated:
            self._learn(decision)  # a plan tells what there is itself: room of those that it evicts, too
            if self._offers is not None:
                self._offers.untold(decision)
        return outcome

    @property
    def has_looked(self) -> bool:
        """Whether anybody has wanted to know what the cluster offers; the first who does has it looked up."""
        return self._offers is not None or self._looking is not None

    async def is_due(self, at_seconds: int) -> bool:
        """Whether the time of a promise has come by then; and take note of where the ledger is."""
        self.revision, due = await self.kept.due(at_seconds)
        return due

    def look_again(self) -> "asyncio.Task[None]":
        """Have it told what the cluster offers; until then what is known counts."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return self._looking

    async def close(self) -> None:
        """Let go of the ledger."""
        if self._looking is not None:
            self._looking.cancel()
        await self.kept.close()

    async def _look(self) -> None:
        try:
            capacities = await self._offered()
        except Problem:
            if self._offers is None:
                raise
            return  # what was offered last counts until the next revision
        self._offers = Offers(capacities, self._known)

    async def _supply(self, news: Supply, at_seconds: int) -> Outcome:
        """Tell the ledger what there is, whatever anybody has planned on: others count on it from here on."""
        offers = self._offers
        try:
            done = await self.kept.submit_async(
                news, at_seconds=at_seconds, key="", revision=None, exact=False
            )
        except BaseException:
            if offers is not None:
                offers.untold(news)
            raise
        self._learn(news)
        return done

    def _learn(self, told: Supply | Decision) -> None:
        """Take note of what the ledger knows now."""
        self._known.update((each.name, each) for each in told.capacities)
        for name in told.gone:
            self._known.pop(name, None)
