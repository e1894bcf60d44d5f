"""A process from its start to its end: it follows, leads, works, answers, and lets go of its lease."""

import asyncio
import json
import os
import signal
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kube_cluster import free_port_numbers
from plane.client import ApiError
from ullage.kube import running
from ullage.kube.following import FOLLOWED
from ullage.kube.running import Log, Options, Process, run
from ullage.model.errors import InputError
from ullage.sources.kubernetes.api.client import CONNECTIONS_MAX, ApiClient
from ullage.sources.kubernetes.items import NODE, POD
from ullage.sources.kubernetes.kubeconfig import Access, ClusterEntry, UserEntry

KINDS = (NODE, POD)


@pytest.fixture
def options(plane):
    with plane.scratch() as namespace:
        yield Options(
            "test", kubeconfig=str(plane.kubeconfig()), namespace=namespace, port=0, host="127.0.0.1"
        )


def lease(plane, namespace: str) -> dict:
    return plane.get(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/ullage-test")["spec"]


def test_it_works_while_it_leads_and_lets_go_of_its_lease_at_the_end(plane, options, capfd):
    held = []

    async def work(process: Process) -> None:
        assert process.election.leads
        assert process.is_ready
        process.following.advance(process.following.take())
        held.append((await asyncio.to_thread(lease, plane, options.namespace))["holderIdentity"])

    run(options, work, kinds=KINDS)
    assert held[0].startswith(os.uname().nodename)
    assert lease(plane, options.namespace).get("holderIdentity", "") == ""
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    said = ["starts", "follows the cluster", "leads", "leads no more", "ends"]
    assert [line["message"] for line in lines] == said
    assert {line["component"] for line in lines} == {"test"}


def test_each_object_that_cannot_be_read_is_said_once(options, capfd, monkeypatch):
    monkeypatch.setattr(running, "LEFT_OUT_SECONDS", 0.01)

    def unreadable(cpu: str) -> bytes:
        spec = {"containers": [{"name": "m", "resources": {"requests": {"cpu": cpu}}}]}
        return json.dumps({"metadata": {"name": "p", "namespace": "team"}, "spec": spec}).encode()

    async def work(process: Process) -> None:
        for cpu in ("much", "much", "more"):
            process.following.mirror.put(POD, unreadable(cpu))
            await asyncio.sleep(0.1)

    run(options, work, kinds=KINDS)
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    said = [line for line in lines if line["message"] == "leaves out an object"]
    assert [(line["kind"], line["key"]) for line in said] == [("Pod", "team/p")] * 2
    assert ["'much'" in said[0]["why"], "'more'" in said[1]["why"]] == [True, True]


def test_the_lease_is_renewed_though_all_else_waits_for_the_server(options):
    renewed = []

    async def work(process: Process) -> None:
        for _ in range(CONNECTIONS_MAX):
            await process.client._free.acquire()
        before = process.election._renewed
        async with asyncio.timeout(10):
            while process.election._renewed == before:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.05)
        renewed.append(process.election.leads)
        for _ in range(CONNECTIONS_MAX):
            process.client._free.release()

    run(options, work, kinds=KINDS)
    assert renewed == [True]


def test_a_signal_ends_it(plane, options, capfd):
    async def work(_: Process) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(60)

    run(options, work, kinds=KINDS)
    assert lease(plane, options.namespace).get("holderIdentity", "") == ""
    assert '"ends"' in capfd.readouterr().err


def test_without_an_election_there_is_no_lease(plane, options):
    worked = []

    async def work(process: Process) -> None:
        worked.append(process.election.leads)

    run(options._replace(elects_leader=False), work, kinds=KINDS)
    assert worked == [False]
    with pytest.raises(ApiError, match=r"404|not found"):
        lease(plane, options.namespace)


def test_what_goes_wrong_in_the_work_is_raised(options):
    async def work(_: Process) -> None:
        raise InputError("it does not work", remedy="mend it")

    with pytest.raises(InputError, match="it does not work"):
        run(options, work, kinds=KINDS)


def test_what_every_replica_does_is_done_without_the_lead(plane, options):
    plane.create(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "ullage-test", "namespace": options.namespace},
            "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 3600},
        }
    )
    done = []

    async def work(_: Process) -> None:
        raise AssertionError("it does not lead")

    async def beside(process: Process) -> None:
        await asyncio.sleep(0.5)
        done.append(process.election.leads)

    run(options, work, kinds=KINDS, beside=beside)
    assert done == [False]
    assert lease(plane, options.namespace)["holderIdentity"] == "somebody"


def test_it_says_whether_it_is_well_and_its_figures(options):
    (port,) = free_port_numbers(1)
    seen: dict[str, tuple[int, str]] = {}

    def ask(path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    async def work(process: Process) -> None:
        for path in ("/healthz", "/readyz", "/metrics", "/elsewhere"):
            seen[path] = await asyncio.to_thread(ask, path)
        process.is_ready = False
        seen["not ready"] = await asyncio.to_thread(ask, "/readyz")

    run(options._replace(port=port), work, kinds=KINDS)
    assert {path: status for path, (status, _) in seen.items()} == {
        "/healthz": 200, "/readyz": 200, "/metrics": 200, "/elsewhere": 404, "not ready": 503,
    }  # fmt: skip
    figures = {
        sample.name: sample.value
        for family in text_string_to_metric_families(seen["/metrics"][1])
        for sample in family.samples
    }
    assert (figures["ullage_leads"], figures["ullage_ready"], figures["ullage_watch_failures"]) == (1, 1, 0)
    assert figures["ullage_lists_total"] >= len(KINDS)


def test_a_server_that_does_not_answer_is_one_clear_line(tmp_path):
    (port,) = free_port_numbers(1)
    path = tmp_path / "kubeconfig"
    path.write_text(
        json.dumps(
            {
                "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "users": [{"name": "u", "user": {}}],
            }
        ),
        encoding="utf-8",
    )

    async def work(_: Process) -> None:
        raise AssertionError("it follows nothing")

    with pytest.raises(InputError, match="cannot be read"):
        run(Options("test", kubeconfig=str(path), port=0), work)


def test_two_processes_of_one_host_are_told_apart():
    access = Access("x", ClusterEntry(server="http://127.0.0.1:1"), UserEntry())

    async def identities() -> list[str]:
        return [Process(Options("test"), access, ApiClient(access), FOLLOWED).identity for _ in range(2)]

    first, second = asyncio.run(identities())
    assert first != second


def test_a_line_of_the_log_is_json(capfd):
    Log("test").say("it is so", number=3)
    line = json.loads(capfd.readouterr().err)
    assert (line["component"], line["message"], line["number"]) == ("test", "it is so", 3)
    assert line["at"].endswith("Z")


def test_a_right_that_is_missing_is_said_while_it_waits(plane, options, monkeypatch, capfd):
    monkeypatch.setattr("ullage.kube.running.WAITING_SECONDS", 0.5)
    rules = [{"apiGroups": ["ullage.dev"], "resources": ["resourcetypes"], "verbs": ["list"]}]
    rbac = "rbac.authorization.k8s.io"
    named = {"apiVersion": f"{rbac}/v1", "metadata": {"name": f"{options.namespace}-types"}}
    subject = {"kind": "User", "name": "stranger", "apiGroup": rbac}
    role = {"kind": "ClusterRole", "name": named["metadata"]["name"], "apiGroup": rbac}
    plane.create({**named, "kind": "ClusterRole", "rules": rules})
    plane.create({**named, "kind": "ClusterRoleBinding", "subjects": [subject], "roleRef": role})
    told = []
    say = Log.say

    def listening(log: Log, message: str, **facts) -> None:
        say(log, message, **facts)
        if facts.get("failures"):
            told.append(facts["failures"])
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Log, "say", listening)

    async def work(_: Process) -> None:
        raise AssertionError("it cannot know the cluster")

    run(options._replace(kubeconfig=str(plane.kubeconfig("stranger"))), work, kinds=KINDS)
    assert "cannot list resource" in told[0]["Pod"]
    assert "waits for the cluster" in capfd.readouterr().err
