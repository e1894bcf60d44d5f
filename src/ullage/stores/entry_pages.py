"""Live entries a page at a time, so that nobody has to read a hundred thousand to see the first hundred.

In a file, entries stand by the step that changed them last. Who goes from page to page while others write
misses nothing: what changes meanwhile comes again at the end, as it is then.
"""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.model.ledger_entry import LedgerEntry
from ullage.stores import codec
from ullage.stores.database_file import failures
from ullage.stores.opening import open_to_read
from ullage.stores.reading import head_of

PAGE_MAX: Final = 1000
_DIGITS_MAX: Final = 18


class Wanted(NamedTuple):
    """Which entries are meant; what is left empty does not matter."""

    reservation: str = ""
    owner: str = ""
    capacity: str = ""
    state: str = ""

    def has(self, entry: LedgerEntry) -> bool:
        """Whether an entry is one of them."""
        return all(each in {"", getattr(entry, name)} for name, each in zip(self._fields, self, strict=True))


class EntryPage(NamedTuple):
    """Some entries, and what the ledger is; `after` leads to the next ones, empty where there are none."""

    revision: int
    at_seconds: int
    live: int
    waiting: int
    entries: tuple[LedgerEntry, ...]
    after: str = ""


def page_of_file(path: Path, wanted: Wanted, after: str, count: int) -> EntryPage:
    """Return entries of a ledger in a file, as they are at one moment."""
    place = _place(after)
    with failures(path), contextlib.closing(open_to_read(path)) as connection:
        head = head_of(connection)
        (live,) = connection.execute("SELECT count(*) FROM entries").fetchone()
        (waiting,) = connection.execute("SELECT count(*) FROM waiting").fetchone()
        found: list[tuple[int, LedgerEntry]] = []
        texts = [codec.name_text(each) for each in wanted if each]
        named = "".join(" AND instr(entry, ?)" for _ in texts)
        query = f"SELECT place, entry FROM entries WHERE place > ?{named} ORDER BY place"  # noqa: S608 - our own words
        for at, text in connection.execute(query, (place, *texts)):
            (entry,) = codec.to_entries(f"[{text}]")
            if wanted.has(entry):
                found.append((at, entry))
            if len(found) > count:
                break
    more = str(found[count - 1][0]) if len(found) > count else ""
    entries = tuple(entry for _, entry in found[:count])
    return EntryPage(head.revision, head.at_seconds, live, waiting, entries, more)


def page_of_state(state: LedgerState, wanted: Wanted, after: str, count: int) -> EntryPage:
    """Return entries of a state, by their keys."""
    found = list(_behind(state.entries, wanted, after))
    more = found[count - 1].key if len(found) > count else ""
    return EntryPage(
        state.revision, state.at_seconds, len(state), len(state.waiting), tuple(found[:count]), more
    )


def _behind(entries: Sequence[LedgerEntry], wanted: Wanted, after: str) -> Iterator[LedgerEntry]:
    for entry in sorted(entries, key=lambda each: each.key):
        if entry.key > after and wanted.has(entry):
            yield entry


def _place(after: str) -> int:
    if not after:
        return -1
    if not (after.isascii() and after.isdecimal() and len(after) <= _DIGITS_MAX):
        raise InputError(
            f"{after[:40]!r} is no place in the ledger", where="after", remedy="use what a page told"
        )
    return int(after)
