"""Pages that need no cluster."""

import sys
from subprocess import run

import pytest

from ullage.web.pages.plain import login, problem
from ullage.web.pages.shell import Shell


def test_signing_in_goes_on_to_where_somebody_wanted_to_go_and_says_what_failed():
    html = login(Shell(csrf="c", is_inside=False), "/nodes", failed=True).decode()
    assert 'name="next" value="/nodes"' in html
    assert 'name="csrf" value="c"' in html
    assert "unknown" in html
    assert 'aria-label="Pages"' not in html
    assert "unknown" not in login(Shell(), "/", failed=False).decode()


@pytest.mark.parametrize(("status", "offers"), [(404, False), (503, True), (504, True)])
def test_what_will_pass_can_be_tried_again(status, offers):
    assert (b"Try again" in problem(Shell(), status, "title")) is offers


def test_where_http_is_spoken_no_numbers_are_crunched():
    code = "import sys, ullage.web.api.pages, ullage.web.pages; sys.exit('numpy' in sys.modules)"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
