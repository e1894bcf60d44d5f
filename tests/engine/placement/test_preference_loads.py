"""What workloads count for where nothing is stated, and the two scores by cpu and memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster, container, node, pod, policy, resources, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.preference_loads import Load, Loads
from ullage.model.cluster import Container, Workload
from ullage.model.resources import Resources

MIB = 1 << 20
EVERY = slice(None)


def loads(*parts, **fields) -> Loads:
    columns = Columns(cluster(*parts, **fields))
    return Loads(columns, np.arange(len(columns.nodes)))


def made_of(*containers: Container, **fields) -> Workload:
    """A workload with the request that its containers come to, for those that keep running."""
    total = sum((each.requests for each in containers if each.role != "init"), Resources())
    return waiting("w", containers=containers, **{"requests": total, **fields})


@pytest.mark.parametrize(
    ("workload", "cpu", "memory_mib"),
    [
        pytest.param(waiting("w"), 100, 200, id="nothing is known of its containers"),
        pytest.param(waiting("w", cpu="1", memory="1Gi"), 1000, 1024, id="only the whole is known"),
        pytest.param(made_of(container("a")), 100, 200, id="a container that states nothing"),
        pytest.param(made_of(container("a", cpu="0")), 0, 200, id="nothing is stated to be nothing"),
        pytest.param(made_of(container("a", cpu="2"), container("b", memory="1Gi")), 2100, 1224, id="each"),
        pytest.param(made_of(container("a", cpu="50m"), container("i", "init")), 100, 200, id="init, larger"),
        pytest.param(made_of(container("a", cpu="2"), container("i", "init")), 2000, 200, id="init, smaller"),
        pytest.param(
            made_of(container("a"), overhead=resources(cpu="1"), requests=resources(cpu="1")),
            1100,
            200,
            id="overhead comes on top",
        ),
    ],
)
def test_a_container_without_request_counts_as_100m_and_200_mebibytes(workload, cpu, memory_mib):
    found = loads().counted(workload)
    assert (found.cpu, found.memory) == (cpu, memory_mib * MIB)
    assert (found.asked_cpu, found.asked_memory) == (cpu, memory_mib * MIB)


def test_what_is_stated_as_a_whole_counts_only_once_the_workload_runs():
    whole = made_of(container("a", cpu="1"), requests=resources(cpu="3", memory="1Gi"))
    assert loads().counted(whole) == (1000, 200 * MIB, 3000, 1024 * MIB)


def test_running_workloads_count_with_what_they_do_not_state():
    held = node("a", cpu="1", memory="2000Mi").holding(pod("x", containers=(container("c"), container("d"))))
    found = loads(held, node("b", cpu="1", memory="2000Mi"))
    amounts = found.amounts(waiting("w", cpu="0", memory="0"), Resources())
    assert found.least(amounts, EVERY).tolist() == [(80 + 80) // 2, 100]


@pytest.mark.parametrize(
    ("used", "asked", "least", "balanced"),
    [
        pytest.param({}, {"cpu": "1", "memory": "4Gi"}, 75, 75, id="as even as before"),
        pytest.param({}, {"cpu": "4", "memory": "0"}, 50, 50, id="all of one and none of the other"),
        pytest.param({"cpu": "2"}, {"cpu": "0", "memory": "8Gi"}, 50, 87, id="more even than before"),
        pytest.param({"cpu": "4"}, {"cpu": "0", "memory": "16Gi"}, 0, 100, id="full at last"),
        pytest.param({"cpu": "9"}, {"cpu": "0", "memory": "8Gi"}, 25, 87, id="more than all is all"),
        pytest.param({}, {"cpu": "0", "memory": "0"}, 100, 0, id="nothing asked for is not balanced"),
    ],
)
def test_scores_by_room_are_those_of_kube_scheduler(used, asked, least, balanced):
    workload = pod("x", **{"cpu": "0", "memory": "0", **used})
    found = loads(node("a", cpu="4", memory="16Gi").holding(workload))
    amounts = found.amounts(waiting("w", **asked), resources(**asked))
    assert found.least(amounts, EVERY).tolist() == [least]
    assert found.balanced(amounts, EVERY).tolist() == [balanced]


def test_a_resource_without_bound_is_not_weighed():
    snapshot = {"policy": policy(cpu_ratio="unlimited")}
    found = loads(node("a", cpu="4", memory="16Gi").holding(pod("x", cpu="90", memory="4Gi")), **snapshot)
    amounts = found.amounts(waiting("w", cpu="1", memory="4Gi"), resources(cpu="1", memory="4Gi"))
    assert found.least(amounts, EVERY).tolist() == [50]
    assert found.balanced(amounts, EVERY).tolist() == [75]


amounts_of_both = st.tuples(st.integers(0, 10**6), st.integers(0, 1 << 46))


def scores_by_definition(limit, used, asked) -> tuple[int, int]:
    left = [
        max(0, (all_ - one - more) * 100 // all_) for all_, one, more in zip(limit, used, asked, strict=True)
    ]
    shares = [min((one + more) / all_, 1.0) for all_, one, more in zip(limit, used, asked, strict=True)]
    before = [min(one / all_, 1.0) for all_, one in zip(limit, used, strict=True)]
    even, even_before = (int((1 - abs((a - b) / 2)) * 100.0) for a, b in (shares, before))
    return sum(left) // 2, 50 + (50 + even - even_before) // 2 if any(asked) else 0


@given(st.tuples(st.integers(1, 10**6), st.integers(1, 1 << 46)), amounts_of_both, amounts_of_both)
def test_scores_by_room_follow_their_definition_to_the_last_digit(limit, used, asked):
    holder = pod("x", requests=Resources(zip(("cpu", "memory"), used, strict=True)))
    found = loads(
        node("a").with_(capacity=Resources(zip(("cpu", "memory"), limit, strict=True))).holding(holder)
    )
    requests = Resources(zip(("cpu", "memory"), asked, strict=True))
    amounts = found.amounts(waiting("w", requests=requests), requests)
    least, balanced = scores_by_definition(limit, used, asked)
    assert found.least(amounts, EVERY).tolist() == [least]
    if all(one + more <= all_ for all_, one, more in zip(limit, used, asked, strict=True)):
        assert found.balanced(amounts, EVERY).tolist() == [balanced]


@given(st.lists(st.tuples(st.integers(0, 1), amounts_of_both, st.integers(1, 3)), max_size=5))
def test_what_is_added_counts_like_what_runs_and_can_be_taken_back(added):
    empty = [node(name, cpu="64", memory="64Ti") for name in "ab"]
    found, before = loads(*empty), loads(*empty)
    running = []
    for place, amounts, count in added:
        requests = Resources(zip(("cpu", "memory"), amounts, strict=True))
        Load(found, found.amounts(waiting("w", requests=requests), requests)).add(place, count)
        running += [(place, requests)] * count
    held = [
        each.holding(
            *(pod(f"p{index}", requests=one) for index, (at, one) in enumerate(running) if at == place)
        )
        for place, each in enumerate(empty)
    ]
    asked = resources(cpu="1", memory="1Gi")
    amounts = found.amounts(waiting("w", requests=asked), asked)
    assert found.scores(amounts, EVERY).tolist() == loads(*held).scores(amounts, EVERY).tolist()
    assert found.scores(amounts, np.array([1])).tolist() == found.scores(amounts, EVERY).tolist()[1:]
    for place, one in running:
        Load(found, found.amounts(waiting("w", requests=one), one)).add(place, -1)
    assert found.scores(amounts, EVERY).tolist() == before.scores(amounts, EVERY).tolist()
