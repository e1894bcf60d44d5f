"""What a workload asks for in all: defaults first, then Kubernetes' formula, then the derived GPU memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.requests import (
    effective_limits,
    effective_request,
    gpu_gigabytes,
    with_defaults,
    with_gpu_memory,
)
from ullage.model.cluster import Container
from ullage.model.errors import InputError
from ullage.model.resources import NOTHING, Resources, ResourceType, ResourceTypes

TYPES = ResourceTypes()
MEBIBYTE = 1 << 20


def main(cpu=0, memory=0):
    return Container("main", "main", Resources({"cpu": cpu, "memory": memory}))


def init(cpu=0, memory=0):
    return Container("init", "init", Resources({"cpu": cpu, "memory": memory}))


def sidecar(cpu=0, memory=0):
    return Container("sidecar", "sidecar", Resources({"cpu": cpu, "memory": memory}))


@pytest.mark.parametrize(
    ("containers", "cpu", "memory"),
    [
        pytest.param([main(1, 10)], 1, 10, id="one-container"),
        pytest.param([main(1, 10), main(2, 20)], 3, 30, id="containers-add-up"),
        pytest.param([init(2, 5), main(1, 10)], 2, 10, id="the-larger-of-init-and-main-by-resource"),
        pytest.param([init(4, 1), init(3, 2), main(1, 1)], 4, 2, id="init-containers-run-one-by-one"),
        pytest.param([main(1, 1), init(4, 4)], 4, 4, id="init-after-main-in-the-list-is-the-same"),
        pytest.param([sidecar(2, 2), main(1, 1)], 3, 3, id="a-sidecar-runs-beside-the-main-containers"),
        pytest.param(
            [sidecar(2, 2), init(5, 5), main(1, 1)], 7, 7, id="a-sidecar-before-an-init-counts-in-it"
        ),
        pytest.param([init(5, 5), sidecar(2, 2), main(1, 1)], 5, 5, id="a-sidecar-after-an-init-does-not"),
        pytest.param(
            [sidecar(1), init(5), sidecar(2), init(4), main(3)],
            7,
            0,
            id="each-init-has-the-sidecars-before-it",
        ),
        pytest.param([sidecar(1), sidecar(2), main(4)], 7, 0, id="sidecars-add-up"),
        pytest.param([sidecar(1), sidecar(2)], 3, 0, id="sidecars-alone"),
        pytest.param([init(5), sidecar(4)], 5, 0, id="an-init-larger-than-the-sidecar-after-it"),
        pytest.param(
            [init(5, 1), sidecar(1, 9), main(1, 1)], 5, 10, id="each-resource-has-its-own-largest-step"
        ),
    ],
)
def test_a_workload_asks_for_its_main_part_or_its_largest_init_step(containers, cpu, memory):
    assert effective_request(containers) == Resources({"cpu": cpu, "memory": memory})


def test_a_workload_without_containers_asks_for_its_overhead_alone():
    assert effective_request([]) == NOTHING
    assert effective_request([], Resources({"cpu": 1})) == Resources({"cpu": 1})


def test_a_resource_that_one_container_names_is_named_for_the_workload():
    gpu = Container("gpu", requests=Resources({"nvidia.com/gpu": 1}))
    assert effective_request([main(1, 2), gpu]) == Resources({"cpu": 1, "memory": 2, "nvidia.com/gpu": 1})
    disk = Container("fetch", "init", Resources({"ephemeral-storage": 7}))
    assert effective_request([disk, main(1, 2)]) == Resources({"cpu": 1, "ephemeral-storage": 7, "memory": 2})


def test_overhead_is_added_after_the_larger_part_is_chosen():
    overhead = Resources({"cpu": 10, "memory": 100, "pods": 1})
    assert effective_request([init(5, 1), main(1, 2)], overhead) == Resources(
        {"cpu": 15, "memory": 102, "pods": 1}
    )


def test_a_request_of_the_whole_workload_replaces_the_sum_and_overhead_comes_on_top():
    whole = Resources({"cpu": 8})
    assert effective_request([main(3, 4)], pod_level=whole) == Resources({"cpu": 8, "memory": 4})
    assert effective_request([main(3, 4)], Resources({"cpu": 1}), whole) == Resources({"cpu": 9, "memory": 4})
    assert effective_request([main(3), init(8)], pod_level=whole) == Resources({"cpu": 8, "memory": 0})
    assert effective_request([], pod_level=whole) == whole


@pytest.mark.parametrize("containers", [[main(9)], [main(5), main(4)], [init(9)], [sidecar(4), main(5)]])
def test_a_request_of_the_whole_workload_below_that_of_its_containers_is_an_error(containers):
    with pytest.raises(InputError) as refused:
        effective_request(containers, pod_level=Resources({"cpu": 8}))
    assert str(refused.value) == (
        "the workload's own cpu request is below the sum of its containers; raise it or leave it out"
    )


def test_a_request_of_the_whole_workload_is_compared_without_overhead():
    whole = Resources({"cpu": 8, "memory": 0})
    assert effective_request([main(8)], Resources({"cpu": 5}), whole).of("cpu") == 13


CONTAINERS = st.lists(
    st.builds(
        Container,
        st.just("c"),
        st.sampled_from(["main", "init", "sidecar"]),
        st.dictionaries(st.sampled_from(["cpu", "memory"]), st.integers(0, 9)).map(Resources),
    ),
    max_size=6,
)


@given(CONTAINERS)
def test_the_request_is_the_most_that_runs_at_any_one_time(containers):
    """Walk through the start: sidecars stay, init containers come and go, then all main ones run."""
    for name in ("cpu", "memory"):
        running = most = 0
        for container in containers:
            if container.role == "sidecar":
                running += container.requests.of(name)
                most = max(most, running)
            elif container.role == "init":
                most = max(most, running + container.requests.of(name))
        running += sum(each.requests.of(name) for each in containers if each.role == "main")
        assert effective_request(containers).of(name) == max(most, running)


# Defaults


def test_an_omitted_request_is_the_limit_and_a_stated_one_stays():
    requests, limits = Resources({"cpu": 1}), Resources({"cpu": 4, "memory": 7})
    assert with_defaults(requests, limits, TYPES) == Resources({"cpu": 1, "memory": 7})
    assert with_defaults(Resources({"cpu": 0}), limits, TYPES) == Resources({"cpu": 0, "memory": 7})


def test_what_has_neither_request_nor_limit_is_the_default_of_its_type_or_nothing():
    types = ResourceTypes(
        [
            ResourceType("example.com/seats", "", 3, default_request="0.5"),
            ResourceType("example.com/zeros", default_request="0"),
            ResourceType("example.com/plain"),
        ]
    )
    seats, zeros = "example.com/seats", "example.com/zeros"
    assert with_defaults(NOTHING, NOTHING, types) == Resources({seats: 500, zeros: 0})
    assert with_defaults(Resources({seats: 1}), NOTHING, types) == Resources({seats: 1, zeros: 0})
    assert with_defaults(NOTHING, Resources({seats: 2}), types) == Resources({seats: 2, zeros: 0})
    assert with_defaults(NOTHING, NOTHING, TYPES) == NOTHING


def test_requests_round_up_to_whole_pages_and_extents():
    types = ResourceTypes([ResourceType("example.com/lvm", "byte", quantization=4 * MEBIBYTE)])
    requests = Resources({"hugepages-2Mi": 2 * MEBIBYTE + 1, "example.com/lvm": 1, "memory": 5})
    assert with_defaults(requests, NOTHING, types) == Resources(
        {"hugepages-2Mi": 4 * MEBIBYTE, "example.com/lvm": 4 * MEBIBYTE, "memory": 5}
    )
    exact = Resources({"hugepages-2Mi": 4 * MEBIBYTE})
    assert with_defaults(NOTHING, exact, types) == exact


# Limits


def limited(cpu=None, memory=None, role="main"):
    limits = {"cpu": cpu, "memory": memory}
    return Container("c", role, limits=Resources({k: v for k, v in limits.items() if v is not None}))


@pytest.mark.parametrize(
    ("containers", "limits"),
    [
        pytest.param([], {}, id="nothing-is-bounded-without-containers"),
        pytest.param([limited(1, 2)], {"cpu": 1, "memory": 2}, id="one-container"),
        pytest.param([limited(1, 2), limited(3, 4)], {"cpu": 4, "memory": 6}, id="limits-add-up"),
        pytest.param(
            [limited(1, 2), limited(3)], {"cpu": 4}, id="one-unbounded-container-unbounds-the-whole"
        ),
        pytest.param([limited(1), limited(memory=2)], {}, id="no-resource-is-bounded-by-both"),
        pytest.param([limited(9, role="init"), limited(3)], {"cpu": 9}, id="init-steps-count-as-in-requests"),
        pytest.param([limited(2, role="sidecar"), limited(3)], {"cpu": 5}, id="sidecars-too"),
    ],
)
def test_a_workload_is_bounded_where_each_of_its_containers_is(containers, limits):
    assert effective_limits(containers) == Resources(limits)


def test_overhead_raises_the_limits_that_there_are():
    overhead = Resources({"cpu": 10, "memory": 10})
    assert effective_limits([limited(cpu=1)], overhead) == Resources({"cpu": 11})
    assert effective_limits([], overhead) == NOTHING
    assert effective_limits([limited()], overhead, Resources({"memory": 5})) == Resources({"memory": 15})


def test_a_limit_of_the_whole_workload_replaces_that_of_its_containers():
    whole = Resources({"cpu": 2})
    assert effective_limits([limited(3, 4)], pod_level=whole) == Resources({"cpu": 2, "memory": 4})
    assert effective_limits([limited(), limited(3)], pod_level=whole) == whole


def test_requests_of_containers_do_not_change_their_limits():
    container = Container("c", requests=Resources({"cpu": 9, "memory": 9}), limits=Resources({"cpu": 10}))
    assert effective_limits([container]) == Resources({"cpu": 10})


# GPU memory


@pytest.mark.parametrize(
    ("resource", "gigabytes"),
    [
        ("nvidia.com/gpu", 32),
        ("nvidia.com/mig-1g.10gb", 10),
        ("nvidia.com/mig-7g.80gb", 80),
        ("nvidia.com/gpu-10gb", 10),
        ("nvidia.com/gpu-999999gb", 999_999),
        ("nvidia.com/gpu-1000000gb", None),
        ("nvidia.com/gpu-0gb", 0),
        ("nvidia.com/gpu-10", None),
        ("nvidia.com/gpu-gb", None),
        ("nvidia.com/gpu-tengb", None),
        ("nvidia.com/gpu-1.5gb", None),
        ("nvidia.com/gpu-\N{ARABIC-INDIC DIGIT ONE}gb", None),
        ("nvidia.com/gpu-\N{SUPERSCRIPT TWO}gb", None),
        ("nvidia.com/mig-10gb", None),
        ("nvidia.com/mig-1g.10", None),
        ("nvidia.com/gpu.shared", None),
        ("nvidia.com/hostdev-10gb", None),
        ("amd.com/gpu", None),
        ("example.com/gpu-10gb", None),
        ("memory", None),
    ],
)
def test_a_gpu_resource_stands_for_so_many_gigabytes(resource, gigabytes):
    assert gpu_gigabytes(resource, 32) == gigabytes


def test_a_whole_gpu_counts_for_what_the_policy_says():
    assert gpu_gigabytes("nvidia.com/gpu", 80) == 80
    assert gpu_gigabytes("nvidia.com/mig-1g.10gb", 80) == 10


GPU_MEMORY = "nos.nebuly.com/gpu-memory"


@pytest.mark.parametrize(
    ("requests", "gigabytes"),
    [
        pytest.param(
            {"nvidia.com/mig-1g.10gb": 1, "nvidia.com/gpu": 1}, 42, id="one-profile-and-one-whole-gpu"
        ),
        pytest.param({"nvidia.com/gpu": 2}, 64, id="two-whole-gpus"),
        pytest.param({"nvidia.com/gpu-10gb": 3}, 30, id="slices"),
        pytest.param({"nvidia.com/gpu-10gb": 1, "nvidia.com/mig-2g.20gb": 2, "cpu": 500}, 50, id="mixed"),
        pytest.param({"nvidia.com/gpu": 0}, 0, id="none-of-a-gpu"),
    ],
)
def test_gpu_memory_is_derived_from_gpus_profiles_and_slices(requests, gigabytes):
    expected = Resources({**requests, GPU_MEMORY: gigabytes})
    assert with_gpu_memory(Resources(requests), 32) == expected


def test_gpu_memory_is_not_derived_without_gpus_or_where_it_is_stated():
    plain = Resources({"cpu": 1, "amd.com/gpu": 1})
    assert with_gpu_memory(plain, 32) == plain
    stated = Resources({"nvidia.com/gpu": 1, GPU_MEMORY: 5})
    assert with_gpu_memory(stated, 32) == stated
