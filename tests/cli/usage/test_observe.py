"""`usage observe` on the command line."""

import json

import pytest


@pytest.fixture(autouse=True)
def in_folder(files, monkeypatch):
    monkeypatch.chdir(files)
    monkeypatch.setenv("ULLAGE_NOW", "1795000000")


def test_what_is_recorded_is_what_questions_take(ask, tmp_path):
    ledger = tmp_path / "usage.db"
    assert "4200 points" in ask("usage", "observe", "usage.csv", "-c", "demo", "--ledger", ledger).out
    again = ask("usage", "observe", "usage.csv", "-c", "demo", "--ledger", ledger, "-o", "json")
    assert json.loads(again.out)["known"] == 4200
    words = ("usage", "show", "-c", "demo", "-o", "csv")
    assert ask(*words, "--ledger", ledger).out == ask(*words, "--usage", "usage.csv").out


def test_a_time_needs_a_pace(ask, tmp_path):
    asked = ask("usage", "observe", "usage.csv", "--for", "5", "--ledger", tmp_path / "usage.db")
    assert asked.code == 1
    assert "say how often with --every" in asked.err


def test_for_a_time_it_reads_again_and_again(ask, tmp_path):
    words = ("--every", "1", "--for", "2", "--ledger", tmp_path / "usage.db", "-o", "json")
    report = json.loads(ask("usage", "observe", "usage.csv", *words).out)
    assert report["readings"] >= 2
    assert report["points"] == 4200


def test_a_ledger_must_be_named(ask, monkeypatch):
    monkeypatch.delenv("ULLAGE_LEDGER", raising=False)
    asked = ask("usage", "observe", "usage.csv")
    assert asked.code == 1
    assert "--ledger FILE" in asked.err
