"""Entity tags."""

import pytest

from ullage.web.caching import RUN, is_known, tag


def test_a_tag_names_this_run_and_what_the_answer_depends_on():
    assert tag(3, "x") == f'"{RUN}-3-x"'


@pytest.mark.parametrize("header", ['"a"', 'W/"a"', '"b", "a"', "*", ' "a" '])
def test_what_is_named_is_known(header):
    assert is_known(header, '"a"')
    assert is_known(header, 'W/"a"')


@pytest.mark.parametrize("header", ["", '"b"', "a", '"a', '"b" "a"', '"a",' * 5000])
def test_anything_else_is_not(header):
    assert not is_known(header, '"a"')
