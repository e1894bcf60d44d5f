"""A client that says exactly what a test has it say, and servers for it to talk to."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from typing import NamedTuple

from ullage.web.app import App
from ullage.web.logs import Log
from ullage.web.routes import Route, Routes
from ullage.web.server import Server
from ullage.web.serving import serving
from ullage.web.settings import Settings

ANSWER_SECONDS_MAX = 120
START_SECONDS_MAX = 120


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self):
        return json.loads(self.body)


def head(method, path, headers=(), host="localhost"):
    """The head of a request, with what a test adds."""
    given = {"Host": host, **dict(headers)}
    lines = [
        f"{method} {path} HTTP/1.1",
        *(f"{name}: {told}" for name, told in given.items() if told is not None),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def read_reply(reader, method="GET"):
    """Read one answer."""
    async with asyncio.timeout(ANSWER_SECONDS_MAX):
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(
            line.lower().split(": ", 1)[:1] + line.split(": ", 1)[1:] for line in lines[1:] if line
        )
        length = int(headers.get("content-length", "0"))
        body = b"" if method == "HEAD" or not length else await reader.readexactly(length)
    return Reply(int(lines[0].split()[1]), headers, body)


async def closed(writer):
    """Hang up, and see that nothing is left of the connection."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def ask(address, method, path, headers=(), body=b"", *, host="localhost", tls=None):
    """Ask one thing on a connection of its own."""
    port = int(address.rpartition(":")[2])
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=tls, server_hostname="localhost" if tls else None
    )
    try:
        given = dict(headers)
        if body:
            given.setdefault("Content-Length", str(len(body)))
        writer.write(head(method, path, given, host) + body)
        return await read_reply(reader, method)
    finally:
        await closed(writer)


class Running(NamedTuple):
    server: Server
    address: str
    lines: list[dict]


class _Lines:
    def __init__(self):
        self.kept = []

    def write(self, text):
        self.kept += [json.loads(line) for line in text.splitlines()]

    def flush(self):
        pass


@contextlib.asynccontextmanager
async def running(folder, *routes: Route, bodies=None, **settings):
    """A server in this process that answers these routes and holds no cluster."""
    lines = _Lines()
    server = Server(Settings(folder, port=0, **settings), Log(target=lines))
    try:
        async with serving(server, None, App(server, Routes(routes), bodies)) as address:
            yield Running(server, address, lines.kept)
    finally:
        await server.stop()


class Started(NamedTuple):
    address: str
    process: subprocess.Popen

    def ask(self, method, path, headers=(), body=b""):
        return asyncio.run(ask(self.address, method, path, headers, body))

    def stop(self, number=signal.SIGTERM):
        """End it, and return its exit code and what it has logged."""
        self.process.send_signal(number)
        _, logged = self.process.communicate(timeout=START_SECONDS_MAX)
        return self.process.returncode, [_line(line) for line in logged.splitlines()]


def _line(text):
    return json.loads(text) if text.startswith("{") else {"message": "no line of the log", "text": text}


@contextlib.contextmanager
def started(folder, *words, **environment):
    """`ullage serve`, in a process of its own, on a port that is free."""
    command = [
        sys.executable,
        "-m",
        "ullage",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data",
        str(folder),
        *words,
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
    )
    try:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        yield Started(line.split()[3].rstrip("/"), process)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


async def until(true, seconds=ANSWER_SECONDS_MAX):
    """Wait until something is so."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - what it waits for has no event
            await asyncio.sleep(0.01)


def until_ready(server):
    """Wait until every cluster of a started server is read."""

    async def ready():
        async with asyncio.timeout(START_SECONDS_MAX):
            while (await ask(server.address, "GET", "/ready")).status != 200:  # noqa: ASYNC110 - it is elsewhere
                await asyncio.sleep(0.05)

    asyncio.run(ready())
