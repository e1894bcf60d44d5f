"""One cluster of the server: read again and again, and answered from the last reading that went well.

The hard thing is the change from one reading to the next: the new one counts once its workers have called
(the first one once one has), free workers of the old one end at once and busy ones after their answer, and
its loader after the last of them. Nobody waits for a reading, unless there has been none yet.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple

from ullage.web.apart import Apart
from ullage.web.clusters import ClusterFolder, ClusterState, Heard, Known, ObservedState, Origin, failures
from ullage.web.frames import Answered, EndedError, Failed, Ready, Told, ToRead
from ullage.web.helping import Helping
from ullage.web.http import Problem
from ullage.web.line import Kind, Line
from ullage.web.logs import Log
from ullage.web.problems import busy, ended
from ullage.web.reading import CALL_SECONDS_MAX, Reading, Worker
from ullage.web.work import Done, Work

RETRY_SECONDS: Final = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
"""After how long a reading is tried again that failed, once, twice and so on."""
ABANDONED_SECONDS: Final = 1.0
"""How long a worker may go on with what nobody waits for: an end costs another fork."""
NOT_READ_SECONDS: Final = 2
MIB: Final = 1 << 20


class Bounds(NamedTuple):
    """What reading and answering may cost."""

    workers: int = 2
    refresh_seconds: float = 60.0
    reading_seconds_max: float = 600.0
    loader_bytes_max: int = 16_384 * MIB
    upload_loader_bytes_max: int = 6_144 * MIB
    worker_bytes_max: int = 2_048 * MIB


class Around(NamedTuple):
    """What all clusters of a server share: where workers call, who hears of what happens."""

    bounds: Bounds
    socket: str
    tell: Callable[[Heard], None]
    log: Log


class ServedCluster:
    """A cluster, its readings, and who waits for its workers."""

    def __init__(self, name: str, origin: Origin, folder: ClusterFolder, around: Around) -> None:
        self.name = name
        self.origin = origin
        self.folder = folder
        self.readings: dict[str, Reading] = {}
        self.apart = Apart()
        self.observed: ObservedState | None = None
        self._bounds, self._socket, self._tell, self._log = around
        self._line: Line[Worker] = Line(around.bounds.workers, self._present)
        self._current: Reading | None = None
        self._ready: Ready | None = None
        self._read_seconds = 0
        self._stamp: tuple[int, ...] = ()
        self._failure = ""
        self._failures = 0
        self._helping = Helping(self._line, around.bounds.workers, lambda: self._current)
        self._one_at_a_time = asyncio.Lock()
        self._loader_gone = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    # What it looks like.

    @property
    def revision(self) -> int:
        """The revision that is answered from; 0 before the first."""
        return self._current.revision if self._current else 0

    def state(self) -> ClusterState:
        """Return how the cluster stands."""
        ready = self._ready
        return ClusterState(
            self.name,
            self.origin.kind,
            "ready" if self._current else "failed" if self._failure else "reading",
            self.revision,
            ready.nodes if ready else 0,
            ready.workloads if ready else 0,
            self._read_seconds,
            round(ready.seconds, 3) if ready else 0.0,
            self._failure,
            len(self._current.workers) if self._current else 0,
            self._line.waiting,
            self.observed,
        )

    # Reading.

    def start(self) -> None:
        """Begin to read, and to read again when it is time."""
        self._begin(self._keep())

    async def stop(self) -> None:
        """End everything that belongs to the cluster."""
        self._helping.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(reading.end() for reading in self.readings.values()))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _keep(self) -> None:
        """Read when there is no reading, when its loader is gone, and when its time has come."""
        is_due = False
        while True:
            needs_loader = self._current is None or self._loader_gone.is_set()
            try:
                if needs_loader or (is_due and self._may_differ()):
                    await self.refresh()
            except Problem:
                pass  # it was told, and its turn comes again
            except Exception as error:  # noqa: BLE001 - whatever it is, the cluster is to be read again
                self._failures += 1
                self._failure = "reading it met a defect: the server's log has what happened"
                self._log.say("met a defect", cluster=self.name, why=f"{type(error).__name__}: {error}")
            is_due = await self._pause()

    def _may_differ(self) -> bool:
        stamp = self.origin.stamp()
        return bool(self._failures) or not stamp or stamp != self._stamp

    async def _pause(self) -> bool:
        """Wait until it is time to read again; False where it is not, and the loader has ended."""
        if self._failures:
            await asyncio.sleep(RETRY_SECONDS[min(self._failures, len(RETRY_SECONDS)) - 1])
            return True
        refresh_seconds = self._bounds.refresh_seconds if self.origin.may_change else 0
        try:
            async with asyncio.timeout(refresh_seconds or None):
                await self._loader_gone.wait()
        except TimeoutError:
            return True
        await asyncio.sleep(RETRY_SECONDS[0])
        return False

    async def refresh(self) -> None:
        """Read again, or wait for the reading that is under way."""
        if self._one_at_a_time.locked():
            async with self._one_at_a_time:
                return
        await self.read()

    async def read(self, *, upload: bool = False) -> None:
        """Read the cluster; raises a Problem where that fails, and the last good reading stays."""
        async with self._one_at_a_time:
            try:
                with failures():
                    await self._read(upload)
            except Problem as problem:
                if not upload:
                    self._failed(str(problem.detail or problem.title))
                raise

    async def _read(self, upload: bool) -> None:
        stamp = self.origin.stamp()
        known = await asyncio.to_thread(self.folder.known)
        is_held = known.revision == self.revision and not self._loader_gone.is_set()
        reading = Reading(self._order(known, upload, only_if_changed=is_held and self.revision > 0))
        self.readings[reading.order.reading] = reading
        try:
            await self._take_over(reading, upload)
        finally:
            if reading is not self._current:
                self.readings.pop(reading.order.reading, None)
                await reading.end()
        self._stamp = stamp

    def _order(self, known: Known, upload: bool, *, only_if_changed: bool) -> ToRead:
        origin, folder = self.origin, self.folder
        is_upload = upload or origin.is_upload
        document = str(folder.upload if upload else folder.document) if is_upload else ""
        return ToRead(
            self.name,
            secrets.token_hex(16),
            self._socket,
            origin.spec,
            document,
            origin.context,
            origin.kubeconfig,
            origin.as_user,
            origin.types,
            known.revision,
            known.digest,
            only_if_changed,
            self._bounds.upload_loader_bytes_max if is_upload else self._bounds.loader_bytes_max,
            self._bounds.worker_bytes_max,
        )

    async def _take_over(self, reading: Reading, upload: bool) -> None:
        """Have a cluster read, and let its workers answer from now on, if it is another one."""
        told = await self._told(reading)
        if isinstance(told, Failed):
            raise Problem(422 if upload else 503, "the cluster cannot be read", told.line)
        if isinstance(told, Ready):
            reading.revision = told.revision
            reading.fork(self._bounds.workers)
            await self._calls(reading)
            await asyncio.to_thread(self.folder.keep, Known(told.revision, told.digest))
        if upload:
            await asyncio.to_thread(self.folder.accept)
        was = self.revision
        self._failure, self._failures, self._read_seconds = "", 0, int(time.time())
        if isinstance(told, Ready):
            self._switch(reading, told)
            self._log.say("read a cluster", cluster=self.name, revision=told.revision, seconds=told.seconds)
        if self.revision != was:
            self._tell(Heard("revision", self.state()))

    async def _told(self, reading: Reading) -> Told:
        seconds_max = self._bounds.reading_seconds_max
        try:
            async with asyncio.timeout(seconds_max):
                return await reading.load()
        except TimeoutError:
            return Failed(f"reading it took longer than {seconds_max:.0f} s")

    async def _calls(self, reading: Reading) -> None:
        """Wait for all workers of a reading, or for the first one where nobody is answered until then."""
        wanted = 1 if self._current is None else self._bounds.workers
        try:
            async with asyncio.timeout(CALL_SECONDS_MAX):
                while len(reading.workers) < wanted:
                    reading.called.clear()
                    await reading.called.wait()
        except TimeoutError:
            if not reading.workers:
                raise Problem(503, "the cluster cannot be read", "no worker of it has started") from None

    def _switch(self, reading: Reading, told: Ready) -> None:
        for worker in self._line.withdraw_all():
            worker.end()
        old, self._current, self._ready = self._current, reading, told
        self._loader_gone.clear()
        self._begin(self._watch(reading))
        for worker in reading.workers:
            self._line.give(worker)
        if old is not None:
            old.retire()
            self._let_go(old)

    async def _watch(self, reading: Reading) -> None:
        """Note when the loader of a reading is gone: where it is the current one, another is needed."""
        how = await reading.ended()
        reading.is_ended = True
        if reading is self._current:
            self._log.say("a loader has ended", cluster=self.name, how=how)
            self._loader_gone.set()
        self._let_go(reading)

    def _let_go(self, reading: Reading) -> None:
        """Forget a reading of which no process is left."""
        if reading is not self._current and reading.is_ended and not reading.workers:
            self.readings.pop(reading.order.reading, None)

    def _failed(self, line: str) -> None:
        self._failures += 1
        if line != self._failure:
            self._failure = line
            self._log.say("cannot read a cluster", cluster=self.name, failure=line)
            self._tell(Heard("failure", self.state()))

    # Answering.

    async def serve_worker(
        self, reading: Reading, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Give work to a worker that has called, until it is gone."""
        worker = Worker(reading, reader, writer)
        reading.workers.add(worker)
        if reading is self._current:
            self._give(worker)
        reading.has_called()
        try:
            await worker.follow()
        finally:
            self._gone(worker)

    def _gone(self, worker: Worker) -> None:
        """Replace a worker of a reading that counts; let go of one that does not with its last worker."""
        reading = worker.reading
        reading.workers.discard(worker)
        self._line.withdraw(worker)
        if not reading.is_retired and len(reading.workers) < self._bounds.workers:
            reading.fork(after_seconds=0.0 if worker.answers else RETRY_SECONDS[0])
        elif not reading.workers:
            reading.retire()
            self._let_go(reading)

    def held(self) -> Reading:
        """Return the reading that is answered from; raises a Problem where there has been none yet."""
        if self._current is None:
            why = f"cannot be read: {self._failure}" if self._failure else "is being read for the first time"
            raise busy(f"cluster {self.name} {why}", NOT_READ_SECONDS)
        return self._current

    def _present(self) -> int:
        return len(self._current.workers) if self._current else 0

    async def ask(self, work: Work, kind: Kind, *, seconds_max: float) -> Done:
        """Return what a worker answers; raises a Problem where none does, or not in time."""
        self.held()
        clock = asyncio.get_running_loop().time
        end_seconds = clock() + seconds_max
        self._helping.begin()
        worker = await self._line.take(kind, seconds_max=seconds_max)
        try:
            return await self._answer(worker, work, end_seconds - clock(), seconds_max)
        finally:
            self._line.finished(kind)

    async def _answer(self, worker: Worker, work: Work, left_seconds: float, seconds_max: float) -> Done:
        try:
            future = worker.ask(work, left_seconds)
        except EndedError:
            raise ended(work) from None
        try:
            async with asyncio.timeout(left_seconds):
                answered = await asyncio.shield(future)
        except TimeoutError:
            future.cancel()
            worker.kill()
            raise Problem(
                504,
                f"answering takes longer than {seconds_max:g} s",
                "ask for it as a job: send the header Prefer: respond-async",
            ) from None
        except EndedError:
            raise ended(work) from None
        except asyncio.CancelledError:
            self._begin(self._abandon(worker, future))
            raise
        self._free(worker, answered)
        return answered.done

    async def _abandon(self, worker: Worker, future: "asyncio.Future[Answered]") -> None:
        """Let a worker finish soon what nobody waits for, or end it."""
        try:
            async with asyncio.timeout(ABANDONED_SECONDS):
                self._free(worker, await asyncio.shield(future))
        except (TimeoutError, EndedError):
            future.cancel()
            worker.kill()

    def _free(self, worker: Worker, answered: Answered) -> None:
        if not answered.is_last:  # else it ends, and another is forked once it has
            self._give(worker)

    def _give(self, worker: Worker) -> None:
        """Let a free worker wait for a question, or end where it was one more for a while."""
        workers = worker.reading.workers
        if worker.reading is not self._current:
            worker.end()
        elif len(workers) > self._bounds.workers and not (self._line.quick_waiting or self._line.has_claim):
            workers.discard(worker)
            worker.end()
        else:
            self._line.give(worker)
