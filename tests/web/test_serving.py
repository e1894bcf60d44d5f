"""A server from its start to its end: signals, certificates, the last answers, and what it logs."""

import asyncio
import json
import resource
import signal
import ssl
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ullage.kube.operator.certificates import make
from ullage.web.http import Response
from ullage.web.routes import Route
from ullage.web.serving import FILES_WANTED, _notify
from web_client import ask, running, started


def test_who_is_being_answered_when_it_ends_gets_the_answer(tmp_path):
    asked = asyncio.Event()

    async def slow(server, request):
        del request
        asked.set()
        await server.ending.wait()
        await asyncio.sleep(0.2)
        return Response(body=b'"done"')

    async def work():
        async with running(tmp_path, Route("GET", "/slow", slow, None, "Slow.")) as server:
            waiting = asyncio.create_task(ask(server.address, "GET", "/slow"))
            await asked.wait()
        with pytest.raises(OSError, match=r"refused|Connect call failed"):
            await ask(server.address, "GET", "/slow")
        return await waiting

    reply = asyncio.run(work())
    assert (reply.status, reply.body) == (200, b'"done"')


def test_what_takes_too_long_is_given_up(tmp_path):
    asked = asyncio.Event()

    async def never(server, request):
        del server, request
        asked.set()
        await asyncio.Event().wait()

    async def work():
        async with running(tmp_path, Route("GET", "/never", never, None, "Never."), stop_seconds=0) as server:
            waiting = asyncio.create_task(ask(server.address, "GET", "/never"))
            await asked.wait()
        outcome = await asyncio.gather(waiting, return_exceptions=True)
        return outcome[0], server.lines

    _, lines = asyncio.run(work())
    assert any(line["message"] == "gives up on what takes too long" for line in lines)


def test_told_to_end_it_exits_with_0_and_its_log_is_lines_of_json(tmp_path):
    with started(tmp_path, "--log-requests") as server:
        assert server.ask("GET", "/health").status == 200
        assert server.ask("GET", "/nothing?token=hidden", {"Authorization": "Bearer hidden"}).status == 404
        code, lines = server.stop()
    assert code == 0
    assert [line["message"] for line in lines] == ["listens", "answered", "answered", "ends"]
    assert [line.get("path") for line in lines[1:3]] == ["/health", "/nothing"]
    assert "hidden" not in json.dumps(lines)


def test_it_imports_neither_a_solver_nor_what_other_faces_need():
    code = "import sys, ullage.web.serving; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"rich", "highspy", "lightkube", "ullage.engine.columns"} & set(done.stdout.split())


def write_certificate(folder):
    made = make(("localhost",), datetime.now(tz=UTC))
    (folder / "cert.pem").write_bytes(made.certificate)
    (folder / "key.pem").write_bytes(made.key)
    return made.certificate


def test_it_speaks_tls_and_takes_a_new_certificate_while_it_runs(tmp_path):
    first = write_certificate(tmp_path)
    words = ("--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"))

    def shown(address):
        host, _, port = address.removeprefix("https://").partition(":")
        return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate((host, int(port)), timeout=10))

    with started(tmp_path, *words) as server:
        assert server.address.startswith("https://127.0.0.1:")
        assert shown(server.address) in ders(first)
        unchecked = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unchecked.check_hostname = False
        unchecked.verify_mode = ssl.CERT_NONE
        assert asyncio.run(ask(server.address, "GET", "/health", tls=unchecked)).status == 200
        second = write_certificate(tmp_path)
        server.process.send_signal(signal.SIGHUP)
        ends = time.monotonic() + 20
        while shown(server.address) not in ders(second):
            assert time.monotonic() < ends
        assert server.stop()[0] == 0


def ders(pem):
    parts = pem.decode().split("-----END CERTIFICATE-----")[:-1]
    return [ssl.PEM_cert_to_DER_cert(f"{part.strip()}\n-----END CERTIFICATE-----\n") for part in parts]


def test_systemd_is_told_where_it_wants_to_know(tmp_path, monkeypatch):
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as hearing:
        hearing.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        _notify("READY=1")
        hearing.settimeout(5)
        assert hearing.recv(100) == b"READY=1"


def test_a_crowd_may_be_connected_whatever_the_usual_bound_of_files_is(tmp_path):
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))
    try:
        with started(tmp_path, "-c", "demo", "--refresh", "0") as server:
            limits = Path(f"/proc/{server.process.pid}/limits").read_text("ascii")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))
    files = next(line for line in limits.splitlines() if line.startswith("Max open files"))
    assert int(files.split()[3]) == min(FILES_WANTED, most)
