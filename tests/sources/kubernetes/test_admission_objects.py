"""Namespaces, limit ranges, resource quotas and disruption budgets, as the API writes them."""

from fractions import Fraction

import pytest

from sources.kubernetes.kube import amounts, dumped, pod, refused, thing
from ullage.model.admission import DisruptionBudget, LimitRange, LimitRangeItem, Namespace, ResourceQuota
from ullage.model.constraints import LabelSelector, Requirement


def named(kind, api_version="v1", **fields):
    return thing(api_version, kind, "x", namespace="ml", **fields)


def test_a_namespace_has_its_labels_and_the_one_that_every_namespace_has():
    labelled = {**thing("v1", "Namespace"), "metadata": {"name": "ml", "labels": {"team": "a"}}}
    found = dumped(labelled, thing("v1", "Namespace", "web"))
    assert list(found.namespaces) == [
        Namespace("ml", {"team": "a", "kubernetes.io/metadata.name": "ml"}),
        Namespace("web", {"kubernetes.io/metadata.name": "web"}),
    ]


def test_a_limit_range_of_every_kind():
    spec = {
        "limits": [
            {
                "type": "Container",
                "min": {"cpu": "100m"},
                "max": {"cpu": "4", "memory": "8Gi"},
                "default": {"cpu": "1"},
                "defaultRequest": {"cpu": "500m"},
                "maxLimitRequestRatio": {"cpu": "2.5", "memory": 4},
            },
            {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}, "min": None},
        ]
    }
    (found,) = dumped(named("LimitRange", spec=spec)).limit_ranges
    assert found == LimitRange(
        "x",
        "ml",
        (
            LimitRangeItem(
                "Container",
                amounts(cpu="100m"),
                amounts(cpu="4", memory="8Gi"),
                amounts(cpu="1"),
                amounts(cpu="500m"),
                {"cpu": Fraction(5, 2), "memory": Fraction(4)},
            ),
            LimitRangeItem("PersistentVolumeClaim", max=amounts(storage_space="1Gi")),
        ),
    )


QUOTAS = {
    "what is used is known": (
        named(
            "ResourceQuota",
            spec={"hard": {"requests.cpu": "4", "pods": 10, "count/jobs.batch": "2"}},
            status={"hard": {"pods": "10"}, "used": {"requests.cpu": "1500m", "pods": "3"}},
        ),
        ResourceQuota(
            "x",
            "ml",
            {"requests.cpu": "4", "pods": "10", "count/jobs.batch": "2"},
            {"requests.cpu": "1500m", "pods": "3"},
        ),
    ),
    "scopes": (
        named(
            "ResourceQuota",
            spec={
                "hard": {"pods": "1"},
                "scopes": ["NotBestEffort"],
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]},
                        {"scopeName": "Terminating", "operator": "Exists"},
                    ]
                },
            },
        ),
        ResourceQuota(
            "x",
            "ml",
            {"pods": "1"},
            None,
            ("NotBestEffort",),
            (Requirement("PriorityClass", "In", ("high",)), Requirement("Terminating", "Exists")),
        ),
    ),
    "nothing": (named("ResourceQuota"), ResourceQuota("x", "ml")),
}


@pytest.mark.parametrize("case", QUOTAS)
def test_resource_quotas(case):
    wire, expected = QUOTAS[case]
    assert list(dumped(wire).resource_quotas) == [expected]


def budget(status=None, **spec):
    return named("PodDisruptionBudget", "policy/v1", spec=spec, status=status)


BUDGETS = {
    "a share may be away": (
        budget({"disruptionsAllowed": 2}, maxUnavailable="25%", selector={"matchLabels": {"app": "web"}}),
        DisruptionBudget("x", "ml", LabelSelector({"app": "web"}), "", "25%", 2),
    ),
    "a number must be there": (budget(minAvailable=3), DisruptionBudget("x", "ml", None, "3")),
    "none may be away": (budget(maxUnavailable=0), DisruptionBudget("x", "ml", None, "", "0")),
    "an empty selector, which selects all": (
        budget(selector={}),
        DisruptionBudget("x", "ml", LabelSelector()),
    ),
    "a null selector, which selects nothing": (budget(selector=None), DisruptionBudget("x", "ml")),
}


@pytest.mark.parametrize("case", BUDGETS)
def test_budgets(case):
    wire, expected = BUDGETS[case]
    assert list(dumped(wire).disruption_budgets) == [expected]


# Each row: an object, and where its fault is.
WRONG = {
    "a bound": (
        named("LimitRange", spec={"limits": [{"type": "Pod"}, {"type": "Pod", "max": {"cpu": "x"}}]}),
        "spec.limits[1].max.cpu: ",
    ),
    "a ratio": (
        named("LimitRange", spec={"limits": [{"type": "Pod", "maxLimitRequestRatio": {"cpu": "x"}}]}),
        "spec.limits[0].maxLimitRequestRatio.cpu: ",
    ),
    "a size of claims": (
        named("LimitRange", spec={"limits": [{"type": "Pod", "min": {"storage": "-1"}}]}),
        "spec.limits[0].min.storage: ",
    ),
    "what is bounded": (named("ResourceQuota", spec={"hard": {"pods": "many"}}), "spec.hard.pods: "),
    "what is used": (named("ResourceQuota", status={"used": {"pods": []}}), "status.used.pods: "),
    "a budget": (budget(minAvailable=1.5), "spec.minAvailable: "),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_path(case):
    wire, path = WRONG[case]
    assert refused(wire).startswith(f"standard input: items[0].{path}")


def test_namespaces_that_pods_select_by_and_nobody_describes_are_named():
    def near(selector):
        term = {"topologyKey": "zone", "namespaceSelector": selector}
        return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    by_label = pod("a", affinity=near({"matchLabels": {"team": "a"}}))
    assert dumped(by_label).unknowns == ("not found: namespaces, by whose labels pods select: team",)
    assert dumped(by_label, thing("v1", "Namespace", "team")).unknowns == ()
    assert dumped(pod("a", affinity=near({}))).unknowns == ()
