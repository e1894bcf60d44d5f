"""Whatever is changed behind the ledger's back is found, and said where."""

import pytest

from stores.ledger_files import made, tampering
from ullage.model.ledger import Supply
from ullage.stores import verify as verifying
from ullage.stores import writing
from ullage.stores.sqlite import SqliteLedger
from ullage.stores.verify import verify


def codes(path):
    return {(finding.code, finding.subject) for finding in verify(path) if finding.severity == "error"}


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "CHECKPOINT_ROWS_MIN", 5)
    return made(tmp_path / "ledger")


def test_of_an_honest_ledger_nothing_is_said(path):
    assert verify(path) == []


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (
            "UPDATE journal SET at_seconds = 109 WHERE revision = 2",
            {("ledger-chain-broken", "revision 2"), ("ledger-decision-wrong", "revision 2")},
        ),
        (
            "UPDATE journal SET key = 'other' WHERE revision = 2",
            {("ledger-chain-broken", "revision 2")},
        ),
        (
            "UPDATE journal SET command = replace(command, '1500', '1501') WHERE revision = 6",
            {("ledger-chain-broken", "revision 6")},
        ),
        (
            "UPDATE journal SET decision = replace(decision, ':500', ':501') WHERE revision = 7",
            {
                ("ledger-chain-broken", "revision 7"),
                ("ledger-decision-wrong", "revision 7"),
                ("ledger-decision-wrong", "revision 8"),
            },
        ),
        (
            "UPDATE journal SET hash = zeroblob(32) WHERE revision = 8",
            {("ledger-chain-broken", "revision 8")},
        ),
        (
            "UPDATE journal SET at_seconds = 149 WHERE revision = 7",
            {
                ("ledger-order-wrong", "revision 7"),
                ("ledger-chain-broken", "revision 7"),
                ("ledger-decision-wrong", "revision 7"),
            },
        ),
        (
            "UPDATE entries SET entry = replace(entry, '1000', '1001') WHERE entry LIKE '%quota/team%'",
            {("ledger-table-wrong", "r1/web@quota/team")},
        ),
        ("UPDATE entries SET place = 1 WHERE entry LIKE '%vg%'", {("ledger-table-wrong", "r2/v@group/a/vg")}),
        ("DELETE FROM entries WHERE entry LIKE '%r3%'", {("ledger-table-wrong", "r3/v@")}),
        ("UPDATE capacities SET revision = 2 WHERE name = 'node/a'", {("ledger-table-wrong", "node/a")}),
        ("DELETE FROM capacities WHERE name = 'node/a'", {("ledger-table-wrong", "node/a")}),
        ("DELETE FROM waiting", {("ledger-table-wrong", "the line")}),
        ("UPDATE waiting SET position = 2", {("ledger-table-wrong", "the line")}),
        (
            "UPDATE checkpoints SET state = replace(state, '1000', '1001') WHERE revision = 5",
            {("ledger-checkpoint-wrong", "revision 5")},
        ),
        (
            "UPDATE journal SET command = '{}' WHERE revision = 8",
            {("ledger-chain-broken", "revision 8"), ("ledger-unreadable", "revision 7")},
        ),
        ("UPDATE entries SET entry = '[]' WHERE entry LIKE '%r3%'", {("ledger-unreadable", "revision 8")}),
        ("INSERT INTO checkpoints VALUES (99, 0, '{}')", {("ledger-file-damaged", "checkpoints")}),
    ],
)
def test_a_change_behind_the_back_of_the_ledger_is_found(path, statement, found):
    with tampering(path) as file:
        assert file.execute(statement).rowcount == 1
    assert codes(path) == found


def test_a_row_that_was_taken_out_is_missed_by_the_next_one_and_by_the_tables(path):
    with tampering(path) as file:
        file.execute("DELETE FROM journal WHERE revision = 7")
    assert {
        ("ledger-order-wrong", "revision 8"),
        ("ledger-chain-broken", "revision 8"),
    } <= codes(path)


def test_the_last_row_is_missed_by_the_tables(path):
    with tampering(path) as file:
        file.execute("DELETE FROM journal WHERE revision > 4")
        file.execute("DELETE FROM checkpoints")
    assert {code for code, _ in codes(path)} == {"ledger-table-wrong"}


def test_damaged_pages_are_all_that_is_said_of_a_file(path):
    with tampering(path) as file:
        (page,) = file.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'journal_key'").fetchone()
        file.execute("PRAGMA journal_mode = DELETE")
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\x0a" + bytes(4095))
    assert {code for code, _ in codes(path)} == {"ledger-file-damaged"}


def test_a_bound_on_findings_keeps_the_answer_short(path, monkeypatch):
    monkeypatch.setattr(verifying, "FINDINGS_MAX", 3)
    with tampering(path) as file:
        file.execute("UPDATE journal SET hash = zeroblob(32)")
    assert len(verify(path)) == 3


def test_a_refusal_in_other_words_is_the_same_refusal(path):
    with tampering(path) as file:
        file.execute("UPDATE journal SET decision = '{\"accepted\":false}' WHERE revision = 6")
    assert codes(path) == {("ledger-chain-broken", "revision 6")}


def test_what_is_worth_knowing_of_the_promises_is_said_too(path):
    with SqliteLedger(path) as ledger:
        ledger.submit(Supply(gone=("node/a",)), at_seconds=300)
    (finding,) = verify(path)
    assert (finding.code, finding.severity, finding.subject) == ("ledger-capacity-gone", "warning", "node/a")
