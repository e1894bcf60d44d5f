"""Reservations over HTTP that are acknowledged when they are on the disk, from 32 connections.

The server is a real one, with a cluster of a thousand nodes. Each connection waits for its acknowledgement
before it asks again. wrk asks where it is there, so that the client takes little of the machine; else a
client in this process. What can be reached depends on the machine, so the rate of /health from as many
connections and the disk's own rate of making things durable are measured beside, in the same run. Afterwards
the ledger has all that was acknowledged.
"""

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from cases.ledger import syncs_per_second
from measure import calibration_seconds
from ullage.service.ledger_file import read_ledger

FOLDER = Path(__file__).resolve().parents[2] / ".cache"
CONNECTIONS = 32
SECONDS = 5.0
ROUNDS = 3
NODES = 1000
READY_SECONDS_MAX = 60.0
NEVER = 1 << 40
LEDGER = "/v1/clusters/bench/ledger"
ADDRESS = re.compile(r"http://([\d.]+):(\d+)/")
SCRIPT = Path(__file__).resolve().parents[1] / "reservations.lua"
OK = b"HTTP/1.1 200"

WHY = {
    "reservations/s over HTTP": "the process that speaks HTTP is the bound: some 0.2 ms of one core for each "
    "reservation while the processor is slow (see the calibration loop); runs on one day gave 2 700 to 4 400"
}


class Measured(NamedTuple):
    """Answers in a second and in all, and how long each of them took."""

    per_second: float
    answered: int
    median_ms: float
    slow_ms: float


class Connection(asyncio.Protocol):
    """Asks one thing after the other, and counts what is answered well until time is over."""

    def __init__(self, requests: Iterator[bytes], ends: float) -> None:
        self._requests = requests
        self._ends = ends
        self._part = b""
        self.answered: list[float] = []
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._asked = time.perf_counter()
        self._transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        """Take an answer when it is whole, and ask again."""
        self._part += data
        head, end, body = self._part.partition(b"\r\n\r\n")
        if not end or len(body) < int(re.search(rb"(?i)\r\ncontent-length: (\d+)", head)[1]):
            return
        if not self._part.startswith(OK):
            self.finished.set_exception(RuntimeError(self._part.decode()))
            self._transport.close()
            return
        self._part = b""
        now = time.perf_counter()
        self.answered.append(now - self._asked)
        if now < self._ends:
            self._ask()
        else:
            self.finished.set_result(None)
            self._transport.close()


def reservations(name: str) -> Iterator[bytes]:
    """Yield requests for a little cpu and memory of one node, each for something else."""
    number = 0
    while True:
        hold = {
            "request": "web",
            "capacity": f"node/node-{(hash(name) + number * 31) % NODES:04}",
            "resources": {"cpu": f"{1 + number % 4}m", "memory": "1Mi"},
        }
        asked = {"reservation": f"{name}-{number}", "owner": f"team/{name}", "expiresSeconds": NEVER}
        body = json.dumps({**asked, "holds": [hold]}).encode()
        yield (
            f"POST {LEDGER}/reserve HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body
        number += 1


def health(_: str) -> Iterator[bytes]:
    """Yield the same request for ever."""
    while True:
        yield b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


async def measured(address: tuple[str, int], asking: Callable[[str], Iterator[bytes]], name: str) -> Measured:
    """Return how many answers came in a second, and how long they took, asked from this process."""
    loop = asyncio.get_running_loop()
    start = time.perf_counter()
    connections = [Connection(asking(f"{name}-{number}"), start + SECONDS) for number in range(CONNECTIONS)]
    for connection in connections:
        await loop.create_connection(lambda made=connection: made, *address)
    await asyncio.gather(*(connection.finished for connection in connections))
    seconds = time.perf_counter() - start
    took = sorted(each for connection in connections for each in connection.answered)
    count = len(took)
    return Measured(count / seconds, count, took[count // 2] * 1000, took[count * 99 // 100] * 1000)


def reserved(address: tuple[str, int], name: str) -> Measured:
    """Return the same of reservations, asked by wrk where it is there."""
    if shutil.which("wrk") is None:
        return asyncio.run(measured(address, reservations, name))
    url = f"http://{address[0]}:{address[1]}{LEDGER}/reserve"
    command = ["wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", str(int(SECONDS)), "-s", str(SCRIPT), url]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, "ROUND": name}
    )
    told = json.loads(done.stdout.splitlines()[-1])
    assert not told["otherwise"], done.stdout
    return Measured(told["answered"] / told["seconds"], told["answered"], told["median_ms"], told["slow_ms"])


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """Run a server until the end, and give its address."""
    capacity = {"cpu": "1k", "memory": "1Ti", "pods": "1M"}
    nodes = [{"name": f"node-{number:04}", "capacity": capacity} for number in range(NODES)]
    cluster = folder / "cluster.json"
    told = {"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "name": "bench", "nodes": nodes}
    cluster.write_text(json.dumps(told), encoding="utf-8")
    where = ["-c", f"bench={cluster}", "--listen", "0", "--data", str(folder)]
    command = [sys.executable, "-m", "ullage", "serve", *where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            found = ADDRESS.search(process.stdout.readline())
            address = (found[1], int(found[2]))
            ends = time.monotonic() + READY_SECONDS_MAX
            while not _is_ready(address):
                assert time.monotonic() < ends, "the server never became ready"
                time.sleep(0.1)
            yield address
        finally:
            process.send_signal(signal.SIGTERM)


def _is_ready(address: tuple[str, int]) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/ready", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def run() -> dict[str, object]:
    """Measure the server in rounds, and keep the best with what was measured around it."""
    figures: dict[str, object] = {"calibration loop, s": calibration_seconds(), "connections": CONNECTIONS}
    best: tuple[float, dict[str, object]] = (0.0, {})
    acknowledged = 0
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        folder = Path(scratch)
        with served(folder) as address:
            for number in range(ROUNDS):
                syncs = syncs_per_second(folder)
                well = asyncio.run(measured(address, health, "health"))
                found = reserved(address, f"round-{number}")
                acknowledged += found.answered
                around: dict[str, object] = {
                    "client": "wrk" if shutil.which("wrk") else "asyncio",
                    "reservations/s over HTTP": found.per_second,
                    "median ms of one": found.median_ms,
                    "99 of 100 within, ms": found.slow_ms,
                    "/health/s beside": well.per_second,
                    "fdatasync/s of the disk beside": (syncs + syncs_per_second(folder)) / 2,
                }
                best = max(best, (found.per_second, around), key=lambda each: each[0])
        kept = len(read_ledger(folder / "clusters" / "bench" / "ledger.db"))
    assert acknowledged <= kept <= acknowledged + ROUNDS * CONNECTIONS, (acknowledged, kept)
    bars = {"reservations/s over HTTP": [best[0], ">=", 4000]}
    return {**figures, **best[1], "acknowledged": acknowledged, "in the ledger": kept, "bars": bars}
