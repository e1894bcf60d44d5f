"""Constraints: fragments of Kubernetes objects are read into records and written back as they were."""

import msgspec
import pytest

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
    PreferredNodeTerm,
    Requirement,
    Toleration,
    TopologySpread,
    WeightedPodAffinityTerm,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
AFFINITY_JSON = {
    "nodeAffinity": {
        REQUIRED: {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "zone", "operator": "In", "values": ["a", "b"]},
                        {"key": "gpu", "operator": "Exists"},
                    ],
                    "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}],
                }
            ]
        },
        PREFERRED: [
            {
                "weight": 5,
                "preference": {"matchExpressions": [{"key": "c", "operator": "Gt", "values": ["4"]}]},
            }
        ],
    },
    "podAffinity": {
        PREFERRED: [
            {
                "weight": 100,
                "podAffinityTerm": {
                    "topologyKey": "zone",
                    "labelSelector": {"matchLabels": {"app": "cache"}},
                    "namespaces": ["shop"],
                },
            }
        ]
    },
    "podAntiAffinity": {
        REQUIRED: [
            {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]},
                "namespaceSelector": {},
                "matchLabelKeys": ["pod-template-hash"],
                "mismatchLabelKeys": ["tenant"],
            }
        ]
    },
}
AFFINITY = Affinity(
    node_affinity=NodeAffinity(
        required=NodeSelector(
            (
                NodeSelectorTerm(
                    (Requirement("zone", "In", ("a", "b")), Requirement("gpu", "Exists")),
                    (Requirement("metadata.name", "NotIn", ("n1",)),),
                ),
            )
        ),
        preferred=(PreferredNodeTerm(5, NodeSelectorTerm((Requirement("c", "Gt", ("4",)),))),),
    ),
    pod_affinity=PodAffinity(
        preferred=(
            WeightedPodAffinityTerm(100, PodAffinityTerm("zone", LabelSelector({"app": "cache"}), ("shop",))),
        )
    ),
    pod_anti_affinity=PodAffinity(
        required=(
            PodAffinityTerm(
                "kubernetes.io/hostname",
                LabelSelector(match_expressions=(Requirement("app", "DoesNotExist"),)),
                namespace_selector=LabelSelector(),
                match_label_keys=("pod-template-hash",),
                mismatch_label_keys=("tenant",),
            ),
        )
    ),
)
SPREAD_JSON = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"app": "web"}},
    "minDomains": 3,
    "nodeAffinityPolicy": "Ignore",
    "nodeTaintsPolicy": "Honor",
    "matchLabelKeys": ["rev"],
}
SPREAD = TopologySpread(
    1, "zone", "ScheduleAnyway", LabelSelector({"app": "web"}), 3, "Ignore", "Honor", ("rev",)
)
CASES = [
    (AFFINITY_JSON, AFFINITY),
    (SPREAD_JSON, SPREAD),
    ({"maxSkew": 2, "topologyKey": "zone"}, TopologySpread(2, "zone")),
    ({"key": "x", "operator": "Exists", "effect": "NoExecute"}, Toleration("x", "Exists", "", "NoExecute")),
    ({"key": "team", "value": "ml"}, Toleration("team", "Equal", "ml")),
    ({}, Toleration()),
    ({"port": 8080}, HostPort(8080)),
    ({"port": 53, "protocol": "UDP", "hostIp": "10.0.0.1"}, HostPort(53, "UDP", "10.0.0.1")),
    ({}, UNCONSTRAINED),
    (
        {
            "nodeSelector": {"disk": "ssd"},
            "affinity": AFFINITY_JSON,
            "tolerations": [{"operator": "Exists"}],
            "topologySpread": [SPREAD_JSON],
            "hostPorts": [{"port": 80}],
            "schedulingGates": ["quota"],
        },
        Constraints(
            {"disk": "ssd"}, AFFINITY, (Toleration("", "Exists"),), (SPREAD,), (HostPort(80),), ("quota",)
        ),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("fragment", "record"), CASES)
def test_a_fragment_is_read_into_its_record_and_written_back(fragment, record):
    assert msgspec.convert(fragment, type(record)) == record
    assert msgspec.json.decode(msgspec.json.encode(record)) == fragment


def test_what_kubernetes_fills_in_is_filled_in():
    toleration = Toleration()
    assert (toleration.key, toleration.operator, toleration.value, toleration.effect) == ("", "Equal", "", "")
    spread = TopologySpread(1, "zone")
    assert (spread.when_unsatisfiable, spread.min_domains) == ("DoNotSchedule", None)
    assert (spread.node_affinity_policy, spread.node_taints_policy) == ("Honor", "Ignore")
    assert HostPort(80).protocol == "TCP"


def test_fields_that_are_not_modelled_are_ignored():
    fragment = {"key": "gpu", "tolerationSeconds": 300}
    assert msgspec.convert(fragment, Toleration) == Toleration("gpu")


@pytest.mark.parametrize(
    ("fragment", "record", "problem"),
    [
        ({"operator": "In"}, Requirement, "Object missing required field `key`"),
        ({"maxSkew": "1", "topologyKey": "z"}, TopologySpread, "Expected `int`, got `str` - at `$.maxSkew`"),
        (
            {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": 3}}},
            Affinity,
            f"Expected `array`, got `int` - at `$.nodeAffinity.{REQUIRED}.nodeSelectorTerms`",
        ),
    ],
)
def test_a_wrong_field_is_reported_with_its_path(fragment, record, problem):
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert(fragment, record)
    assert str(refused.value) == problem
