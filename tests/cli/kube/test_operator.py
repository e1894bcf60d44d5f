"""`ullage kube operator`: its options reach the process."""

import pytest
from click.testing import CliRunner

from ullage.cli.kube.operator import command
from ullage.kube.operator import running

CASES = {
    "what holds where nothing is said": (
        [],
        {"component": "operator", "port": 8080, "elects_leader": True, "profile": "kubernetes"},
        {"few-drives": "yes"},
        (9443, (), True),
    ),
    "what is said": (
        [
            "--webhook-port",
            "0",
            "--webhook-name",
            "a",
            "--webhook-name",
            "b",
            "-n",
            "here",
            "--as",
            "somebody",
            "--no-leader-elect",
            "--port",
            "0",
            "--profile",
            "zos",
            "--gpu-memory-gb",
            "10",
            "--no-sequential-lvg",
            "--no-node-capacity",
        ],
        {"namespace": "here", "as_user": "somebody", "elects_leader": False, "port": 0, "profile": "zos"},
        {"few-drives": "no", "gpu-memory": "10"},
        (0, ("a", "b"), False),
    ),
}


@pytest.mark.parametrize(("arguments", "fields", "settings", "own"), CASES.values(), ids=CASES)
def test_options_reach_the_process(monkeypatch, arguments, fields, settings, own):
    started = []
    monkeypatch.setattr(
        running, "run_operator", lambda *given, node_capacity: started.append((*given, node_capacity))
    )
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    ((options, *rest),) = started
    assert tuple(rest) == own
    assert options.settings == settings
    assert {name: getattr(options, name) for name in fields} == fields


@pytest.mark.parametrize(
    "arguments", [["--port", "70000"], ["--gpu-memory-gb", "0"], ["--webhook-port", "-1"]]
)
def test_options_that_cannot_be_are_refused(arguments):
    assert CliRunner().invoke(command, arguments).exit_code == 2
