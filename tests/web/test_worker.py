"""What a worker answers, and what it does when answering goes wrong."""

import io
import socket
import subprocess
import sys
from contextlib import contextmanager

import msgspec
import pytest

from ullage.cli.main import run
from ullage.service.asked import Asked, read_to_hold
from ullage.service.figures import ClusterFigures, figures
from ullage.sources.snapshot_file import snapshot_of_bytes
from ullage.stores.codec import to_capacities
from ullage.web.frames import Answered, Asking, EndedError, Hello, Said, Stepped, receive, send
from ullage.web.work import Work
from ullage.web.worker import SNAPSHOT, answer, warm

HELLO = msgspec.msgpack.Decoder(Hello)
ANSWERED = msgspec.msgpack.Decoder(Answered)
SAID = msgspec.msgpack.Decoder(Said)
POD = b"""
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
"""
PROGRAM = """
import sys, time
from ullage.service.asked import Asked, read_to_hold
from ullage.service.progress import listener
from ullage.web import worker
from ullage.web.frames import ToRead
from ullage.web.work import Done

kept = []

def fail(name, work, held):
    raise KeyError("a defect")

def use(name, work, held):
    len(bytearray(int(name)))
    return Done()

def keep(name, work, held):
    kept.append(b"x" * int(name))
    return Done()

def sleep(name, work, held):
    time.sleep(3600)

def tell(name, work, held):
    for number in range(3600):
        listener()("nodes" + "s" * number, 0, 1)
        time.sleep(0.05)

worker._KINDS.update(fail=fail, use=use, keep=keep, sleep=sleep, tell=tell)
worker.GROWN_BYTES_MAX = 32 << 20
worker.ALARM_SECONDS = 0
order = ToRead("demo", "this one", sys.argv[1], "demo", worker_bytes_max=256 << 20)
worker.run(order, read_to_hold("demo", Asked("demo")), 7)
"""
MIB = 1 << 20


@pytest.fixture(scope="module")
def demo():
    return read_to_hold("demo", Asked("demo"))


def told(done):
    return msgspec.json.decode(done.body)


@pytest.mark.parametrize(
    ("work", "arguments"),
    [
        (Work("question/status"), ["status", "-c", "demo"]),
        (Work("question/fit", {"shape": "cpu=64"}), ["fit", "-c", "demo", "--shape", "cpu=64"]),
        (Work("question/fit", {"replicas": "3"}, POD), ["fit", "-c", "demo", "-f", "-", "--replicas", "3"]),
        (Work("question/schema"), ["schema"]),
    ],
    ids=["plain", "no", "with a body", "of no cluster"],
)
def test_a_question_is_answered_as_on_the_command_line(demo, work, arguments, monkeypatch, capfdbinary):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(work.body)))
    code = run([*arguments, "-o", "json"])
    done = answer(work, demo)
    assert (done.status, done.content) == (200, "application/json")
    assert done.body == capfdbinary.readouterr().out
    assert done.yes == (code == 0)
    assert done.seconds > 0


@pytest.mark.parametrize(
    ("work", "status", "words"),
    [
        (Work("question/fit", {"shape": "bogus"}), 422, "RESOURCE=AMOUNT"),
        (Work("question/nothing"), 422, "no question 'nothing'"),
        (Work("question/fit", {"policy": "/etc/passwd"}), 422, "policy"),
        (Work("page/nothing"), 404, "no page 'nothing'"),
        (Work("snapshot", {"form": "png"}), 400, "'png'"),
    ],
    ids=["bad input", "no question", "a path", "no page", "no form"],
)
def test_what_is_refused_is_answered_as_a_problem(demo, work, status, words):
    done = answer(work, demo)
    assert (done.status, done.content, done.yes) == (status, "application/problem+json", False)
    assert told(done)["status"] == status
    assert words in told(done)["title"]


def test_a_body_opens_no_file_of_the_machine(demo, tmp_path):
    base = tmp_path / "base.yaml"
    base.write_text("apiVersion: ullage.dev/v1\nkind: Policy\nname: base\n", encoding="utf-8")
    policy = f"apiVersion: ullage.dev/v1\nkind: Policy\nname: mine\ninherits: {base}\n"
    done = answer(Work("question/status", body=policy.encode()), demo)
    assert done.status == 422
    assert "neither a profile nor a file" in told(done)["title"]


def test_a_page_is_html(demo):
    done = answer(Work("page/overview"), demo)
    assert (done.status, done.content) == (200, "text/html; charset=utf-8")
    assert done.body.startswith(b"<!doctype html>")


def test_a_snapshot_is_the_whole_cluster_in_either_form(demo):
    compact = answer(Work("snapshot", {"form": "compact"}), demo)
    assert compact.content == SNAPSHOT
    assert snapshot_of_bytes(compact.body, "answer").workloads == demo.snapshot.workloads
    assert told(answer(Work("snapshot"), demo))["kind"] == "Snapshot"


def test_figures_are_those_of_the_cluster(demo):
    done = answer(Work("figures"), demo)
    assert msgspec.json.decode(done.body, type=ClusterFigures) == figures(Asked("demo"))


def test_offers_are_what_a_ledger_may_promise(demo):
    found = to_capacities(answer(Work("offers"), demo).body.decode())
    assert {f"node/{node.name}" for node in demo.snapshot.nodes} <= {each.name for each in found}


def test_a_defect_of_what_is_made_ready_is_told_and_no_more(demo, capfd):
    warm(demo, [Work("nonsense"), Work("question/status")])
    assert "KeyError: 'nonsense'" in capfd.readouterr().err


@contextmanager
def working(folder):
    """Run a worker that has called, and give the connection to it and its process."""
    path = folder / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, path], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            connection, _ = listening.accept()
            with connection:
                assert receive(connection, HELLO) == Hello("this one")
                yield connection, process
            process.kill()


def ask(connection, name, seconds_max=60.0):
    send(connection, Asking(Work(name), seconds_max))
    return receive(connection, ANSWERED)


def test_a_worker_answers_until_nobody_asks(tmp_path):
    with working(tmp_path) as (connection, process):
        for _ in range(3):
            answered = ask(connection, "question/status")
            assert (answered.done.status, answered.done.revision, answered.is_last) == (200, 7, False)
        connection.close()
        assert process.wait(60) == 0


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_worker_says_how_far_it_is_where_that_is_wanted_and_then_answers(demo, tmp_path, is_followed):
    work = Work("question/check", {"nodesLost": 1})
    with working(tmp_path) as (connection, _):
        send(connection, Asking(work, 60.0, is_followed))
        steps = []
        while isinstance(said := receive(connection, SAID), Stepped):
            steps.append(said)
        assert said.done.body == answer(work, demo).body
        assert bool(steps) == is_followed
        assert all(0 <= each.done <= each.total for each in steps)


def test_a_worker_whose_steps_nobody_can_hear_ends_quietly(tmp_path):
    with working(tmp_path) as (connection, process):
        send(connection, Asking(Work("tell"), 60.0, is_followed=True))
        assert receive(connection, SAID) == Stepped("nodes", 0, 1)
        connection.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "status"),
    [("fail", 500), (f"use/{512 * MIB}", 503), (f"keep/{64 * MIB}", 200)],
    ids=["a defect", "too much memory", "grown"],
)
def test_a_worker_that_is_no_longer_as_it_was_answers_and_ends(tmp_path, name, status):
    with working(tmp_path) as (connection, process):
        answered = ask(connection, name)
        assert (answered.done.status, answered.is_last) == (status, True)
        assert process.wait(60) == 0
        assert (b"a defect" in process.stderr.read()) == (name == "fail")


def test_memory_that_is_given_back_is_no_reason_to_end(tmp_path):
    with working(tmp_path) as (connection, _):
        answered = ask(connection, f"use/{64 * MIB}")
        assert (answered.done.status, answered.is_last) == (200, False)


@pytest.mark.slow
def test_a_worker_ends_by_itself_when_its_time_is_over(tmp_path):
    with working(tmp_path) as (connection, _), pytest.raises(EndedError):
        ask(connection, "sleep", 0.5)
