"""A meter counts what truly passed, however readings are interleaved with traffic and restarts."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.capacity.metering import Meter, Reading

steps = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.integers(1, 1000)),
        st.tuples(st.just("read"), st.just(0)),
        st.tuples(st.just("again"), st.integers(0, 50)),
        st.tuples(st.just("restart"), st.just(0)),
    ),
    max_size=40,
)


class Counted(NamedTuple):
    """How a simulated counter was metered, beside what truly passed."""

    meter: Meter
    passed: int
    unseen: int
    restarts: int


def simulate(drawn: list[tuple[str, int]], *, epochs: bool, read_before_restart: bool) -> Counted:
    """Meter a counter from its making; `unseen` is what passed between a last reading and a restart."""
    meter, readings = Meter(from_start=True), []
    second = value = passed = seen = unseen = boot = 0

    def read() -> None:
        nonlocal meter, seen, second
        second += 1
        readings.append(Reading(second, value, f"boot{boot}" if epochs else ""))
        meter = meter.read(readings[-1])
        seen = value

    for action, amount in drawn:
        if action == "pass":
            value += amount
            passed += amount
        elif action == "read":
            read()
        elif action == "again" and readings:
            meter = meter.read(readings[amount % len(readings)])
        elif action == "restart":
            if read_before_restart:
                read()
            unseen += value - seen
            value = seen = 0
            boot += 1
            if not epochs:
                read()
    read()
    return Counted(meter, passed, unseen, boot)


@given(steps, st.booleans())
def test_nothing_is_lost_or_counted_twice_where_a_reading_precedes_each_restart(drawn, epochs):
    counted = simulate(drawn, epochs=epochs, read_before_restart=True)
    assert counted.meter.total == counted.passed


@given(steps, st.booleans())
def test_what_passed_unread_before_a_restart_is_all_that_can_be_lost(drawn, epochs):
    counted = simulate(drawn, epochs=epochs, read_before_restart=False)
    assert counted.meter.total == counted.passed - counted.unseen


@given(steps)
def test_resets_are_never_more_than_restarts(drawn):
    counted = simulate(drawn, epochs=True, read_before_restart=True)
    assert counted.meter.resets <= counted.restarts
