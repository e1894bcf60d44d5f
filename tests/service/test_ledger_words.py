"""How entries read."""

from builders import entry
from ullage.engine.ledger.room import TYPES
from ullage.service.ledger_words import entry_table, with_ledger

HELD = entry("r", "node/n1", owner="shop/a", request="compute", cpu="2", expires_seconds=0, created_seconds=0)


def shown(*entries, rows_max=None):
    table = entry_table("T", entries, TYPES, rows_max)
    names = [column.title for column in table.columns]
    return [dict(zip(names, (cell.text for cell in row), strict=True)) for row in table.rows], table


def test_an_entry_says_who_holds_what_until_when():
    (row,), _ = shown(HELD)
    assert row == {
        "reservation": "r",
        "request": "compute",
        "capacity": "node/n1",
        "holds": "2 cpu",
        "state": "RESERVED",
        "until": "1970-01-01T00:00:00Z",
        "owner": "shop/a",
        "since": "1970-01-01T00:00:00Z",
    }


def test_what_stands_in_line_says_behind_whom():
    waits = entry("w", "", state="WAITING", queue_position=2, blocked_by="r")
    rows, _ = shown(HELD, waits)
    assert [row["note"] for row in rows] == ["-", "number 2 in line, after r"]
    assert rows[1]["capacity"] == "-"
    alone = entry("w", "", state="WAITING", queue_position=1, reason="cpu short by 2")
    assert shown(alone)[0][0]["note"] == "number 1 in line, cpu short by 2"


def test_reasons_and_pauses_are_noted():
    rows, _ = shown(entry("x", "", state="REJECTED", reason="too large"), entry("y", "node/n1", paused=True))
    assert [row["note"] for row in rows] == ["too large", "paused"]


def test_of_many_the_first_are_shown_and_that_is_said():
    rows, table = shown(HELD, HELD, HELD, rows_max=2)
    assert [row["reservation"] for row in rows] == ["r", ""], "what is said once is not said again"
    assert [row[0].value for row in table.rows] == ["r", "r"]
    assert table.caption == "the first 2 of 3, -o wide shows all"


def test_the_users_own_ledger_needs_no_name():
    assert with_ledger("ledger show", "") == "ullage ledger show"
    assert with_ledger("ledger show", "my file.db") == "ullage ledger show --ledger 'my file.db'"


def test_what_has_its_bytes_by_another_says_by_which_claim():
    shares = entry("y", "drive/n1/d", request="data", claim="shop/data")
    rows, _ = shown(entry("x", "drive/n1/d", request="data", claim="shop/data", cpu="1"), shares)
    assert [row["note"] for row in rows] == ["-", "shares claim shop/data"]
