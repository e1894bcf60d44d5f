"""Placement constraints as pods state them."""

import pytest

from sources.kubernetes.kube import container, only_pod, pod, refused
from ullage.model.constraints import (
    UNCONSTRAINED,
    Affinity,
    Constraints,
    HostPort,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    Requirement,
    Toleration,
    TopologySpread,
    WeightedPodAffinityTerm,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ON_ZONE = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
AWAY = {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "x"}}, "namespaces": ["q"]}
AWAY_TERM = PodAffinityTerm("host", LabelSelector({"app": "x"}), ("q",))
SPREAD = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 3}

# Each row: fields of a pod's spec, and its constraints.
READ = {
    "nulls, which mean what is not there means": (
        {
            "topologySpreadConstraints": [
                {
                    **SPREAD, "minDomains": None, "labelSelector": None, "nodeAffinityPolicy": None,
                    "nodeTaintsPolicy": None, "matchLabelKeys": None,
                }
            ],
            "tolerations": [{"key": "a", "operator": None, "value": None, "effect": None}],
            "affinity": {
                "podAffinity": {
                    REQUIRED: [{**AWAY, "namespaceSelector": None, "matchLabelKeys": None}],
                    PREFERRED: None,
                }
            },
        },
        Constraints(
            affinity=Affinity(pod_affinity=PodAffinity((AWAY_TERM,))),
            tolerations=(Toleration("a"),),
            topology_spread=(TopologySpread(2, "zone", "ScheduleAnyway"),),
        ),
    ),
    "keys of labels that must match, as they are stated": (
        {"topologySpreadConstraints": [{**SPREAD, "matchLabelKeys": ["pod-template-hash"]}]},
        Constraints(
            topology_spread=(
                TopologySpread(
                    2, "zone", "ScheduleAnyway", min_domains=3, match_label_keys=("pod-template-hash",)
                ),
            )
        ),
    ),
    "a node selector": ({"nodeSelector": {"a": "b"}}, Constraints(node_selector={"a": "b"})),
    "tolerations, operator Equal by default": (
        {"tolerations": [{"key": "a", "value": "b"}, {"operator": "Exists", "tolerationSeconds": 3}]},
        Constraints(tolerations=(Toleration("a", "Equal", "b"), Toleration(operator="Exists"))),
    ),
    "node affinity": (
        {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [ON_ZONE]}}}},
        Constraints(
            affinity=Affinity(
                NodeAffinity(
                    NodeSelector((NodeSelectorTerm((Requirement("zone", "In", ("a", "b")),)),))
                )
            )
        ),
    ),
    "pod anti-affinity, required and preferred": (
        {
            "affinity": {
                "podAntiAffinity": {
                    REQUIRED: [AWAY],
                    PREFERRED: [{"weight": 5, "podAffinityTerm": AWAY}],
                }
            }
        },
        Constraints(
            affinity=Affinity(
                pod_anti_affinity=PodAffinity((AWAY_TERM,), (WeightedPodAffinityTerm(5, AWAY_TERM),))
            )
        ),
    ),
    "topology spread": (
        {"topologySpreadConstraints": [SPREAD]},
        Constraints(topology_spread=(TopologySpread(2, "zone", "ScheduleAnyway", min_domains=3),)),
    ),
    "scheduling gates": (
        {"schedulingGates": [{"name": "a"}, {"name": "b"}]},
        Constraints(scheduling_gates=("a", "b")),
    ),
    "resource claims, by the names that the pod gives them": (
        {"resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}, {"name": "nic"}]},
        Constraints(resource_claims=("gpu", "nic")),
    ),
    "host ports": (
        {"containers": [container("a", ports=[{"containerPort": 1, "hostPort": 80, "hostIP": "127.0.0.1"}])]},
        Constraints(host_ports=(HostPort(80, "TCP", "127.0.0.1"),)),
    ),
    "host ports of sidecars, not of steps that end": (
        {
            "initContainers": [
                container("s", ports=[{"hostPort": 53, "protocol": "UDP"}], restartPolicy="Always"),
                container("i", ports=[{"hostPort": 54}]),
            ]
        },
        Constraints(host_ports=(HostPort(53, "UDP"),)),
    ),
    "every port on the host's network": (
        {"hostNetwork": True, "containers": [container("a", ports=[{"containerPort": 9}])]},
        Constraints(host_ports=(HostPort(9),)),
    ),
    "no port of the node without a host port": (
        {"containers": [container("a", ports=[{"containerPort": 9}])]},
        UNCONSTRAINED,
    ),
    "nothing where all is null or empty": (
        {
            "nodeSelector": None, "affinity": {}, "tolerations": None, "topologySpreadConstraints": [],
            "schedulingGates": None, "hostNetwork": None,
        },
        UNCONSTRAINED,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_constraints(case):
    spec, expected = READ[case]
    given = pod("p")
    given["spec"] |= spec
    assert only_pod(given).constraints == expected


def test_a_pod_without_constraints_has_the_common_record():
    assert only_pod(pod("p", affinity={})).constraints is UNCONSTRAINED


# Each row: fields of a pod's spec, and the message about them.
WRONG = {
    "a selector of the wrong type": (
        {"nodeSelector": {"a": 1}},
        "nodeSelector.a: expected text, found a number; put it in quotes",
    ),
    "a toleration of the wrong type": (
        {"tolerations": [{"key": "a"}, {"key": []}]},
        "tolerations[1].key: expected text, found a list; write text",
    ),
    "a spread without a key": (
        {"topologySpreadConstraints": [{"maxSkew": 1}]},
        'topologySpreadConstraints[0]: the field "topologyKey" is missing; add it',
    ),
    "a port that is none": (
        {"containers": [container("a"), container("b", ports=[{"hostPort": "http"}])]},
        (
            "containers[1].ports[0].hostPort: expected a whole number or null, found text; write a whole "
            "number or null"
        ),
    ),
    "a sidecar's port that is none": (
        {"initContainers": [container("s", ports=3, restartPolicy="Always")]},
        "initContainers[0].ports: expected a list or null, found a number; write a list or null",
    ),
    "a flag that is none": (
        {"hostNetwork": "yes"},
        "hostNetwork: expected true or false or null, found text; write true or false or null",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_path(case):
    spec, expected = WRONG[case]
    given = pod("p")
    given["spec"] |= spec
    assert refused(given) == f"standard input: items[0].spec.{expected}"
