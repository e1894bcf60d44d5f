"""A server from its start to its end: the socket, signals, certificates, and the last answers.

At SIGTERM nobody is let in any more, what is being answered is finished within a limit, and then everything
that lasts is closed in order. SIGHUP reads the certificate again: new connections get the new one.
"""

import asyncio
import contextlib
import fcntl
import gc
import os
import resource
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any, Final

import uvloop

from ullage.model.errors import InputError
from ullage.web.api.table import routes
from ullage.web.app import App
from ullage.web.certificate import Certificate
from ullage.web.connections import CONNECTIONS_MAX, Clients, Connection, look_at_all
from ullage.web.handshakes import Handshakes
from ullage.web.logs import Log
from ullage.web.server import Server
from ullage.web.settings import Settings
from ullage.web.tokens import list_tokens

BACKLOG: Final = 2048
LOOK_SECONDS: Final = 1.0
LOCK: Final = "lock"
GARBAGE_OBJECTS: Final = 20_000
"""After so many new objects cycles are looked for: requests leave none, and the usual 700 are soon made."""
FILES_WANTED: Final = 10 * CONNECTIONS_MAX
"""So many files may be open at once: connections, also those that TLS is not done with, and all else."""


def run(settings: Settings, ready: Callable[[str], None] = lambda _: None) -> None:
    """Serve until told to end; `ready` is told the address. Raises an InputError where it cannot start."""
    check(settings)
    allow_files()
    gc.set_threshold(GARBAGE_OBJECTS)
    with locked(settings.folder), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(settings, ready))


def check(settings: Settings) -> None:
    """Refuse to be reached from elsewhere by everybody."""
    if settings.is_local and not settings.needs_token:
        return
    now = time.time()
    if not any(each.ends_seconds is None or each.ends_seconds > now for each in list_tokens(settings.folder)):
        raise InputError(
            f"{settings.host} can be reached by others, and there is no token that would let them in"
            if not settings.is_local
            else "a token is required, and there is none",
            where="--listen" if not settings.is_local else "--require-token",
            remedy=f"make one: ullage token add NAME --scope read --data {settings.folder}",
        )


def allow_files() -> None:
    """Let this process open what it needs, where it may: the usual bound is below a crowd of clients."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < FILES_WANTED and soft != resource.RLIM_INFINITY:
        most = FILES_WANTED if hard == resource.RLIM_INFINITY else min(FILES_WANTED, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Have a folder for this server alone."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise InputError(
            f"cannot be used: {error.strerror}",
            where=str(folder),
            remedy="name a folder of yours with --data",
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise InputError(
            "another server uses it", where=str(folder), remedy="name another folder with --data"
        ) from None
    finally:
        os.close(descriptor)


async def _run(settings: Settings, ready: Callable[[str], None]) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    log = Log()
    loop.set_exception_handler(lambda _, told: _say_defect(log, told))
    certificate = Certificate(settings) if settings.has_tls else None
    server = Server(settings, log)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if certificate is None:
        loop.add_signal_handler(signal.SIGHUP, lambda: None)  # there is nothing to be read again
    else:
        loop.add_signal_handler(signal.SIGHUP, certificate.read_again, log)
    try:
        await server.start()
        async with serving(server, certificate) as address:
            log.say("listens", url=address, version=_version())
            if not settings.is_local and certificate is None:
                log.say("warns: tokens travel unencrypted; use --tls-cert and --tls-key, or a proxy with TLS")
            ready(address)
            _notify("READY=1")
            await stopped.wait()
            _notify("STOPPING=1")
            log.say("ends")
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def serving(
    server: Server, certificate: Certificate | None = None, app: App | None = None
) -> AsyncIterator[str]:
    """Answer requests while the context lasts; gives the address. At its end all answers are finished."""
    clients = Clients(app or App(server, routes()), lambda what: server.log.say("http", what=what))
    loop = asyncio.get_running_loop()
    listening = _socket(server.settings)
    accepting: asyncio.Server | Handshakes
    if certificate is None:
        accepting = await loop.create_server(lambda: Connection(clients), sock=listening, backlog=BACKLOG)
    else:
        accepting = Handshakes(listening, certificate, lambda: Connection(clients))
    looking = asyncio.create_task(_look(clients))
    try:
        yield _address(server.settings, listening)
    finally:
        accepting.close()
        await _finish(server, clients)
        looking.cancel()


async def _finish(server: Server, clients: Clients) -> None:
    """Let everybody have the answer they wait for, within the limit."""
    server.ending.set()
    for connection in list(clients.connections):
        connection.shutdown()
    ends = time.monotonic() + server.settings.stop_seconds
    while clients.tasks and time.monotonic() < ends:
        await asyncio.wait(clients.tasks, timeout=max(0.0, ends - time.monotonic()))
        await asyncio.sleep(0)  # what was asked on the same connection meanwhile is a task by now
    if clients.tasks:
        server.log.say("gives up on what takes too long", count=len(clients.tasks))
    for task in list(clients.tasks):
        task.cancel()
    await asyncio.gather(*clients.tasks, return_exceptions=True)
    while clients.connections and time.monotonic() < ends:  # the last bytes are on their way
        look_at_all(clients.connections, asyncio.get_running_loop().time())
        await asyncio.sleep(0.01)
    for connection in list(clients.connections):
        connection.transport.abort()


async def _look(clients: Clients) -> None:
    """Keep the date, and look at all connections."""
    loop = asyncio.get_running_loop()
    while True:
        clients.date = f"date: {formatdate(usegmt=True)}\r\n".encode()
        look_at_all(clients.connections, loop.time())
        await asyncio.sleep(LOOK_SECONDS)


def _socket(settings: Settings) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise InputError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}",
            where="--listen",
            remedy="name an address of this machine and a port that is free",
        ) from error


def _address(settings: Settings, listening: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'https' if settings.has_tls else 'http'}://{host}:{listening.getsockname()[1]}"


def _notify(told: str) -> None:
    """Tell systemd, where it started us and wants to know."""
    name = os.environ.get("NOTIFY_SOCKET", "")
    if not name:
        return
    address = f"\0{name[1:]}" if name.startswith("@") else name
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(told.encode(), address)


def _version() -> str:
    from ullage import __version__

    return __version__


def _say_defect(log: Log, told: dict[str, Any]) -> None:
    error = told.get("exception")
    log.say("met a defect", what=str(told.get("message", "")), why=f"{type(error).__name__}: {error}")
