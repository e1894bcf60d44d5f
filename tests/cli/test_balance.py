"""`ullage balance --drain`: plans on the demo cluster and on a dump, in every format."""

import json
from pathlib import Path

import pytest

from ullage.cli.options import FORMATS

ENDINGS = {"table": "txt", "wide": "wide.txt"}
ROOT = Path(__file__).resolve().parents[2]
DUMP = "examples/maintenance.yaml"


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("output", FORMATS)
def test_a_drain_in_every_format(ask, matches_golden, output):
    result = ask("balance", "-c", DUMP, "--drain", "a", "-o", output)
    assert (result.code, result.err) == (2, "")
    matches_golden(f"balance.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize(
    "case",
    [
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
        ((), "no node to empty is named; use --drain NODE"),
        (("--drain", "n99"), "no node 'n99'; did you mean"),
    ],
)
def test_what_cannot_be_asked_is_one_line(ask, words, message):
    result = ask("balance", "-c", "demo", *words)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert result.err.count("\n") == 1
