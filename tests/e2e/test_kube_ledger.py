"""The ledger of a cluster on a real control plane: many write at once, some are killed, the server restarts.

What was told is there, whole; nothing is promised twice; and all who asked saw one order of steps.
"""

import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from kube_cluster import pod, stays, until
from plane.settings import API
from simulation.concurrency import fleet, operation, seen, ticks, wishes
from simulation.linearizability import Operation, violations
from stores.ledger_files import STORY, tell
from ullage.model.ledger import Hold, Outcome, Release, Reserve
from ullage.model.resources import Resources
from ullage.service.ledger_cluster import ClusterPlace, open_ledger
from ullage.stores import kubernetes_compaction
from ullage.stores.protocol import StoreUnavailableError

CPU = (Hold("web", "node/n0", Resources({"cpu": 1})),)
TOLD_MIN = 10
"""Steps that a writer has been told of before anything happens to it."""
SPAWNING = multiprocessing.get_context("spawn")


def place_of(cluster):
    return ClusterPlace(kubeconfig=str(cluster.plane.kubeconfig()))


def client(place, name, ended, answers):
    """Ask for one thing after the other until all is ended, and tell of each before the next."""
    started = time.monotonic()
    with open_ledger(place) as ledger:
        for key, command in wishes(name, started):
            if ended.is_set():
                break
            begun, at_seconds = time.monotonic(), ticks(started)
            try:
                outcome = ledger.submit(command, at_seconds=at_seconds, key=key)
            except StoreUnavailableError:
                continue
            answers.send(seen(begun, command, outcome, at_seconds, key))
    answers.close()


class Writer:
    """A process that asks, and what it has told so far."""

    def __init__(self, place, name, ended):
        self.found = []
        pipe, telling = SPAWNING.Pipe(duplex=False)
        self.process = SPAWNING.Process(target=client, args=(place, name, ended, telling))
        self.process.start()
        telling.close()
        self._listening = threading.Thread(target=self._listen, args=(pipe,))
        self._listening.start()

    def _listen(self, pipe):
        with contextlib.suppress(EOFError, OSError):
            while True:
                self.found.append(operation(pipe.recv()))

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)

    def end(self):
        """Return how it ended, when it has."""
        self.process.join()
        self._listening.join()
        return self.process.exitcode


def test_a_story_is_told_as_the_embedded_ledger_tells_it(kube_cluster):
    place = place_of(kube_cluster)
    with open_ledger(place) as ledger:
        outcomes = tell(ledger)
    with open_ledger(place) as again:
        assert again.state().revision == len(STORY)
        assert [row.decision for row in again.journal()] == [each.decision for each in outcomes]
        assert again.submit(STORY[1][2], at_seconds=900, key="first").repeated
        assert [finding for finding in again.verify() if finding.severity == "error"] == []
    names = [each["metadata"]["name"] for each in kube_cluster.plane.items("/apis/ullage.dev/v1/plans")]
    assert names == [f"step-{revision:016}" for revision in range(1, len(STORY) + 1)]


def whole(found, ledger):
    """Return what was seen, with the steps of those who were killed before they could tell of them."""
    known = {each.outcome.revision for each in found if not each.outcome.repeated}
    unseen = [
        Operation(
            float("-inf"),
            float("inf"),
            row.command,
            Outcome(row.revision, row.decision),
            row.at_seconds,
            row.key,
        )
        for row in ledger.journal(1)
        if row.revision not in known
    ]
    return [*found, *unseen]


@pytest.mark.faults
def test_nothing_that_was_told_is_lost_when_writers_are_killed_and_the_server_restarts(kube_cluster):
    place = place_of(kube_cluster)
    with open_ledger(place) as ledger:
        ledger.submit(fleet(), at_seconds=0)
        start = ledger.state()
    ended = SPAWNING.Event()
    first = [Writer(place, name, ended) for name in "abcd"]
    until(lambda: all(len(each.found) > TOLD_MIN for each in first), "everybody was told something")
    for killed in first[:2]:
        killed.kill()
    second = [Writer(place, name, ended) for name in "ef"]
    kube_cluster.plane.stop_part(API)
    kube_cluster.plane.start_part(API)
    told = len(first[2].found)
    until(lambda: len(first[2].found) > told + TOLD_MIN, "who was there before the restart goes on")
    until(lambda: all(len(each.found) > TOLD_MIN for each in second), "so does who came meanwhile")
    ended.set()
    assert [each.end() for each in (*first, *second)] == [-signal.SIGKILL, -signal.SIGKILL, 0, 0, 0, 0]
    found = [operation for each in (*first, *second) for operation in each.found]
    with open_ledger(place) as ledger:
        last = ledger.state()
        rows = {row.revision: row for row in ledger.journal()}
        lost = [each for each in found if rows[each.outcome.revision].decision != each.outcome.decision]
        assert lost == []
        assert violations(whole(found, ledger), start) == []
        assert [finding for finding in ledger.verify() if finding.severity == "error"] == []
    assert last.revision == max(rows) >= max(each.outcome.revision for each in found)
    assert {each.outcome.decision.accepted for each in found} == {True, False}


@pytest.fixture
def ullage(kube_cluster, tmp_path):
    """Run `ullage` as an administrator of the cluster, with its ledger; return what it says as JSON."""

    def run(*words, expect=0):
        environment = {
            **os.environ,
            "KUBECONFIG": str(kube_cluster.plane.kubeconfig()),
            "ULLAGE_LEDGER": "kube",
            "XDG_DATA_HOME": str(tmp_path),
        }
        done = subprocess.run(
            [sys.executable, "-m", "ullage", *words, "-o", "json"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == expect, done.stderr + done.stdout
        return done.stderr if expect else json.loads(done.stdout)

    return run


def manifest(tmp_path, *pods):
    file = tmp_path / "wanted.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(pods)}), encoding="utf-8")
    return str(file)


def test_what_is_committed_is_held_against_the_scheduler_until_its_pod_comes(kube_cluster, ullage, tmp_path):
    kube_cluster.nodes(2, cpu="4")
    kube_cluster.namespaces("shop")
    kube_cluster.start("scheduler")
    operator = kube_cluster.start("operator")
    wanted = pod("shop/wanted", cpu="3")
    held = ullage("fit", "-c", "kube", "-f", manifest(tmp_path, wanted), "--commit", "--hold", "600")
    (node,) = {each["capacity"].removeprefix("node/") for each in held["commit"]["held"]}
    other = {"n0": "n1", "n1": "n0"}[node]
    kube_cluster.plane.create_many([pod("shop/a", cpu="3"), pod("shop/b", cpu="3")])
    until(lambda: len(kube_cluster.placed()) == 1, "one of two has a place")
    assert set(kube_cluster.placed().values()) == {other}
    stays(lambda: len(kube_cluster.placed()) == 1, "what is held is held")
    kube_cluster.plane.create(wanted)
    assert kube_cluster.wait_until_placed("shop/wanted")["shop/wanted"] == node
    until(lambda: ullage("ledger", "show")["entries"] == [], "the pod is its own entry now")
    assert ullage("ledger", "verify")["sound"]
    kube_cluster.plane.delete("/api/v1/namespaces/shop/pods/wanted")
    until(lambda: len(kube_cluster.placed()) == 2, "what was held is free once its pod is gone")
    assert not operator.said("cannot end promises")


def test_a_hold_that_nobody_uses_ends_at_its_time_and_its_room_is_given_away(kube_cluster, ullage, tmp_path):
    kube_cluster.nodes(1, cpu="4")
    kube_cluster.namespaces("shop")
    kube_cluster.start("scheduler")
    ullage(
        "fit", "-c", "kube", "-f", manifest(tmp_path, pod("shop/wanted", cpu="3")), "--commit", "--hold", "20"
    )
    kube_cluster.plane.create(pod("shop/other", cpu="3"))
    kube_cluster.wait_until_told("shop/other", "cpu")
    assert "shop/other" not in kube_cluster.placed()
    kube_cluster.wait_until_placed("shop/other")
    kube_cluster.start("operator")
    until(lambda: ullage("ledger", "show")["entries"] == [], "the operator says so in the ledger")
    last = ullage("ledger", "history")["steps"][-1]
    assert [each["state"] for each in last["changed"]] == ["EXPIRED"]


HOUR_AHEAD = """
import time
right = time.time
time.time = lambda: right() + 3600
"""


def test_clocks_that_are_wrong_end_no_hold_and_a_step_from_the_future_is_refused(
    kube_cluster, ullage, tmp_path, monkeypatch
):
    kube_cluster.nodes(1, cpu="4")
    kube_cluster.namespaces("shop")
    wanted = manifest(tmp_path, pod("shop/wanted", cpu="3"))
    ullage("fit", "-c", "kube", "-f", wanted, "--commit", "--hold", "600")
    held = ullage("ledger", "show")["entries"]
    (tmp_path / "sitecustomize.py").write_text(HOUR_AHEAD, encoding="utf-8")
    with monkeypatch.context() as skewed:
        skewed.setenv("PYTHONPATH", str(tmp_path))
        for component in ("scheduler", "operator"):
            kube_cluster.start(component, ready='"leads"')
        words = ("fit", "-c", "kube", "-f", manifest(tmp_path, pod("shop/late", cpu="1")), "--commit")
        assert "ahead of the cluster's" in ullage(*words, "--hold", "600", expect=1)
    kube_cluster.plane.create(pod("shop/thief", cpu="3"))
    kube_cluster.wait_until_told("shop/thief", "cpu")
    stays(lambda: "shop/thief" not in kube_cluster.placed(), "what is held is held", 6.0)
    assert ullage("ledger", "show")["entries"] == held


def test_old_steps_go_on_a_real_server_and_who_has_slept_is_not_believed(kube_cluster, monkeypatch):
    """The operator's rights are enough for it, and a name that is free again is no step."""
    for name, few in (("KEEP_STATE_STEPS", 4), ("STEPS_KEPT_MIN", 6), ("SECONDS_KEPT", 0)):
        monkeypatch.setattr(kubernetes_compaction, name, few)
    as_operator = ClusterPlace(kubeconfig=str(kube_cluster.kubeconfig("operator")))
    with open_ledger(place_of(kube_cluster)) as sleeper, open_ledger(as_operator) as busy:
        busy.submit(fleet(), at_seconds=0)
        assert sleeper.state().revision == 1
        for number in range(30):
            busy.submit(Reserve(f"r{number}", "me", 10**9, holds=CPU), at_seconds=number)
        stored = kube_cluster.plane.items("/apis/ullage.dev/v1/plans")
        assert "step-0000000000000002" not in {each["metadata"]["name"] for each in stored}
        assert busy.earliest() == 20
        told = sleeper.submit(Release("r7"), at_seconds=40)
        assert (told.revision, told.decision.accepted) == (32, True)
        last = busy.state()
        assert last.revision == 32
        assert {each.reservation for each in last.entries} == {f"r{each}" for each in range(30) if each != 7}
        assert [finding for finding in sleeper.verify() if finding.severity == "error"] == []
