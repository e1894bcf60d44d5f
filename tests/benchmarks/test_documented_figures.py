"""Tables of figures in explanations say what was recorded when they were measured last."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KINDS = {
    "trend and noise": "noise",
    "trend, daily season, noise": "daily",
    "trend, calm weekends, noise": "weekly",
    "trend, what is off stays off for days": "sluggish",
    "random walk": "walk",
    "trend, outliers without end": "heavy",
    "levels that jump every five days": "jumps",
    "compounding, 1 to 5 % a day, noise": "compounding",
}
FAMILIES = {
    "independent": "independent",
    "daily peaks in common": "daily",
    "weekly, with weekends": "weekly",
    "heavy tails (Pareto bursts)": "heavy",
    "trend, 1 % a day": "trend",
    "drifting levels": "walk",
    "rest on Sundays, days 15 % apart for all": "resting",
    "shocks": "shocks",
    "recorded (openb)": "openb tenants",
}


def recorded(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def rows(page, first):
    """The rows of the table whose head begins with some words, without emphasis."""
    text = (ROOT / "docs" / "explanation" / page).read_text(encoding="utf-8")
    table = re.search(rf"^\| {re.escape(first)}.*\n\|[-:| ]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert table, f"{page} has no table that begins with {first}"
    lines = table[1].replace("*", "").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def percent(share):
    return f"{share:.0%}"


@pytest.mark.parametrize(
    "row", rows("forecast.md", "kind | days"), ids=lambda row: f"{row[0]}, {row[1]} days"
)
def test_forecasts_of_synthetic_series(row):
    kind, days, *told = row
    figures, name = recorded("forecast"), f"{KINDS[kind]}, {days} days"
    ahead = [percent(figures[f"{name}, held {each} days ahead"]) for each in (1, 3, 7, 14, 28)]
    rest = [figures[f"{name}, held, as the backtest tells"], figures[f"{name}, error, times a plain one"]]
    assert told == [*ahead, *map(percent, rest)]


@pytest.mark.parametrize("row", rows("forecast.md", "seen | ahead"), ids=" ".join)
def test_forecasts_of_what_was_recorded(row):
    seen, ahead, *told = row
    figures = recorded("forecast")
    name = f"openb, {seen}, {ahead.split()[-2]} ahead"
    asked = ("held", "least of the 12 series", "error, times a plain one")
    assert told == [percent(figures[f"{name}, {each}"]) for each in asked]


@pytest.mark.parametrize("row", rows("over-commit-advice.md", "family | advised"), ids=lambda row: row[0])
def test_advice_at_a_thousandth(row):
    family, *told = row
    figures, name = recorded("advise"), FAMILIES[family]
    assert told == [
        f"{figures[f'{name}: advised, mean']:.2f}",
        rounded(figures[f"{name}: over later, mean of 40 worlds"]),
        rounded(figures[f"{name}: over later, highest"]),
        str(figures[f"{name}: worlds above the stated risk"]),
    ]


@pytest.mark.parametrize("row", rows("over-commit-advice.md", "family | risk"), ids=lambda row: row[0])
def test_advice_at_higher_risks(row):
    family, *told = row
    figures = recorded("advise")
    expected = []
    for risk in ("0.005", "0.01", "0.05"):
        name = f"{FAMILIES[family]}, risk {risk}"
        advised, over = figures[f"{name}: advised, mean"], figures[f"{name}: over later, mean"]
        expected.append(f"{advised:.2f}, {rounded(over)}")
    assert told == expected


@pytest.mark.parametrize("row", rows("over-commit-advice.md", "ratio | 0"), ids=lambda row: row[0])
def test_balance_by_load(row):
    ratio, *told = row
    figures = recorded("by_load")
    for weight, shown in zip((0, 1, 2, 5, 10, 20), told, strict=True):
        name = f"ratio {ratio}, weight {weight} x (ratio - 1)"
        over, moves, free = (float(each) for each in shown.split(","))
        assert over == pytest.approx(figures[f"{name}: node-time over"], rel=0.06, abs=0.00006)
        assert moves == pytest.approx(figures[f"{name}: moves"], abs=0.51)
        assert free == pytest.approx(figures[f"{name}: deviation of free memory"], abs=0.00051)


def rounded(share):
    """A share with two digits that count, as it is written."""
    return f"{share:.2g}" if share >= 0.001 else f"{share:.5f}".rstrip("0").rstrip(".")
