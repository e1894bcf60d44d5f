"""What admission fills in from RuntimeClasses and PriorityClasses."""

import msgspec
import pytest

from sources.kubernetes.kube import amounts, container, dumped, only_pod, pod, refused, thing
from ullage.model.admission import PriorityClass, RuntimeClass
from ullage.model.constraints import UNCONSTRAINED, Toleration

KATA = thing(
    "node.k8s.io/v1", "RuntimeClass", "kata", overhead={"podFixed": {"cpu": "250m", "memory": "1Gi"}}
)
PLAIN = thing("node.k8s.io/v1", "RuntimeClass", "plain")
GOLD = thing("scheduling.k8s.io/v1", "PriorityClass", "gold", value=900, globalDefault=True)
MAIN = container("main", {"cpu": "1"}, {"cpu": "2"})


def test_overhead_comes_from_the_runtime_class():
    found = only_pod(KATA, pod("p", MAIN, runtimeClassName="kata"))
    assert found.overhead == amounts(cpu="250m", memory="1Gi")
    assert found.requests == amounts(cpu="1250m", memory="1Gi", pods="1")
    assert found.limits == amounts(cpu="2250m")


def test_the_request_is_the_same_whether_admission_has_added_the_overhead_or_not():
    admitted = pod("p", MAIN, runtimeClassName="kata", overhead=KATA["overhead"]["podFixed"])
    assert only_pod(KATA, pod("p", MAIN, runtimeClassName="kata")) == only_pod(KATA, admitted)


def test_a_runtime_class_may_have_no_overhead():
    found = only_pod(PLAIN, pod("p", MAIN, runtimeClassName="plain"))
    assert msgspec.structs.replace(found, runtime_class="") == only_pod(pod("p", MAIN))


# Each row: fields of a pod, and its priority.
PRIORITIES = {
    "from its class": ({"priorityClassName": "gold"}, 900),
    "its own before that of its class": ({"priorityClassName": "gold", "priority": 3}, 3),
    "none of its own: a pod that runs has been admitted without a class": ({}, 0),
    "of one class that every cluster has": ({"priorityClassName": "system-cluster-critical"}, 2_000_000_000),
    "of another class that every cluster has": ({"priorityClassName": "system-node-critical"}, 2_000_001_000),
    "of an unknown class": ({"priorityClassName": "silver"}, 0),
}


@pytest.mark.parametrize("rule", PRIORITIES)
def test_the_priority_of_a_pod(rule):
    spec, expected = PRIORITIES[rule]
    assert only_pod(GOLD, pod("p", MAIN, **spec)).priority == expected


def test_unknown_classes_are_named_once():
    pods = [pod(f"p{n}", runtimeClassName="kata", priorityClassName="silver") for n in (1, 2)]
    assert dumped(*pods).unknowns == (
        "not found: classes that pods name: PriorityClass silver, RuntimeClass kata",
    )


def test_wrong_classes_are_named_with_their_path():
    wrong = {**KATA, "overhead": {"podFixed": {"cpu": "x"}}}
    assert refused(wrong).startswith("standard input: items[0].overhead.podFixed.cpu: quantity 'x'")
    assert refused({**GOLD, "value": "high"}) == (
        "standard input: items[0].value: expected a whole number, found text; write a whole number"
    )


GPU_NODES = {
    "nodeSelector": {"runtime": "kata"},
    "tolerations": [{"key": "kata", "operator": "Exists"}, {"key": "a"}],
}
ON_KATA = {**KATA, "scheduling": GPU_NODES}


def test_a_pod_runs_where_its_runtime_is():
    spec = {"runtimeClassName": "kata", "nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "a"}]}
    constraints = only_pod(ON_KATA, pod("p", MAIN, **spec)).constraints
    assert constraints.node_selector == {"disk": "ssd", "runtime": "kata"}
    assert constraints.tolerations == (Toleration("a"), Toleration("kata", "Exists"))


def test_pods_that_share_their_constraints_share_those_of_the_runtime_too():
    pods = [pod(f"p{n}", MAIN, runtimeClassName="kata", nodeSelector={"disk": "ssd"}) for n in range(2)]
    first, second = dumped(ON_KATA, *pods).workloads
    assert first.constraints is second.constraints


def test_an_admitted_pod_stays_as_it_is():
    admitted = pod("p", MAIN, runtimeClassName="kata", overhead={"cpu": "1"}, priority=0)
    found = only_pod(ON_KATA, admitted)
    assert (found.overhead, found.constraints) == (amounts(cpu="1"), UNCONSTRAINED)


def test_a_class_says_whether_its_pods_preempt():
    meek = thing("scheduling.k8s.io/v1", "PriorityClass", "meek", value=1, preemptionPolicy="Never")
    assert dumped(meek).priority_classes["meek"] == PriorityClass("meek", 1, preempts=False)
    assert not only_pod(meek, pod("p", priorityClassName="meek")).preempts
    assert only_pod(
        meek, pod("p", priorityClassName="meek", preemptionPolicy="PreemptLowerPriority")
    ).preempts


def test_classes_are_rows_of_the_snapshot():
    found = dumped(ON_KATA, GOLD)
    assert list(found.runtime_classes) == [
        RuntimeClass(
            "kata",
            amounts(cpu="250m", memory="1Gi"),
            {"runtime": "kata"},
            (Toleration("kata", "Exists"), Toleration("a")),
        )
    ]
    assert list(found.priority_classes) == [PriorityClass("gold", 900, global_default=True)]
