"""Usage in a ledger: nothing is lost, nothing counts twice, what is old goes, and promises stay."""

import contextlib
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.ledger_files import made, made_by_version_1, made_older, tell
from ullage.engine.usage.book import Book, Stream
from ullage.model.errors import InputError
from ullage.stores import usage as module
from ullage.stores.backup import backup
from ullage.stores.protocol import StoreBusyError
from ullage.stores.sqlite import SqliteLedger
from ullage.stores.usage import Batch, Marks, append, has_usage, read_book, read_marks
from ullage.stores.verify import verify
from usage_builders import DAY, book, every

NODE = Stream("node/n1", "memory")
POD = Stream("pod/shop/web-1", "cpu")
OBSERVED = {
    NODE[:2]: every(600, range(0, 5000, 7)),
    POD[:2]: every(600, [None, 3, 9]),
    ("cluster", "cpu"): [(5, 1)],
}
NOW = 30 * DAY


def content(found: Book):
    return [
        (*row[:2], *row.figures[:7], row.figures.buckets.tolist(), row.figures.counts.tolist(),
         None if row.slots is None else row.slots.tolist())
        for row in found.rows()
    ]  # fmt: skip


def record(path, streams, *, source="test", at_seconds=NOW):
    """Record what was observed, as if it all came after what this source has told before."""
    before = read_marks(path, source)
    lasts = {Stream(*key): max(at for at, _ in points) for key, points in streams.items()}
    return append(path, Batch(source, book(streams), Marks(before.batches, lasts), at_seconds))


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger.db"


def test_what_was_recorded_is_read_as_it_was(ledger):
    record(ledger, OBSERVED)
    assert content(read_book(ledger)) == content(book(OBSERVED))
    assert has_usage(ledger)


POINTS = st.lists(
    st.tuples(
        st.sampled_from((NODE, POD, Stream("container/shop/web-1/main", "cpu"))),
        st.integers(0, 20 * DAY),
        st.one_of(st.none(), st.integers(0, (1 << 62) - 1)),
    ),
    min_size=1,
    max_size=20,
)


@given(POINTS, st.integers(0, 20))
def test_batches_add_up_to_what_all_of_them_at_once_would_be(tmp_path_factory, points, cut):
    ledger = tmp_path_factory.mktemp("usage") / "ledger.db"
    together = Book()
    for part in (points[:cut], points[cut:]):
        streams = {}
        for stream, at_seconds, amount in part:
            streams.setdefault(tuple(stream), []).append((at_seconds, amount))
        record(ledger, streams)
        together.merge(book(streams))
    assert content(read_book(ledger)) == content(together)


def test_marks_say_how_far_each_source_was_recorded(ledger):
    assert read_marks(ledger, "test") == Marks(0, {})
    record(ledger, {NODE[:2]: [(50, 1), (90, None)]})
    record(ledger, {POD[:2]: [(70, 1)]})
    assert read_marks(ledger, "test") == Marks(2, {NODE: 90, POD: 70})
    assert read_marks(ledger, "another") == Marks(0, {})


def test_a_batch_that_was_prepared_before_another_of_its_source_is_refused_as_a_whole(ledger):
    record(ledger, {NODE[:2]: [(50, 1)]})
    before = content(read_book(ledger))
    late = Batch("test", book({NODE[:2]: [(60, 1)]}), Marks(0, {NODE: 60}), NOW)
    with pytest.raises(StoreBusyError, match="nothing was added"):
        append(ledger, late)
    assert content(read_book(ledger)) == before


def test_batches_of_two_sources_do_not_hold_each_other_up(ledger):
    record(ledger, {NODE[:2]: [(50, 1)]})
    assert append(ledger, Batch("other", book({NODE[:2]: [(50, 1)]}), Marks(0, {NODE: 50}), NOW)) == 1
    assert read_book(ledger).figures(NODE).points == 2


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO usage_streams",
        "INSERT INTO usage_days",
        "INSERT OR REPLACE INTO usage_marks",
        "COMMIT",
    ],
)
def test_an_interruption_leaves_all_of_a_batch_or_nothing(ledger, monkeypatch, statement):
    record(ledger, {NODE[:2]: [(50, 1)]})
    before, marks = content(read_book(ledger)), read_marks(ledger, "test")

    class Interrupted(sqlite3.Connection):
        def execute(self, sql, *rest):
            if sql.startswith(statement):
                raise KeyboardInterrupt
            return super().execute(sql, *rest)

        def executemany(self, sql, rows):
            if sql.startswith(statement):
                raise KeyboardInterrupt
            return super().executemany(sql, rows)

    def opened(path, **options):
        del options
        return sqlite3.connect(path, isolation_level=None, factory=Interrupted)

    with monkeypatch.context() as patched:
        patched.setattr(module, "open_to_write", opened)
        with pytest.raises(KeyboardInterrupt):
            append(ledger, Batch("test", book(OBSERVED), Marks(1, {NODE: 99}), NOW))
    assert content(read_book(ledger)) == before
    assert read_marks(ledger, "test") == marks
    record(ledger, OBSERVED)
    expected = book(OBSERVED)
    expected.merge(book({NODE[:2]: [(50, 1)]}))
    assert content(read_book(ledger)) == content(expected)


def test_what_others_record_meanwhile_is_added_up_too(ledger, monkeypatch):
    record(ledger, {NODE[:2]: [(50, 1)]})
    stored = module._stored
    meanwhile = iter([lambda: record(ledger, {NODE[:2]: [(50, 4)]}, source="other")])

    def slow(*arguments):
        found = [*stored(*arguments)]
        monkeypatch.setattr(module, "_stored", stored)
        next(meanwhile, lambda: None)()
        return found

    monkeypatch.setattr(module, "_stored", slow)
    append(ledger, Batch("test", book({NODE[:2]: [(60, 2)]}), Marks(1, {NODE: 60}), NOW))
    assert read_book(ledger).figures(NODE).total == 7


def test_what_is_old_is_forgotten_by_what_it_is_of(ledger):
    subjects = ("node/n1", "pod/shop/web-1", "cluster", "container/shop/web-1/main")
    days = [(day * DAY, 1) for day in range(0, 500, 5)]
    record(ledger, {(subject, "cpu"): days for subject in subjects}, at_seconds=500 * DAY)
    kept = read_book(ledger)
    first = {stream.subject: kept.days(stream)[0] for stream in kept.streams()}
    assert first["pod/shop/web-1"] == 495 - 30
    assert first["node/n1"] == 495 - 95
    assert first["cluster"] == 495 - 395
    assert 495 - 42 <= first["container/shop/web-1/main"] <= 495 - 28


def test_the_size_is_bounded_by_streams_and_not_by_time(ledger):
    pages = []
    for week in range(30):
        record(ledger, {("pod/shop/web-1", "cpu"): every(3600, range(168), start=week * 7 * DAY)},
               at_seconds=(week + 1) * 7 * DAY)  # fmt: skip
        with contextlib.closing(sqlite3.connect(ledger)) as connection:
            pages.append(connection.execute("PRAGMA page_count").fetchone()[0])
    assert pages[-1] <= pages[8] + 2


def test_a_stream_of_which_nothing_is_left_is_gone_and_its_source_remembers_how_far_it_went(ledger):
    record(ledger, {POD[:2]: [(5000, 1)], NODE[:2]: [(7000, 1)]})
    record(ledger, {("pod/shop/web-2", "cpu"): [(90 * DAY, 1)]}, at_seconds=91 * DAY)
    assert read_book(ledger).streams() == [NODE, Stream("pod/shop/web-2", "cpu")]
    marks = read_marks(ledger, "test")
    assert set(marks.last_seconds) == {NODE, Stream("pod/shop/web-2", "cpu")}
    assert marks.forgotten_seconds == 5000


def test_what_is_of_one_kind_is_not_old_by_what_is_of_another(ledger):
    record(ledger, {POD[:2]: [(0, 1)]})
    record(ledger, {("cluster", "cpu"): [(300 * DAY, 1)]}, at_seconds=300 * DAY)
    assert read_book(ledger).figures(POD).points == 1


def test_an_observation_of_the_far_future_ends_nothing(ledger):
    record(ledger, {NODE[:2]: [(DAY, 1)]}, at_seconds=2 * DAY)
    record(ledger, {POD[:2]: [(100_000 * DAY, 1)]}, at_seconds=2 * DAY)
    assert read_book(ledger).figures(NODE).points == 1


def test_promises_and_usage_share_a_ledger_that_verifies_and_is_backed_up(tmp_path):
    path = made(tmp_path / "ledger")
    with SqliteLedger(path) as ledger:
        before = ledger.state()
        record(path, OBSERVED)
        assert ledger.verify() == []
        assert ledger.state() == before
        tell(ledger)
    copy = tmp_path / "copy"
    backup(path, copy)
    assert content(read_book(copy)) == content(book(OBSERVED))
    assert verify(copy) == []


def test_ledgers_of_before_are_brought_up_to_date_when_usage_is_recorded(tmp_path):
    record(made_by_version_1(tmp_path / "first"), OBSERVED)
    path = made(tmp_path / "fourth")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        made_older(connection, 4)
    record(path, OBSERVED)
    for name in ("first", "fourth"):
        assert content(read_book(tmp_path / name)) == content(book(OBSERVED))
        assert verify(tmp_path / name) == []
    assert (tmp_path / "first.version-1").exists()
    assert (tmp_path / "fourth.version-4").exists()


def test_a_ledger_without_usage_says_so(tmp_path):
    path = made(tmp_path / "ledger")
    assert not has_usage(path)
    assert len(read_book(path)) == 0
    with pytest.raises(InputError, match="there is no ledger"):
        read_book(tmp_path / "none")


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("UPDATE usage_days SET points = points + 1", "its histogram has"),
        ("UPDATE usage_days SET total_low = 1, total_high = 1 << 30", "its mean is not between"),
        ("UPDATE usage_days SET high = high * 2 + 5", "largest amount is not in"),
        ("UPDATE usage_days SET histogram = zeroblob(3)", "cannot be unpacked"),
        ("UPDATE usage_days SET first_seconds = last_seconds + 1", "its moments are not of its day"),
        ("UPDATE usage_days SET peaks = zeroblob(9)", "cannot be unpacked"),
    ],
)
def test_verify_finds_a_row_that_was_changed(ledger, statement, wrong):
    record(ledger, {NODE[:2]: every(600, range(100, 200))})
    with contextlib.closing(sqlite3.connect(ledger)) as connection:
        connection.execute(statement)
        connection.commit()
    (finding,) = verify(ledger)
    assert (finding.code, finding.severity, finding.subject) == ("usage-row-wrong", "error", "node/n1")
    assert wrong in finding.message
