"""What quotas count: the names of what pods and claims are charged, what must be stated, and scopes."""

import msgspec
import pytest

from builders import BUILT_IN_TYPES, container, resources, waiting
from ullage.engine.placement.quota_charges import claim_charge, is_of_scope, kind_of, not_stated, pod_charge
from ullage.engine.requests import effective_limits, effective_request
from ullage.model.cluster import Container, Workload
from ullage.model.constraints import (
    Affinity,
    Constraints,
    LabelSelector,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    WeightedPodAffinityTerm,
)
from ullage.model.resources import NOTHING, Resources

GIB = 1 << 30


def pod_of(*containers: Container, overhead: Resources = NOTHING, **fields) -> Workload:
    return waiting(
        "team/web",
        containers=containers,
        requests=effective_request(containers, overhead) + Resources({"pods": 1}),
        limits=effective_limits(containers, overhead),
        overhead=overhead,
        **fields,
    )


class TestCharges:
    def test_a_pod_is_charged_under_every_name_of_what_it_asks_for(self):
        app = container("app", cpu=1, memory="1Gi", gpu=2, limits={"cpu": "2", "nvidia.com/gpu": "2"})
        huge = container("huge", more={"hugepages-2Mi": "4Mi"}, ephemeral_storage="1Gi")
        assert pod_charge(pod_of(app, huge)) == {
            "pods": 1,
            "count/pods": 1,
            "cpu": 1000,
            "requests.cpu": 1000,
            "memory": GIB,
            "requests.memory": GIB,
            "limits.cpu": 2000,
            "requests.nvidia.com/gpu": 2,
            "hugepages-2Mi": 4 << 20,
            "requests.hugepages-2Mi": 4 << 20,
            "ephemeral-storage": GIB,
            "requests.ephemeral-storage": GIB,
        }

    def test_overhead_is_charged_and_raises_limits_that_are_there(self):
        overhead = resources(cpu="100m", memory="1Gi")
        charge = pod_charge(pod_of(container("app", cpu=1, limits={"cpu": "2"}), overhead=overhead))
        assert (charge["requests.cpu"], charge["limits.cpu"]) == (1100, 2100)
        assert charge["requests.memory"] == GIB
        assert "limits.memory" not in charge
        none = pod_charge(pod_of(container("app", cpu=0, limits={"cpu": "0"}), overhead=overhead))
        assert (none["requests.cpu"], none["limits.cpu"]) == (100, 0)

    def test_what_a_pod_states_as_a_whole_is_charged_instead_of_the_sum(self):
        pod = msgspec.structs.replace(pod_of(container("app", cpu=1)), requests=resources(cpu=3, pods=1))
        assert pod_charge(pod)["requests.cpu"] == 3000

    def test_a_claim_is_charged_in_all_and_for_its_class(self):
        assert claim_charge("gold", 5) == {
            "persistentvolumeclaims": 1,
            "count/persistentvolumeclaims": 1,
            "requests.storage": 5,
            "gold.storageclass.storage.k8s.io/persistentvolumeclaims": 1,
            "gold.storageclass.storage.k8s.io/requests.storage": 5,
        }
        assert set(claim_charge("", 5)) == {
            "persistentvolumeclaims",
            "count/persistentvolumeclaims",
            "requests.storage",
        }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cpu", "cpu"),
        ("requests.cpu", "cpu"),
        ("limits.memory", "memory"),
        ("ephemeral-storage", "ephemeral-storage"),
        ("requests.nvidia.com/gpu", "nvidia.com/gpu"),
        ("requests.deviceclass.resource.kubernetes.io/gpu", "deviceclass.resource.kubernetes.io/gpu"),
        ("requests.hugepages-2Mi", "hugepages-2Mi"),
        ("hugepages-2Mi", "hugepages-2Mi"),
        ("pods", "count"),
        ("count/pods", "count"),
        ("count/persistentvolumeclaims", "count"),
        ("requests.storage", "storage-space"),
        ("gold.storageclass.storage.k8s.io/requests.storage", "storage-space"),
        ("gold.storageclass.storage.k8s.io/persistentvolumeclaims", "count"),
        ("gold.storageclass.storage.k8s.io/limits", None),
        ("limits.nvidia.com/gpu", None),
        ("nvidia.com/gpu", None),
        ("limits.hugepages-2Mi", None),
        ("requests.kubernetes.io/odd", None),
        ("services", None),
        ("count/deployments.apps", None),
    ],
)
def test_a_name_has_the_kind_of_what_it_counts(name, kind):
    found = kind_of(name, BUILT_IN_TYPES)
    assert (found and found.name) == kind


class TestNotStated:
    def test_every_container_states_cpu_and_memory_that_a_quota_bounds(self):
        pod = pod_of(container("app", cpu=1, limits={"cpu": "1"}), container("log", "init", cpu=1))
        names = ("requests.cpu", "limits.cpu", "memory", "limits.ephemeral-storage", "pods")
        assert not_stated(pod, names) == {"limits.cpu": ["log"], "memory": ["app", "log"]}

    def test_a_pod_that_states_something_as_a_whole_is_not_asked(self):
        pod = msgspec.structs.replace(pod_of(container("app")), requests=resources(cpu=3, pods=1))
        assert not_stated(pod, ("requests.memory",)) == {}


def near(term: PodAffinityTerm) -> Workload:
    preferred = PodAffinity(preferred=(WeightedPodAffinityTerm(1, term),))
    return pod_of(constraints=Constraints(affinity=Affinity(pod_anti_affinity=preferred)))


class TestScopes:
    @pytest.mark.parametrize(
        ("given", "best_effort"),
        [
            (container("app"), True),
            (container("app", cpu=0, gpu=1), True),
            (container("app", cpu=1), False),
            (container("app", "init", memory=1), False),
            (container("app", cpu=0, limits={"cpu": "1"}), False),
        ],
    )
    def test_best_effort_asks_for_no_cpu_and_no_memory(self, given, best_effort):
        pod = pod_of(given)
        assert is_of_scope(pod, "", Requirement("BestEffort", "Exists")) is best_effort
        assert is_of_scope(pod, "", Requirement("NotBestEffort", "Exists")) is not best_effort

    def test_what_a_pod_states_as_a_whole_is_an_effort(self):
        pod = msgspec.structs.replace(pod_of(container("app")), requests=resources(memory=3, pods=1))
        assert not is_of_scope(pod, "", Requirement("BestEffort", "Exists"))

    @pytest.mark.parametrize(
        ("operator", "named", "unnamed"),
        [("In", True, False), ("NotIn", False, True), ("Exists", True, False), ("DoesNotExist", False, True)],
    )
    def test_a_priority_class_is_selected_by_name(self, operator, named, unnamed):
        scope = Requirement("PriorityClass", operator, ("high",) if operator.endswith("In") else ())
        assert is_of_scope(pod_of(), "high", scope) is named
        assert is_of_scope(pod_of(), "", scope) is unnamed

    def test_a_term_that_names_namespaces_looks_elsewhere(self):
        scope = Requirement("CrossNamespacePodAffinity", "Exists")
        assert is_of_scope(near(PodAffinityTerm("zone", namespaces=("other",))), "", scope)
        assert is_of_scope(near(PodAffinityTerm("zone", namespace_selector=LabelSelector())), "", scope)
        assert not is_of_scope(near(PodAffinityTerm("zone")), "", scope)
        assert not is_of_scope(pod_of(), "", scope)

    def test_no_pod_is_known_to_have_a_deadline_and_none_is_of_an_unknown_scope(self):
        answers = [
            is_of_scope(pod_of(), "", Requirement(name, "Exists"))
            for name in ("NotTerminating", "Terminating", "VolumeAttributesClass")
        ]
        assert answers == [True, False, False]
