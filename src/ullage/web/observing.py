"""What is really used in the clusters of a server: read from their sources now and then, and recorded.

Each reading is done by a process of its own that knows the cluster (apart.py); here it is only said when. A
source that fails is asked again later and later, and everybody is told: the log, the state of the cluster,
metrics. What is committed is recorded with every revision, and at any rate now and then, so that forecasts
have a history also where nobody observes.
"""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ullage.service.usage_records import Recorded
from ullage.web.clusters import ClusterState, ObservedState
from ullage.web.http import Problem
from ullage.web.problems import busy
from ullage.web.work import Work

if TYPE_CHECKING:
    from ullage.web.ledgers import Ledgers
    from ullage.web.logs import Log
    from ullage.web.pool import Pool
    from ullage.web.settings import Settings

RETRY_SECONDS: Final = (5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""After how long a source is read again that failed, once, twice and so on; never sooner than otherwise."""
READING_SECONDS_MAX: Final = 300.0
SENT_SECONDS_MAX: Final = 120.0
SENT_AT_ONCE_MAX: Final = 4
"""So many wait to have recorded what they sent; others are told to come again."""
NOT_THERE: Final = 404
LIVE: Final = "kube"
NEVER_CHANGE: Final = ("demo", "synthetic")
"""Clusters that are made up have no history."""
COMMITTED_SECONDS: Final = 3600.0
"""After so long what is committed is recorded although the cluster has not moved."""
_RECORDED: Final = msgspec.json.Decoder(Recorded)


class Observers:
    """Who observes which cluster, and what came of it last."""

    def __init__(self, settings: "Settings", pool: "Pool", ledgers: "Ledgers", log: "Log") -> None:
        contexts = {each.name: each.context for each in settings.clusters}
        self._sources = {each.name: each.source for each in settings.usage}
        self._access = {
            name: {"context": context, "kubeconfig": settings.kubeconfig, "as_user": settings.as_user}
            for name, context in contexts.items()
        }
        self._seconds = settings.observe_seconds
        self._pool = pool
        self._ledgers = ledgers
        self._log = log
        self._known: dict[str, Observer] = {}

    def moved(self, state: ClusterState) -> None:
        """Take note that a cluster has a new revision: what is committed may be something else."""
        if self._seconds:
            self.of(state.name).start(commits=state.source not in NEVER_CHANGE)

    def of(self, cluster: str) -> "Observer":
        """Return who observes a cluster."""
        found = self._known.get(cluster)
        if found is None:
            source = self._sources.get(cluster, "")
            found = self._known[cluster] = Observer(cluster, source, self._seconds, self)
        return found

    def all(self) -> Mapping[str, "Observer"]:
        """Return every cluster that is observed, or was sent something about."""
        return dict(self._known)

    async def forget(self, cluster: str) -> None:
        """Observe a cluster no more."""
        found = self._known.pop(cluster, None)
        if found is not None:
            await found.stop()

    async def stop(self) -> None:
        """Observe nothing any more."""
        await asyncio.gather(*(self.forget(each) for each in list(self._known)))

    async def do(self, cluster: str, name: str, seconds_max: float, body: bytes = b"") -> Recorded:
        """Have something recorded by a process of its own; raises a Problem where that fails."""
        parameters = {
            "source": self._sources.get(cluster, ""),
            "access": self._access.get(cluster, {}),
            "is_live": self._pool.state(cluster).source == LIVE,
        }
        work = Work(
            f"usage/{name}", parameters, body, self._ledgers.place(cluster), self._ledgers.observed(cluster)
        )
        done = await self._pool.ask_apart(cluster, work, seconds_max=seconds_max)
        if done.status != 200:
            told = msgspec.json.decode(done.body)
            rest = {name: told[name] for name in ("what", "where", "remedy") if name in told}
            raise Problem(done.status, told.get("title", "it did not work"), told.get("detail", ""), **rest)
        return _RECORDED.decode(done.body)

    def ledger_revision(self, cluster: str) -> int:
        """Return the revision of a cluster's ledger."""
        return self._ledgers.revision(cluster)

    def note(self, cluster: str, state: ObservedState) -> None:
        """Tell how the use of a cluster is observed, and the log where that has changed."""
        self._pool.observed(cluster, state)

    def say(self, message: str, **more: object) -> None:
        """Write a line to the log."""
        self._log.say(message, **more)


class Observer:
    """Who observes one cluster."""

    def __init__(self, cluster: str, source: str, seconds: float, around: Observers) -> None:
        self.state = ObservedState(kind_of_source(source))
        self.recorded = Recorded()
        self._cluster = cluster
        self._source = source
        self._seconds = seconds
        self._around = around
        self._failures = 0
        self._stamp: tuple[int, ...] = ()
        self._commits = True
        self._moves = 0
        """How often the cluster has moved; `_committed` says when, and after which moves and steps."""
        self._committed: tuple[float, int, int] | None = None
        self._wake = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._sending = 0
        self._task: asyncio.Task[None] | None = None
        around.note(cluster, self.state)

    def start(self, *, commits: bool = True) -> None:
        """Begin, or look at once whether there is news; what never changes has nothing that it `commits`."""
        self._commits = commits
        self._moves += 1
        self._wake.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End it; what is being recorded is recorded as a whole or not at all."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def send(self, body: bytes) -> Recorded:
        """Record what somebody sent."""
        if self._sending >= SENT_AT_ONCE_MAX:
            raise busy("others have sent samples, which are being recorded")
        self._sending += 1
        try:
            async with self._one_at_a_time:
                found = await self._around.do(self._cluster, "sent", SENT_SECONDS_MAX, body)
        finally:
            self._sending -= 1
        self._took(found, read_seconds=self.state.read_seconds)
        return found

    async def _run(self) -> None:
        due = 0.0
        while True:
            self._wake.clear()
            if self._commits:
                await self._commit()
            if self._source and time.monotonic() >= due:
                due = time.monotonic() + await self._look()
            wait = max(0.05, due - time.monotonic()) if self._source else self._seconds
            if self._commits and (self._committed is None or self._committed[1] != self._moves):
                wait = min(wait, RETRY_SECONDS[0])
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._wake.wait()

    async def _look(self) -> float:
        """Read the source once, and return after how long it is to be read again."""
        stamp = stamp_of(self._source)
        if stamp and stamp == self._stamp and not self._failures:
            return self._seconds
        try:
            async with self._one_at_a_time:
                found = await self._around.do(self._cluster, "source", READING_SECONDS_MAX)
        except Problem as problem:
            self._failed(self._told(str(problem.members.get("what", "")) or problem.title))
        except Exception as error:  # noqa: BLE001 - whatever it is, the source is to be read again
            self._around.say("met a defect", cluster=self._cluster, why=f"{type(error).__name__}: {error}")
            self._failed("reading it met a defect: the server's log has what happened")
        else:
            if self._failures:
                self._around.say("observes again", cluster=self._cluster, source=self.state.source)
            self._failures, self._stamp = 0, stamp
            self._took(found, read_seconds=int(time.time()), failure="")
        if not self._failures:
            return self._seconds
        return max(RETRY_SECONDS[min(self._failures, len(RETRY_SECONDS)) - 1], min(self._seconds, 300.0))

    async def _commit(self) -> None:
        """Record what is committed, if that may be news."""
        moves, revision = self._moves, self._around.ledger_revision(self._cluster)
        known, now = self._committed, time.monotonic()
        if known is not None and known[1:] == (moves, revision) and now < known[0] + COMMITTED_SECONDS:
            return
        try:
            async with self._one_at_a_time:
                found = await self._around.do(self._cluster, "committed", READING_SECONDS_MAX)
        except Problem as problem:
            if problem.status == NOT_THERE:
                return  # one that is being uploaded is there in a moment
            self._around.say(
                "cannot record what is committed", cluster=self._cluster, why=self._told(problem.title)
            )
        else:
            self._committed = now, moves, revision
            if found.now:
                self.recorded = found

    def _took(self, found: Recorded, **changes: object) -> None:
        self.recorded = found
        state = msgspec.structs.replace(
            self.state,
            last_seconds=max(self.state.last_seconds, found.last_seconds),
            points=self.state.points + found.points,
            **changes,
        )
        self._note(state)

    def _failed(self, line: str) -> None:
        self._failures += 1
        if line != self.state.failure:
            self._around.say("cannot observe", cluster=self._cluster, source=self.state.source, failure=line)
            self._note(msgspec.structs.replace(self.state, failure=line))

    def _note(self, state: ObservedState) -> None:
        self.state = state
        self._around.note(self._cluster, state)

    def _told(self, line: str) -> str:
        """Return a line without the address or the path of the source: every reader is told it."""
        where = self._source.partition(":")[2] if self._source.startswith("prometheus:") else self._source
        return line.replace(where, self.state.source) if len(where) > 1 else line


def kind_of_source(source: str) -> str:
    """Return what may be told of a source: no path, no address, no secret."""
    word = source.partition(":")[0]
    if word in {"", "metrics", "host", "prometheus"}:
        return word
    return "file"


def stamp_of(source: str) -> tuple[int, ...]:
    """Return what differs once a file was written to; nothing where a source is none."""
    if kind_of_source(source) != "file":
        return ()
    try:
        found = Path(source).stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
