"""All clusters of a server, and the processes that hold them: whoever wants an answer asks here.

Workers call a Unix socket in a folder that nobody else may look into. Documents that are sent have their
turns (uploads.py): each reading may take as much memory as a cluster may.
"""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec

from ullage.web.clusters import (
    ClusterFolder,
    ClusterState,
    Heard,
    ObservedState,
    Origin,
    check_name,
    uploaded,
)
from ullage.web.frames import EndedError, Hello, read
from ullage.web.http import Problem
from ullage.web.line import Kind
from ullage.web.logs import Log
from ullage.web.reading import STREAM_BYTES, Listener
from ullage.web.served import Around, Bounds, ServedCluster
from ullage.web.settings import Settings
from ullage.web.uploads import Uploads
from ullage.web.work import Done, Work

CLUSTERS_MAX: Final = 64
HELLO_SECONDS_MAX: Final = 10.0
FOLDER: Final = "clusters"
LONG: Final = frozenset(
    (
        "snapshot",
        "figures",
        "page/balance",
        "page/what_breaks",
        "page/usage",
        "usage/status",
        "usage/series",
    )
)
"""Work that may take seconds, beside the questions that say so of themselves."""
SEARCH_SECONDS_MAX: Final = 2
BODY_BYTES_MAX: Final = 256 << 10
"""What is sent with a question may be so large before reading it takes long."""
_HELLO: Final = msgspec.msgpack.Decoder(Hello)


class Pool:
    """The clusters by name; the first is the one that is meant where none is named."""

    def __init__(self, settings: Settings, log: Log | None = None, bounds: Bounds | None = None) -> None:
        self._folder = settings.folder / FOLDER
        self._listed = settings.clusters
        self._as_whom = settings.kubeconfig, settings.as_user, settings.types
        self._bounds = bounds or Bounds(settings.workers, settings.refresh_seconds)
        self._log = log or Log()
        self._clusters: dict[str, ServedCluster] = {}
        self._arriving: set[ServedCluster] = set()
        self._heard: list[Callable[[Heard], None]] = []
        self._uploads = Uploads()
        self._server: asyncio.Server | None = None
        self._sockets: Path | None = None
        self._calls: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to read all clusters; whoever asks before one is read is told so."""
        self._sockets = Path(tempfile.mkdtemp(prefix="ullage-"))  # for our eyes alone
        self._server = await asyncio.start_unix_server(self._called, self._socket, limit=STREAM_BYTES)
        for listed in self._listed:
            check_name(listed.name)
            origin = Origin(listed.source, listed.context, *self._as_whom)
            self._clusters[listed.name] = self._new(listed.name, origin)
        for name in uploaded(self._folder):
            if name not in self._clusters:
                self._clusters[name] = self._new(name, Origin(is_upload=True))
        for cluster in self._clusters.values():
            cluster.start()

    async def stop(self) -> None:
        """End every process; whoever still waits for an answer gets none."""
        if self._server is not None:
            self._server.close()
        every = {*self._clusters.values(), *self._arriving}
        await asyncio.gather(*(cluster.stop() for cluster in every))
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)
        if self._sockets is not None:
            shutil.rmtree(self._sockets, ignore_errors=True)

    @property
    def _socket(self) -> str:
        return str(self._sockets / "workers") if self._sockets else ""

    def _new(self, name: str, origin: Origin) -> ServedCluster:
        folder = ClusterFolder(self._folder / name)
        around = Around(self._bounds, self._socket, self._tell, self._log)
        return ServedCluster(name, origin, folder, around)

    # What there is.

    def clusters(self) -> list[ClusterState]:
        """Return how every cluster stands: those of the command line first, in their order."""
        return [cluster.state() for cluster in self._clusters.values()]

    def state(self, name: str) -> ClusterState:
        """Return how a cluster stands; raises a Problem where there is none of the name."""
        return self._cluster(name).state()

    def revision(self, name: str) -> int:
        """Return the revision that is answered from; 0 before the first."""
        return self._cluster(name).revision

    def ledger_file(self, name: str) -> Path:
        """Return where the promises of a cluster lie, if there are any."""
        return self._cluster(name).folder.ledger

    def hear(self, callback: Callable[[Heard], None]) -> None:
        """Call a function with every new revision, failure and removal."""
        self._heard.append(callback)

    def _tell(self, heard: Heard) -> None:
        for callback in self._heard:
            callback(heard)

    def _cluster(self, name: str) -> ServedCluster:
        found = self._clusters.get(name)
        if found is None:
            raise Problem(404, f"there is no cluster {name!r}", f"there are: {', '.join(self._clusters)}")
        return found

    # Questions.

    async def ask(
        self,
        name: str,
        work: Work,
        *,
        seconds_max: float,
        is_long: bool | None = None,
        client: str = "",
    ) -> Done:
        """Return what a worker of a cluster answers; refusals of the work itself are answers too.

        Raises a Problem: 404 where there is no such cluster, 503 where it is not read yet or too many wait,
        504 where answering takes too long, 500 where the worker ends within it. Clients take turns; what the
        server asks for itself is nobody's.
        """
        cluster = self._cluster(name)
        long = takes_long(work) if is_long is None else is_long
        return await cluster.ask(work, Kind(client, long), seconds_max=seconds_max)

    async def ask_apart(
        self, name: str, work: Work, *, seconds_max: float, listener: Listener | None = None
    ) -> Done:
        """Return what a process of its own answers that knows a cluster: it may write, and take its time.

        A `listener` hears how far it is.
        """
        cluster = self._cluster(name)
        return await cluster.apart.ask(cluster.held(), work, seconds_max, listener)

    def parts_apart(
        self, name: str, work: Work, *, seconds_max: float, client: str = ""
    ) -> AsyncGenerator[Done, None]:
        """Return what such a process tells part by part; whoever has heard enough closes it."""
        cluster = self._cluster(name)
        return cluster.apart.parts(cluster.held(), work, seconds_max, client)

    def observed(self, name: str, state: ObservedState) -> None:
        """Take note of how the use of a cluster is observed; it may be gone by now."""
        if name in self._clusters:
            self._clusters[name].observed = state

    # Clusters.

    async def put(self, name: str, document: bytes, client: str = "") -> ClusterState:
        """Read a document, and make it the cluster of a name; one that cannot be read changes nothing."""
        check_name(name)
        async with self._uploads.turn(name, client, len(document)):
            known = self._clusters.get(name)
            if known is not None and not known.origin.is_upload:
                raise Problem(409, f"cluster {name} is read from its own source", "upload under another name")
            if known is None and len(self._clusters) + len(self._arriving) >= CLUSTERS_MAX:
                raise Problem(409, f"there are {CLUSTERS_MAX} clusters already", "remove one of them")
            cluster = known or self._new(name, Origin(is_upload=True))
            self._arriving.add(cluster)
            try:
                await asyncio.to_thread(cluster.folder.take, document)
                await cluster.read(upload=True)
            except BaseException:
                cluster.folder.refuse()
                if known is None:
                    await cluster.stop()
                raise
            finally:
                self._arriving.discard(cluster)
            if known is None:
                self._clusters[name] = cluster
                cluster.start()
            return cluster.state()

    async def refresh(self, name: str) -> ClusterState:
        """Read a cluster again, and return how it stands then."""
        cluster = self._cluster(name)
        await cluster.refresh()
        return cluster.state()

    async def remove(self, name: str, let_go: Callable[[], Awaitable[None]] | None = None) -> None:
        """Forget a cluster that was uploaded, once what depends on it has let go of it."""
        cluster = self._cluster(name)
        if not cluster.origin.is_upload:
            raise Problem(409, f"cluster {name} is one of the command line", "start the server without it")
        with self._uploads.alone(name):
            del self._clusters[name]
            state = cluster.state()
            await cluster.stop()
            if let_go is not None:
                await let_go()
            await asyncio.to_thread(cluster.folder.remove)
        self._tell(Heard("removed", state))

    # Workers.

    def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        call = asyncio.create_task(self._serve(reader, writer))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(EndedError, TimeoutError, ProcessLookupError):
            async with asyncio.timeout(HELLO_SECONDS_MAX):
                hello = await read(reader, _HELLO)
            for cluster in (*self._clusters.values(), *self._arriving):
                reading = cluster.readings.get(hello.reading)
                if reading is not None and hello.apart:
                    await cluster.apart.serve(reading, hello.apart, reader, writer)
                elif reading is not None:
                    await cluster.serve_worker(reading, reader, writer)
                if reading is not None:
                    return


def takes_long(work: Work) -> bool:
    """Whether some work may take seconds: by its kind, by what is to be read, or as it may search so long."""
    if len(work.body) > BODY_BYTES_MAX:
        return True
    kind, _, name = work.name.partition("/")
    if kind != "question":
        return work.name in LONG
    from ullage.service.questions import QUESTIONS

    question = QUESTIONS.get(name)
    seconds = str(work.parameters.get("exactSeconds", ""))
    searches = seconds.isdecimal() and len(seconds) < 9 and int(seconds) > SEARCH_SECONDS_MAX
    reads = bool(work.parameters.get("usage"))  # all that was recorded
    return question is not None and (question.is_long or searches or reads)
