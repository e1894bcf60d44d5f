"""Progress is seen on a terminal, late, and nowhere else."""

import io
import sys
import threading
import time

import pytest

from ullage.cli import progress as module
from ullage.cli.progress import progress
from ullage.service.progress import listener


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Make stderr a terminal, from inside the test: pytest puts its own stderr in place after fixtures."""

    def replaced() -> Terminal:
        shown = Terminal()
        monkeypatch.setattr(sys, "stderr", shown)
        monkeypatch.setenv("TERM", "xterm")
        return shown

    return replaced


def wait_until(condition):
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def test_nothing_is_shown_where_nobody_looks(capsys):
    with progress("reading") as step:
        step(1, 2)
    assert capsys.readouterr().err == ""


def test_quiet_is_quiet(terminal):
    shown = terminal()
    before = threading.active_count()
    with progress("reading", quiet=True) as step:
        step(1, 2)
        assert threading.active_count() == before
    assert shown.getvalue() == ""


def test_what_is_quick_shows_nothing_and_leaves_no_thread(terminal):
    shown = terminal()
    before = threading.active_count()
    with progress("reading") as step:
        step(1, 2)
    assert shown.getvalue() == ""
    assert wait_until(lambda: threading.active_count() == before)


def test_what_takes_long_is_shown_and_goes_again(terminal, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.0)
    shown = terminal()
    with progress("reading dump.json") as step:
        step(1, 4)
        assert wait_until(lambda: "reading dump.json" in shown.getvalue())
        step(2, 4)
    assert shown.getvalue().endswith("\x1b[2K")


def test_what_a_question_counts_is_shown_in_its_place(terminal, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(module, "AGAIN_SECONDS", 0.0)
    shown = terminal()
    with progress("reading dump.json"):
        assert wait_until(lambda: "reading dump.json" in shown.getvalue())
        listener()("losses tried", 12, 40)
        assert wait_until(lambda: "12 of 40 losses tried" in shown.getvalue())
    assert listener() is None


def test_of_many_steps_only_some_are_shown(terminal, monkeypatch):
    monkeypatch.setattr(module, "AGAIN_SECONDS", 3600.0)
    terminal()
    with progress("reading dump.json"):
        display = listener().__self__
        for done in range(1000):
            listener()("losses tried", done, 1000)
        assert display.what == "0 of 1000 losses tried"
        listener()("moves at most", 3, 200)
        assert display.what == "3 of 200 moves at most"


def test_nobody_counts_where_nothing_is_shown(terminal):
    with progress("reading"):
        assert listener() is None
    terminal()
    with progress("reading", quiet=True):
        assert listener() is None
