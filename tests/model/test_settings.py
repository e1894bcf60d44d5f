"""Settings: which texts each takes, what they mean, and the typed rules that a policy gives a place."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.model.policy import Layer, Policy
from ullage.model.quantity import parse_amount
from ullage.model.resources import ResourceType, ResourceTypes
from ullage.model.settings import (
    SETTINGS,
    ReserveRule,
    Rules,
    check_setting,
    default_settings,
    meaning_of,
    parse_fraction,
    parse_ratio,
    parse_reserve,
    print_fraction,
    rules_for,
)

TYPES = ResourceTypes()
NO_DIGIT = "where a digit is expected; write digits, then nothing or a suffix, for example 500m, 2.5 or 40Mi"
BOUNDS = "write 10%, at least 2Gi, at most 8Gi"
BETWEEN = "between its bounds; use 0 <= at least <= at most"


def message(call, *arguments):
    with pytest.raises(InputError) as refused:
        call(*arguments)
    return str(refused.value)


def rules(**settings):
    written = {key.replace("_", "-"): text for key, text in settings.items()}
    return rules_for(Policy("p", (Layer("site", cluster=written),)), TYPES)


# Numbers


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", Fraction(0)),
        ("1", Fraction(1)),
        ("1.5", Fraction(3, 2)),
        ("0.1", Fraction(1, 10)),
        ("4/3", Fraction(4, 3)),
        ("2/4", Fraction(1, 2)),
        ("0/7", Fraction(0)),
        ("999999999.999999999", Fraction(10**18 - 1, 10**9)),
        ("999999999/999999998", Fraction(999_999_999, 999_999_998)),
    ],
)
def test_a_number_is_read_exactly(text, value):
    assert parse_fraction(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "x", "-1", "+1", "1.", ".5", "1e3", "1/0", "1/", "/2", "1/2/3", "1.5/2", " 1", "1\n", "1,5",
     "1234567890", "1.1234567890", f"1/{10**160}", f"{10**160}/1", "٣"],
)  # fmt: skip
def test_other_texts_are_no_number(text):
    assert message(parse_fraction, text) == (
        f"{text!r} is no number; write a decimal such as 1.5 or a fraction such as 4/3"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(7), "7"),
        (Fraction(3, 2), "1.5"),
        (Fraction(1, 8), "0.125"),
        (Fraction(101, 100), "1.01"),
        (Fraction(1, 10**9), "0.000000001"),
        (Fraction(1, 10**10), "1/10000000000"),
        (Fraction(4, 3), "4/3"),
        (Fraction(-3, 2), "-1.5"),
        (Fraction(-4, 3), "-4/3"),
    ],
)
def test_a_number_is_printed_as_a_decimal_where_that_is_exact(value, text):
    assert print_fraction(value) == text


@given(
    st.builds(Fraction, st.integers(0, 10**9 - 1), st.integers(1, 10**9 - 1))
    | st.builds(Fraction, st.integers(0, 10**18 - 1), st.just(10**9))
    | st.floats(1e-137, 1e9).map(lambda number: Fraction(repr(number)))
)
def test_a_printed_number_reads_back_as_the_same(value):
    assert parse_fraction(print_fraction(value)) == value


def test_a_ratio_is_from_0_to_a_million_or_unlimited():
    assert parse_ratio("0") == 0
    assert parse_ratio("0.9") == Fraction(9, 10)
    assert parse_ratio("1") == 1
    assert parse_ratio("4/3") == Fraction(4, 3)
    assert parse_ratio("1000000") == 1_000_000
    assert parse_ratio("unlimited") is None
    for text in ("1000000.000000001", "1000001"):
        assert message(parse_ratio, text) == f"ratio {text} is above 1000000; use unlimited for no bound"
    assert message(parse_ratio, "-1").startswith("'-1' is no number; ")
    assert message(parse_ratio, "Unlimited").startswith("'Unlimited' is no number; ")


# Reserves


@pytest.mark.parametrize(
    ("text", "percent", "floor", "cap"),
    [
        ("0", 0, 0, None),
        ("1Gi", 0, 1 << 30, None),
        (" 1Gi ", 0, 1 << 30, None),
        ("10%", 10, 0, None),
        ("0%", 0, 0, None),
        ("100%", 100, 0, None),
        ("2.5 %", Fraction(5, 2), 0, None),
        ("1/3%", Fraction(1, 3), 0, None),
        ("10%, at least 2Gi", 10, 2 << 30, None),
        ("10%, at most 16Gi", 10, 0, 16 << 30),
        ("10%, at least 2Gi, at most 16Gi", 10, 2 << 30, 16 << 30),
        ("10%,at most 16Gi,at least  2Gi", 10, 2 << 30, 16 << 30),
        ("10%, at least 2Gi, at most 2Gi", 10, 2 << 30, 2 << 30),
        ("10%, at most 0", 10, 0, 0),
    ],
)
def test_a_reserve_is_an_amount_or_a_percentage_between_bounds(text, percent, floor, cap):
    assert parse_reserve(text, parse_amount) == ReserveRule(Fraction(percent), floor, cap)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("100.000000001%", "reserve '100.000000001%' is above 100%; keep at most 100%"),
        ("101%", "reserve '101%' is above 100%; keep at most 100%"),
        ("1Gi, at most 2Gi", "reserve '1Gi, at most 2Gi': bounds need a percentage; write 10%, at least 2Gi"),
        ("10%, 2Gi", f"reserve '10%, 2Gi': '2Gi' is unknown; {BOUNDS}"),
        ("10%,", f"reserve '10%,': '' is unknown; {BOUNDS}"),
        ("10%, at least", f"reserve '10%, at least': 'at least' is unknown; {BOUNDS}"),
        ("-1", f"reserve '-1' has no room {BETWEEN}"),
        ("1%, at least -1", f"reserve '1%, at least -1' has no room {BETWEEN}"),
        ("1%, at most -1", f"reserve '1%, at most -1' has no room {BETWEEN}"),
        ("1%, at least 2, at most 1",
         f"reserve '1%, at least 2, at most 1' has no room {BETWEEN}"),
        ("x%", "'x' is no number; write a decimal such as 1.5 or a fraction such as 4/3"),
        ("%", "'' is no number; write a decimal such as 1.5 or a fraction such as 4/3"),
        ("-5%", "'-5' is no number; write a decimal such as 1.5 or a fraction such as 4/3"),
        ("", f"quantity '': the end at character 1 {NO_DIGIT}"),
        ("1%, at least x", f"quantity 'x': 'x' at character 1 {NO_DIGIT}"),
    ],
)  # fmt: skip
def test_other_reserves_are_refused(text, problem):
    assert message(parse_reserve, text, parse_amount) == problem


def test_a_reserve_is_read_in_the_steps_of_its_resource():
    assert rules(cpu_reserve="0.5").reserves == {"cpu": ReserveRule(Fraction(0), 500, None)}


# The table

DEFAULTS = {
    "committed": "promised",
    "cpu-factor": "capacity",
    "fill": "exact",
    "consumption": "asked",
    "spare-nodes": "0",
    "swap": "unknown",
    "storage-mode": "exact",
    "volume-group-spare": "0",
    "thin-pool-ratio": "0",
    "drive-over-provisioning": "100",
    "drive-minimal-available": "0",
    "few-drives": "yes",
    "quota-mode": "by-kind",
    "quota-order": "created requests name",
    "quota-run-min": "0",
    "placement": "spread",
    "gpu-memory": "32",
    "admission-order": "",
    "machine-memory": "0",
    "machine-root-small": "0",
    "machine-root-large": "0",
    "cache-unit": "5Gi",
    "cache-grow": "60",
    "cache-shrink": "20",
    "cache-period": "300",
    "cache-fallback": "500Mi",
}


def test_every_setting_has_a_default_and_together_they_are_the_default_rules():
    assert default_settings() == DEFAULTS
    assert rules(**{key.replace("-", "_"): text for key, text in DEFAULTS.items()}) == Rules() == rules()


@pytest.mark.parametrize(
    ("key", "text", "field", "value"),
    [
        ("committed", "promised", "committed", "promised"),
        ("committed", "actual", "committed", "actual"),
        ("cpu-factor", "capacity", "cpu_factor", "capacity"),
        ("cpu-factor", "score", "cpu_factor", "score"),
        ("fill", "exact", "fill", "exact"),
        ("fill", "below", "fill", "below"),
        ("quota-order", "-priority, name", "quota_order", ("-priority", "name")),
        ("quota-run-min", "600", "quota_run_min_seconds", 600),
        ("spare-nodes", "0", "spare_nodes", 0),
        ("spare-nodes", "1000", "spare_nodes", 1000),
        ("swap", "unknown", "swap_bytes", None),
        ("swap", "0", "swap_bytes", 0),
        ("swap", "8Gi", "swap_bytes", 8 << 30),
        ("storage-mode", "exact", "storage_mode", "exact"),
        ("storage-mode", "compat", "storage_mode", "compat"),
        ("storage-mode", "zos", "storage_mode", "zos"),
        ("volume-group-spare", "10Gi", "volume_group_spare_bytes", 10 << 30),
        ("thin-pool-ratio", "5/3", "thin_pool_ratio", Fraction(5, 3)),
        ("drive-over-provisioning", "0", "drive_over_provisioning_percent", 0),
        ("drive-over-provisioning", "10000", "drive_over_provisioning_percent", 10_000),
        ("drive-minimal-available", "100", "drive_minimal_available_percent", 100),
        ("quota-mode", "by-kind", "quota_mode", "by-kind"),
        ("quota-mode", "nos", "quota_mode", "nos"),
        ("quota-mode", "fair", "quota_mode", "fair"),
        ("gpu-memory", "1", "gpu_memory_gigabytes", 1),
        ("gpu-memory", "100000", "gpu_memory_gigabytes", 100_000),
        ("admission-order", "", "admission_order", ()),
        (
            "admission-order",
            "zmount, zdb  network,,vm",
            "admission_order",
            ("zmount", "zdb", "network", "vm"),
        ),
        ("machine-memory", "250Mi", "machine_memory_bytes", 250 << 20),
        ("machine-root-small", "500Mi", "machine_root_small_bytes", 500 << 20),
        ("machine-root-large", "2Gi", "machine_root_large_bytes", 2 << 30),
        ("cache-unit", "1", "cache_unit_bytes", 1),
        ("cache-unit", "1Gi", "cache_unit_bytes", 1 << 30),
        ("cache-grow", "1", "cache_grow_percent", 1),
        ("cache-grow", "100", "cache_grow_percent", 100),
        ("cache-shrink", "0", "cache_shrink_percent", 0),
        ("cache-shrink", "99", "cache_shrink_percent", 99),
        ("cache-period", "1", "cache_period_seconds", 1),
        ("cache-period", "86400", "cache_period_seconds", 86_400),
        ("cache-fallback", "1Mi", "cache_fallback_bytes", 1 << 20),
        ("memory-ratio", "1.5", "ratios", {"memory": Fraction(3, 2)}),
        ("kubernetes.io/cpu-ratio", "unlimited", "ratios", {"cpu": None}),
        ("example.com/a-b-ratio", "4/3", "ratios", {"example.com/a-b": Fraction(4, 3)}),
        ("disk-space-reserve", "5%", "reserves", {"storage-space": ReserveRule(Fraction(5), 0, None)}),
    ],
)
def test_an_accepted_text_gives_this_rule(key, text, field, value):
    assert getattr(rules(**{key: text}), field) == value
    check_setting(key, text, TYPES)


@pytest.mark.parametrize(
    ("key", "text", "problem"),
    [
        ("committed", "Actual", "'Actual' is none of promised, actual; for example promised"),
        ("cpu-factor", "", "'' is none of capacity, score; for example capacity"),
        ("fill", "above", "'above' is none of exact, below; for example exact"),
        ("storage-mode", "x", "'x' is none of exact, compat, zos; for example exact"),
        ("volume-group-spare", "-1Gi", "'-1Gi' is negative; use 0 or more"),
        ("thin-pool-ratio", "unlimited", "'unlimited' is no number; use at most 1000000"),
        ("drive-over-provisioning", "10001", "'10001' is no whole number from 0 to 10000; use 0"),
        ("drive-minimal-available", "101", "'101' is no whole number from 0 to 100; use 0"),
        ("quota-mode", "x", "'x' is none of by-kind, nos, fair; for example by-kind"),
        (
            "quota-order",
            "age",
            (
                "'age' is no criterion; use some of created, -created, requests, -requests, priority, "
                "-priority, name"
            ),
        ),
        ("quota-order", "name name", "'name name' names no criterion, or one twice; name each once"),
        ("quota-run-min", "-1", "'-1' is no whole number from 0 to 2147483648; use 0"),
        ("quota-order", " ", "' ' names no criterion, or one twice; name each once"),
        ("spare-nodes", "-1", "'-1' is no whole number from 0 to 1000; use 0"),
        ("spare-nodes", "1001", "'1001' is no whole number from 0 to 1000; use 0"),
        ("spare-nodes", "1.5", "'1.5' is no whole number from 0 to 1000; use 0"),
        ("spare-nodes", "", "'' is no whole number from 0 to 1000; use 0"),
        ("spare-nodes", "0000000000001", "'0000000000001' is no whole number from 0 to 1000; use 0"),
        ("gpu-memory", "0", "'0' is no whole number from 1 to 100000; use 1"),
        ("gpu-memory", "100001", "'100001' is no whole number from 1 to 100000; use 1"),
        ("cache-grow", "0", "'0' is no whole number from 1 to 100; use 1"),
        ("cache-grow", "101", "'101' is no whole number from 1 to 100; use 1"),
        ("cache-shrink", "100", "'100' is no whole number from 0 to 99; use 0"),
        ("cache-period", "0", "'0' is no whole number from 1 to 86400; use 1"),
        ("cache-period", "86401", "'86401' is no whole number from 1 to 86400; use 1"),
        ("swap", "-1", "'-1' is negative; use 0 or more"),
        ("swap", "none", f"quantity 'none': 'n' at character 1 {NO_DIGIT}"),
        ("cache-unit", "-5Gi", "'-5Gi' is negative; use 0 or more"),
        ("cache-unit", "0Gi", "'0Gi' is nothing; use 1 or more"),
        ("machine-memory", "unknown", f"quantity 'unknown': 'u' at character 1 {NO_DIGIT}"),
        ("memory-ratio", "2000000", "ratio 2000000 is above 1000000; use unlimited for no bound"),
        ("x-ratio", "2",
         "resource name 'x' is not built in and names no domain; qualify it, for example example.com/x"),
        ("memory-reserve", "101%", "reserve '101%' is above 100%; keep at most 100%"),
        ("-reserve", "1", "resource name '' is empty; give it a name"),
    ],
)  # fmt: skip
def test_a_refused_text_is_answered_with_what_it_takes(key, text, problem):
    assert message(check_setting, key, text, TYPES) == f"{key}: {problem}"
    policy = Policy("p", (Layer("site.yaml", nodes={"n1": {key: text}}),))
    assert message(rules_for, policy, TYPES, "", "n1") == f"site.yaml, node n1: {key}: {problem}"


def test_an_unknown_setting_is_answered_with_those_that_are_known():
    assert message(check_setting, "colour", "red", TYPES) == (
        "colour: setting 'colour' is unknown; known are RESOURCE-ratio, RESOURCE-reserve, "
        + ", ".join(sorted(DEFAULTS))
    )


def test_registered_types_decide_how_a_reserve_is_read():
    types = ResourceTypes([ResourceType("example.com/x", "", 3)])
    policy = Policy("p", (Layer("site", cluster={"example.com/x-reserve": "1.5"}),))
    assert rules_for(policy, types).reserves == {"example.com/x": ReserveRule(Fraction(0), 1500, None)}


@pytest.mark.parametrize(
    ("key", "meaning"),
    [
        ("fill", "whether a node may be filled to its limit exactly"),
        ("memory-ratio", "how far memory may be promised beyond what is allocatable"),
        ("example.com/x-reserve", "how much example.com/x is kept back for the system"),
    ],
)
def test_a_setting_says_what_it_decides(key, meaning):
    assert meaning_of(key) == meaning


def test_every_setting_of_the_table_has_a_meaning_of_its_own():
    assert [setting.key for setting in SETTINGS] == list(DEFAULTS)
    assert len({meaning_of(key) for key in DEFAULTS}) == len(SETTINGS)


# Rules of a place


def test_rules_follow_the_inheritance_of_settings():
    base = Layer(
        "zos", built_in=True, cluster={"memory-ratio": "1", "memory-reserve": "1Gi", "fill": "below"}
    )
    own = Layer("site", groups={"g": {"memory-ratio": "2"}}, nodes={"n": {"memory-ratio": "3"}})
    policy = Policy("p", (base, own))
    assert rules_for(policy, TYPES).ratio("memory") == 1
    assert rules_for(policy, TYPES, "g").ratio("memory") == 2
    assert rules_for(policy, TYPES, "g", "n").ratio("memory") == 3
    assert rules_for(policy, TYPES, group="g", node="other").ratio("memory") == 2
    assert rules_for(policy, TYPES, "g", "n").fill == "below"


def test_a_resource_without_a_ratio_has_ratio_one():
    given_rules = rules(cpu_ratio="unlimited", memory_ratio="1.5")
    assert given_rules.ratio("cpu") is None
    assert given_rules.ratio("memory") == Fraction(3, 2)
    assert given_rules.ratio("pods") == 1


def test_a_reserve_of_a_profile_yields_to_the_source_and_one_of_a_user_does_not():
    base = Layer("zos", built_in=True, cluster={"memory-reserve": "1Gi", "cpu-reserve": "1"})
    own = Layer("site", cluster={"memory-reserve": "2Gi"})
    found = rules_for(Policy("p", (base, own)), TYPES)
    assert found.reserves_by_user == frozenset({"memory"})
    assert found.reserves["memory"].floor == 2 << 30
    assert found.reserves["cpu"].floor == 1000
    assert rules_for(Policy("p", (base,)), TYPES).reserves_by_user == frozenset()


def test_of_two_spellings_of_a_resource_the_nearer_level_counts():
    base = Layer(
        "zos",
        built_in=True,
        cluster={"kubernetes.io/cpu-ratio": "2", "kubernetes.io/memory-reserve": "1Gi"},
        nodes={"n2": {"kubernetes.io/cpu-ratio": "5", "kubernetes.io/memory-reserve": "5Gi"}},
    )
    own = Layer(
        "site",
        cluster={"memory-reserve": "3Gi"},
        nodes={"n1": {"cpu-ratio": "4", "memory-reserve": "4Gi"}},
    )
    policy = Policy("p", (base, own))
    near = rules_for(policy, TYPES, node="n1")
    assert (near.ratio("cpu"), near.reserves["memory"].floor) == (4, 4 << 30)
    assert near.reserves_by_user == frozenset({"memory"})
    profile = rules_for(policy, TYPES, node="n2")
    assert (profile.ratio("cpu"), profile.reserves["memory"].floor) == (5, 5 << 30)
    assert profile.reserves_by_user == frozenset()
