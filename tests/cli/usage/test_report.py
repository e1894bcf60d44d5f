"""`ullage usage report` and `usage meter`: on the demo in every format, and errors as one line."""

import csv
import io
import json
from fractions import Fraction
from pathlib import Path

import pytest

from ullage.cli.options import FORMATS

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("--usage", "examples/usage.csv", "--counters", "examples/counters.csv")
PRICES = ("--prices", "examples/prices.yaml")
ENDINGS = {"table": "txt", "wide": "wide.txt"}


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture
def report(ask):
    def line(*words):
        return ask("usage", "report", "-c", "demo", *SOURCES, *words)

    return line


@pytest.mark.parametrize("output", FORMATS)
def test_the_demo_with_prices_in_every_format(report, matches_golden, output):
    result = report(*PRICES, "-o", output)
    assert (result.code, result.err) == (0, "")
    matches_golden(f"usage-report.{ENDINGS.get(output, output)}", result.out)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("days", ("--period", "day", "--from", "2026-01-03", "--to", "2026-01-05")),
        ("quotas", ("--by", "quota", "--billing-units")),
        ("weeks", ("--period", "week", "--by", "label:app", *PRICES)),
    ],
)
@pytest.mark.parametrize("width", [80, 120])
def test_answers_as_people_read_them(report, matches_golden, name, words, width):
    result = report(*words, "--width", width)
    assert (result.code, result.err) == (0, "")
    assert max(len(each) for each in result.out.splitlines()) <= width
    matches_golden(f"usage-report-{name}-{width}.txt", result.out)


def test_a_table_for_machines_adds_up_as_the_report_does(report):
    rows = list(csv.DictReader(io.StringIO(report(*PRICES, "-o", "csv").out)))
    data = json.loads(report(*PRICES, "-o", "json").out)
    assert len(rows) == len(data["rows"])
    costs = sum(Fraction(row["cost"]) for row in rows if row["kind"] == "tenant" and row["cost"])
    assert costs == Fraction(data["cost"])
    for row, wanted in zip(rows, data["rows"], strict=True):
        exact = wanted.get("used", {}).get("quantity", "")
        assert (row["used"] == "") == (exact == "")
        assert not exact or abs(Fraction(row["used"]) - Fraction(exact)) < Fraction(1, 10**9)


def test_metering_and_a_report_from_the_ledger(ask, tmp_path, matches_golden):
    metered = ask("usage", "meter", "examples/counters.csv", "--ledger", tmp_path / "ledger.db")
    assert (metered.code, metered.err) == (0, "")
    matches_golden("usage-meter.txt", metered.out)
    found = ask("usage", "report", "--ledger", tmp_path / "ledger.db", "-o", "json")
    assert found.code == 0
    direct = ask("usage", "report", "--counters", "examples/counters.csv", "-o", "json")
    assert json.loads(found.out)["rows"] == json.loads(direct.out)["rows"]


def test_whose_prometheus_is_metered_is_said_as_for_every_live_cluster(ask, tmp_path):
    ledger = ("--ledger", tmp_path / "ledger.db")
    result = ask("usage", "meter", "prometheus", *ledger, "--kubeconfig", "/nowhere/other", "--context", "x")
    assert (result.code, result.out) == (1, "")
    assert "/nowhere/other" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--prices", "nowhere.yaml"), "nowhere.yaml: cannot be read"),
        (("--period", "year"), "'year' is not one of"),
        (("--from", "soon"), "--from: 'soon' is no usable time"),
        (("--gap", "1"), "not in the range 300<=x<=86400"),
    ],
)
def test_what_is_wrong_is_one_line(report, words, what):
    result = report(*words)
    assert (result.code, result.out) == (1, "")
    assert what in result.err
    assert result.err.count("\n") == 1
