"""One reading: the same book comes of it whether it was many points or few."""

import pytest

from ullage.engine.usage.gathered import Gathered
from ullage.model.errors import InputError
from usage_builders import samples

PARTS = [
    samples("pod/shop/a", "cpu", [(0, 5), (60, None)]),
    samples("node/n1", "cpu", [(0, 7)]),
    samples("pod/shop/a", "cpu", [(120, 9)], "maxusage"),
]


@pytest.mark.parametrize("points_max", [0, 2, 100])
def test_what_was_gathered_is_the_same_however_much_it_is(points_max):
    found = Gathered(points_max)
    assert not found
    assert [found.add(each) for each in PARTS] == [1, 0, 0]
    assert found
    assert found.is_book == (points_max < 4)
    assert len(found) == 3
    assert found.observed("cpu", {"pod/shop/a", "pod/shop/b"}) == {"pod/shop/a"}
    assert found.observed("memory", {"pod/shop/a"}) == set()
    book = found.book()
    assert len(book) == 3
    assert [(row.figures.points, row.figures.dropped) for row in book.rows()] == [(1, 0), (1, 0), (1, 1)]


def test_moments_that_are_none_are_refused():
    with pytest.raises(InputError, match="no usable time"):
        Gathered().add(samples("node/n1", "cpu", [(-1, 5)]))
