"""`ullage demo`: the tour shows real commands with their real answers."""

import json

import pytest

from ullage.cli import demo as module
from ullage.service.tour import FAREWELL, STOPS


def test_the_tour_as_it_reads(ask, matches_golden):
    result = ask("demo")
    assert (result.code, result.err) == (0, "")
    matches_golden("demo.txt", result.out)


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.question)
def test_each_stop_shows_what_its_command_answers(ask, stop):
    tour = ask("demo").out
    answer = ask(*stop.words)
    assert answer.code in {0, 2}
    assert f"$ {stop.line}\n{answer.out}" in tour


def test_the_tour_is_read_in_about_a_minute(ask):
    lines = [line for line in ask("demo").out.splitlines() if line.strip()]
    assert len(lines) <= 130


def test_one_stop_says_no_and_the_tour_goes_on(ask):
    assert {ask(*stop.words).code for stop in STOPS} == {0, 2}
    assert ask("demo").out.count("$ ullage ") == len(STOPS)


def test_it_speaks_of_itself_as_it_was_called(ask):
    out = ask("demo", called="kubectl-ullage").out
    assert "$ kubectl ullage status -c demo" in out
    assert "\n$ ullage" not in out


def test_a_key_goes_on_and_q_ends(ask, monkeypatch):
    pressed = iter(" q")
    monkeypatch.setattr(module, "_pauses", lambda: True)
    monkeypatch.setattr(module.click, "getchar", lambda: next(pressed))
    out = ask("demo").out
    assert out.count("$ ullage ") == 2
    assert FAREWELL[0][0] in out


def test_what_it_promises_about_the_gpus_is_true(ask):
    report = json.loads(ask("status", "-c", "demo", "-o", "json").out)
    assert sum(device["free"] for device in report["devices"]) == 6
    assert sum(device["starts"]["4"] for device in report["devices"]) == 0
