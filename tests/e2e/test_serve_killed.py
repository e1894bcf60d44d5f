"""A server under load, killed again and again or copied meanwhile, loses nothing that it has acknowledged."""

import asyncio
import contextlib
import json
import re
import signal
import sqlite3
import subprocess
import sys

import pytest

from ullage.service.ledger_file import read_ledger
from ullage.service.ledger_verify import ledger_verify

CONNECTIONS = 16
KILLS = 3
SECONDS_MAX = 60.0
LOAD_SECONDS = 1.0
NODES = 50
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/")
LENGTH = re.compile(rb"(?i)content-length: (\d+)")

pytestmark = pytest.mark.slow


def cluster(folder):
    capacity = {"cpu": "1k", "memory": "1Ti", "pods": "1M"}
    nodes = [{"name": f"n{number}", "capacity": capacity} for number in range(NODES)]
    document = {"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "name": "mine", "nodes": nodes}
    path = folder / "mine.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@contextlib.contextmanager
def serving(folder, source):
    words = ("serve", "-c", f"mine={source}", "--listen", "0", "--data", str(folder / "data"))
    command = [sys.executable, "-m", "ullage", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process, int(ADDRESS.search(process.stdout.readline())[1])
        finally:
            process.kill()


async def answered(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.readexactly(int(LENGTH.search(head)[1]))
    return int(head.split(b" ", 2)[1]), body


def request(reservation, number):
    hold = {
        "request": "web",
        "capacity": f"node/n{number % NODES}",
        "resources": {"cpu": "1m", "memory": "1Mi"},
    }
    asked = {"reservation": reservation, "owner": "team/x", "expiresSeconds": 1 << 40, "holds": [hold]}
    body = json.dumps(asked).encode()
    head = (
        "POST /v1/clusters/mine/ledger/reserve HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        f"Idempotency-Key: {reservation}\r\n\r\n"
    )
    return head.encode() + body


async def client(port, name, acknowledged, refused):
    """Reserve one thing after the other until the server is gone, and note what it acknowledged."""
    number, status = 0, 503
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while status == 503:  # it has not read the cluster yet
            await asyncio.sleep(0.05)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with contextlib.closing(writer):
                status = 200
                while status == 200:
                    writer.write(request(f"{name}-{number}", number))
                    status, told = await answered(reader)
                    if status == 200:
                        acknowledged.append(f"{name}-{number}")
                        number += 1
        refused.append(told)


async def under_load(process, port, name, acknowledged, refused, *, meanwhile=None):
    """Have clients reserve until the server is killed; something else may be done before that."""
    clients = [
        asyncio.create_task(client(port, f"{name}-{number}", acknowledged, refused))
        for number in range(CONNECTIONS)
    ]
    before = len(acknowledged)
    async with asyncio.timeout(SECONDS_MAX):
        while len(acknowledged) < before + CONNECTIONS and not refused:  # noqa: ASYNC110 - clients only count
            await asyncio.sleep(0.02)
        await asyncio.sleep(LOAD_SECONDS)
        if meanwhile is not None:
            await asyncio.to_thread(meanwhile)
        process.send_signal(signal.SIGKILL)
        await asyncio.gather(*clients)


def test_what_was_acknowledged_is_there_after_every_kill(tmp_path):
    source = cluster(tmp_path)
    acknowledged, refused = [], []
    for number in range(KILLS):
        with serving(tmp_path, source) as (process, port):
            asyncio.run(under_load(process, port, f"round-{number}", acknowledged, refused))
        assert not refused
        ledger = tmp_path / "data/clusters/mine/ledger.db"
        held = {entry.reservation for entry in read_ledger(ledger).entries}
        assert set(acknowledged) <= held
        assert len(held) <= len(acknowledged) + (number + 1) * CONNECTIONS, (
            "and nothing that nobody asked for"
        )
    assert len(acknowledged) > KILLS * CONNECTIONS
    assert ledger_verify(str(ledger)).yes
    with (
        serving(tmp_path, source),
        contextlib.closing(sqlite3.connect(tmp_path / "data/server.db")) as connection,
    ):
        audited = {subject for (subject,) in connection.execute("SELECT subject FROM audit")}
        # read now: whoever keeps the ledger may have written a moment longer than the one that was killed
        held = {entry.reservation for entry in read_ledger(ledger).entries}
    assert held == audited, "who took some of the steps is not known any more, but that they were taken"


def test_a_copy_that_is_made_under_load_has_what_was_acknowledged_before(tmp_path):
    acknowledged, refused, before = [], [], []
    ledger, copy = tmp_path / "data/clusters/mine/ledger.db", tmp_path / "copy.db"

    def backup():
        before.extend(acknowledged)
        words = ("ledger", "backup", str(copy), "--ledger", str(ledger))
        subprocess.run([sys.executable, "-m", "ullage", *words], check=True, stdout=subprocess.DEVNULL)

    with serving(tmp_path, cluster(tmp_path)) as (process, port):
        asyncio.run(under_load(process, port, "copied", acknowledged, refused, meanwhile=backup))
    assert not refused
    copied = {entry.reservation for entry in read_ledger(copy).entries}
    held = {entry.reservation for entry in read_ledger(ledger).entries}
    assert set(before) <= copied <= held
    assert len(acknowledged) > len(before), "the server went on meanwhile"
    assert ledger_verify(str(copy)).yes
