"""The levels of tenants: recorded promises before those of now, devices by model, billing units."""

import numpy as np

from builders import cluster, node, pod
from ullage.engine.usage.metering_consumption import Consumption
from ullage.engine.usage.metering_levels import ESTIMATED, MEASURED, UNKNOWN, Span
from ullage.engine.usage.metering_prices import BILLING_CU, BILLING_SU, What
from ullage.engine.usage.metering_tenants import Tenancy
from ullage.model.resources import HDD_SPACE, SSD_SPACE
from usage_builders import book, every

GPU = "nvidia.com/gpu"
HOUR = 3600
GIB = 1 << 30
SPAN = Span(0, 2 * HOUR, HOUR)
STEADY = every(300, [1000] * 12)
"""One processor, for an hour."""


def consumption(seen, snapshot=None):
    return Consumption(book(seen), Tenancy("namespace", "", snapshot), SPAN)


def total(level):
    return int(level.amounts.sum()) * 300


def test_what_was_recorded_as_promised_goes_before_what_is_promised_now():
    now = cluster(node("n", cpu=8).holding(pod("a/p", cpu=5)))
    seen = {("namespace/a", "cpu"): STEADY}
    found = consumption(seen, now)
    level = found.of("a").promised[What("cpu")]
    assert total(level) == 5000 * HOUR, "for as long as anything was observed"
    assert set(level.states.tolist()) == {ESTIMATED, UNKNOWN}
    assert found.is_promised_now
    recorded = consumption({**seen, ("namespace/a", "cpu", "committed"): every(300, [7000] * 12)}, now)
    level = recorded.of("a").promised[What("cpu")]
    assert total(level) == 7000 * HOUR
    assert set(level.states.tolist()) == {MEASURED, UNKNOWN}
    assert not recorded.is_promised_now


def test_recorded_devices_are_divided_by_the_models_of_now_and_add_up():
    now = cluster(
        node("n").with_gpus(4, "A100").holding(pod("a/p", {GPU: "2"})),
        node("m").with_gpus(1, "L4").holding(pod("a/q", {GPU: "1"})),
    )
    found = consumption({("namespace/a", GPU, "committed"): every(300, [7] * 12)}, now).of("a").promised
    assert set(found) == {What(GPU, "A100"), What(GPU, "L4")}
    assert total(found[What(GPU, "A100")]) + total(found[What(GPU, "L4")]) == 7 * HOUR
    assert found[What(GPU, "A100")].amounts[0] == 4
    assert found[What(GPU, "L4")].states[0] == ESTIMATED


def test_one_model_takes_all_that_is_recorded_and_used():
    now = cluster(node("n").with_gpus(4, "A100").holding(pod("a/p", {GPU: "2"})))
    seen = {("namespace/a", GPU, "committed"): every(300, [3]), ("namespace/a", GPU): every(300, [1])}
    found = consumption(seen, now).of("a")
    assert set(found.promised) == set(found.used) == {What(GPU, "A100")}
    assert found.promised[What(GPU, "A100")].states[0] == MEASURED


def test_billing_units_are_of_both_levels_at_the_same_moments():
    seen = {
        ("namespace/a", "cpu"): every(300, [2000, 2000]),
        ("namespace/a", "memory"): every(300, [4 * GIB, 0]),
        ("namespace/a", SSD_SPACE): every(300, [200 * GIB]),
        ("namespace/a", HDD_SPACE): every(300, [1200 * GIB]),
    }
    found = consumption(seen).of("a", [BILLING_CU, BILLING_SU]).used
    assert found[What(BILLING_CU)].amounts[:2].tolist() == [8000 * GIB, 4000 * GIB]
    assert found[What(BILLING_SU)].amounts[0] == 2 * 1200 * GIB
    assert What(BILLING_SU) not in consumption({("namespace/a", "cpu"): STEADY}).of("a", [BILLING_SU]).used


def test_the_use_of_the_cluster_is_its_own_or_the_sum_of_its_nodes():
    nodes = {("node/n", "cpu"): STEADY, ("node/m", "cpu"): STEADY}
    level = consumption(nodes).of_cluster("cpu")
    assert level is not None
    assert total(level) == 2000 * HOUR
    level = consumption({**nodes, ("cluster", "cpu"): STEADY}).of_cluster("cpu")
    assert level is not None
    assert total(level) == 1000 * HOUR
    assert consumption(nodes).of_cluster("memory") is None


def test_tenants_are_those_that_used_or_were_promised_anything():
    now = cluster(node("n", cpu=8).holding(pod("b/p", cpu=5)))
    found = consumption({("namespace/a", "cpu"): STEADY}, now)
    assert found.tenants() == ["a", "b"]
    assert found.of("b").used == {}
    assert np.array_equal(found.of("b").promised[What("cpu")].amounts[:12], np.full(12, 5000))
