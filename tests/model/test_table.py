"""A table beside a plain dict: every change gives the same content, and old versions stay as they were."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.table import CHUNK_ROWS, Table


class Line(NamedTuple):
    key: str
    value: int = 0


def lines(numbers, value=0):
    return [Line(f"{number:04d}", value) for number in numbers]


def keys(numbers):
    return [f"{number:04d}" for number in numbers]


def chunk_lengths(table):
    return [len(chunk.keys) for chunk in table._chunks]


def assert_sound(table):
    """Chunks are in order, none is empty or longer than two, and what is kept beside them agrees."""
    assert table._first_keys == [chunk.keys[0] for chunk in table._chunks]
    assert all(1 <= length <= 2 * CHUNK_ROWS for length in chunk_lengths(table))
    assert sum(chunk_lengths(table)) == len(table)
    assert [row.key for row in table] == list(table.keys()) == sorted(table.keys())


def test_a_table_is_built_in_order_and_the_later_of_two_rows_counts():
    table = Table([Line("b", 1), Line("a", 1), Line("b", 2)])
    assert list(table) == [Line("a", 1), Line("b", 2)]
    assert list(table.keys()) == ["a", "b"]
    assert len(table) == 2
    assert repr(table) == "Table([Line(key='a', value=1), Line(key='b', value=2)])"


def test_rows_are_found_by_key_and_only_by_key():
    table = Table([Line("b", 1), Line("d", 2)])
    assert table["b"] == table.get("b") == Line("b", 1)
    assert "d" in table
    assert [table.get(key) for key in ("a", "c", "e", "")] == [None] * 4
    assert "c" not in table
    assert 7 not in table
    with pytest.raises(KeyError, match="'c'"):
        table["c"]


def test_an_empty_table_has_nothing_and_can_grow():
    empty = Table()
    assert (list(empty), list(empty.keys()), len(empty), empty.get("a")) == ([], [], 0, None)
    assert "a" not in empty
    assert empty.changed(drop=["a"]) == empty
    assert list(empty.changed([Line("b"), Line("a")], ["c"])) == [Line("a"), Line("b")]
    assert Table([Line("a")]).difference(empty) == ([], ["a"])
    assert empty.difference(Table([Line("a")])) == ([Line("a")], [])


def test_a_key_that_is_dropped_and_put_is_put():
    assert list(Table([Line("a", 1)]).changed([Line("a", 2)], ["a"])) == [Line("a", 2)]
    assert list(Table().changed([Line("a", 2)], ["a"])) == [Line("a", 2)]


def test_no_change_is_the_same_table():
    table = Table(lines(range(3)))
    assert table.changed() is table
    assert table.changed(drop=["absent"]) == table
    assert len(table.changed(drop=["absent"])) == 3


def test_tables_are_equal_when_their_rows_are():
    table = Table([Line("a", 1), Line("b", 1)])
    assert table == Table([Line("b", 1), Line("a", 1)])
    assert table != Table([Line("a", 1), Line("b", 2)])
    assert table != Table([Line("a", 1)])
    assert table != Table([Line("a", 1), Line("c", 1)])
    assert table != [Line("a", 1), Line("b", 1)]
    assert hash(table) == hash(Table([Line("b", 9), Line("a", 9)]))
    assert hash(table) != hash(Table([Line("a", 1)]))


class Unlike:
    """A row that equals nothing, not even itself."""

    key = "a"
    __hash__ = None

    def __eq__(self, other):
        return False


def test_a_row_that_two_tables_share_is_not_compared():
    row = Unlike()
    assert Table([row]) == Table([row])
    assert Table([row]) != Table([Unlike()])


def test_a_table_is_built_in_chunks_of_equal_length():
    assert CHUNK_ROWS == 256
    assert chunk_lengths(Table(lines(range(256)))) == [256]
    assert chunk_lengths(Table(lines(range(257)))) == [256, 1]
    assert chunk_lengths(Table(lines(range(600)))) == [256, 256, 88]


def test_a_chunk_is_split_when_it_is_more_than_twice_as_long():
    table = Table(lines(range(256)))
    twice = table.changed(lines(range(256, 512)))
    assert chunk_lengths(twice) == [512]
    assert chunk_lengths(twice.changed(lines([512]))) == [256, 256, 1]
    assert chunk_lengths(table.changed(lines(range(256, 1000)))) == [256, 256, 256, 232]
    assert list(table.changed(lines(range(256, 1000)))) == lines(range(1000))


def test_a_chunk_that_becomes_empty_is_gone():
    table = Table(lines(range(600)))
    middle = table.changed(drop=keys(range(256, 512)))
    assert chunk_lengths(middle) == [256, 88]
    assert middle.get("0300") is None
    assert middle.get("0512") == Line("0512")
    empty = middle.changed(drop=keys(range(600)))
    assert (chunk_lengths(empty), len(empty)) == ([], 0)
    assert list(empty.changed(lines([7]))) == lines([7])


def test_chunks_that_a_change_does_not_touch_are_shared():
    old = Table(lines(range(1024)))
    new = old.changed(lines([300], value=1), ["0900"])
    shared = [mine is theirs for mine, theirs in zip(old._chunks, new._chunks, strict=True)]
    assert shared == [True, False, True, False]
    assert old["0300"] == Line("0300", 0)
    assert "0900" in old
    assert old.difference(new) == ([Line("0300", 1)], ["0900"])
    assert new.difference(old) == ([Line("0300", 0), Line("0900", 0)], [])


def test_rows_of_shared_chunks_are_not_compared():
    old = Table([Unlike(), *lines(range(600))])
    new = old.changed(lines([0], value=1), ["0300"])
    assert old.difference(new) == (lines([0], value=1), ["0300"])


def test_a_key_before_all_others_goes_to_the_first_chunk():
    table = Table(lines(range(10, 600)))
    grown = table.changed(lines([3]))
    assert chunk_lengths(grown) == [257, 256, 78]
    assert grown["0003"] == Line("0003")
    assert next(iter(grown)) == Line("0003")


RANGES = st.builds(range, st.integers(0, 900), st.integers(0, 1400), st.integers(1, 400))
CHANGES = st.lists(
    st.tuples(RANGES, RANGES, st.integers(0, 3)) | st.tuples(st.just(range(700)), RANGES, st.integers(0, 3)),
    max_size=6,
)


@given(RANGES, CHANGES)
def test_changes_give_the_content_that_a_dict_would_have(first, changes):
    table = Table(lines(first))
    expected = {line.key: line for line in lines(first)}
    versions = [(table, dict(expected))]
    for put, drop, value in changes:
        table = table.changed(lines(put, value), keys(drop))
        for key in keys(drop):
            expected.pop(key, None)
        expected.update({line.key: line for line in lines(put, value)})
        versions.append((table, dict(expected)))
    for version, content in versions:
        assert list(version) == [content[key] for key in sorted(content)]
        assert len(version) == len(content)
        assert all(version.get(key) == content.get(key) for key in keys(range(0, 1400, 7)))
        assert_sound(version)


@given(RANGES, CHANGES)
def test_the_difference_of_two_versions_turns_the_one_into_the_other(first, changes):
    old = new = Table(lines(first))
    for put, drop, value in changes:
        new = new.changed(lines(put, value), keys(drop))
    rows, dropped = old.difference(new)
    assert old.changed(rows, dropped) == new
    assert all(old.get(row.key) != row == new[row.key] for row in rows)
    assert all(key in old and key not in new for key in dropped)
    rebuilt = Table(list(new))
    assert old.difference(rebuilt) == (rows, dropped)
    assert new == rebuilt
    assert hash(new) == hash(rebuilt)


def test_runs_are_all_rows_in_order():
    table = Table(lines(range(3 * CHUNK_ROWS)))
    runs = list(table.runs())
    assert len(runs) == 3
    assert [row for run in runs for row in run] == list(table)
    assert list(Table().runs()) == []
