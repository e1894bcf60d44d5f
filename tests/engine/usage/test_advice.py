"""Advice for whole workloads: who is skipped, what a namespace allows, what is saved in all."""

from fractions import Fraction

import pytest

from builders import cluster, node, pod, resources
from ullage.engine.requests import effective_request
from ullage.engine.usage.advice import advise, changed_workload, saving_of
from ullage.engine.usage.requests import Rules
from ullage.model.admission import Autoscaler, LimitRange, LimitRangeItem
from ullage.model.cluster import Container
from usage_builders import DAY, book, every

MIB = 1 << 20
START = 98 * DAY


def part(name="c", role="main", memory="4Gi", limit="", cpu="2"):
    limits = resources(memory=limit) if limit else resources()
    return Container(name, role, resources(cpu=cpu, memory=memory), limits)


def web(*containers, name="web-0", **fields):
    parts = containers or (part(),)
    fields = {"requests": effective_request(parts) + resources(pods=1), **fields}
    return pod(name, namespace="n", owner="StatefulSet/web", containers=parts, **fields)


def observed(memory=1000, cpu=100, name="web-0", container="c"):
    subject = f"container/n/{name}/{container}"
    return {
        (subject, "memory"): every(3600, [memory * MIB] * 336, START),
        (subject, "cpu"): every(3600, [cpu] * 336, START),
    }


def advice(*others, streams=None, workloads=None, rules=None):
    pods = workloads or (web(),)
    snapshot = cluster(node("n1", cpu="64", memory="256Gi").holding(*pods), *others)
    return advise(snapshot, book(streams or observed()), rules or Rules())


def test_the_saving_is_that_of_the_effective_request_times_the_pods():
    pods = (web(), web(name="web-1"))
    (found,) = advice(workloads=pods)
    assert found.pods == 2
    assert dict(found.freed) == {"cpu": 2 * 1900, "memory": 2 * (4096 - 1152) * MIB}


def test_an_init_container_that_binds_the_request_leaves_nothing_to_save():
    (found,) = advice(workloads=(web(part(), part("seed", "init", cpu="2")),))
    assert found.changes
    assert not found.freed.without_zeros()


def test_what_grows_is_told_apart_from_what_is_saved():
    (found,) = advice(streams=observed(memory=6000, cpu=100))
    freed, grown = saving_of([found])
    assert dict(freed) == {"cpu": 1900}
    assert dict(grown) == {"memory": (6912 - 4096) * MIB}


def test_a_workload_that_a_vertical_autoscaler_sizes_is_skipped():
    vertical = Autoscaler("v", "n", "VerticalPodAutoscaler", "StatefulSet/web", mode="Auto")
    (found,) = advice(vertical)
    assert found.skipped == "VerticalPodAutoscaler v sets its requests (mode Auto)"
    assert not found.changes


@pytest.mark.parametrize(
    "other",
    [
        Autoscaler("v", "n", "VerticalPodAutoscaler", "StatefulSet/web", mode="Off"),
        Autoscaler("v", "m", "VerticalPodAutoscaler", "StatefulSet/web", mode="Auto"),
        Autoscaler("v", "n", "VerticalPodAutoscaler", "Deployment/web", mode="Auto"),
    ],
)
def test_an_autoscaler_that_only_recommends_or_means_another_changes_nothing(other):
    (found,) = advice(other)
    assert found.changes
    assert not found.notes


def test_a_horizontal_autoscaler_that_scales_by_the_request_is_told():
    (found,) = advice(Autoscaler("h", "n", target="StatefulSet/web", resources=("cpu",)))
    (note,) = found.notes
    assert note == (
        "HorizontalPodAutoscaler h scales by cpu as a share of the request: with this it starts more "
        "replicas; change its target too"
    )


def ranged(**bounds):
    return LimitRange("r", "n", (LimitRangeItem("Container", **bounds),))


def memory_of(found):
    return found.containers[0].sized[1]


def test_advice_is_not_below_the_least_that_the_namespace_allows():
    (found,) = advice(ranged(min=resources(memory="2Gi")))
    assert memory_of(found).advised_request == 2048 * MIB
    assert memory_of(found).reasons[-1] == "limit range n/r asks for at least 2Gi"


def test_what_the_namespace_does_not_allow_is_not_advised_but_told():
    (found,) = advice(
        ranged(max=resources(memory="5Gi")),
        streams=observed(memory=6000),
        workloads=(web(part(limit="5Gi")),),
    )
    assert not memory_of(found).changes
    assert memory_of(found).reasons[-1] == "needs 6.75Gi, limit range n/r allows 5Gi"


def test_a_limit_keeps_the_ratio_that_the_namespace_demands():
    found = advice(
        ranged(limit_request_ratio_max={"memory": Fraction(2)}), workloads=(web(part(limit="4Gi")),)
    )
    assert memory_of(found[0]).advised_request == 2048 * MIB


def test_what_the_namespace_refuses_on_the_whole_is_kept():
    whole = LimitRange("r", "n", (LimitRangeItem("Pod", min=resources(memory="3Gi")),))
    (found,) = advice(whole)
    assert not found.changes
    assert "limit range n/r: the pod has a memory request of 1152Mi" in memory_of(found).reasons[-1]


def test_a_resource_that_the_pod_states_as_a_whole_is_left_alone():
    stated = web(requests=resources(cpu="2", memory="6Gi", pods=1))
    (found,) = advice(workloads=(stated,))
    assert memory_of(found).reasons[-1] == "the pod states its memory as a whole (spec.resources)"
    assert found.containers[0].sized[0].changes


def test_only_the_namespace_and_the_names_that_are_meant_are_advised():
    snapshot = cluster(node("n1", cpu="64", memory="256Gi").holding(web()))
    read = book(observed())
    assert advise(snapshot, read, Rules(), "other") == []
    assert advise(snapshot, read, Rules(), "n", ("deployment/web",)) == []
    assert len(advise(snapshot, read, Rules(), "n", ("statefulset/web",))) == 1


def test_a_pod_changes_as_its_containers_do_and_keeps_all_else():
    (found,) = advice()
    before = web()
    after = changed_workload(before, found.containers)
    assert dict(after.requests) == {"cpu": 100, "memory": 1152 * MIB, "pods": 1}
    assert (after.name, after.owner, after.containers[0].name) == (before.name, before.owner, "c")
    assert changed_workload(before, ()) is before


def test_a_rise_that_is_carried_on_is_told_before_it_is_followed():
    amounts = [int(1000 * MIB * 1.03 ** (hour / 24)) for hour in range(336)]
    (found,) = advice(streams={("container/n/web-0/c", "memory"): every(3600, amounts, START)})
    assert found.verdicts() == {"shrink", "keep"}
    assert found.notes == (
        "container c: daily peaks rise by 3.0 % a day: what is advised is enough for a week, look again then",
    )
    assert not advice()[0].notes
