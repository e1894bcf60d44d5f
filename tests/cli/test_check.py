"""`ullage check`: findings and losses on the demo cluster and on a dump, in every format and as JUnit."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ullage.cli.options import FORMATS

ENDINGS = {"table": "txt", "wide": "wide.txt"}
ROOT = Path(__file__).resolve().parents[2]
DUMP = "examples/maintenance.yaml"
PACKED = "tests/cli/files/packed.yaml"
MACHINES = "ganeti:tests/cli/files/overcommitted.txt"
SWAP = "tests/cli/files/overcommitted-policy.yaml"


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("output", [*FORMATS, "junit"])
def test_a_loss_in_every_format(ask, matches_golden, output):
    result = ask("check", "-c", DUMP, "--lose", "node/a", "-o", output)
    assert (result.code, result.err) == (2, "")
    matches_golden(f"check.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize(
    "case",
    [
        ("demo", ("-c", "demo"), 2),
        ("domain", ("-c", "demo", "--lose", "domain/rack-1"), 2),
        ("pairs", ("-c", "demo", "--nodes-lost", "2"), 2),
        ("drive", ("-c", "demo", "--lose", "drive/s1-hdd-0"), 2),
        ("drives", ("-c", "demo", "--lose", "drive/n3-nvme-0", "--lose", "drive/n6/n6-nvme-0"), 2),
        ("any", ("-c", DUMP, "--nodes-lost", "1"), 2),
        ("fine", ("-c", DUMP, "--lose", "domain/two"), 0),
        ("exact", ("-c", PACKED, "--lose", "node/a"), 0),
        ("exact-any", ("-c", PACKED, "--nodes-lost", "1"), 0),
        ("inexact", ("-c", PACKED, "--lose", "node/a", "--exact", "0"), 2),
        ("machines", ("-c", MACHINES, "--policy", SWAP), 2),
    ],
    ids=lambda case: case[0],
)
@pytest.mark.parametrize("width", [80, 120])
def test_answers_as_people_read_them(ask, matches_golden, case, width):
    name, words, code = case
    result = ask("check", *words, "--width", width)
    assert (result.code, result.err) == (code, "")
    assert max(len(each) for each in result.out.splitlines()) <= width
    matches_golden(f"check-{name}-{width}.txt", result.out)


def test_junit_fails_where_the_exit_code_does(ask):
    for words in (("--lose", "node/a"), ("--lose", "domain/two")):
        result = ask("check", "-c", DUMP, *words, "-o", "junit")
        top = ET.fromstring(result.out)  # noqa: S314 - we wrote it ourselves
        assert (top.get("failures") != "0") == (result.code == 2)


def test_junit_is_for_checks_alone(ask):
    result = ask("status", "-c", "demo", "-o", "junit")
    assert result.code == 1
    assert "'junit' is not one of" in result.err


def test_a_named_loss_says_what_the_survey_says_of_it(ask):
    survey = json.loads(ask("check", "-c", "demo", "--nodes-lost", "2", "-o", "json").out)["surveys"][0]
    for worst in survey["worst"][:4]:
        words = [word for name in worst["nodes"] for word in ("--lose", f"node/{name}")]
        loss = json.loads(ask("check", "-c", "demo", *words, "-o", "json").out)["loss"]
        assert loss["losers"] == worst["losers"]
        assert (loss["replaced"], loss["daemons"]) == (worst["replaced"], worst["daemons"])


def test_a_dump_and_its_snapshot_give_the_same(ask, tmp_path):
    saved = tmp_path / "saved.ullage"
    assert ask("snapshot", "save", "-c", DUMP, saved).code == 0
    reports = [
        json.loads(ask("check", "-c", path, "--nodes-lost", "2", "-o", "json").out) for path in (DUMP, saved)
    ]
    for part in ("checks", "surveys", "budgets"):
        assert reports[0][part] == reports[1][part]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--lose", "n1"),
            "'n1' is nothing that can be lost; use node/NAME, domain/NAME or drive/UUID",
        ),
        (("--lose", "node/n99"), "no node 'n99'; did you mean"),
        (("--lose", "domain/rack-9"), "no domain 'rack-9'; did you mean rack-"),
        (("--nodes-lost", "4"), "invalid value for '--nodes-lost'"),
    ],
)
def test_what_cannot_be_asked_is_one_line(ask, words, message):
    result = ask("check", "-c", "demo", *words)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("output", FORMATS)
def test_machines_in_every_format(ask, matches_golden, output):
    result = ask("check", "-c", MACHINES, "--policy", SWAP, "-o", output)
    assert (result.code, result.err) == (2, "")
    matches_golden(f"check-machines.{ENDINGS.get(output, output)}", result.out)


def test_machines_are_looked_at_after_a_balance_unless_that_is_not_wanted(ask):
    found = [
        json.loads(ask("check", "-c", MACHINES, *words, "-o", "json").out)["redundancy"]
        for words in ((), ("--no-balance",))
    ]
    assert [len(each["afterBalance"]) for each in found] == [1, 0]
    assert found[0]["now"] == found[1]["now"]


def test_a_ganeti_file_and_its_snapshot_give_the_same(ask, tmp_path):
    saved = tmp_path / "saved.ullage"
    assert ask("snapshot", "save", "-c", MACHINES, saved).code == 0
    reports = [json.loads(ask("check", "-c", path, "-o", "json").out) for path in (MACHINES, saved)]
    for part in ("checks", "redundancy"):
        assert reports[0][part] == reports[1][part]


@pytest.mark.parametrize("output", FORMATS)
def test_a_lost_drive_in_every_format(ask, matches_golden, output):
    result = ask("check", "-c", "demo", "--lose", "drive/s1-hdd-0", "-o", output)
    assert (result.code, result.err) == (2, "")
    matches_golden(f"check-drive.{ENDINGS.get(output, output)}", result.out)


def test_drives_and_nodes_are_two_questions(ask):
    result = ask("check", "-c", "demo", "--lose", "drive/s1-hdd-0", "--lose", "node/n1")
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        "ullage: error: --lose: drives cannot be lost together with nodes or domains; "
        "ask about them in two questions\n"
    )


def test_use_of_another_cluster_is_not_judged_and_told(ask, tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("subject,resource,time,value\npod/other/p,cpu,1767225600,5\n", encoding="utf-8")
    found = ask("check", "-c", "demo", "--usage", path, "-o", "wide")
    assert "nothing that was observed is of a node or a pod of this cluster" in found.out
