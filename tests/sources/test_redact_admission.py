"""What admission looks up, with pseudonyms: it still applies to the same workloads."""

from fractions import Fraction

import pytest

from ullage.model.admission import (
    DisruptionBudget,
    LimitRange,
    LimitRangeItem,
    Namespace,
    PriorityClass,
    ResourceQuota,
    RuntimeClass,
)
from ullage.model.constraints import LabelSelector, Requirement, Toleration
from ullage.model.resources import Resources
from ullage.sources.redact_admission import AdmissionRedactor
from ullage.sources.redact_constraints import ConstraintRedactor
from ullage.sources.redact_names import Pseudonyms
from ullage.sources.redact_storage import StorageRedactor

NAMES = Pseudonyms("s")
KEY, VALUE = NAMES.of("key", "team"), NAMES.of("value", "a")
ML = NAMES.of("namespace", "ml")


@pytest.fixture
def redactor():
    constraints = ConstraintRedactor(NAMES, frozenset())
    return AdmissionRedactor(constraints, StorageRedactor(constraints))


def test_a_namespace_has_the_name_that_its_label_says(redactor):
    labels = {"team": "a", "kubernetes.io/metadata.name": "ml"}
    assert redactor.namespace(Namespace("ml", labels)) == Namespace(
        ML, {KEY: VALUE, "kubernetes.io/metadata.name": ML}
    )


def test_bounds_stay(redactor):
    items = (LimitRangeItem("Pod", Resources({"cpu": 1}), limit_request_ratio_max={"cpu": Fraction(2)}),)
    assert redactor.limit_range(LimitRange("l", "ml", items)) == LimitRange(
        NAMES.of("limits", "l"), ML, items
    )


def test_a_quota_names_classes_by_their_pseudonyms(redactor):
    suffix = ".storageclass.storage.k8s.io/requests.storage"
    hard = {"pods": "3", f"fast{suffix}": "1Gi", f"HDDLVG{suffix}": "2Gi"}
    scopes = (
        Requirement("PriorityClass", "In", ("high", "system-node-critical")),
        Requirement("Terminating", "Exists"),
    )
    found = redactor.resource_quota(ResourceQuota("q", "ml", hard, hard, ("BestEffort",), scopes))
    assert found.hard == found.used
    assert found.hard == {
        "pods": "3",
        f"{NAMES.of('class', 'fast')}{suffix}": "1Gi",
        f"HDDLVG{suffix}": "2Gi",
    }
    high = redactor.priority_class(PriorityClass("high", 7)).name
    assert found.scope_selector == (
        Requirement("PriorityClass", "In", (high, "system-node-critical")),
        Requirement("Terminating", "Exists"),
    )
    assert (found.name, found.namespace, found.scopes) == (NAMES.of("quota", "q"), ML, ("BestEffort",))
    assert redactor.resource_quota(ResourceQuota("q")).used is None


def test_a_runtime_is_on_the_same_nodes(redactor):
    row = RuntimeClass("kata", Resources({"cpu": 5}), {"team": "a"}, (Toleration("team", "Equal", "a"),))
    assert redactor.runtime_class(row) == RuntimeClass(
        redactor.runtime_name("kata"), row.overhead, {KEY: VALUE}, (Toleration(KEY, "Equal", VALUE),)
    )


@pytest.mark.parametrize("selector", [None, LabelSelector(), LabelSelector({"team": "a"})])
def test_a_budget_selects_as_before(redactor, selector):
    found = redactor.budget(DisruptionBudget("b", "ml", selector, "50%", disruptions_allowed=2))
    expected = LabelSelector({KEY: VALUE}) if selector == LabelSelector({"team": "a"}) else selector
    assert found == DisruptionBudget(NAMES.of("budget", "b"), ML, expected, "50%", disruptions_allowed=2)
