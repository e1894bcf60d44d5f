"""Parts of the usage in a ledger: what was recorded of some, without reading the rest."""

import pytest

from stores.ledger_files import made
from ullage.engine.usage.book import Stream
from ullage.stores import opening
from ullage.stores.protocol import StoreUnavailableError
from ullage.stores.usage import Batch, Marks, append
from ullage.stores.usage_parts import (
    Extent,
    batches,
    extents_of,
    last_day,
    looking,
    read_subjects,
    read_sums,
    recorded_streams,
    recorded_subjects,
    used_streams,
)
from usage_builders import DAY, book, every

HUGE = 1 << 61
OBSERVED = {
    ("node/n1", "cpu"): every(DAY, [HUGE + 1, HUGE + 2, HUGE + 3]),
    ("pod/shop/web-0", "cpu"): [(0, 1)],
    ("pod/shop/web-0", "memory"): [(0, 5)],
    ("cluster", "cpu", "committed"): [(9 * DAY, 7)],
}


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "ledger.db"
    append(path, Batch("test", book(OBSERVED), Marks(0, {}), 30 * DAY))
    return path


@pytest.fixture
def recorded(ledger):
    with looking(ledger) as connection:
        yield connection


def test_what_was_recorded_of_some_from_a_day_on(recorded):
    found = read_subjects(recorded, ["node/n1", "cluster", "node/n2"], 1)
    node = Stream("node/n1", "cpu")
    assert found.streams() == [Stream("cluster", "cpu", "committed"), node]
    assert found.days(node) == [1, 2]


def test_sums_are_read_without_histograms(recorded):
    found = read_sums(recorded, ["node/n1", "cluster"])
    node = Stream("node/n1", "cpu")
    assert found.streams() == [node]
    assert [found.slots(node, day, 1).max() for day in found.days(node)] == [HUGE + 1, HUGE + 2, HUGE + 3]
    figures = found.figures(node)
    assert (figures.points, figures.total, len(figures.buckets)) == (3, 3 * HUGE + 6, 0)


def test_names_are_told_without_what_was_recorded(recorded):
    assert recorded_streams(recorded, ["node/n1", "node/n2"]) == {"node/n1": [Stream("node/n1", "cpu")]}
    assert recorded_subjects(recorded) == ["node/n1", "pod/shop/web-0"]
    assert used_streams(recorded, "pod", ["cpu"]) == [Stream("pod/shop/web-0", "memory")]
    assert [each.resource for each in used_streams(recorded, "pod")] == ["cpu", "memory"]


def test_an_extent_is_what_all_days_come_to(recorded):
    assert extents_of(recorded, "node/n1") == {"cpu": Extent(3, 3 * HUGE + 6, HUGE + 1, HUGE + 3, 2 * DAY)}
    assert extents_of(recorded, "cluster") == {}


def test_the_last_day_of_all_and_by_a_measure(recorded, tmp_path):
    assert (last_day(recorded), last_day(recorded, "usage"), last_day(recorded, "maxusage")) == (9, 2, None)
    with looking(made(tmp_path / "empty")) as connection:
        assert last_day(connection) is None


def test_batches_count_what_was_recorded(ledger):
    assert batches(ledger) == 1
    append(ledger, Batch("other", book(OBSERVED), Marks(0, {}), 30 * DAY))
    assert batches(ledger) == 2


def test_the_whole_file_is_not_proved_to_read_a_part(ledger, monkeypatch):
    monkeypatch.setattr(opening, "check", None)
    assert batches(ledger) == 1


def test_what_is_not_there_cannot_be_read(tmp_path):
    with pytest.raises(StoreUnavailableError):
        batches(tmp_path / "none.db")
