"""Steps are told in order, to whoever wants to know, and change nothing."""

import pytest

from ullage.engine.steps import counted, part_of, tell


def test_what_is_done_is_told_before_each_and_at_the_end():
    told = []
    assert list(counted("abc", 3, "letters", lambda *step: told.append(step))) == ["a", "b", "c"]
    assert told == [("letters", done, 3) for done in range(4)]


def test_a_loop_that_is_left_tells_no_end():
    told = []
    for each in counted("abc", 3, "letters", lambda *step: told.append(step)):
        if each == "b":
            break
    assert told == [("letters", 0, 3), ("letters", 1, 3)]


def test_of_nothing_nothing_is_told():
    told = []
    assert list(counted("", 0, "letters", lambda *step: told.append(step))) == []
    assert told == []


def test_where_nobody_listens_there_are_the_same_items():
    assert list(counted("abc", 3, "letters", None)) == ["a", "b", "c"]
    tell(None, "letters", 1, 3)
    assert part_of(None, 1, 2) is None


@pytest.mark.parametrize(("number", "wanted"), [(0, (2, 12)), (1, (6, 12)), (2, (10, 12))])
def test_steps_of_a_part_are_steps_of_the_whole(number, wanted):
    told = []
    tell(part_of(lambda *step: told.append(step), number, 3), "letters", 2, 4)
    assert told == [("letters", *wanted)]
