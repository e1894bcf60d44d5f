"""A loader reads once, says how that went, and forks; nothing is left of it once nobody is there."""

import gzip
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import psutil
import pytest

from ullage.model.errors import InputError
from ullage.service.asked import Asked, read_to_hold
from ullage.web.children import ENVIRONMENT
from ullage.web.frames import (
    Answered,
    Asking,
    EndedError,
    Failed,
    Fork,
    Hello,
    Ready,
    Same,
    Told,
    ToRead,
    receive,
    send,
)
from ullage.web.loader import MODULE, digest, read, require_one_thread
from ullage.web.work import Work

TOLD = msgspec.msgpack.Decoder(Told)
HELLO = msgspec.msgpack.Decoder(Hello)
ANSWERED = msgspec.msgpack.Decoder(Answered)
SECONDS_MAX = 60.0
NODE = {"name": "n1", "capacity": {"cpu": "4", "memory": "8Gi"}}
GANETI = Path(__file__).resolve().parents[2] / "examples" / "ganeti.data"
KUBERNETES_NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "9"}},
}
DOCUMENT = {"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "nodes": [NODE]}


def order(**more):
    return ToRead(**{"cluster": "mine", "reading": "r", "socket": "", "spec": "upload", **more})


def written(path, document=None, **changes):
    path.write_bytes(msgspec.json.encode({**(document or DOCUMENT), **changes}))
    return str(path)


def test_a_source_is_read_as_the_command_line_does(tmp_path):
    path = written(tmp_path / "dump.json")
    held = read(order(spec=path))
    assert (held.name, held.snapshot.name) == ("mine", "dump.json")
    assert held.snapshot == read_to_hold("mine", Asked(path)).snapshot


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_document_that_was_sent_is_called_what_its_cluster_is(tmp_path, packed):
    path = tmp_path / "upload"
    written(path)
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    held = read(order(document=str(path)))
    assert (held.snapshot.name, len(held.snapshot.nodes)) == ("mine", 1)
    written(path, name="own")
    assert read(order(document=str(path))).snapshot.name == "own"


@pytest.mark.parametrize(
    "document",
    [
        msgspec.json.encode({"kind": "List", "apiVersion": "v1", "items": [KUBERNETES_NODE]}),
        GANETI.read_bytes(),
    ],
    ids=["kubectl", "Ganeti"],
)
def test_what_names_no_cluster_is_called_what_it_was_uploaded_under(tmp_path, document):
    path = tmp_path / "upload"
    path.write_bytes(document)
    held = read(order(document=str(path)))
    assert (held.name, held.snapshot.name) == ("mine", "mine")
    assert "standard input" not in repr(held.snapshot)


def test_complaints_about_a_document_name_its_cluster_and_no_path(tmp_path):
    path = tmp_path / "upload"
    path.write_bytes(b"{")
    with pytest.raises(InputError) as refused:
        read(order(document=str(path)))
    assert str(tmp_path) not in str(refused.value)
    assert str(refused.value).startswith("mine")
    assert "standard input" not in str(refused.value)


def test_a_document_is_bounded_once_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("ullage.web.loader.UPLOAD_BYTES_MAX", 1000)
    path = tmp_path / "upload"
    path.write_bytes(gzip.compress(b" " * 100_000 + msgspec.json.encode(DOCUMENT)))
    with pytest.raises(InputError, match="more than 1000 bytes"):
        read(order(document=str(path)))


def test_equal_clusters_have_equal_digests_in_every_process():
    found = digest(read_to_hold("demo", Asked("demo")).snapshot)
    program = (
        "from ullage.service.asked import Asked, read_to_hold; from ullage.web.loader import digest; "
        "print(digest(read_to_hold('other', Asked('demo')).snapshot), end='')"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    shown = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True, text=True
    )
    assert shown.stdout == found


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "other"},
        {"nodes": [{**NODE, "capacity": {"cpu": "5", "memory": "8Gi"}}]},
        {"nodes": [NODE, {**NODE, "name": "n2"}]},
        {"revision": 9},
        {"resourceTypes": [{"name": "example.com/thing"}]},
    ],
    ids=["name", "amount", "row", "revision", "types"],
)
def test_whatever_changes_in_a_cluster_changes_its_digest(tmp_path, changed):
    before = read(order(document=written(tmp_path / "a"))).snapshot
    after = read(order(document=written(tmp_path / "b", **changed))).snapshot
    assert digest(before) != digest(after)


@pytest.mark.parametrize(
    ("more", "is_another"),
    [
        ({}, False),
        ({"quotas": [{"name": "q", "namespaces": ["a"]}]}, False),
        ({"policy": {"name": "p", "layers": [{"origin": "x", "cluster": {"quota-run-min": "60"}}]}}, True),
        ({"nodes": []}, False),
    ],
    ids=["as it is", "quotas", "quotas that heed time", "empty"],
)
def test_a_live_cluster_in_which_nothing_has_changed_is_the_same_at_another_moment(
    tmp_path, more, is_another
):
    moments = [
        read(order(document=written(tmp_path / name, revision=number, takenSeconds=number, **more))).snapshot
        for name, number in (("a", 5), ("b", 6))
    ]
    one, other = (digest(each, is_live=True) for each in moments)
    assert (one != other) == is_another
    one, other = map(digest, moments)
    assert one != other, "of a file, somebody has written another"


def test_nothing_is_forked_beside_another_thread():
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        with pytest.raises(RuntimeError, match="threads where a fork needs one"):
            require_one_thread()
    finally:
        ended.set()
        thread.join()


@contextmanager
def loading(**ordered):
    """Run a loader, and give the connection to it and its process."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(SECONDS_MAX)
        with subprocess.Popen(
            [sys.executable, "-m", MODULE], stdin=theirs.fileno(), env={**os.environ, **ENVIRONMENT}
        ) as process:
            theirs.close()
            send(ours, order(**ordered))
            yield ours, process
            ours.close()
            process.wait(SECONDS_MAX)


def gone(processes):
    end = time.monotonic() + SECONDS_MAX
    while any(map(psutil.pid_exists, processes)):
        assert time.monotonic() < end, "processes are left"
        time.sleep(0.02)


def test_a_loader_says_why_it_cannot_read(tmp_path):
    with loading(spec=str(tmp_path / "absent.json")) as (control, process):
        told = receive(control, TOLD)
        assert isinstance(told, Failed)
        assert "absent.json: cannot be read" in told.line
        with pytest.raises(EndedError):
            receive(control, TOLD)
        assert process.wait(SECONDS_MAX) == 0


@pytest.mark.slow
def test_an_unchanged_cluster_keeps_its_revision_and_needs_no_second_loader(tmp_path):
    path = written(tmp_path / "dump.json")
    with loading(spec=path, revision=4) as (control, _):
        first = receive(control, TOLD)
    assert isinstance(first, Ready)
    assert (first.revision, first.nodes, first.workloads) == (5, 1, 0)
    known = {"revision": 5, "digest": first.digest}
    with loading(spec=path, **known) as (control, _):
        assert receive(control, TOLD).revision == 5
    with loading(spec=path, only_if_changed=True, **known) as (control, process):
        assert receive(control, TOLD) == Same()
        assert process.wait(SECONDS_MAX) == 0


@pytest.mark.slow
def test_workers_are_forked_as_often_as_asked_and_end_with_their_loader(tmp_path):
    path = tmp_path / "socket"
    with ExitStack() as stack:
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(path))
        listening.listen()
        listening.settimeout(SECONDS_MAX)
        control, process = stack.enter_context(loading(spec="demo", socket=str(path)))
        assert isinstance(receive(control, TOLD), Ready)
        send(control, Fork(2))
        workers = [stack.enter_context(listening.accept()[0]) for _ in range(2)]
        assert [receive(worker, HELLO) for worker in workers] == [Hello("r")] * 2
        send(workers[1], Asking(Work("question/status"), SECONDS_MAX))
        assert receive(workers[1], ANSWERED).done.status == 200
        (one, other) = (child.pid for child in psutil.Process(process.pid).children())
        os.kill(one, signal.SIGKILL)
        gone([one])  # it is no zombie either
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(process.pid, name)
        send(control, Fork())
        stack.enter_context(listening.accept()[0])
        os.kill(other, signal.SIGSTOP)  # as busy as one can be
        children = [child.pid for child in psutil.Process(process.pid).children()]
        assert len(children) == 2
        control.close()
        assert process.wait(SECONDS_MAX) == 0
        gone(children)


PARENT = """
import os, socket, subprocess, sys, time
from ullage.web.frames import ToRead, send
from ullage.web.loader import MODULE
ours, theirs = socket.socketpair()
process = subprocess.Popen([sys.executable, "-m", MODULE], stdin=theirs.fileno())
send(ours, ToRead("big", "r", "", "synthetic:nodes=100000"))
time.sleep(0.5)
print(process.pid, flush=True)
time.sleep(3600)
"""


@pytest.mark.slow
def test_a_loader_that_is_busy_with_a_source_ends_with_who_started_it():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        loader = int(parent.stdout.readline())
        assert psutil.pid_exists(loader)
        parent.kill()
        parent.wait(SECONDS_MAX)
        gone([loader])
