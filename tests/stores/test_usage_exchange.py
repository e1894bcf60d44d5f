"""What is told of recorded use is what is read elsewhere, row by row; anything else is refused."""

import contextlib
import hashlib
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.ledger_files import made
from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.book import DAY_MAX, Stream
from ullage.engine.usage.metering_counters import CounterName
from ullage.engine.usage.metering_rows import rows_of
from ullage.model.errors import InputError
from ullage.stores import usage_exchange
from ullage.stores.usage import Batch, Marks, append, read_book
from ullage.stores.usage_exchange import to_book, to_meters, usage_message
from ullage.stores.usage_meters import change_meters, read_meters
from usage_builders import DAY, book, every

STREAMS = (
    ("node/n1", "memory"),
    ("pod/shop/wéb-1", "cpu"),
    ("container/shop/wéb-1/main", "cpu"),
    ("cluster", "cpu", "committed"),
)
OBSERVED = {
    STREAMS[0]: every(600, range(0, 5000, 7)),
    STREAMS[1]: every(7000, [None, 3, 9, *range(60)]),
    STREAMS[2]: [(5, 1), (8 * DAY, (1 << 62) - 1)],
    STREAMS[3]: [(5, 1)],
}
SAMPLES = st.lists(
    st.tuples(st.integers(0, 20 * DAY), st.one_of(st.none(), st.integers(0, (1 << 62) - 1))),
    min_size=1,
    max_size=8,
)


def content(found):
    """Everything of a book, in order, in a form that can be compared."""
    return [
        (row.stream, row.day, *row.figures[:7], *(each.tolist() for each in row.figures[7:]),
         None if row.slots is None else row.slots.tolist())
        for row in found.rows()
    ]  # fmt: skip


def recorded(path, streams):
    append(path, Batch("test", book(streams), Marks(0, {}), 30 * DAY))
    return path


@pytest.fixture
def ledger(tmp_path):
    return recorded(tmp_path / "ledger.db", OBSERVED)


@pytest.fixture
def metered(ledger):
    readings = [Reading(1_772_000_000 + place * 5000, place << 60) for place in range(50)]
    change_meters(ledger, lambda meters: meters.add(CounterName("a", "network/x"), readings))
    return ledger


@given(st.dictionaries(st.sampled_from(STREAMS), SAMPLES, min_size=1))
def test_whatever_was_recorded_is_read_as_it_is_in_the_ledger(tmp_path_factory, streams):
    path = recorded(tmp_path_factory.mktemp("usage") / "ledger.db", streams)
    assert content(to_book(b"".join(usage_message(path)))) == content(read_book(path))


@pytest.mark.parametrize("part_bytes", [1, 5000, 1 << 20])
def test_parts_make_the_same_whatever_their_size(metered, monkeypatch, part_bytes):
    monkeypatch.setattr(usage_exchange, "PART_BYTES", part_bytes)
    parts = list(usage_message(metered))
    assert (len(parts) > 9) == (part_bytes == 1)
    assert all(len(part) < 2 * part_bytes + 5000 for part in parts)
    message = b"".join(parts)
    assert content(to_book(message)) == content(read_book(metered))
    assert rows_of(to_meters(message)) == rows_of(read_meters(metered))


def test_days_and_meters_are_told_apart(metered):
    days = b"".join(usage_message(metered, meters=False))
    assert content(to_book(days)) == content(read_book(metered))
    assert to_meters(days) is None
    meters = b"".join(usage_message(metered, days=False))
    assert not len(to_book(meters))
    assert rows_of(to_meters(meters)) == rows_of(read_meters(metered))


def test_where_nothing_is_recorded_that_is_told(tmp_path):
    for path in (None, made(tmp_path / "ledger.db")):
        message = b"".join(usage_message(path))
        assert not len(to_book(message))
        assert to_meters(message) is None


def test_what_is_told_is_of_one_moment(ledger, monkeypatch):
    monkeypatch.setattr(usage_exchange, "PART_BYTES", 1)
    before = content(read_book(ledger))
    telling = usage_message(ledger)
    first = next(telling)
    append(ledger, Batch("other", book(OBSERVED), Marks(0, {}), 30 * DAY))
    assert content(to_book(first + b"".join(telling))) == before != content(read_book(ledger))


@pytest.mark.parametrize("wanted", [{"meters": False}, {"days": False}])
def test_too_much_is_refused_before_anything_is_told(metered, monkeypatch, wanted):
    monkeypatch.setattr(usage_exchange, "BYTES_MAX", 100)
    with pytest.raises(InputError, match="of usage are recorded, and at most 0 are told; ask the server"):
        next(usage_message(metered, **wanted))


def test_a_file_that_is_no_ledger_is_refused(tmp_path):
    (tmp_path / "notes").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="notes"):
        next(usage_message(tmp_path / "notes"))


def signed(*parts):
    """A message of these parts, with the right checksum."""
    body = usage_exchange.MAGIC + struct.pack(">H", usage_exchange.VERSION)
    body += b"".join(struct.pack(">I", len(part)) + part for part in parts) + struct.pack(">I", 0)
    return body + hashlib.sha256(body).digest()


def told(streams, rows, meters=()):
    return signed(msgspec.msgpack.encode([streams, rows, dict(meters)]))


GOOD = next(iter(usage_message(None)))
BLOB = b"x\x9c\x03\x00\x00\x00\x00\x01"
NUMBERS = [0] * 8
NODE = [Stream("node/n1", "cpu")]
POD = [Stream("container/shop/web/main", "cpu")]


def test_an_empty_row_is_the_least_that_is_read():
    assert len(to_book(told(NODE, [[0, 5, *NUMBERS, BLOB, None]]))) == 1


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (b"", "this is no usage"),
        (b"<html>", "this is no usage"),
        (usage_exchange.MAGIC, "this is no usage"),
        (GOOD[:9] + b"\x07" + GOOD[10:], "usage of version 7, known is 1"),
        (GOOD[:10], "cut off or damaged"),
        (GOOD + b"x", "cut off or damaged"),
        (signed(b"\xc1"), "the usage is damaged"),
        (signed(b"\x93\x90\x90\x80", b"")[:-36] + b"", "cut off or damaged"),
        (told([], [[0, 5, *NUMBERS, BLOB, None]]), "a row is of no stream"),
        (told(NODE, [[-1, 5, *NUMBERS, BLOB, None]]), "a row is of no stream"),
        (told(NODE, [[0, DAY_MAX, *NUMBERS, BLOB, None]]), "the usage is damaged"),
        (told(NODE, [[0, 5, *NUMBERS[1:], -1, BLOB, None]]), "the usage is damaged"),
        (told(NODE, [[0, 5, *NUMBERS[1:], 1 << 63, BLOB, None]]), "the usage is damaged"),
        (told(NODE, [[0, 5, *NUMBERS, b"zip", None]]), "cannot be unpacked"),
        (told(NODE, [[0, 5, *NUMBERS, BLOB, BLOB]]), "0 peaks, not 288"),
        (told(POD, [[0, 5, *NUMBERS, BLOB, BLOB]]), "0 peaks, not 7"),
        (told([Stream("shelf/n1", "cpu")], [[0, 5, *NUMBERS, BLOB, None]]), "nothing can be observed of"),
        (told([[1, 2, 3]], []), "the usage is damaged"),
        (signed(b"\x93\x91\x93\xa1\xff\xa1a\xa1b\x90\x80"), "the usage is damaged"),
    ],
)
def test_what_is_no_usage_of_ours_is_refused(message, what):
    with pytest.raises(InputError) as refused:
        to_book(message)
    assert what in refused.value.what


def test_parts_that_do_not_fill_a_message_are_refused():
    inside = signed(b"\x93\x90\x90\x80")[:-32]
    for changed in (inside[:-4], inside + b"more", inside[:10] + b"\0\0\1\0" + inside[14:]):
        with pytest.raises(InputError, match="the usage is damaged"):
            to_book(changed + hashlib.sha256(changed).digest())


def test_meters_that_are_none_are_refused():
    for meters in ({'["version"]': "1", "name": "x"}, {'["version"]': "1", '["counter"]': "[]"}):
        with pytest.raises(InputError, match="the usage is damaged"):
            to_meters(told([], [], meters))


def test_a_message_that_breaks_off_or_is_changed_is_never_believed(ledger, monkeypatch):
    monkeypatch.setattr(usage_exchange, "PART_BYTES", 3000)
    message = b"".join(usage_message(ledger))
    for place in range(0, len(message), 97):
        changed = message[:place] + bytes([message[place] ^ 1]) + message[place + 1 :]
        for other in (message[:place], changed):
            with pytest.raises(InputError):
                to_book(other)


@given(st.binary(max_size=80))
def test_other_bytes_are_refused_or_read_but_never_break(data):
    for message in (data, signed(data), GOOD[:10] + data):
        for read in (to_book, to_meters):
            with contextlib.suppress(InputError):
                read(message)
