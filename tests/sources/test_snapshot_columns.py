from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import node, pod, resources
from object_strategies import OBJECT_ROWS
from strategies import ledger_entries, nodes, quotas, workloads
from ullage.model.cluster import Node, Quota, Workload
from ullage.model.delta import TABLE_FACTS
from ullage.model.errors import InputError
from ullage.model.ledger_entry import LedgerEntry
from ullage.sources.snapshot_columns import Column, Columns, pack, unpack


@settings(max_examples=20)
@given(st.lists(workloads(), max_size=3))
def test_workloads_come_back_exactly(rows):
    assert unpack(pack(rows, Workload), Workload) == rows


@settings(max_examples=20)
@given(st.lists(nodes(), max_size=3))
def test_nodes_come_back_exactly(rows):
    assert unpack(pack(rows, Node), Node) == rows


@settings(max_examples=20)
@given(st.lists(quotas(), max_size=3), st.lists(ledger_entries, max_size=3))
def test_quotas_and_reservations_come_back_exactly(drawn_quotas, entries):
    assert unpack(pack(drawn_quotas, Quota), Quota) == drawn_quotas
    assert unpack(pack(entries, LedgerEntry), LedgerEntry) == entries


@pytest.mark.parametrize("table", OBJECT_ROWS)
@settings(max_examples=15)
@given(data=st.data())
def test_rows_of_any_other_table_come_back_exactly(table, data):
    rows = data.draw(st.lists(OBJECT_ROWS[table], max_size=3))
    row_type = TABLE_FACTS[table].row_type
    assert unpack(pack(rows, row_type), row_type) == rows


def test_equal_values_stand_once_and_are_shared_by_the_rows_that_are_read():
    rows = [pod(f"p{number}", cpu=1 + number % 2, labels={"a": "b"}) for number in range(6)]
    columns = pack(rows, Workload)
    assert columns.others["requests"] == Column([{"cpu": 1000}, {"cpu": 2000}], [0, 1, 0, 1, 0, 1])
    assert columns.others["labels"] == Column([{"a": "b"}])
    back = unpack(columns, Workload)
    assert back[0].requests is back[2].requests
    assert back[0].labels is back[5].labels


def test_a_column_of_defaults_is_left_out():
    assert "kind" not in pack([pod("a")], Workload).others
    assert unpack(pack([pod("a")], Workload), Workload)[0].kind == "Pod"


def test_an_unknown_column_is_ignored():
    columns = Columns(["n1"], {"fromANewerVersion": Column([1])})
    assert unpack(columns, Node) == [Node("n1")]


BAD = {
    "a position outside": (Column(["a"], [0, 1]), "group points outside its 1 values"),
    "a negative position": (Column(["a"], [0, -1]), "group points outside its 1 values"),
    "too few positions": (Column(["a", "b"], [0]), "group has 1 of 2 positions"),
    "values without positions": (Column(["a", "b"]), "group has 2 values and no positions"),
    "no value": (Column([]), "group has 0 values and no positions"),
    "another type": (Column([7]), "group: Expected `str`, got `int`"),
}


@pytest.mark.parametrize(("column", "said"), BAD.values(), ids=BAD)
def test_a_bad_column_is_refused(column, said):
    with pytest.raises(InputError, match="not a valid snapshot: ") as raised:
        unpack(Columns(["n1", "n2"], {"group": column}), Node)
    assert said in str(raised.value)


BAD_VALUES = {
    "an alias": ("capacity", {"disk-space": 1}, "disk-space is not the canonical name"),
    "a bad name": ("capacity", {"a b": 1}, "resource name 'a b'"),
    "a truth value": ("capacity", {"cpu": True}, "cpu is no amount"),
    "an amount too large": ("capacity", {"cpu": 2**63}, "cpu is no amount"),
    "no map": ("capacity", 3, "expected a map of amounts"),
    "no number": ("cpuConversionFactor", "fast", "'fast' is no number"),
}


@pytest.mark.parametrize(("name", "value", "said"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_a_bad_value_is_refused(name, value, said):
    with pytest.raises(InputError) as raised:
        unpack(Columns(["n1"], {name: Column([value])}), Node)
    assert said in str(raised.value)


def test_a_column_that_every_row_needs_may_not_be_missing():
    with pytest.raises(InputError, match="the column request is missing"):
        unpack(Columns(["r1"], {}), LedgerEntry)


def test_fractions_are_exact():
    third = node("n1").with_(cpu_conversion_factor=Fraction(1, 3), reserve=resources()).record
    assert unpack(pack([third], Node), Node) == [third]


def test_queues_are_a_column_that_rows_share():
    rows = [Quota("a", queues=("t/x",)), Quota("b", queues=("t/x",)), Quota("c")]
    packed = pack(rows, Quota)
    assert packed.others["queues"].values == [("t/x",), ()]
    assert unpack(packed, Quota) == rows
