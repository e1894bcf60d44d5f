"""Meters in a ledger: exact, all of a change or nothing, and nothing twice whoever records."""

import contextlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.metering_counters import Account, CounterName, Meters
from ullage.engine.usage.metering_rows import rows_of
from ullage.model.errors import InputError
from ullage.stores.protocol import StoreUnavailableError
from ullage.stores.sqlite import SqliteLedger
from ullage.stores.usage_meters import change_meters, read_meters
from ullage.stores.verify import verify

START = 1_772_000_000
NAME = CounterName("a", "network/x")


def add(path, name=NAME, *readings):
    return change_meters(path, lambda meters: meters.add(name, [Reading(*each) for each in readings]))


def passed(path):
    meters = read_meters(path)
    meters.settle()
    return meters.consumed(Account("a", "network"), [0, 2 * START // 3600 * 3600])[0].passed


def test_a_ledger_has_no_meters_until_something_is_metered(tmp_path):
    path = tmp_path / "ledger.db"
    SqliteLedger(path).close()
    assert read_meters(path) is None
    add(path, NAME, (START, 1))
    assert read_meters(path) is not None


def test_what_is_kept_is_read_again_exactly(tmp_path):
    path = tmp_path / "ledger.db"
    plain = Meters()
    readings = [
        (START, 0),
        (START + 60, 1 << 63),
        (START + 40 * 86_400, 5),
        (START + 40 * 86_400 + 30, 1 << 64),
    ]
    plain.add(NAME, [Reading(*each) for each in readings])
    add(path, NAME, *readings)
    assert rows_of(read_meters(path)) == rows_of(plain)


def test_what_is_recorded_again_counts_once(tmp_path):
    path = tmp_path / "ledger.db"
    add(path, NAME, (START, 0), (START + 6000, 60))
    add(path, NAME, (START + 6000, 60), (START, 0))
    add(path, NAME, (START + 9000, 70), (START + 6000, 60))
    assert passed(path) == 70


def test_a_change_that_fails_leaves_everything_as_it_was(tmp_path):
    path = tmp_path / "ledger.db"
    add(path, NAME, (START, 0), (START + 60, 5))
    before = rows_of(read_meters(path))

    def failing(meters):
        meters.add(NAME, [Reading(START + 90, 9)])
        raise InputError("no")

    with pytest.raises(InputError):
        change_meters(path, failing)
    assert rows_of(read_meters(path)) == before


def test_settings_of_the_first_hold(tmp_path):
    path = tmp_path / "ledger.db"
    change_meters(path, Meters.settle, new=lambda: Meters(gap_seconds=600))
    change_meters(path, Meters.settle, new=lambda: Meters(gap_seconds=900))
    assert read_meters(path).gap_seconds == 600


def test_many_who_record_at_the_same_time_lose_nothing(tmp_path):
    path = tmp_path / "ledger.db"
    add(path, NAME, (START, 0))

    def record(number):
        name = CounterName("a", f"network/{number}")
        for step in range(3):
            for _ in range(50):
                try:
                    add(path, name, (START + step, step * 10))
                    break
                except InputError:
                    continue

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(record, range(4)))
    assert passed(path) == 4 * 20


@pytest.mark.parametrize(
    ("statement", "subject", "wrong"),
    [
        (
            "UPDATE usage_meters SET meter = '[' WHERE name LIKE '%counter%'",
            "counter/a/network/x",
            "as we write",
        ),
        (
            "UPDATE usage_meters SET meter = '[]' WHERE name LIKE '%hours%'",
            "hours/a/network/20509",
            "as it was",
        ),
        ("DELETE FROM usage_meters WHERE name LIKE '%hours%'", "a/network", "counted 5, its hours only 0"),
        ("DELETE FROM usage_meters WHERE name LIKE '%version%'", "version", "there can be no meters"),
    ],
)
def test_verify_finds_a_meter_that_was_changed(tmp_path, statement, subject, wrong):
    path = tmp_path / "ledger.db"
    add(path, NAME, (START, 0), (START + 60, 5), (START + 6000, 5))
    assert verify(path) == []
    change(path, statement)
    (finding,) = verify(path)
    assert (finding.code, finding.severity, finding.subject) == ("usage-meter-wrong", "error", subject)
    assert wrong in finding.message


def test_meters_that_are_damaged_are_told_to_be_so(tmp_path):
    path = tmp_path / "ledger.db"
    add(path, NAME, (START, 0), (START + 60, 5), (START + 6000, 5))
    change(path, """UPDATE usage_meters SET meter = '[["x","1","0"]]' WHERE name LIKE '%hours%'""")
    with pytest.raises(StoreUnavailableError, match="is damaged"):
        read_meters(path)


@pytest.mark.parametrize("version", ["", "x", "-1", "1.5", "\u0664", "9" * 5000])
def test_meters_whose_version_is_damaged_are_told_to_be_so_and_left_alone(tmp_path, version):
    path = tmp_path / "ledger.db"
    add(path, NAME, (START, 0), (START + 60, 5))
    change(path, f"UPDATE usage_meters SET meter = '{version}' WHERE name LIKE '%version%'")  # noqa: S608 - our own words
    for use in (read_meters, lambda damaged: add(damaged, NAME, (START + 120, 9))):
        with pytest.raises(StoreUnavailableError, match="is damaged"):
            use(path)


def change(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute(statement).rowcount == 1
        connection.commit()
