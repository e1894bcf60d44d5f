"""LimitRanges: which defaults are filled in, what they come to in all, what is refused with which remedy."""

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import BUILT_IN_TYPES, container, resources, volume, waiting
from ullage.engine.placement.limit_ranges import (
    BREACHES_MAX,
    apply_limit_ranges,
    containers_of,
    limit_range_refusal,
    stated_by_pod,
    sums_of,
)
from ullage.engine.requests import effective_limits, effective_request
from ullage.model.admission import LimitRange, LimitRangeItem
from ullage.model.cluster import Container, Workload
from ullage.model.resources import NOTHING, Resources, ResourceType, ResourceTypes

TYPES = BUILT_IN_TYPES
ONE_POD = Resources({"pods": 1})


def item(kind: str = "Container", ratio: dict[str, Fraction] | None = None, **bounds) -> LimitRangeItem:
    amounts = {name: resources(**amount) for name, amount in bounds.items()}
    return LimitRangeItem(kind, limit_request_ratio_max=ratio or {}, **amounts)


def limits(*items: LimitRangeItem, name: str = "bounds") -> LimitRange:
    return LimitRange(name, "team", items)


def pod_of(*containers: Container, overhead: Resources = NOTHING, **fields) -> Workload:
    """A pod as it is read from a manifest."""
    return waiting(
        "team/web",
        containers=containers,
        requests=effective_request(containers, overhead) + ONE_POD,
        limits=effective_limits(containers, overhead),
        overhead=overhead,
        **fields,
    )


def first_filled(pod: Workload, *ranges: LimitRange) -> Container:
    return apply_limit_ranges(pod, ranges, TYPES).containers[0]


class TestDefaults:
    @pytest.mark.parametrize(
        ("bounds", "requests", "limit"),
        [
            ({"default_limits": {"cpu": 2}, "default_requests": {"cpu": 1}}, {"cpu": 1}, {"cpu": 2}),
            ({"default_limits": {"cpu": 2}}, {"cpu": 2}, {"cpu": 2}),
            ({"default_requests": {"cpu": 1}}, {"cpu": 1}, {}),
            ({"max": {"cpu": 4}}, {"cpu": 4}, {"cpu": 4}),
            ({"max": {"cpu": 4}, "default_limits": {"cpu": 2}}, {"cpu": 2}, {"cpu": 2}),
            ({"min": {"cpu": "100m"}}, {"cpu": "100m"}, {}),
            ({"min": {"cpu": "100m"}, "max": {"cpu": 4}}, {"cpu": 4}, {"cpu": 4}),
        ],
    )
    def test_a_container_with_neither_gets_what_the_completed_range_says(self, bounds, requests, limit):
        found = first_filled(pod_of(container("app")), limits(item(**bounds)))
        assert (found.requests, found.limits) == (resources(**requests), resources(**limit))

    def test_what_is_stated_stays(self):
        both = limits(item(default_limits={"cpu": 2, "memory": "1Gi"}, default_requests={"cpu": 1}))
        found = first_filled(pod_of(container("app", cpu="500m", limits={"cpu": "800m"})), both)
        assert found.requests == resources(cpu="500m", memory="1Gi")
        assert found.limits == resources(cpu="800m", memory="1Gi")

    def test_a_request_that_came_from_its_limit_is_stated(self):
        found = first_filled(
            pod_of(container("app", cpu="800m", limits={"cpu": "800m"})),
            limits(item(default_requests={"cpu": "100m"})),
        )
        assert found.requests == resources(cpu="800m")

    def test_a_stated_zero_stays(self):
        assert first_filled(
            pod_of(container("app", cpu=0)), limits(item(default_requests={"cpu": 1}))
        ).requests == resources(cpu=0)

    def test_of_several_ranges_the_first_by_name_wins(self):
        ranges = [
            limits(item(default_requests={"cpu": 2, "memory": "1Gi"}), name="b"),
            limits(item(default_requests={"cpu": 1}), name="a"),
        ]
        assert first_filled(pod_of(container("app")), *ranges).requests == resources(cpu=1, memory="1Gi")

    def test_pod_items_and_other_namespaces_have_no_defaults(self):
        pod = pod_of(container("app"))
        elsewhere = LimitRange("bounds", "other", (item(default_requests={"cpu": 1}),))
        assert apply_limit_ranges(pod, [limits(item("Pod", max={"cpu": 1})), elsewhere], TYPES) is pod

    def test_the_default_of_a_type_yields_to_that_of_the_namespace(self):
        types = ResourceTypes([ResourceType("example.com/seats", default_request="1")])
        seats = {"example.com/seats": "3"}
        default = LimitRange(
            "bounds", "team", (LimitRangeItem("Container", default_requests=types.parse(seats)),)
        )
        silent = pod_of(container("app", more={"example.com/seats": "1"}))
        stated = pod_of(container("app", more={"example.com/seats": "2"}))
        assert apply_limit_ranges(silent, [default], types).requests.of("example.com/seats") == 3
        assert apply_limit_ranges(stated, [default], types).requests.of("example.com/seats") == 2


class TestSums:
    def test_requests_and_limits_are_summed_anew_with_overhead_and_the_pod_itself(self):
        pod = pod_of(container("app", cpu=1), container("log"), overhead=resources(cpu="100m"))
        found = apply_limit_ranges(pod, [limits(item(default_limits={"cpu": 2, "memory": "1Gi"}))], TYPES)
        assert found.requests == resources(cpu="3100m", memory="2Gi", pods=1)
        assert found.limits == resources(cpu="4100m", memory="2Gi")

    def test_init_containers_are_filled_and_count_as_steps(self):
        pod = pod_of(container("setup", "init"), container("app", cpu=1))
        found = apply_limit_ranges(pod, [limits(item(default_requests={"cpu": 3}))], TYPES)
        assert found.requests == resources(cpu=3, pods=1)

    def test_what_a_pod_states_as_a_whole_is_kept(self):
        pod = msgspec.structs.replace(pod_of(container("app")), requests=resources(cpu=4, pods=1))
        found = apply_limit_ranges(pod, [limits(item(default_requests={"cpu": 1, "memory": "1Gi"}))], TYPES)
        assert found.requests == resources(cpu=4, memory="1Gi", pods=1)
        assert stated_by_pod(found).requests == resources(cpu=4)

    def test_a_pod_with_limits_of_its_own_keeps_the_requests_it_had(self):
        pod = msgspec.structs.replace(
            pod_of(container("app", cpu=1), container("log")), limits=resources(memory="4Gi")
        )
        ranges = [limits(item(default_requests={"cpu": 1, "memory": "1Gi"}))]
        found = apply_limit_ranges(pod, ranges, TYPES)
        assert found.requests == resources(cpu=1, memory="2Gi", pods=1)
        assert "the pod's own cpu request is 1, its containers have 2" in limit_range_refusal(
            found, ranges, TYPES
        )

    def test_a_workload_that_lists_no_containers_is_its_own(self):
        pod = waiting("team/web", cpu=2, pods=1, overhead=resources(cpu=1))
        found = apply_limit_ranges(pod, [limits(item(default_limits={"cpu": 4, "memory": "1Gi"}))], TYPES)
        assert (found.requests, found.limits) == (
            resources(cpu=2, memory="1Gi", pods=1),
            resources(cpu=5, memory="1Gi"),
        )
        assert found.containers == ()
        assert containers_of(found) == (
            container("web", cpu=1, memory="1Gi", limits={"cpu": "4", "memory": "1Gi"}),
        )

    def test_a_limit_counts_that_only_some_containers_have(self):
        pod = pod_of(container("app", cpu=1, limits={"cpu": "2"}), container("log", cpu=1))
        assert sums_of(pod).limits == resources(cpu=2)
        assert pod.limits == NOTHING


AT_MOST_4 = {"max": {"cpu": 4}, "default_limits": {"cpu": 1}}


class TestRefusal:
    @pytest.mark.parametrize(
        ("bounds", "given", "message"),
        [
            (
                item(min={"cpu": "100m"}),
                container("app", cpu="50m"),
                "container app has a cpu request of 50m, at least 100m is needed; raise it to 100m",
            ),
            (
                item(min={"cpu": "100m"}),
                container("app", cpu="50m", limits={"cpu": "60m"}),
                (
                    "container app has a cpu request of 50m and a limit of 60m, at least 100m is needed; "
                    "raise both to 100m"
                ),
            ),
            (
                item(max={"memory": "1Gi"}),
                container("app", memory="1Gi", limits={"memory": "2Gi"}),
                "container app has a memory limit of 2Gi, at most 1Gi is allowed; lower it to 1Gi",
            ),
            (
                item("Pod", max={"memory": "1Gi"}),
                container("app", memory="1Gi"),
                "the pod has no memory limit, at most 1Gi is allowed; state a limit of 1Gi",
            ),
            (
                item("Pod", min={"memory": "1Gi"}),
                container("app", cpu=1),
                "the pod requests no memory, at least 1Gi is needed; request 1Gi",
            ),
            (
                item(ratio={"cpu": Fraction(3, 2)}),
                container("app", cpu=1, limits={"cpu": "3"}),
                (
                    "container app requests 1 of cpu with a limit of 3, a limit of at most 1.5 times the "
                    "request is allowed; raise the request to 2 or lower the limit to 1500m"
                ),
            ),
            (
                item(ratio={"cpu": Fraction(2)}),
                container("app", cpu=1),
                (
                    "container app has no cpu limit, a limit of at most 2 times the request is allowed; "
                    "state one of at most 2"
                ),
            ),
            (
                item(ratio={"cpu": Fraction(2)}),
                container("app", cpu=0, limits={"cpu": "3"}),
                (
                    "container app requests no cpu, a limit of at most 2 times the request is allowed; "
                    "request at least 1500m"
                ),
            ),
            (
                item(default_limits={"cpu": 1}),
                container("app", cpu=2),
                "container app requests 2 of cpu, above the default limit of 1; state a limit of at least 2",
            ),
        ],
    )
    def test_a_breach_names_the_bound_and_what_would_meet_it(self, bounds, given, message):
        ranges = [limits(bounds)]
        found = limit_range_refusal(apply_limit_ranges(pod_of(given), ranges, TYPES), ranges, TYPES)
        assert found == f"limit range team/bounds: {message}"

    @pytest.mark.parametrize(
        ("bounds", "given"),
        [
            (item(**AT_MOST_4), container("app", cpu=1, limits={"cpu": "4"})),
            (item(**AT_MOST_4), container("app")),
            (item(min={"cpu": 1}), container("app", cpu=1)),
            (item(min={"cpu": 1}), container("app")),
            (item(ratio={"cpu": Fraction(2)}), container("app", cpu=1, limits={"cpu": "2"})),
            (item("Pod", max={"cpu": 4}), container("app", cpu=1, limits={"cpu": "4"})),
            (item("PersistentVolumeClaim", max={"storage_space": "1Gi"}), container("app", cpu=9)),
        ],
    )
    def test_what_is_within_the_bounds_is_taken(self, bounds, given):
        ranges = [limits(bounds)]
        assert limit_range_refusal(apply_limit_ranges(pod_of(given), ranges, TYPES), ranges, TYPES) == ""

    def test_a_maximum_is_not_filled_in_by_another_range_for_what_is_asked_without_a_limit(self):
        pod = pod_of(container("app", cpu=1))
        assert "has no cpu limit" in limit_range_refusal(pod, [limits(item(max={"cpu": 4}))], TYPES)

    def test_a_pod_is_judged_by_the_sum_of_its_containers_without_overhead(self):
        ranges = [limits(item("Pod", max={"cpu": 4}))]
        two = [container(name, cpu=2, limits={"cpu": "2"}) for name in "ab"]
        assert limit_range_refusal(pod_of(*two, overhead=resources(cpu=1)), ranges, TYPES) == ""
        three = pod_of(*two, container("c", cpu="1m", limits={"cpu": "1m"}))
        assert "request of 4001m and a limit of 4001m" in limit_range_refusal(three, ranges, TYPES)

    def test_what_a_pod_states_as_a_whole_must_hold_its_defaults(self):
        ranges = [limits(item(default_requests={"cpu": 1}))]
        pod = msgspec.structs.replace(
            pod_of(container("a"), container("b")), requests=resources(cpu="1500m", pods=1)
        )
        found = limit_range_refusal(apply_limit_ranges(pod, ranges, TYPES), ranges, TYPES)
        assert found == (
            "limit range team/bounds: the pod's own cpu request is 1500m, its containers have 2 with their "
            "defaults; raise it to 2"
        )

    def test_claims_are_judged_unless_they_exist(self):
        ranges = [limits(item("PersistentVolumeClaim", min={"storage_space": "2Gi"}))]
        pod = pod_of(container("app"), volumes=(volume("data", "1Gi", claim="data-web"),))
        assert limit_range_refusal(pod, ranges, TYPES) == (
            "limit range team/bounds: claim data-web has a storage-space request of 1Gi, at least 2Gi is "
            "needed; raise it to 2Gi"
        )
        assert limit_range_refusal(pod, ranges, TYPES, existing_claims={"team/data-web"}) == ""

    def test_a_long_refusal_names_the_first_and_counts_the_others(self):
        pod = pod_of(*(container(f"c{number}", cpu=1) for number in range(BREACHES_MAX + 2)))
        found = limit_range_refusal(pod, [limits(item(min={"cpu": 2}))], TYPES)
        assert found.count("limit range") == BREACHES_MAX
        assert found.endswith("; and 2 more of this kind")


amounts = st.dictionaries(st.sampled_from(("cpu", "memory", "ephemeral-storage")), st.integers(0, 9)).map(
    Resources
)

small_ranges = st.builds(
    LimitRange,
    st.sampled_from("abc"),
    st.just("team"),
    st.builds(LimitRangeItem, st.sampled_from(("Container", "Pod")), amounts, amounts, amounts, amounts).map(
        lambda only: (only,)
    ),
)


@st.composite
def read_containers(draw) -> Container:
    """Containers as they are read: what has a limit has a request."""
    limit = draw(amounts)
    return Container("app", draw(st.sampled_from(("main", "init", "sidecar"))), limit + draw(amounts), limit)


@given(st.lists(read_containers(), min_size=1, max_size=3), st.lists(small_ranges, max_size=3), amounts)
def test_defaults_add_to_what_is_stated_and_are_complete_after_one_pass(containers, ranges, overhead):
    pod = pod_of(*containers, overhead=overhead)
    found = apply_limit_ranges(pod, ranges, TYPES)
    for before, after in zip(pod.containers, found.containers, strict=True):
        assert after.requests.only(before.requests) == before.requests
        assert after.limits.only(before.limits) == before.limits
    assert found.requests == effective_request(found.containers, overhead) + ONE_POD
    assert found.limits == effective_limits(found.containers, overhead)
    assert apply_limit_ranges(found, ranges, TYPES) is found
