"""Checks as JUnit XML, which CI systems read: one case for each check, with the failures it found.

Texts are visible ones (view.py), so no character reaches the file that XML does not allow.
"""

from collections.abc import Iterator
from html import escape

from ullage.render.view import Printable


class Failure(Printable, frozen=True):
    """One thing that is wrong: the kind of it, one line, and what would help."""

    kind: str
    message: str
    remedy: str = ""


class Case(Printable, frozen=True):
    """One check: it fails by its failures; `notes` are worth knowing and fail nothing."""

    name: str
    failures: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = ()


class Suite(Printable, frozen=True):
    """All checks of one question."""

    name: str
    cases: tuple[Case, ...]


def render(suite: Suite) -> str:
    """Return a suite as a document; a case with several failures has one element for each."""
    return "".join(f"{line}\n" for line in _lines(suite))


def _lines(suite: Suite) -> Iterator[str]:
    counts = f'tests="{len(suite.cases)}" failures="{sum(bool(each.failures) for each in suite.cases)}"'
    name = escape(suite.name)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<testsuites name="{name}" {counts} errors="0">'
    yield f'  <testsuite name="{name}" {counts} errors="0" skipped="0">'
    for case in suite.cases:
        yield from _case(case, name)
    yield "  </testsuite>"
    yield "</testsuites>"


def _case(case: Case, suite: str) -> Iterator[str]:
    head = f'    <testcase classname="{suite}" name="{escape(case.name)}"'
    if not case.failures and not case.notes:
        yield f"{head}/>"
        return
    yield f"{head}>"
    for failure in case.failures:
        message, kind = escape(failure.message), escape(failure.kind)
        text = escape(f"{failure.message}\nremedy: {failure.remedy}" if failure.remedy else failure.message)
        yield f'      <failure message="{message}" type="{kind}">{text}</failure>'
    if case.notes:
        text = escape("\n".join(case.notes))
        yield f"      <system-out>{text}</system-out>"
    yield "    </testcase>"
