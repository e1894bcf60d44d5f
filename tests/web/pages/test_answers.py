"""Answers as pages."""

from ullage.model.errors import InputError
from ullage.render.view import Page, Term, Terms, Text, Verdict
from ullage.service.answer import Answer
from ullage.web.pages.answers import answered, parts_of

SHORT, LONG = (Page(name, Verdict("v")) for name in ("short", "long"))


def sums(title):
    return Terms(title, (Term("", "a", "1"),), Term("=", "b", "1"))


def test_the_short_page_is_shown_where_there_is_one():
    page, answer, problem = answered(lambda: Answer(lambda: LONG, dict, shortened=lambda: SHORT))
    assert (page, problem) == (SHORT, "")
    assert answer is not None
    assert answered(lambda: Answer(lambda: LONG, dict))[0] == LONG


def test_what_cannot_be_answered_is_one_line():
    def ask():
        raise InputError("no such thing", remedy="name another")

    assert answered(ask) == (None, None, "no such thing; name another")


def test_sums_that_follow_each_other_are_one_part():
    blocks = (sums("a"), sums("b"), Text("t", ()), Text("t", ()), sums("c"))
    assert [[block.title for block in part] for part in parts_of(blocks)] == [["a", "b"], ["t"], ["t"], ["c"]]
