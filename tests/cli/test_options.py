"""From an answer to the terminal: width, colour, notes, and where a cluster's name comes from."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from ullage.cli.options import WIDTH_MIN, WIDTH_WITHOUT_TERMINAL, columns_of_output


def on_a_terminal(*words: str, columns: int = 80, **environment: str) -> tuple[str, int]:
    """Return what a command prints when its output is a terminal, and its exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    clean = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR"}}
    with subprocess.Popen(
        [sys.executable, "-m", "ullage", *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env={**clean, "PYTHONUTF8": "1", **environment},
    ) as process:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the terminal is closed when the last writer is gone
                break
            if not part:
                break
            parts.append(part)
        code = process.wait()
    os.close(ours)
    return b"".join(parts).decode(), code


def test_a_terminal_has_colours_and_its_own_width():
    out, code = on_a_terminal("status", "-c", "demo", columns=70)
    assert code == 0
    assert "\x1b[" in out


@pytest.mark.parametrize(
    ("words", "environment"), [(("--no-color",), {}), ((), {"NO_COLOR": "1"})], ids=["option", "variable"]
)
def test_colours_can_be_refused(words, environment):
    out, _ = on_a_terminal("status", "-c", "demo", *words, **environment)
    assert "\x1b[" not in out
    assert max(len(line.rstrip("\r")) for line in out.split("\n")) <= 80


def test_a_pipe_has_no_colours(ask):
    assert "\x1b" not in ask("status", "-c", "demo").out


@pytest.mark.parametrize(
    ("given", "width"),
    [("120", 120), ("7", WIDTH_MIN), ("", WIDTH_WITHOUT_TERMINAL), ("wide", WIDTH_WITHOUT_TERMINAL)],
)
@pytest.mark.usefixtures("capsys")
def test_without_a_terminal_the_variable_counts(monkeypatch, given, width):
    monkeypatch.setenv("COLUMNS", given)
    assert columns_of_output() == width


def test_without_unicode_signs_are_ascii():
    done = subprocess.run(
        [sys.executable, "-m", "ullage", "status", "-c", "demo"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
    )
    assert done.stdout.isascii()


def test_a_document_is_utf8_whatever_the_terminal_is():
    done = subprocess.run(
        [sys.executable, "-m", "ullage", "status", "-c", "demo", "-o", "md"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
    )
    assert "▲" in done.stdout.decode()


def test_the_variable_names_the_cluster(ask, monkeypatch):
    monkeypatch.setenv("ULLAGE_CLUSTER", "demo")
    assert ask("status").code == 0


def test_options_of_live_clusters_are_taken_with_a_note(ask):
    result = ask("status", "-c", "demo", "--context", "prod", "--as", "me")
    assert result.code == 0
    assert result.err == "ullage: note: --context, --as matters to a live cluster only\n"
    assert ask("status", "-c", "demo", "--kubeconfig", "x", "-q").err == ""
    assert "--kubeconfig" not in ask("status", "-c", "demo", "--kubeconfig", "x").out


@pytest.mark.parametrize(
    ("words", "variable"),
    [
        (("-c", "kube"), ""),
        (("--context", "prod"), ""),
        (("--context", "prod"), "demo"),
        (("--as", "me", "-c", "kube"), "demo"),
    ],
)
def test_options_of_live_clusters_mean_one(ask, monkeypatch, words, variable):
    monkeypatch.setenv("ULLAGE_CLUSTER", variable)
    result = ask("status", *words)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("ullage: error: /nowhere/config: there is no kubeconfig; use --kubeconfig")


def test_the_kubeconfig_that_is_named_is_read(ask, tmp_path):
    (tmp_path / "config").write_text("current-context: gone\n", encoding="utf-8")
    result = ask("status", "--kubeconfig", tmp_path / "config")
    assert f"{tmp_path}/config: the current context 'gone' is not there" in result.err


def test_pages_leave_wide_columns_out_but_csv_does_not(ask):
    assert "cpu free" not in ask("status", "-c", "demo", "-o", "html").out
    assert "cpu free" in ask("status", "-c", "demo", "-o", "csv").out


@pytest.mark.parametrize(
    ("words", "header"),
    [
        (
            ("status", "-c", "demo", "--by", "resource"),
            "resource,capacity,reserve,allocatable,limit,promised,committed,free,blocked,spare,ullage",
        ),
        (("status", "-c", "demo", "--by", "finding"), "severity,subject,message,remedy"),
        (("policy", "check", "--policy", "zos"), "severity,subject,message,remedy"),
        (("snapshot", "diff", "demo", "demo"), "table,row,change,fields"),
    ],
)
def test_every_answer_can_be_csv(ask, words, header):
    result = ask(*words, "-o", "csv")
    assert result.code == 0
    assert result.out.splitlines()[0] == header


DUMP = (
    '{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"},"status":{"capacity":'
    '{"cpu":"4","memory":"8Gi","pods":"10","example.com/licences":"20"}}}'
)


def test_types_beside_a_dump_count_for_it_and_for_what_is_asked(ask, files, tmp_path):
    (tmp_path / "dump.json").write_text(DUMP)
    (tmp_path / "set.yaml").write_text(
        "apiVersion: ullage.dev/v1\nkind: WorkloadSet\n"
        "workloads: [{name: a, requests: {example.com/licences: 3}}]\n"
    )
    for wanted in (("--shape", "example.com/licences=3"), ("-f", tmp_path / "set.yaml")):
        line = ("fit", "-c", tmp_path / "dump.json", *wanted, "-o", "json")
        (plain,) = json.loads(ask(*line).out)["outcomes"]
        (typed,) = json.loads(ask("--types", files / "licences.yaml", *line).out)["outcomes"]
        asked = [each["requests"]["example.com/licences"] for each in (plain, typed)]
        assert asked == ["3", "5"]


def test_types_are_repeated_in_the_next_command(ask, files):
    path = files / "licences.yaml"
    result = ask("explain", "resource/example.com/licences", "-c", "demo", "--types", path)
    assert result.out.splitlines()[-1] == f"Next: ullage status -c demo --types {path}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1", "no apiVersion"),
        ("apiVersion: ullage.dev/v1\nkind: Snapshot\n", "write kind: ResourceTypes"),
        (
            "apiVersion: ullage.dev/v1\nkind: ResourceTypes\nresourceTypes: [{name: cpu, units: x}]\n",
            "cpu is built in",
        ),
    ],
)
def test_a_file_without_types_is_refused_in_one_line(ask, tmp_path, text, message):
    (tmp_path / "types.yaml").write_text(text)
    result = ask("status", "-c", "demo", "--types", tmp_path / "types.yaml")
    assert (result.code, result.out, result.err.count("\n")) == (1, "", 1)
    assert "types.yaml" in result.err
    assert message in result.err
