"""`ullage forecast`: options, formats and exit codes."""

import json

import pytest


@pytest.fixture
def growth(files):
    return files / "growth.csv"


def test_the_exit_code_is_no_where_something_runs_out_soon(ask, growth):
    words = ("forecast", "-c", "demo", "--usage", growth, "--by", "resource")
    assert ask(*words).code == 0
    assert ask(*words, "--within", "60").code == 2
    assert ask(*words, "--within", "60", "--exit-zero").code == 0


def test_the_report_is_versioned_and_has_no_number_without_an_interval(ask, growth):
    report = json.loads(ask("forecast", "-c", "demo", "--usage", growth, "-o", "json").out)
    assert (report["apiVersion"], report["kind"]) == ("ullage.dev/v1", "ForecastReport")
    known = [each for each in report["outlooks"] if "why" not in each]
    assert known
    for each in known:
        assert each["backtest"]["hours"] > 0
        assert {"low", "likely", "high"} <= set(each["growth"])
        for bound in each["bounds"]:
            assert {"earliest", "likely", "latest"} <= set(bound)


def test_levels_and_growth_are_taken(ask, growth):
    words = ("forecast", "-c", "demo", "--usage", growth, "--by", "drives", "-o", "json")
    told = [json.loads(ask(*words, "--level", level).out) for level in ("0.5", "0.95")]
    assert [report["level"] for report in told] == ["0.5", "0.95"]
    assert "5%/month" in ask(*words[:-2], "--growth", "5%/month").out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--level", "1.5"), "'1.5' is no level of an interval"),
        (("--growth", "much"), "'much' is no growth"),
        (("--horizon", "0"), "0 is not in the range"),
        (("--by", "node"), "'node' is not one of"),
    ],
)
def test_bad_options_are_one_line(ask, growth, words, message):
    result = ask("forecast", "-c", "demo", "--usage", growth, *words)
    assert result.code == 1
    assert message in result.err


def test_without_usage_it_says_how_to_get_some(ask):
    result = ask("forecast", "-c", "demo")
    assert result.code == 1
    assert "ullage usage observe" in result.err
