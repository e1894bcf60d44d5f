"""What was."""

import pytest

from ullage.web.pages.history import Commits, history_page, time_text
from ullage.web.pages.shell import Shell
from ullage.web.state import Audited

SHELL = Shell(cluster="a b", clusters=("a b",))


@pytest.mark.parametrize(("span", "start"), [("hour", 6400), ("", -76400), ("nonsense", -76400)])
def test_the_plots_fetch_a_span_that_ends_now(span, start):
    html = history_page(SHELL, span, 10_000).decode()
    assert f'data-history="/v1/clusters/a%20b/history?from={start}"' in html


def test_commits_are_told_with_who_and_when():
    found = [Audited(0, "<me>", "a b", "commit", "plan/1", "held", 7)]
    html = history_page(SHELL, "", 0, commits=Commits(found)).decode()
    assert "1970-01-01 00:00:00Z" in html
    assert "&lt;me&gt;" in html


def test_a_moment_is_told_in_utc():
    assert time_text(86_399) == "1970-01-01 23:59:59Z"
