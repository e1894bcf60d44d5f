"""Readings of counters in a table."""

import gzip

import pytest

from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.metering_counters import CounterName
from ullage.model.errors import InputError
from ullage.sources.usage.counters_csv import CounterReadings, read_counters

HEAD = "tenant,counter,time,value"


def read(tmp_path, text):
    path = tmp_path / "counters.csv"
    path.write_text(text)
    return read_counters(str(path))


def test_readings_are_by_counter_as_they_stand_there(tmp_path):
    rows = (
        "b,network/x,20,7",
        "a,requests,1970-01-01T00:00:30Z,18446744073709551615",
        "",
        "b,network/x,10,9",
    )
    text = "\n".join((HEAD, *rows))
    assert read(tmp_path, text) == {
        CounterName("b", "network/x"): CounterReadings([Reading(20, 7), Reading(10, 9)], None),
        CounterName("a", "requests"): CounterReadings([Reading(30, (1 << 64) - 1)], None),
    }


def test_columns_may_stand_in_any_order_with_epochs_and_where_counters_wrap(tmp_path):
    rows = ("5,boot-1,10,4294967296,network,a", "6,,11,4294967296,network,a")
    text = "\n".join(("value,epoch,time,wraps,counter,tenant", *rows))
    assert read(tmp_path, text) == {
        CounterName("a", "network"): CounterReadings([Reading(10, 5, "boot-1"), Reading(11, 6)], 1 << 32)
    }


def test_a_table_may_be_packed(tmp_path):
    path = tmp_path / "counters.csv.gz"
    path.write_bytes(gzip.compress(f"{HEAD}\na,network,1,2\n".encode()))
    assert len(read_counters(str(path))) == 1


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "1: there is no column tenant"),
        ("tenant,counter,time\n", "there is no column value"),
        (f"{HEAD},colour\n", "column 'colour' is unknown"),
        (f"{HEAD},time\n", "column time is there twice"),
        (f"{HEAD}\na,network,1\n", "2: 3 fields where the first line names 4"),
        (f"{HEAD}\na,network,1,2\n,network,1,2\n", "3: tenant is empty"),
        (f"{HEAD}\na,,1,2\n", "counter is empty"),
        (f"{HEAD}\na,Network,1,2\n", "'Network' names no unit"),
        (f"{HEAD}\na,network,soon,2\n", "'soon' is no usable time"),
        (f"{HEAD}\na,network,1,-2\n", "value '-2' is no whole number"),
        (f"{HEAD}\na,network,1,1.5\n", "value '1.5' is no whole number"),
        (f"{HEAD}\na,network,1,18446744073709551616\n", "is no whole number of 64 bits"),
        (f"{HEAD},wraps\na,network,1,256,256\n", "value 256 of a counter that wraps around at 256"),
        (f"{HEAD},wraps\na,network,1,2,256\na,network,1,2,\n", "wraps: nothing, before it was 256"),
        (f'{HEAD}\na,"network,1,2\n', "unexpected end of data"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path, text, what):
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert what in str(error.value)
    assert "counters.csv" in str(error.value)
