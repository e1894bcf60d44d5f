"""`ullage kube scheduler`: its options reach the process, and a cluster that is not there is named."""

import pytest
from click.testing import CliRunner

from ullage.cli.kube.scheduler import command
from ullage.kube.scheduler import running

MANY = """
    --scheduler-name a --scheduler-name b -n here --as somebody --no-leader-elect --port 0 --profile zos
    --gpu-memory-gb 10 --no-sequential-lvg
"""
CASES = {
    "what holds where nothing is said": (
        "",
        {"component": "scheduler", "port": 8080, "elects_leader": True, "profile": "kubernetes"},
        {"few-drives": "yes"},
        ("ullage",),
    ),
    "what is said": (
        MANY,
        {"namespace": "here", "as_user": "somebody", "elects_leader": False, "port": 0, "profile": "zos"},
        {"few-drives": "no", "gpu-memory": "10"},
        ("a", "b"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_options_reach_the_process(name, monkeypatch):
    arguments, fields, settings, names = CASES[name]
    given = []
    monkeypatch.setattr(running, "run_scheduler", lambda options, named: given.append((options, named)))
    done = CliRunner().invoke(command, arguments.split(), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    ((options, named),) = given
    assert {field: getattr(options, field) for field in fields} == fields
    assert options.settings == settings
    assert tuple(named) == names


def test_a_kubeconfig_that_is_not_there_is_named(ask):
    asked = ask("kube", "scheduler", "--kubeconfig", "absent.yaml")
    assert asked.code == 1
    assert "absent.yaml" in asked.err
    assert asked.err.count("\n") == 1
