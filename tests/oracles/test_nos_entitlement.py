"""The entitlements of mode fair in the recorded runs of nos: what our rules give for each, as annotated."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from ullage.engine.quota.entitlement import fair_shares
from ullage.engine.requests import with_gpu_memory
from ullage.model.cluster import Quota
from ullage.model.resources import GPU_MEMORY, NOTHING, Resources

RUNS = 418
Case = dict[str, Any]


@pytest.fixture
def annotated(oracle: Callable[[str], Any]) -> Callable[[str], list[tuple[Case, Case]]]:
    """The cases of a section, each with the annotation of its answer in mode fair."""
    notes = oracle("nos-annotations")

    def cases(section: str) -> list[tuple[Case, Case]]:
        return [(case, notes[f"{section}/{case['id']}"]["fair"]) for case in oracle("nos")[section]]

    return cases


def total(parts: Iterable[Case], gigabytes: int) -> Resources:
    return sum((with_gpu_memory(Resources(part), gigabytes) for part in parts), NOTHING)


def entitlement(
    case: Case, quotas: list[Quota], pods: Iterable[tuple[str, Case]]
) -> dict[str, dict[str, int]]:
    asked = [(namespace, requests) for namespace, requests in pods if requests]
    demand = {
        quota.name: total((each for place, each in asked if place in quota.namespaces), case["gpu_gb"])
        for quota in quotas
    }
    shares = fair_shares(quotas, demand, total(case["nodes"].values(), case["gpu_gb"]))
    return {name: dict(share) for name, share in shares.items()}


def test_recorded_runs(annotated):
    runs = annotated("oracle_runs")
    assert len(runs) == RUNS
    for case, fair in runs:
        quotas = [
            Quota(
                name,
                namespaces=tuple(each["Namespaces"]),
                min=Resources(each.get("Min") or {}),
                max=Resources(each.get("Max") or {}),
            )
            for name, each in case["quotas"].items()
        ]
        pods = [(pod["Namespace"], pod["Requests"]) for pod in (*case["pods"], case["pod"])]
        assert entitlement(case, quotas, pods) == fair["entitlement"], case["id"]


def test_preemption_cases_of_nos_own_tests(annotated):
    for case, fair in annotated("dry_run_preemption"):
        quotas = [
            Quota(name, namespaces=(name,), min=Resources(each["min"]), max=Resources(each.get("max") or {}))
            for name, each in case["quotas"].items()
        ]
        pods = [(pod["namespace"], pod["requests"]) for pod in (*case["pods"], case["preemptor"])]
        assert entitlement(case, quotas, pods) == fair["entitlement"], case["id"]


def test_the_example_of_the_documentation(annotated):
    ((case, fair),) = annotated("fair_share_preemption_doc")
    quotas = [Quota(name, min=Resources(each["min"])) for name, each in case["quotas"].items()]
    demand = {name: Resources(each["used"]) for name, each in case["quotas"].items()}
    claimant = case["pod"]["quota"]
    demand[claimant] += Resources(case["pod"]["request"])
    shares = fair_shares(quotas, demand, Resources({GPU_MEMORY: 80}))
    assert {name: share[GPU_MEMORY] for name, share in shares.items()} == fair["entitlement_if_capacity_80"]
