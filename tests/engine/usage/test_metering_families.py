"""Counters that are read with an id and without it: what goes on, what ends, and what is late."""

import pytest

from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.metering_counters import Account, CounterName, Meters
from ullage.engine.usage.metering_families import Families

FAMILY = CounterName("a", "network/p/eth0")
ONE, TWO = (CounterName("a", f"network/p/eth0/{each}") for each in "12")


def total(*pieces):
    """What readings of counters come to, each piece in a reading of its own that knows only the meters."""
    meters = Meters()
    for name, *readings in pieces:
        Families(meters).add(name, [Reading(*each) for each in readings])
    meters.settle()
    return sum(each.meter.total for each in meters.counters.values())


@pytest.mark.parametrize(
    ("pieces", "passed"),
    [
        pytest.param([(ONE, (0, 5), (60, 9)), (FAMILY, (200, 20))], 15, id="without its id it goes on"),
        pytest.param([(FAMILY, (0, 5)), (ONE, (60, 9), (90, 20))], 15, id="the id comes up later"),
        pytest.param([(FAMILY, (0, 5)), (ONE, (60, 3), (90, 20))], 3 + 17, id="as it is made anew"),
        pytest.param([(ONE, (0, 5)), (FAMILY, (60, 9)), (ONE, (90, 20))], 15, id="it comes back"),
        pytest.param([(ONE, (0, 5)), (TWO, (60, 9)), (FAMILY, (90, 20))], 11, id="of two the one read last"),
        pytest.param([(ONE, (0, 5), (60, 9)), (FAMILY, (30, 7), (60, 9))], 4, id="what was read is late"),
        pytest.param([(FAMILY, (0, 5), (60, 9)), (FAMILY, (0, 5), (90, 10))], 5, id="nobody has an id"),
        pytest.param([(ONE,), (FAMILY,)], 0, id="nothing was read"),
    ],
)
def test_what_is_read_without_an_id_counts_once(pieces, passed):
    assert total(*pieces) == passed


def test_what_an_id_showed_first_is_not_unread_where_its_family_was_read_until_then():
    meters = Meters(late_seconds=10)
    families = Families(meters)
    families.add(CounterName("b", "x"), [Reading(0, 0)])
    families.add(FAMILY, [Reading(0, 0), Reading(500, 50)])
    families.add(ONE, [Reading(600, 60), Reading(700, 70)])
    assert meters.unread(0, 3600) == {}
    families.began(ONE, 590, Reading(600, 60))
    meters.settle()
    assert meters.consumed(Account("a", "network"), [0, 3600])[0].passed == 70, "nor did it begin"
    families.add(CounterName("a", "network/q/eth0/1"), [Reading(600, 60)])
    assert meters.unread(0, 3600) == {("a", "network"): 1}


def test_how_many_readings_came_too_late_is_told():
    families = Families(Meters())
    assert families.add(ONE, [Reading(60, 9)]) == 0
    assert families.add(FAMILY, [Reading(30, 7), Reading(60, 9), Reading(90, 11)]) == 2
