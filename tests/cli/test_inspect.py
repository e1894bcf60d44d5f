"""`ullage inspect` on the machine that runs the tests: whatever it is, it has CPUs and memory."""

import json
import os
from pathlib import Path

import pytest

import ullage.cli.inspect

MACHINES = Path(__file__).parent.parent / "sources" / "host" / "machines"


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
        (("--ssh", "a", "a"), "host a is given twice"),
        (("--ssh", "a", "--", "-oProxyCommand=x"), "is not an ssh destination"),
        (("n1",), "hosts are named with --ssh, as in --ssh n1"),
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


@pytest.fixture
def three_hosts(tmp_path, monkeypatch):
    """An ssh that knows two recorded machines, n1 and n2, and no other host."""
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\ncat > /dev/null\n"
        "for word; do case $word in\n"
        f"n1) exec cat {MACHINES}/kvm-host.txt;;\n"
        f"n2) exec cat {MACHINES}/lvm-two-groups.txt;;\n"
        "esac; done\necho 'no route to host' >&2\nexit 255\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("three_hosts")
@pytest.mark.parametrize(
    "words", [("--ssh", "n1", "n2"), ("--ssh", "n1", "--ssh", "n2"), ("n2", "--ssh", "n1")], ids=" ".join
)
def test_hosts_are_named_behind_the_option_or_with_it(ask, words):
    result = ask("inspect", *words)
    assert result.code == 0
    assert result.out.startswith("✓ 2 of 2 hosts answered")


@pytest.mark.usefixtures("three_hosts")
@pytest.mark.parametrize("output", ["json", "yaml"])
def test_the_documents_of_several_hosts_are_a_cluster(ask, tmp_path, output):
    result = ask("inspect", "--ssh", "n1", "n2", "lost", "-o", output)
    assert result.code == 2
    assert result.err.startswith("ullage: note: lost: ")
    (tmp_path / f"hosts.{output}").write_text(result.out)
    report = json.loads(ask("status", "-c", tmp_path / f"hosts.{output}", "-o", "json").out)
    assert len(report["nodes"]) == 2
    assert report["policy"] == "zos"
    assert ask("inspect", "--ssh", "n1", "n2", "lost", "-o", output, "-q").err == ""


@pytest.mark.parametrize("words", [(), ("--ssh", "n1")], ids=["here", "ssh"])
@pytest.mark.usefixtures("three_hosts")
def test_quiet_silences_progress(ask, monkeypatch, words):
    told = []
    shown = ullage.cli.inspect.progress

    def progress(what, *, quiet=False):
        told.append(quiet)
        return shown(what, quiet=quiet)

    monkeypatch.setattr(ullage.cli.inspect, "progress", progress)
    assert ask("inspect", *words, "-q").code == 0
    assert ask("inspect", *words).code == 0
    assert told == [True, False]
