"""A server whose promises are in the cluster itself (`--store kube`): what it has told is there whoever dies.

The cluster is a real control plane with our definitions, and the command line uses the same ledger.
"""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kube_cluster import KubeCluster, pod, until
from plane.settings import API

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/")
PLANS = "/apis/ullage.dev/v1/plans"
LEDGER = "/v1/clusters/prod/ledger"
SECONDS_MAX = 60
HOUR_SECONDS = 3600
NEVER = 1 << 40


class Reply(NamedTuple):
    status: int
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


class Serving:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        found = ADDRESS.search(process.stdout.readline())
        assert found is not None
        self.address = found[0].rstrip("/")
        self._port = int(found[1])

    def ask(self, method: str, path: str, body: Any = None, key: str = "") -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=SECONDS_MAX)
        headers = {"Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return Reply(answer.status, answer.read())

    def reserve(self, name: str, key: str = "", node: str = "n0") -> Reply:
        hold = {"request": "web", "capacity": f"node/{node}", "resources": {"cpu": "1"}}
        asked = {"reservation": name, "owner": "team/x", "expiresSeconds": NEVER, "holds": [hold]}
        return self.ask("POST", f"{LEDGER}/reserve", asked, key)

    def held(self) -> set[str]:
        return {each["reservation"] for each in self.ask("GET", LEDGER).data["entries"]}

    def audited(self) -> list[tuple[str, str]]:
        return [(each["action"], each["subject"]) for each in self.ask("GET", "/v1/audit").data["entries"]]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def cluster(kube_cluster: KubeCluster) -> KubeCluster:
    kube_cluster.nodes(2)
    kube_cluster.namespaces("shop")
    return kube_cluster


@pytest.fixture
def environment(cluster: KubeCluster, tmp_path: Path) -> dict[str, str]:
    found = {**os.environ, "KUBECONFIG": str(cluster.plane.kubeconfig()), "XDG_DATA_HOME": str(tmp_path)}
    return {name: value for name, value in found.items() if name != "ULLAGE_LEDGER"}


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[[], Serving]]:
    """Start the server, always with the same folder."""
    words = ["serve", "-c", "prod=kube", "--store", "kube", "--listen", "0", "--observe", "0", "--data"]
    command = [sys.executable, "-m", "ullage", *words, str(tmp_path / "data")]
    with contextlib.ExitStack() as stack:

        def starting() -> Serving:
            process = stack.enter_context(
                subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
                )
            )
            stack.callback(process.kill)
            server = Serving(process)
            until(lambda: server.ask("GET", "/ready").status == 200, "the cluster is read")
            return server

        yield starting


@pytest.fixture
def ullage(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "ullage", *words]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=SECONDS_MAX, env=environment
        )

    return run


def steps(cluster: KubeCluster) -> list[str]:
    """Return the names of the objects that the ledger is made of."""
    return [each["metadata"]["name"] for each in cluster.plane.items(PLANS)]


def planned(server: Serving, name: str, key: str) -> str:
    """Plan a pod, and return the path of the plan."""
    reply = server.ask(
        "POST", f"/v1/clusters/prod/plans?holdSeconds={HOUR_SECONDS}", pod(f"shop/{name}", cpu="2"), key
    )
    assert reply.status == 201, reply.body
    return f"/v1/clusters/prod/plans/{reply.data['id']}"


def test_what_was_reserved_and_committed_is_in_the_cluster_and_is_there_after_a_kill(
    cluster: KubeCluster, start: Callable[[], Serving], ullage: Callable[..., Any]
):
    server = start()
    first = server.reserve("one", "key-1")
    assert (first.status, first.data["accepted"]) == (200, True), first.body
    plan = planned(server, "wanted", "key-2")
    committed = server.ask("POST", f"{plan}/commit", key="key-3")
    assert (committed.status, committed.data["state"]) == (200, "committed"), committed.body
    after_commit = steps(cluster)
    again = server.reserve("one", "key-1")
    assert again.data == {**first.data, "repeated": True}
    assert server.ask("POST", f"{plan}/commit", key="key-3").data["state"] == "committed"
    assert steps(cluster) == after_commit, "who asks again takes no step"
    last = server.reserve("two", "key-4")
    server.kill()
    assert last.status == 200
    shown = json.loads(ullage("ledger", "show", "--ledger", "kube", "-o", "json").stdout)
    held = {each["reservation"] for each in shown["entries"]}
    assert held > {"one", "two"}

    server = start()
    assert server.held() == held
    assert server.reserve("one", "key-1").data == {**first.data, "repeated": True}
    assert server.ask("GET", plan).data["state"] == "committed"
    audited = server.audited()
    assert audited[:3] == [("reserve", "one"), ("commit plan", plan.rpartition("/")[2]), ("reserve", "one")]
    assert ("reserve", "two") in audited, (
        "what was acknowledged is noted, though the server was killed at once"
    )
    page = server.ask("GET", "/history?cluster=prod").body.decode()
    assert all(text in page for text in ("reserve", "two", "commit plan", "wanted"))


@pytest.mark.faults
def test_commands_about_a_ledger_in_the_cluster_answer_through_the_server_or_refuse_in_a_line(
    cluster: KubeCluster, start: Callable[[], Serving], ullage: Callable[..., Any], tmp_path: Path
):
    server = start()
    assert server.reserve("one").status == 200
    url = f"{server.address}/v1/clusters/prod"
    for words in (("-c", url), ("--ledger", "kube")):
        refused = ullage("ledger", "backup", str(tmp_path / "copy.db"), *words)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert len(refused.stderr.splitlines()) == 1, refused.stderr
        assert "file" in refused.stderr
        assert not (tmp_path / "copy.db").exists()
        verified = ullage("ledger", "verify", *words, "-o", "json")
        assert json.loads(verified.stdout)["sound"], verified.stderr
        released = ullage("ledger", "release", "one", *words, "-o", "json")
        assert released.returncode == 0, released.stderr
        assert not server.held()
        assert server.reserve("one").status == 200
    history = json.loads(ullage("ledger", "history", "-c", url, "-o", "json").stdout)
    assert [each["revision"] for each in history["steps"]] == list(range(1, len(steps(cluster)) + 1))


@pytest.mark.faults
def test_steps_of_others_count_and_an_api_server_that_is_away_loses_nothing(
    cluster: KubeCluster, start: Callable[[], Serving], ullage: Callable[..., Any]
):
    server = start()
    for number in range(4):
        assert server.reserve(f"r{number}").status == 200
    refused = server.reserve("late")
    assert (refused.status, refused.data["title"]) == (409, "refused"), refused.body
    assert ullage("ledger", "release", "r0", "--ledger", "kube").returncode == 0
    assert server.held() == {"r1", "r2", "r3"}
    assert server.reserve("more").status == 200, "what others gave back can be had"
    cluster.plane.stop_part(API)
    away = server.reserve("away", "key-away", node="n1")
    assert away.status >= 500, away.body
    cluster.plane.start_part(API)
    until(lambda: server.reserve("away", "key-away", node="n1").status == 200, "the cluster is there again")
    assert server.held() == {"r1", "r2", "r3", "more", "away"}
    assert ("reserve", "away") in server.audited()
