"""Rows that are read many at once are those that are read one by one."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.usage.book import Book
from ullage.stores import usage_rows, usage_tables
from ullage.stores.usage import row_of
from ullage.stores.usage_rows import rows_of
from ullage.stores.usage_tables import put_rows
from usage_builders import DAY, book, every

STREAMS = (("node/n1", "cpu"), ("pod/n/p", "memory"), ("container/n/p/c", "cpu"), ("cluster", "cpu"))
OBSERVED = st.dictionaries(
    st.sampled_from(STREAMS),
    st.lists(st.tuples(st.integers(0, 9 * DAY), st.one_of(st.none(), st.integers(0, 1 << 61))), min_size=1),
    min_size=1,
)


def content(found: Book):
    return [
        (*row[:2], *row.figures[:7], row.figures.buckets.tolist(), row.figures.counts.tolist(),
         None if row.slots is None else row.slots.tolist())
        for row in found.rows()
    ]  # fmt: skip


def stored(found: Book):
    return [*rows_of(found)]


@given(OBSERVED, st.integers(1, 5))
def test_rows_that_are_packed_together_are_those_of_the_book(observed, at_once):
    whole = book(observed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usage_rows, "AT_ONCE", at_once)
        rows = stored(whole)
    plain = Book()
    for row in rows:
        plain.put(row_of(*row))
    assert content(plain) == content(whole)
    assert len(rows) == len(content(whole))


@given(OBSERVED, OBSERVED, st.integers(1, 5))
def test_rows_read_together_are_those_read_one_by_one(first, second, at_once):
    rows = [*stored(book(first)), *stored(book(second))]
    plain, together = Book(), Book()
    for row in rows:
        plain.put(row_of(*row))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(usage_tables, "AT_ONCE", at_once)
        put_rows(together, rows)
    assert content(together) == content(plain)


@pytest.mark.parametrize("subject", ["pod/n/p", "container/n/p/c"])
def test_peaks_that_are_not_as_we_write_them_are_refused(subject):
    (row,) = stored(book({(subject, "cpu"): every(60, [1, 2, 3])}))
    damaged = (*row[:2], (*row[2][:-1], b"no peaks"))
    with pytest.raises(msgspec.DecodeError):
        put_rows(Book(), [damaged])


def test_a_histogram_of_another_row_is_refused():
    one, other = stored(book({("node/a", "cpu"): every(60, [1, 2]), ("node/b", "cpu"): every(60, [1, 2, 3])}))
    for row, histogram in ((one, other), (other, one)):
        mixed = (*row[:2], (*row[2][:-2], *histogram[2][-2:]))
        with pytest.raises(msgspec.DecodeError, match="not as many points"):
            put_rows(Book(), [mixed])
