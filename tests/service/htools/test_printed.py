"""What a tool says: two streams, their order, and lines for scripts."""

import pytest

from ullage.service.htools.printed import Page, keys


def test_both_streams_are_kept_apart_and_in_order() -> None:
    page = Page()
    page.say("one", "two")
    page.tell("aside")
    page.tell_text("")
    page.say("three")
    printed = page.done(3)
    assert printed[:3] == ("one\ntwo\nthree\n", "aside\n", 3)
    assert printed.in_order == ((False, "one\n"), (False, "two\n"), (True, "aside\n"), (False, "three\n"))


def test_an_error_ends_a_page() -> None:
    assert Page().fail("no")[:3] == ("", "Error: no\n", 1)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("1.5", "P_KEY=1.5"),
        ("ab", "P_KEY=ab"),
        ("a b", "P_KEY='a b'"),
        ("1,2", "P_KEY='1,2'"),
        ("", "P_KEY="),
    ],
)
def test_values_for_scripts_are_quoted_where_a_shell_needs_it(value: str, line: str) -> None:
    assert keys("P", [("key", value)]) == [line]
