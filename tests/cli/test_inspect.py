"""`ullage inspect` on the machine that runs the tests: whatever it is, it has CPUs and memory."""

import json
import os

import pytest


@pytest.mark.parametrize("output", ["table", "wide", "csv", "md", "html"])
def test_this_host_in_every_format(ask, output):
    result = ask("inspect", "-o", output)
    assert (result.code, result.err) == (0, "")
    assert result.out


def test_the_document_of_this_host_is_a_cluster(ask, tmp_path):
    document = json.loads(ask("inspect", "-o", "json", "--save", tmp_path / "hosts").out)
    assert (document["apiVersion"], document["kind"]) == ("ullage.dev/v1", "HostFacts")
    (saved,) = (tmp_path / "hosts").iterdir()
    assert saved.name == f"{document['hostname']}.json"
    report = json.loads(ask("status", "-c", tmp_path / "hosts", "-o", "json").out)
    assert [node["name"] for node in report["nodes"]] == [document["hostname"]]
    assert report["policy"] == "zos"
    assert report["nodes"][0]["capacity"]["cpu"] == str(os.cpu_count())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--class", "vda"), "--class: "),
        (("--class", "vda=FLOPPY"), "--class: "),
        (("--ssh", "-oProxyCommand=x"), "is not an ssh destination"),
        (("--ssh", "a", "--ssh", "a"), "host a is given twice"),
        (("-c", "demo"), "no such option '-c'"),
    ],
)
def test_what_cannot_be_asked_is_one_line(ask, words, message):
    result = ask("inspect", *words)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_a_host_that_does_not_answer_makes_it_a_no(ask, tmp_path, monkeypatch):
    program = tmp_path / "ssh"
    program.write_text("#!/bin/sh\necho 'no route to host' >&2\nexit 255\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    result = ask("inspect", "--ssh", "lost")
    assert result.code == 2
    assert result.out.startswith("✗ 0 of 1 host answered")
    assert "no route to host" in result.out
