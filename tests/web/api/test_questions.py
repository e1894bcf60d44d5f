"""Questions over HTTP are those of the command line: the same bytes, and yes or no in a header."""

import asyncio
import io
import json
import sys
from pathlib import Path

import pytest

from ullage.cli.main import run
from ullage.service.questions import QUESTIONS
from web_client import Started, ask, started, until_ready

ROOT = Path(__file__).resolve().parents[3]
YAML = {"Content-Type": "application/yaml"}
FITS = (ROOT / "examples" / "orders.yaml").read_bytes()
FITS_NOT = (ROOT / "examples" / "finetune.yaml").read_bytes()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with started(tmp_path_factory.mktemp("data"), "-c", "demo", "--refresh", "0") as server:
        until_ready(server)
        yield server


@pytest.fixture
def printed(capsysbinary, monkeypatch):
    """What the command line prints, and its exit code."""

    def run_line(*words, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsysbinary.readouterr()
        code = run([*words, "-c", "demo", "-o", "json", "-q"])
        out, err = capsysbinary.readouterr()
        return out, err, code

    return run_line


@pytest.mark.parametrize(
    ("words", "path", "body"),
    [
        (("status",), "status", b""),
        (("fit", "--shape", "cpu=4", "--replicas", "3"), "fit?shape=cpu%3D4&replicas=3", b""),
        (("fit", "-f", "-"), "fit", FITS),
        (("fit", "-f", "-"), "fit", FITS_NOT),
        (("check",), "check", b""),
        (("quota", "list"), "quota/list", b""),
        (("explain", "node/g1"), "explain?subject=node/g1", b""),
    ],
    ids=["status", "shape", "fits", "fits not", "check", "quotas", "explain"],
)
def test_the_answer_is_that_of_the_command_line_byte_for_byte(served: Started, printed, words, path, body):
    method, headers = ("POST", YAML) if body else ("GET", {})
    reply = served.ask(method, f"/v1/clusters/demo/{path}", headers, body)
    out, _, code = printed(*words, stdin=body)
    assert reply.body == out
    assert reply.status == 200
    assert reply.headers["ullage-answer"] == {0: "yes", 2: "no"}[code]


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_has_a_path(served: Started, name):
    reply = served.ask("GET", f"/v1/clusters/demo/{name}")
    assert reply.status in {200, 400, 422}, reply.data
    if reply.status == 200:
        assert name == "schema" or reply.data["apiVersion"] == "ullage.dev/v1"


@pytest.mark.parametrize(
    ("path", "status", "title"),
    [
        ("nowhere/status", 404, "there is no cluster 'nowhere'"),
        ("demo/status?by=colour", 400, "the query cannot be used: Invalid enum value 'colour' - at `$.by`"),
        ("demo/status?by=node&by=quota", 400, "by is given twice"),
        ("demo/fit?replicas=null", 400, "replicas: 'null' is no value"),
        ("demo/fit?replicas=-1", 400, "the query cannot be used: Expected `int` >= 0 - at `$.replicas`"),
        (
            "demo/status?cluster=kube",
            400,
            "the query cannot be used: Object contains unknown field `cluster`",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anybody_is_asked(served: Started, path, status, title):
    reply = served.ask("GET", f"/v1/clusters/{path}")
    assert (reply.status, reply.data["title"]) == (status, title)


def test_a_refusal_is_the_line_of_the_command_line(served: Started, printed):
    reply = served.ask("GET", "/v1/clusters/demo/explain?subject=node/nowhere")
    _, err, code = printed("explain", "node/nowhere")
    assert (reply.status, code) == (422, 1)
    assert err.decode() == f"ullage: error: {reply.data['title']}\n"
    assert reply.data["remedy"] in reply.data["title"]


def test_who_has_the_answer_already_is_told_so(served: Started):
    first = served.ask("GET", "/v1/clusters/demo/status")
    again = served.ask("GET", "/v1/clusters/demo/status", {"If-None-Match": first.headers["etag"]})
    other = served.ask("GET", "/v1/clusters/demo/quota/list", {"If-None-Match": first.headers["etag"]})
    assert (again.status, again.body, other.status) == (304, b"", 200)


def test_a_question_can_be_made_a_job(served: Started):
    async def work():
        wish = {"Prefer": "wait=5, respond-async"}
        begun = await ask(served.address, "GET", "/v1/clusters/demo/status", wish)
        path = begun.headers["location"]
        async with asyncio.timeout(20):
            while (await ask(served.address, "GET", path)).data["state"] != "done":  # noqa: ASYNC110 - it is elsewhere
                await asyncio.sleep(0.05)
        return begun.status, await ask(served.address, "GET", f"{path}/result")

    status, result = asyncio.run(work())
    assert status == 202
    assert result.body == served.ask("GET", "/v1/clusters/demo/status").body


@pytest.mark.parametrize("path", ["/etc/passwd", "demo", "-", "kube"])
def test_no_word_of_a_request_names_a_file_or_a_cluster_elsewhere(served: Started, path):
    body = json.dumps({"apiVersion": "v1", "kind": "List", "items": []}).encode()
    for name in ("f", "filename", "paths", "policy", "types", "kubeconfig", "cluster", "ledger"):
        reply = served.ask("POST", f"/v1/clusters/demo/fit?{name}={path}", YAML, body)
        assert reply.status == 400, name
