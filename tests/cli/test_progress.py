"""Progress is seen on a terminal, late, and nowhere else."""

import io
import sys
import threading
import time

import pytest

from ullage.cli import progress as module
from ullage.cli.progress import progress


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
