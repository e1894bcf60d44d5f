"""The table of moves: columns that say something, and no more rows than are wanted."""

import pytest

from ullage.service.moves import MoveStatus
from ullage.service.moves_table import Part, cost_words, move_table, number, number_cell

RESTART = MoveStatus(1, 1, "w/p", "restart on b", "a", "b", "restart", 0)
COPY = MoveStatus(
    2,
    1,
    "i.example.com",
    "copy disks to c.example.com",
    "a.example.com",
    "a.example.com",
    "disk copy",
    3 << 30,
    "b.example.com",
    "c.example.com",
    0.25,
    1.5,
    ("gnt-instance replace-disks",),
)


def titles(table):
    return [column.title for column in table.columns]


def test_columns_that_say_nothing_are_left_out():
    plain = ["move", "set", "workload", "from", "to", "what is done", "cost"]
    assert titles(move_table([Part("", [RESTART])], "group", None)) == plain
    assert titles(move_table([Part("g", [COPY])], "group", None)) == [
        "group", "move", "set", "workload", "from", "to", "standby", "new standby", "what is done", "cost",
        "gain", "score then", "commands",
    ]  # fmt: skip


def test_a_domain_that_all_share_is_left_out_for_people_only():
    (row,) = move_table([Part("", [COPY])], "group", None).rows
    cells = {cell.text: cell.exact for cell in row}
    assert cells["i"] == "i.example.com"
    assert cells["copy disks to c"] == "copy disks to c.example.com"
    assert cells["disk copy, 3Gi"] == f"disk copy {3 << 30}"
    (row,) = move_table([Part("", [COPY, RESTART])], "group", 1).rows
    assert "i.example.com" in {cell.text for cell in row}


def test_the_caption_says_what_it_costs_and_what_is_left_out():
    table = move_table([Part("1", [RESTART, COPY]), Part("2", [COPY])], "turn", 2, "ended early")
    assert [row[0].text for row in table.rows] == ["1", "1"]
    assert table.caption == (
        "1 restart, 2 disk copies (6Gi); ended early; the first 2 of 3 moves, -o wide shows all"
    )
    assert move_table([], "turn", 2).caption == ""
    assert cost_words([COPY]) == "1 disk copy (3Gi)"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0.0, 4, "0.00"), (3.41, 2, "3.41"), (1.23456, 4, "1.2346"), (2e-6, 6, "0.000002")],
)
def test_numbers_have_at_least_two_digits(value, digits, text):
    assert number(value, digits) == text


def test_a_number_that_does_not_exist_is_empty():
    assert number_cell(None).exact == ""
    assert number_cell(1 / 3).exact == repr(1 / 3)
