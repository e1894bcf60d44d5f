"""The page of figures: bars with their reasons, packing, and where the figures are from."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import speed_page

ORIGIN = {"processor": "p", "python": "3", "commit": "abc", "calibration_seconds": "0.07"}


def test_a_missed_bar_has_its_reason_below_the_table():
    bars = {"fast": [1.0, "<=", 2], "slow": [3.0, "<=", 2], "few": [1, ">=", 5]}
    text = speed_page.bars_table({"case": {"bars": bars}}, {"case": {"slow": "it must look at all nodes"}})
    assert "| slow | 3 | at most 2 | **missed** |" in text
    assert text.splitlines()[-2:] == [
        "- slow, missed: it must look at all nodes",
        "- few, missed: no reason is known; on an idle machine, run python benchmarks/run.py case",
    ]


def test_schedulers_and_a_loop_that_only_binds_stand_side_by_side(monkeypatch):
    monkeypatch.setattr(speed_page.scheduler, "SIZES", ((1, 2, 1),))
    rates = {"ullage": 300.0, "kube-scheduler": 100.0, "a plain loop": 400.0}
    text = speed_page.scheduler_table(
        {f"1 nodes / 2 pods, {name}, pods/s": rate for name, rate in rates.items()}
    )
    assert text.splitlines() == [
        "|  | ullage | kube-scheduler | a plain loop |",
        "| --- | ---: | ---: | ---: |",
        "| 1 nodes / 2 pods, pods/s | 300 | 100 | 400 |",
    ]


def test_where_all_bars_are_met_there_are_no_reasons():
    text = speed_page.bars_table({"case": {"bars": {"fast": [1.0, "<=", 2]}}}, {"case": {"fast": "r"}})
    assert text.splitlines()[-1] == "| fast | 1 | at most 2 | met |"


@pytest.mark.parametrize(
    ("origin", "shown"),
    [({"dirty": True}, "**yes**"), ({"dirty": False}, "no"), ({}, "not noted")],
    ids=["changed", "as committed", "not noted"],
)
def test_figures_say_which_commit_they_are_of(origin, shown):
    text = speed_page.machine({"case": {"provenance": {**ORIGIN, **origin}}})
    assert f"| case | p | 3 | abc | {shown} | 0.07 |" in text


def test_packing_shows_each_level_beside_the_yardstick():
    text = speed_page.packing_table({"levels": {"95": [95.0, 94.906], "100": [95.1, 95.2]}})
    assert text.splitlines()[-2:] == [
        "| 95 % | 95.00 % | 94.91 % | +0.09 |",
        "| 100 % | 95.10 % | 95.20 % | -0.10 |",
    ]


def test_what_was_not_measured_says_why():
    assert speed_page.packing_table({"skipped": "no trace"}) == "Not measured: no trace."
