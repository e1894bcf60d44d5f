"""One place tells the time."""

import time

import pytest

from ullage.model.errors import InputError
from ullage.service.clock import now_seconds, told_time


def test_the_time_is_that_of_the_system_unless_one_is_given(monkeypatch):
    monkeypatch.delenv("ULLAGE_NOW", raising=False)
    before = int(time.time())
    assert before <= now_seconds() <= int(time.time())
    monkeypatch.setenv("ULLAGE_NOW", "17")
    assert now_seconds() == 17


@pytest.mark.parametrize("given", ["soon", "-1", "1.5", "²", "9" * 30])
def test_what_is_no_time_is_refused(monkeypatch, given):
    monkeypatch.setenv("ULLAGE_NOW", given)
    with pytest.raises(InputError, match=r"ULLAGE_NOW: .* is no time; give seconds since 1970"):
        now_seconds()


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (None, ""),
        (0, "1970-01-01T00:00:00Z"),
        (1_795_000_000, "2026-11-18T11:06:40Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
        (253_402_300_800, "253402300800 s since 1970"),
        (-1, "-1 s since 1970"),
    ],
)
def test_moments_are_told_in_utc(seconds, told):
    assert told_time(seconds) == told
