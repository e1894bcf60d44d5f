"""`ullage balance`: moves and plans on the demo cluster, a dump and a Ganeti cluster, in every format."""

import json
from pathlib import Path

import pytest

from ullage.cli.options import FORMATS

ENDINGS = {"table": "txt", "wide": "wide.txt"}
ROOT = Path(__file__).resolve().parents[2]
DUMP = "examples/maintenance.yaml"
INSTANCES = "ganeti:tests/cli/files/ganeti.data"


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("output", FORMATS)
def test_a_drain_in_every_format(ask, matches_golden, output):
    result = ask("balance", "-c", DUMP, "--drain", "a", "-o", output)
    assert (result.code, result.err) == (2, "")
    matches_golden(f"balance.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize("output", FORMATS)
def test_an_even_cluster_in_every_format(ask, matches_golden, output):
    result = ask("balance", "-c", INSTANCES, "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"rebalance.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize("what", ["squeeze", "rolling"])
@pytest.mark.parametrize("output", ["csv", "json", "md"])
def test_nodes_to_do_without_and_turns_for_machines(ask, matches_golden, what, output):
    result = ask("balance", "-c", DUMP, f"--{what}", "-o", output)
    assert (result.code, result.err) == (0 if what == "squeeze" else 2, "")
    matches_golden(f"{what}.{output}", result.out)


@pytest.mark.parametrize(
    "case",
    [
        ("even", ("-c", "demo"), 0),
        ("even-instances", ("-c", INSTANCES), 0),
        ("even-one-group", ("-c", "demo", "--group", "gpu", "--weight", "cpu=4", "--gain-min", "0"), 0),
        ("squeeze", ("-c", "demo", "--squeeze"), 0),
        ("squeeze-instances", ("-c", INSTANCES, "--squeeze"), 2),
        ("rolling", ("-c", DUMP, "--rolling"), 2),
        ("rolling-instances", ("-c", INSTANCES, "--rolling"), 2),
        ("yes", ("-c", "demo", "--drain", "s1"), 0),
        ("two", ("-c", "demo", "--drain", "g1", "--drain", "n1"), 2),
    ],
    ids=lambda case: case[0],
)
@pytest.mark.parametrize("width", [80, 120])
def test_answers_as_people_read_them(ask, matches_golden, case, width):
    name, words, code = case
    result = ask("balance", *words, "--width", width)
    assert (result.code, result.err) == (code, "")
    assert max(len(each) for each in result.out.splitlines()) <= width
    matches_golden(f"balance-{name}-{width}.txt", result.out)


def test_a_dump_and_its_snapshot_give_the_same(ask, tmp_path):
    saved = tmp_path / "saved.ullage"
    assert ask("snapshot", "save", "-c", DUMP, saved).code == 0
    reports = [
        json.loads(ask("balance", "-c", path, "--drain", "a", "-o", "json").out) for path in (DUMP, saved)
    ]
    assert reports[0]["plan"] == reports[1]["plan"]
    assert [len(wave["steps"]) for wave in reports[0]["waves"]] == [2, 1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--squeeze", "--rolling"), "--squeeze and --rolling are two questions"),
        (("--weight", "tea=1"), "--weight: no term 'tea'; use one of free-memory, free-disk"),
        (("--group", "gpus"), "no group 'gpus'; did you mean gpu?"),
        (("--moves-max", "-1"), "invalid value for '--moves-max'"),
        (("--gain-min", "-1"), "invalid value for '--gain-min'"),
        (("--drain", "n99"), "no node 'n99'; did you mean"),
    ],
)
def test_what_cannot_be_asked_is_one_line(ask, words, message):
    result = ask("balance", "-c", "demo", *words)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert result.err.count("\n") == 1
