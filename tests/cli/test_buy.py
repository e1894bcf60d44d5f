"""`ullage buy`: on the demo in every format, its exit codes, and errors as one line."""

import json
from pathlib import Path

import pytest

from ullage.cli.options import FORMATS
from ullage.engine import programme

CATALOG = Path(__file__).resolve().parents[2] / "examples" / "catalog.yaml"
ENDINGS = {"table": "txt", "wide": "wide.txt"}


@pytest.fixture
def buy(ask):
    def line(*words):
        return ask("buy", "-c", "demo", "--catalog", CATALOG, *words)

    return line


@pytest.mark.parametrize("output", FORMATS)
def test_what_waits_in_every_format(buy, matches_golden, output):
    result = buy("-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"buy.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize(
    "case",
    [
        ("nothing", ("--shape", "cpu=1,memory=1Gi"), 0),
        ("shape", ("--shape", "cpu=3,memory=9Gi", "--replicas", "40"), 0),
        ("lost", ("--nodes-lost", "1"), 0),
        ("no", ("--shape", "cpu=60,memory=300Gi"), 2),
    ],
    ids=lambda case: case[0],
)
@pytest.mark.parametrize("width", [90])
def test_answers_as_people_read_them(buy, matches_golden, case, width):
    name, words, code = case
    result = buy(*words, "--width", width)
    assert (result.code, result.err) == (code, "")
    assert max(len(each) for each in result.out.splitlines()) <= width
    matches_golden(f"buy-{name}-{width}.txt", result.out)


def test_files_of_workloads_are_asked_about(buy, files):
    report = json.loads(buy("-f", files / "training.yaml", "-o", "json").out)
    assert report["kind"] == "BuyReport"
    assert {each["workload"] for each in report["workloads"]} >= {"ml/training"}


def test_what_is_bought_makes_it_fit(buy):
    report = json.loads(buy("--shape", "cpu=3,memory=9Gi", "--replicas", "40", "-o", "json").out)
    (workload,) = report["workloads"]
    assert workload["placed"] == sum(each["replicas"] for each in workload["nodes"]) == 40
    total = sum(float(each["price"]) * each["count"] for each in report["items"])
    assert total == float(report["price"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--replicas", "2"), "--replicas is given without workloads"),
        (("--nodes-lost", "9"), "invalid value for '--nodes-lost'"),
        (("-f", "missing.yaml"), "missing.yaml: cannot be read"),
        (("-n", "nowhere"), "no namespace 'nowhere'"),
    ],
)
def test_what_cannot_be_asked_is_one_line(buy, words, message):
    result = buy(*words)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert result.err.count("\n") == 1


def test_drives_are_bought_for_nodes_that_are_there(ask):
    words = ["--catalog", CATALOG.with_name("drives-catalog.yaml"), "-f", CATALOG.with_name("archive.yaml")]
    result = ask("buy", "-c", "demo", *words, "-o", "json")
    report = json.loads(result.out)
    assert (result.code, report["price"], report["proof"]) == (0, "600", "bound")
    assert {(each["item"], each["kind"]) for each in report["items"]} == {
        ("nvme-2t", "drive"),
        ("nvme-4t", "drive"),
    }
    assert sum(each["count"] for each in report["drives"]) == 2
    assert "proven cheapest" in ask("buy", "-c", "demo", *words).out
    refused = ask("buy", "-c", "demo", *words, "--nodes-lost", "1")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "--nodes-lost: what the loss of a node means for volumes on local disks" in refused.err


@pytest.mark.parametrize("missing", [0, 1])
def test_the_drives_that_are_bought_make_it_fit_and_one_less_does_not(ask, tmp_path, missing):
    archive = CATALOG.with_name("archive.yaml")
    words = ["--catalog", CATALOG.with_name("drives-catalog.yaml"), "-f", archive]
    report = json.loads(ask("buy", "-c", "demo", *words, "-o", "json").out)
    items = {each["item"]: each for each in report["items"]}
    edits = [
        f"{each['node']}={items[each['item']]['driveClass']}:{items[each['item']]['sizeBytes']}x{each['count']}"
        for each in report["drives"]
    ][missing:]
    added = [word for text in edits for word in ("--add-drive", text)]
    bigger = tmp_path / "bigger.yaml"
    assert ask("snapshot", "edit", bigger, "-c", "demo", *added).code == 0
    assert ask("fit", "-c", bigger, "-f", archive).code == (2 if missing else 0)


def test_csv_of_nothing_to_buy_is_its_head_alone(buy):
    whole = buy("-o", "csv").out
    nothing = buy("-n", "platform", "-o", "csv")
    assert (nothing.code, nothing.err) == (0, "")
    assert nothing.out == whole.splitlines(keepends=True)[0]


def test_a_catalog_must_be_named_and_be_one(ask, files):
    assert "--catalog" in ask("buy", "-c", "demo").err
    result = ask("buy", "-c", "demo", "--catalog", files / "shop.yaml")
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert "write apiVersion: ullage.dev/v1 and kind: Catalog" in result.err


def test_without_the_solver_it_is_said_how_to_get_it(buy, monkeypatch):
    monkeypatch.setattr(programme, "SOLVER", "no_such_solver")
    result = buy()
    assert (result.code, result.out) == (1, "")
    said = "no_such_solver is not installed, which finds exact answers; pip install 'ullage[solve]'"
    assert result.err == f"ullage: error: {said}\n"
