"""Billing units at every moment are those of the formula, and of the oracle."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.capacity.billing import billing_units
from ullage.engine.usage.metering_levels import constant, integrals, together
from ullage.engine.usage.metering_units import COMPUTE_STEPS, compute_units
from ullage.model.resources import Resources

HOUR, GIB = 3600, 1 << 30


def units(cpu_milli: int, memory_bytes: int) -> Fraction:
    level = compute_units(constant(cpu_milli, 0, HOUR), constant(memory_bytes, 0, HOUR))
    (found,) = integrals(level, 0, [0, HOUR])
    return Fraction(found.amount_seconds, HOUR * COMPUTE_STEPS)


def test_the_units_of_the_oracle(oracle):
    for row in oracle("zos")["cloud_units"]["cases"]:
        assert units(row["cru"] * 1000, row["mru_gib"] * GIB) == Fraction(row["cu"]), row


@given(st.integers(0, (1 << 62) - 1), st.integers(0, (1 << 62) - 1))
def test_the_units_of_the_formula_whatever_the_size(cpu_milli, memory_bytes):
    wanted = billing_units(Resources({"cpu": cpu_milli, "memory": memory_bytes})).billing_cu
    assert units(cpu_milli, memory_bytes) == wanted


def test_units_follow_both_levels_from_moment_to_moment():
    cpu = constant(4000, 0, HOUR)
    memory = constant(16 * GIB, 0, HOUR)
    memory.amounts[6:] = 0
    (found,) = integrals(compute_units(cpu, memory), 0, [0, HOUR])
    half = (billing_units(Resources({"cpu": 4000, "memory": 16 * GIB})).billing_cu + 1) / 2
    assert Fraction(found.amount_seconds, HOUR * COMPUTE_STEPS) == half
    assert together([cpu]).amounts.sum() == cpu.amounts.sum()
