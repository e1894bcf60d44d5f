"""Long lists in parts."""

import pytest

from ullage.web.pages.paging import Listing, Sort, paging
from ullage.web.pages.shell import Shell

LISTING = Listing(Shell(), "/nodes", {"q": "n"}, "table")


@pytest.mark.parametrize(
    ("wanted", "found", "number", "words"),
    [
        ("", 0, 1, "none"),
        ("", 5, 1, "1 to 5 of 5"),
        ("1", 25, 1, "1 to 10 of 25"),
        ("3", 25, 3, "21 to 25 of 25"),
        ("9", 25, 3, "21 to 25 of 25"),
        ("0", 25, 1, "1 to 10 of 25"),
        ("-1", 25, 1, "1 to 10 of 25"),
        ("9" * 5000, 25, 1, "1 to 10 of 25"),
        ("2", 20, 2, "11 to 20 of 20"),
    ],
)
def test_the_nearest_page_that_there_is_is_shown(wanted, found, number, words):
    part = paging(LISTING, wanted, found, 10)
    assert (part.number, part.words) == (number, words)


@pytest.mark.parametrize(
    ("number", "ways"),
    [
        ("1", [("Next", "2"), ("Last", "4")]),
        ("2", [("Previous", "1"), ("Next", "3"), ("Last", "4")]),
        ("3", [("First", "1"), ("Previous", "2"), ("Next", "4")]),
        ("4", [("First", "1"), ("Previous", "3")]),
    ],
)
def test_the_ways_to_other_pages_keep_what_filters_the_list(number, ways):
    found = paging(LISTING, number, 31, 10).ways
    assert found == [(word, f"/nodes?q=n&page={page}#table") for word, page in ways]


def test_what_fits_on_one_page_has_no_ways():
    assert paging(LISTING, "1", 10, 10).ways == []


def test_sorting_once_more_turns_it_round():
    sort = Sort(LISTING, "cpu", down=True, upwards=frozenset(("name",)))
    assert sort.address("cpu") == "/nodes?q=n&sort=cpu&order=up#table"
    assert sort.address("name") == "/nodes?q=n&sort=name&order=up#table"
    assert sort.address("memory") == "/nodes?q=n&sort=memory&order=down#table"
    assert [sort.sign(key) for key in ("cpu", "name")] == [" ↓", ""]
    assert sort.direction == "descending"
