"""Readings that wait: whoever looks sees what they would see if each had been added to its days at once."""

import contextlib
import os
import sqlite3

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ullage.engine.usage.book import Book, Stream
from ullage.service.asked import Asked
from ullage.service.usage_observe import ObserveQuestion, usage_observe
from ullage.stores import usage_fold, usage_reading
from ullage.stores.database_file import Connection
from ullage.stores.protocol import StoreBusyError
from ullage.stores.usage import has_usage, read_book, read_marks
from ullage.stores.usage_exchange import to_book, usage_message
from ullage.stores.usage_late import late_points
from ullage.stores.usage_listing import Listing, read_needed
from ullage.stores.usage_parts import (
    extents_of,
    last_day,
    looking,
    read_peaks_of_kinds,
    read_subjects,
    read_sums,
    recorded_streams,
    recorded_subjects,
    stamp,
    used_streams,
)
from ullage.stores.usage_reading import Recorder
from ullage.stores.usage_recent import StoredRecent
from ullage.stores.verify import verify
from usage_builders import DAY

BEGIN = 20_000 * DAY
SOURCES = ("agent.csv", "other.csv")
SUBJECTS = ("node/n1", "pod/shop/web-0", "pod/shop/web-1", "container/shop/web-0/main", "namespace/shop")
CLUSTER = """
apiVersion: ullage.dev/v1
kind: Snapshot
nodes: [{name: n1, group: g, capacity: {cpu: "8", memory: 16Gi}}]
workloads:
  - {name: web-0, namespace: shop, owner: StatefulSet/web, node: n1, requests: {cpu: '1'}}
  - {name: web-1, namespace: shop, owner: StatefulSet/web, node: n1, requests: {cpu: '1'}}
"""


def content(book):
    return [
        (*row[:2], *row.figures[:7], row.figures.buckets.tolist(), row.figures.counts.tolist(),
         None if row.slots is None else row.slots.tolist())
        for row in book.rows()
    ]  # fmt: skip


def seen(path):
    """All that anybody is told of a ledger."""
    streams = [*read_book(path).streams()]
    subjects = sorted({each.subject for each in streams})
    with looking(path) as connection:
        recent = StoredRecent(connection, Book())
        listing = Listing(connection)
        parts = {
            "subjects": content(read_subjects(connection, subjects)),
            "lately": content(read_subjects(connection, subjects, last_day(connection))),
            "peaks": content(read_sums(connection, subjects)),
            "peaks of kinds": content(read_peaks_of_kinds(connection, "cpu", ("pod", "node", "workload"))),
            "extents": {each: extents_of(connection, each) for each in subjects},
            "days": [last_day(connection, each) for each in ("", "usage", "committed")],
            "streams": {
                each: sorted(found) for each, found in recorded_streams(connection, subjects).items()
            },
            "recorded": recorded_subjects(connection),
            "used": sorted(used_streams(connection, "pod")),
            "resources": {each: recent.resources(each) for each in subjects},
            "most": {each: recent.most(each, "cpu") for each in subjects},
            "lasting": {each: recent.lasting(each, "cpu") for each in subjects if recent.most(each, "cpu")},
            "points": {stream: listing.points_of(number) for number, stream in listing.streams.items()},
        }
    return parts | {
        "any": has_usage(path),
        "book": content(read_book(path)),
        "told": content(to_book(b"".join(usage_message(path)))),
        "marks": [read_marks(path, str(path.parent.parent / each)) for each in SOURCES],
        "late": late_points(path, {(each, BEGIN // DAY + 1): 50 for each in streams}),
        "needed": content(read_needed(path, lambda listing: listing.streams.keys())),
        "stamp": stamp(path)[1:],
        "wrong": verify(path),
    }


READINGS = st.lists(
    st.tuples(
        st.sampled_from(SOURCES),
        st.booleans(),
        st.sampled_from((60, 60, 60, 3000, DAY // 2, DAY, 40 * DAY)),
        st.lists(
            st.tuples(
                st.sampled_from(SUBJECTS),
                st.sampled_from(("cpu", "memory")),
                st.sampled_from((0, 0, 0, -30, -4000, -DAY, 100)),
                st.sampled_from(("5", "0.25", "7", "")),
            ),
            min_size=1,
            max_size=6,
        ),
    ),
    min_size=1,
    max_size=7,
)


@contextlib.contextmanager
def at(now):
    before = os.environ.get("ULLAGE_NOW")
    os.environ["ULLAGE_NOW"] = str(now)
    try:
        yield
    finally:
        os.environ.pop("ULLAGE_NOW") if before is None else os.environ.update(ULLAGE_NOW=before)


def observe(folder, ledger, cluster, readings):
    """Record readings one after the other; where nothing is told that can be read, nothing is."""
    now = BEGIN
    for source, with_cluster, later, points in readings:
        now += later
        table = folder / source
        lines = (f"{subject},{resource},{now + ago},{value}\n" for subject, resource, ago, value in points)
        table.write_text("subject,resource,time,value\n" + "".join(lines), encoding="utf-8")
        asked = Asked(str(cluster) if with_cluster else "", ledger=str(ledger))
        with at(now):
            usage_observe(asked, ObserveQuestion(str(table)), lambda _: None)


RISING = [
    ("agent.csv", True, 60, [(subject, "cpu", 0, str(value)) for subject in SUBJECTS[:4]])
    for value in (1, 5, 9)
]


@settings(deadline=None, max_examples=25)
@given(READINGS, st.integers(1, 4))
@example(RISING, 4)
@example([*RISING, ("agent.csv", True, 40 * DAY, RISING[0][3][1:2]), *RISING], 4)
def test_what_waits_is_seen_as_if_it_had_been_added_at_once(tmp_path_factory, readings, readings_max):
    folder = tmp_path_factory.mktemp("waiting")
    cluster = folder / "cluster.yaml"
    cluster.write_text(CLUSTER, encoding="utf-8")
    found = []
    for name in ("waiting", "at once"):
        ledger = folder / name / "ledger.db"
        with pytest.MonkeyPatch.context() as patching:
            patching.setattr(usage_reading, "READINGS_MAX", readings_max)
            if name == "at once":
                patching.setattr(Recorder, "wait", lambda *_: None)
            observe(folder, ledger, cluster, readings)
        found.append(seen(ledger))
    assert found[0] == found[1]
    assert found[0]["wrong"] == []


def waiting(ledger):
    with looking(ledger) as connection:
        return connection.execute("SELECT count(*), coalesce(sum(points), 0) FROM usage_waiting").fetchone()


MINUTES = [("agent.csv", True, 60, [(subject, "cpu", 0, "1") for subject in SUBJECTS[:4]]) for _ in range(5)]


def test_readings_of_a_day_wait_until_there_are_enough(tmp_path, monkeypatch):
    monkeypatch.setattr(usage_reading, "READINGS_MAX", 4)
    cluster, ledger = tmp_path / "cluster.yaml", tmp_path / "usage" / "ledger.db"
    cluster.write_text(CLUSTER, encoding="utf-8")
    observe(tmp_path, ledger, cluster, MINUTES[:3])
    assert waiting(ledger)[1] >= 3 * 4
    observe(tmp_path, ledger, cluster, [("agent.csv", True, 60 * 5, MINUTES[0][3])])
    assert waiting(ledger) == (0, 0)
    assert read_book(ledger).figures(Stream("pod/shop/web-0", "cpu")).points == 4


def test_the_first_reading_of_all_and_that_of_a_day_wait_like_others(tmp_path):
    cluster, ledger = tmp_path / "cluster.yaml", tmp_path / "usage" / "ledger.db"
    cluster.write_text(CLUSTER, encoding="utf-8")
    rows = []
    for later in (60, DAY):
        observe(tmp_path, ledger, cluster, [("agent.csv", True, later, MINUTES[0][3])])
        rows.append(waiting(ledger)[0])
    assert 0 < rows[0] < rows[1]
    with looking(ledger) as connection:
        assert connection.execute("SELECT count(*) FROM usage_days").fetchone() == (0,)


def test_a_reading_over_midnight_waits(tmp_path):
    cluster, ledger = tmp_path / "cluster.yaml", tmp_path / "usage" / "ledger.db"
    cluster.write_text(CLUSTER, encoding="utf-8")
    points = [("pod/shop/web-0", "cpu", -30, "1"), ("pod/shop/web-1", "cpu", 0, "1")]
    observe(tmp_path, ledger, cluster, [("agent.csv", False, DAY + 10, points)])
    with looking(ledger) as connection:
        found = connection.execute("SELECT day, points FROM usage_waiting WHERE kind = 'pod' ORDER BY day")
        assert found.fetchall() == [(BEGIN // DAY, 1), (BEGIN // DAY + 1, 1)]


def test_a_table_of_many_points_of_each_that_begins_a_day_is_added_at_once(tmp_path):
    cluster, ledger = tmp_path / "cluster.yaml", tmp_path / "usage" / "ledger.db"
    cluster.write_text(CLUSTER, encoding="utf-8")
    points = [("pod/shop/web-0", "cpu", -60 * ago, "1") for ago in range(20)]
    observe(tmp_path, ledger, cluster, [("agent.csv", False, DAY // 2, points)])
    assert waiting(ledger) == (0, 0)


def test_days_that_are_too_old_are_forgotten_when_a_reading_begins_a_new_one(tmp_path):
    """Also those that still wait; streams of which others wait are kept."""
    cluster, ledger = tmp_path / "cluster.yaml", tmp_path / "usage" / "ledger.db"
    cluster.write_text(CLUSTER, encoding="utf-8")
    observe(tmp_path, ledger, cluster, MINUTES[:2])
    observe(tmp_path, ledger, cluster, [("agent.csv", True, 40 * DAY, [("pod/shop/web-0", "cpu", 0, "1")])])
    book = read_book(ledger)
    assert book.days(Stream("pod/shop/web-0", "cpu")) == [BEGIN // DAY + 40]
    assert not book.streams_of("pod/shop/web-1")
    assert book.days(Stream("node/n1", "cpu")) == [BEGIN // DAY], "of nodes more is kept"
    assert verify(ledger) == []


@pytest.mark.parametrize(
    ("where", "statement"),
    [
        (usage_reading, "INSERT INTO usage_streams"),
        (usage_reading, "INSERT OR REPLACE INTO usage_latest"),
        (usage_reading, "INSERT INTO usage_waiting"),
        (usage_reading, "COMMIT"),
        (usage_fold, "DELETE FROM usage_waiting"),
        (usage_fold, "INSERT INTO usage_days"),
        (usage_fold, "COMMIT"),
    ],
)
def test_an_interruption_leaves_all_of_a_reading_or_nothing(tmp_path, monkeypatch, where, statement):
    monkeypatch.setattr(usage_reading, "READINGS_MAX", 3)
    cluster, ledger = tmp_path / "cluster.yaml", tmp_path / "usage" / "ledger.db"
    cluster.write_text(CLUSTER, encoding="utf-8")
    observe(tmp_path, ledger, cluster, MINUTES[:3])
    before = seen(ledger)
    more = [("agent.csv", True, 60 * 4, [*MINUTES[0][3], ("pod/shop/new", "cpu", 0, "2")])]

    class Interrupted(Connection):
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
        patched.setattr(where, "open_to_write", opened)
        observe(tmp_path, ledger, cluster, more)  # an interruption ends it, and is no error
    is_written = where is usage_fold
    assert (seen(ledger) == before) != is_written
    observe(tmp_path, ledger, cluster, more)
    twin = tmp_path / "twin" / "ledger.db"
    observe(tmp_path, twin, cluster, MINUTES[:3])
    observe(tmp_path, twin, cluster, more)
    assert seen(ledger)["book"] == seen(twin)["book"]
    assert seen(ledger)["marks"] == seen(twin)["marks"]


def test_a_reading_of_a_source_that_another_process_has_recorded_meanwhile_is_refused(tmp_path, monkeypatch):
    cluster, ledger = tmp_path / "cluster.yaml", tmp_path / "usage" / "ledger.db"
    cluster.write_text(CLUSTER, encoding="utf-8")
    observe(tmp_path, ledger, cluster, MINUTES[:2])
    known = Recorder.known
    others = iter([lambda: observe(tmp_path, ledger, cluster, [("agent.csv", True, 600, MINUTES[0][3])])])

    def slow(self):
        found = known(self)
        for other in others:
            other()
        return found

    monkeypatch.setattr(Recorder, "known", slow)
    with pytest.raises(StoreBusyError, match="another process has recorded"):
        observe(tmp_path, ledger, cluster, [("agent.csv", True, 900, MINUTES[0][3])])
    assert read_book(ledger).figures(Stream("pod/shop/web-0", "cpu")).points == 3


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE usage_waiting SET data = zeroblob(9)", "cannot be unpacked"),
        ("UPDATE usage_waiting SET points = points + 1", "points wait, not"),
        ("UPDATE usage_waiting SET day = day + 7", "its moments are not of its day"),
        ("UPDATE usage_waiting SET resource = 'memory'", "some are of no stream"),
    ],
)
def test_damage_to_what_waits_is_found(tmp_path, damage, told):
    cluster, ledger = tmp_path / "cluster.yaml", tmp_path / "usage" / "ledger.db"
    cluster.write_text(CLUSTER, encoding="utf-8")
    observe(tmp_path, ledger, cluster, MINUTES[:2])
    with contextlib.closing(sqlite3.connect(ledger)) as connection:
        connection.execute(damage)
        connection.commit()
    assert told in " ".join(finding.message for finding in verify(ledger))
