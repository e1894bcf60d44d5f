"""Reserve, ratio, limit, committed and free of one node, term by term."""

from fractions import Fraction

import numpy as np
import pytest

from builders import node, policy, resources
from ullage.engine.capacity.bounds import (
    Bounds,
    Figures,
    bounds_of,
    committed_of,
    figures_of,
    floor_scaled,
    free_of,
    reserve_by_rule,
)
from ullage.model.errors import InputError
from ullage.model.policy import Layer, Policy
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import ResourceTypes
from ullage.model.settings import ReserveRule, Rules, rules_for

GIB = 1 << 30


def rules(**settings: str) -> Rules:
    return rules_for(policy(**settings), ResourceTypes())


def profile_rules(**settings: str) -> Rules:
    """Rules that a built-in profile sets: they yield to what a source states."""
    cluster = {key.replace("_", "-"): text for key, text in settings.items()}
    return rules_for(Policy("profile", (Layer("profile", built_in=True, cluster=cluster),)), ResourceTypes())


@pytest.mark.parametrize(
    ("amount", "ratio", "expected"),
    [
        (10, Fraction(1), 10),
        (10, Fraction(3, 2), 15),
        (7, Fraction(3, 2), 10),
        (1, Fraction(2, 3), 0),
        (3, Fraction(4, 3), 4),
        (2, Fraction(4, 3), 2),
        (0, Fraction(1_000_000), 0),
        (3 * 10**17, Fraction(1, 3), 10**17),
        (INT64_MAX, Fraction(1), INT64_MAX),
        ((INT64_MAX - 1) // 2, Fraction(2), INT64_MAX - 1),
    ],
)
def test_a_scaled_amount_is_floored_exactly(amount, ratio, expected):
    assert floor_scaled(amount, ratio) == expected


def test_a_scaled_amount_beyond_64_bits_is_refused():
    half = (INT64_MAX + 1) // 2
    with pytest.raises(InputError) as caught:
        floor_scaled(half, Fraction(2))
    assert str(caught.value) == f"2 times {half} does not fit 64 bits; use a smaller ratio"


@pytest.mark.parametrize(
    ("capacity", "rule", "expected"),
    [
        (100, ReserveRule(Fraction(10), 0, None), 10),
        (109, ReserveRule(Fraction(10), 0, None), 10),
        (100, ReserveRule(Fraction(10), 11, None), 11),
        (100, ReserveRule(Fraction(10), 10, None), 10),
        (100, ReserveRule(Fraction(10), 9, None), 10),
        (100, ReserveRule(Fraction(10), 0, 9), 9),
        (100, ReserveRule(Fraction(10), 0, 10), 10),
        (100, ReserveRule(Fraction(10), 0, 11), 10),
        (100, ReserveRule(Fraction(10), 4, 0), 0),
        (100, ReserveRule(Fraction(0), 5, None), 5),
        (100, ReserveRule(Fraction(0), 500, None), 500),
        (1000, ReserveRule(Fraction(1, 8), 0, None), 1),
        (100, ReserveRule(Fraction(100), 0, None), 100),
    ],
)
def test_a_reserve_is_a_share_between_a_floor_and_a_cap(capacity, rule, expected):
    assert reserve_by_rule(capacity, rule) == expected


class TestReservePrecedence:
    """User beats source, source beats profile, and where nobody speaks nothing is kept back."""

    machine = node("n1", memory="100Gi", cpu="8").reserving(memory="3Gi").record

    def test_what_the_user_set_beats_what_the_source_states(self):
        bound = bounds_of(self.machine, rules(memory_reserve="10%"))["memory"]
        assert (bound.reserve, bound.reserve_origin) == (10 * GIB, "policy")

    def test_what_the_source_states_beats_the_profile(self):
        bound = bounds_of(self.machine, profile_rules(memory_reserve="10%"))["memory"]
        assert (bound.reserve, bound.reserve_origin) == (3 * GIB, "stated")

    def test_the_profile_decides_what_the_source_does_not_name(self):
        bound = bounds_of(self.machine, profile_rules(cpu_reserve="500m"))["cpu"]
        assert (bound.reserve, bound.reserve_origin) == (500, "profile")

    def test_the_profile_decides_where_the_source_states_nothing(self):
        bare = node("n1", memory="100Gi").record
        bound = bounds_of(bare, profile_rules(memory_reserve="10%, at least 2Gi"))["memory"]
        assert (bound.reserve, bound.reserve_origin) == (10 * GIB, "profile")

    def test_a_stated_reserve_of_zero_counts_as_stated(self):
        stated = node("n1", memory="100Gi").reserving(memory="0").record
        bound = bounds_of(stated, profile_rules(memory_reserve="10%"))["memory"]
        assert (bound.reserve, bound.reserve_origin) == (0, "stated")

    def test_where_nobody_speaks_nothing_is_kept_back(self):
        bound = bounds_of(self.machine, rules(memory_reserve="10%"))["cpu"]
        assert (bound.reserve, bound.reserve_origin, bound.allocatable) == (0, "none", 8000)

    def test_a_user_rule_over_a_profile_rule_is_the_users(self):
        layers = (
            Layer("zos", built_in=True, cluster={"memory-reserve": "10%"}),
            Layer("mine", cluster={"memory-reserve": "1Gi"}),
        )
        found = rules_for(Policy("zos", layers), ResourceTypes())
        bound = bounds_of(self.machine, found)["memory"]
        assert (bound.reserve, bound.reserve_origin) == (GIB, "policy")


class TestBounds:
    def test_every_term_follows_from_the_one_before(self):
        machine = node("n1", memory="11Gi").reserving(memory="1Gi").record
        assert bounds_of(machine, rules(memory_ratio="1.5")) == {
            "memory": Bounds(11 * GIB, GIB, "stated", 10 * GIB, Fraction(3, 2), 15 * GIB)
        }

    def test_the_limit_is_floored_and_the_reserve_is_not_over_committed(self):
        machine = node("n1", memory="11").reserving(memory="4").record
        assert bounds_of(machine, rules(memory_ratio="1.5"))["memory"].limit == 10

    def test_a_reserve_beyond_capacity_leaves_nothing_allocatable(self):
        machine = node("n1", memory="1Gi").reserving(memory="2Gi").record
        assert bounds_of(machine, rules(memory_ratio="2"))["memory"] == Bounds(
            GIB, 2 * GIB, "stated", 0, Fraction(2), 0
        )

    def test_an_unlimited_ratio_sets_no_limit(self):
        machine = node("n1", cpu="4").record
        assert bounds_of(machine, rules(cpu_ratio="unlimited"))["cpu"] == Bounds(
            4000, 0, "none", 4000, None, None
        )

    def test_the_ratio_of_one_resource_is_not_that_of_another(self):
        machine = node("n1", cpu="4", memory="4").record
        found = bounds_of(machine, rules(cpu_ratio="2"))
        assert (found["cpu"].limit, found["memory"].limit) == (8000, 4)

    def test_the_bounds_are_those_of_the_capacity_and_nothing_else(self):
        machine = node("n1", cpu="4").reserving(memory="1Gi").using(memory="1Gi").record
        assert list(bounds_of(machine, rules())) == ["cpu"]

    @pytest.mark.parametrize(("mode", "cpu", "memory"), [("capacity", 3000, 4000), ("score", 4000, 4000)])
    def test_the_conversion_factor_scales_cpu_capacity_only_where_the_policy_says(self, mode, cpu, memory):
        machine = node("n1", cpu="4", memory="4000").with_(cpu_conversion_factor=Fraction(3, 4)).record
        found = bounds_of(machine, rules(cpu_factor=mode))
        assert (found["cpu"].capacity, found["memory"].capacity) == (cpu, memory)

    def test_the_reserve_is_taken_from_the_converted_capacity(self):
        machine = node("n1", cpu="4").with_(cpu_conversion_factor=Fraction(1, 2)).record
        bound = bounds_of(machine, rules(cpu_reserve="10%"))["cpu"]
        assert bound == Bounds(2000, 200, "policy", 1800, Fraction(1), 1800)

    def test_a_limit_beyond_64_bits_is_refused(self):
        machine = node("n1", memory=str(INT64_MAX)).record
        with pytest.raises(InputError, match=f"^node n1: 3/2 times {INT64_MAX} does not fit 64 bits"):
            bounds_of(machine, rules(memory_ratio="1.5"))


@pytest.mark.parametrize(
    ("promised", "actual", "reserve", "counts_actual", "expected"),
    [
        (5, 9, 2, False, 5),
        (5, 9, 2, True, 7),
        (5, 7, 2, True, 5),
        (5, 8, 2, True, 6),
        (5, 0, 2, True, 5),
        (0, 0, 2, True, 0),
        (0, 1, 2, True, 0),
    ],
)
def test_committed_is_what_is_promised_or_what_is_used_beyond_the_reserve(
    promised, actual, reserve, counts_actual, expected
):
    assert committed_of(promised, actual, reserve, counts_actual=counts_actual) == expected
    arrays = (np.array([amount], np.int64) for amount in (promised, actual, reserve))
    assert committed_of(*arrays, counts_actual=counts_actual).tolist() == [expected]


@pytest.mark.parametrize(
    ("limit", "committed", "standby", "expected"),
    [
        (5, 3, 0, 2),
        (5, 3, 1, 1),
        (5, 3, 2, 0),
        (5, 3, 3, 0),
        (5, 5, 0, 0),
        (5, 6, 0, 0),
        (5, 6, 1, 0),
        (0, INT64_MAX, INT64_MAX, 0),
        (INT64_MAX, 0, 0, INT64_MAX),
        (INT64_MAX, 1, 1, INT64_MAX - 2),
    ],
)
def test_free_is_never_below_zero(limit, committed, standby, expected):
    assert free_of(limit, committed, standby) == expected
    arrays = (np.array([limit, limit]), np.array([committed, limit]), np.array([standby, standby]))
    assert free_of(*arrays).tolist() == [expected, 0]


class TestFigures:
    def test_every_term_of_every_resource_in_order_of_names(self):
        machine = node("n1", cpu="4", memory="10").reserving(memory="2").using(memory="9").record
        found = figures_of(machine, rules(committed="actual"), resources(memory="3", cpu="1"))
        assert list(found) == ["cpu", "memory"]
        assert found["cpu"] == Figures(
            Bounds(4000, 0, "none", 4000, Fraction(1), 4000), 1000, None, 1000, 3000
        )
        assert found["memory"] == Figures(Bounds(10, 2, "stated", 8, Fraction(1), 8), 3, 9, 7, 1)

    def test_actual_use_is_shown_and_not_counted_where_promises_count(self):
        machine = node("n1", memory="10").using(memory="9").record
        assert figures_of(machine, rules(committed="promised"), resources(memory="3"))["memory"][1:] == (
            3,
            9,
            3,
            7,
            0,
        )

    def test_actual_use_of_zero_is_known(self):
        machine = node("n1", memory="10").using(memory="0").record
        assert figures_of(machine, rules())["memory"].actual == 0

    def test_an_unlimited_resource_has_no_free(self):
        found = figures_of(node("n1", cpu="4").record, rules(cpu_ratio="unlimited"), resources(cpu="9"))
        assert found["cpu"][1:] == (9000, None, 9000, None, 0)

    def test_what_is_held_for_failover_is_not_free(self):
        machine = node("n1", memory="10").record
        found = figures_of(machine, rules(), resources(memory="3"), standby=resources(memory="5"))
        assert found["memory"][1:] == (3, None, 3, 2, 5)

    def test_what_is_held_but_not_there_is_shown(self):
        found = figures_of(node("n1", cpu="4").record, rules(), standby=resources(memory="5", pods="0"))
        assert list(found) == ["cpu", "memory"]
        assert found["memory"] == Figures(Bounds(0, 0, "none", 0, Fraction(1), 0), 0, None, 0, 0, 5)

    @pytest.mark.parametrize(("ratio", "shown"), [("2", Fraction(2)), ("unlimited", None)])
    def test_what_is_promised_but_not_there_has_a_limit_of_zero(self, ratio, shown):
        found = figures_of(node("n1", cpu="4").record, rules(memory_ratio=ratio), resources(memory="3"))
        assert found["memory"] == Figures(Bounds(0, 0, "none", 0, shown, 0), 3, None, 3, 0)

    def test_what_is_in_use_but_not_there_has_a_limit_of_zero(self):
        found = figures_of(node("n1", cpu="4").using(memory="3").record, rules(committed="actual"))
        assert found["memory"] == Figures(Bounds(0, 0, "none", 0, Fraction(1), 0), 0, 3, 3, 0)

    def test_a_promise_or_a_use_of_nothing_names_no_resource(self):
        unused = node("n1", cpu="4").using(pods="0").record
        assert list(figures_of(unused, rules(), resources(memory="0"))) == ["cpu"]

    def test_bounds_that_the_caller_has_are_not_computed_again(self):
        given = {"cpu": Bounds(7, 1, "policy", 6, Fraction(1), 6)}
        found = figures_of(node("n1", cpu="4").record, rules(), resources(cpu="2m"), given)
        assert found == {"cpu": Figures(given["cpu"], 2, None, 2, 4)}

    def test_bounds_of_nothing_are_bounds_too(self):
        assert figures_of(node("n1", cpu="4").record, rules(), bounds={}) == {}
