"""A persistent sorted map: every change gives a new table that shares what did not change.

A snapshot of a hundred thousand workloads changes by ten at a time, and the snapshots before it stay
valid. Rows lie in order of their keys in chunks of a few hundred; a change copies the chunks it touches
and the list of chunks, nothing else. Equal chunks are the same object, so comparing two versions of a
table skips what they share.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Generic, Protocol, TypeVar

CHUNK_ROWS: Final = 256
"""Rows in a chunk when a table is built; a chunk is split when a change makes it twice as long."""


class Keyed(Protocol):
    """A record that names itself uniquely within its table."""

    @property
    def key(self) -> str:
        """The record's unique name."""


Row = TypeVar("Row", bound=Keyed)
Default = TypeVar("Default")


class Chunk(Generic[Row]):
    """A run of rows and their keys, in order."""

    __slots__ = ("keys", "rows")

    def __init__(self, keys: list[str], rows: list[Row]) -> None:
        self.keys = keys
        self.rows = rows


class Table(Generic[Row]):
    """Rows by key, in order of keys, never changed in place."""

    __slots__ = ("_chunks", "_first_keys", "_length")

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        """Build from rows in any order; of two rows with one key the later one counts."""
        by_key = {row.key: row for row in rows}
        keys = sorted(by_key)
        self._chunks = [
            Chunk(part, [by_key[key] for key in part])
            for part in (keys[start : start + CHUNK_ROWS] for start in range(0, len(keys), CHUNK_ROWS))
        ]
        self._first_keys = [chunk.keys[0] for chunk in self._chunks]
        self._length = len(keys)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Row]:
        for chunk in self._chunks:
            yield from chunk.rows

    def runs(self) -> Iterator[Sequence[Row]]:
        """Yield the rows in order, in runs: quicker than one by one for those who need all of them."""
        for chunk in self._chunks:
            yield chunk.rows

    def keys(self) -> Iterator[str]:
        """Yield the keys in order."""
        for chunk in self._chunks:
            yield from chunk.keys

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.get(key) is not None

    def __getitem__(self, key: str) -> Row:
        row = self.get(key)
        if row is None:
            raise KeyError(key)
        return row

    def get(self, key: str) -> Row | None:
        """Return the row of a key, None where there is none."""
        if not self._chunks:
            return None
        chunk = self._chunks[self._chunk_index(key)]
        position = bisect_left(chunk.keys, key)
        if position < len(chunk.keys) and chunk.keys[position] == key:
            return chunk.rows[position]
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        if self._length != other._length:
            return False
        return all(mine is theirs or mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self.keys()))

    def __repr__(self) -> str:
        return f"Table({list(self)!r})"

    def changed(self, put: Iterable[Row] = (), drop: Iterable[str] = ()) -> "Table[Row]":
        """Return a table with rows put in (replacing those of the same key) and keys dropped."""
        changes: dict[str, Row | None] = dict.fromkeys(drop)
        changes.update((row.key, row) for row in put)
        if not changes:
            return self
        if not self._chunks:
            return Table(row for row in changes.values() if row is not None)
        by_chunk: dict[int, dict[str, Row | None]] = {}
        for key, row in changes.items():
            by_chunk.setdefault(self._chunk_index(key), {})[key] = row
        chunks: list[Chunk[Row]] = list(self._chunks)
        length = self._length
        for index in sorted(by_chunk, reverse=True):
            pieces = _changed_chunk(chunks[index], by_chunk[index])
            length += sum(len(piece.keys) for piece in pieces) - len(chunks[index].keys)
            chunks[index : index + 1] = pieces
        return _table(chunks, length)

    def difference(self, newer: "Table[Row]") -> tuple[list[Row], list[str]]:
        """Return the rows to put and the keys to drop that turn this table into the newer one."""
        shared = self._chunk_ids() & newer._chunk_ids()  # noqa: SLF001 - another table's own part
        before = self._unshared(shared)
        after = newer._unshared(shared)  # noqa: SLF001 - likewise
        put = [row for key, row in after.items() if key not in before or before[key] != row]
        return put, [key for key in before if key not in after]

    def _chunk_ids(self) -> set[int]:
        return {id(chunk) for chunk in self._chunks}

    def _unshared(self, shared: set[int]) -> Mapping[str, Row]:
        rows: dict[str, Row] = {}
        for chunk in self._chunks:
            if id(chunk) not in shared:
                rows.update(zip(chunk.keys, chunk.rows, strict=True))
        return rows

    def _chunk_index(self, key: str) -> int:
        return max(0, bisect_right(self._first_keys, key) - 1)


def _table(chunks: list[Chunk[Row]], length: int) -> Table[Row]:
    table: Table[Row] = Table()
    table._chunks = chunks  # noqa: SLF001 - the second constructor of Table
    table._first_keys = [chunk.keys[0] for chunk in chunks]  # noqa: SLF001 - likewise
    table._length = length  # noqa: SLF001 - likewise
    return table


def _changed_chunk(chunk: Chunk[Row], changes: Mapping[str, Row | None]) -> list[Chunk[Row]]:
    """Return the chunk with its changes: nothing when it became empty, several when it became long."""
    keys, rows = list(chunk.keys), list(chunk.rows)
    for key, row in changes.items():
        position = bisect_left(keys, key)
        present = position < len(keys) and keys[position] == key
        if row is None:
            if present:
                del keys[position], rows[position]
        elif present:
            rows[position] = row
        else:
            keys.insert(position, key)
            rows.insert(position, row)
    if len(keys) <= 2 * CHUNK_ROWS:
        return [Chunk(keys, rows)] if keys else []
    starts = range(0, len(keys), CHUNK_ROWS)
    return [Chunk(keys[s : s + CHUNK_ROWS], rows[s : s + CHUNK_ROWS]) for s in starts]
