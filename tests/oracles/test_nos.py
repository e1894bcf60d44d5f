"""nos' own answers beside ours, in both modes; where they must differ, the annotations say what ours are."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from ullage.engine.quota.book import Book, Member
from ullage.engine.quota.decision import Decision, decide
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victims import Nodes
from ullage.engine.requests import with_gpu_memory
from ullage.model.cluster import Quota
from ullage.model.resources import Resources

REASONS = {
    "max": "max",
    "borrowing-limit": "borrowing_limit",
    "sum-of-min": "sum_of_min",
}
BARRED = {
    "above-guarantee": "above_min_plus_guaranteed",
    "above-entitlement": "above_entitlement",
    "nobody-to-take": "no_legal_set",
    "would-take-turns": "would_be_evicted_back",
}


class Case(NamedTuple):
    """A case of the oracle in our words; every quota is made of the kind that its mode belongs to."""

    rules: Rules
    running: Sequence[Member]
    claimant: Member
    nodes: Nodes


@pytest.fixture
def nos(oracle: Callable[[str], Any]) -> Any:
    return oracle("nos")


@pytest.fixture
def annotations(oracle: Callable[[str], Any]) -> Any:
    return oracle("nos-annotations")


def quota(
    name: str, namespaces: Sequence[str], least: Mapping[str, int], most: Mapping[str, int] | None
) -> Quota:
    return Quota(name, namespaces=tuple(namespaces), min=Resources(least), max=Resources(most or {}))


def case_of(run: Mapping[str, Any], mode: str) -> Case:
    gigabytes = run["gpu_gb"]
    book = Book(
        [quota(name, q["Namespaces"], q.get("Min") or {}, q.get("Max")) for name, q in run["quotas"].items()],
        mode,
    )

    def member(pod: Mapping[str, Any]) -> Member:
        takes = Resources(pod["Requests"])
        counted = book.amounts(with_gpu_memory(takes, gigabytes))
        place = book.place_of(pod["Namespace"], {})
        key = f"{pod['Namespace']}/{pod['Name']}"
        return Member(key, place, counted, takes, pod["Node"], pod["Priority"])

    running = [member(pod) for pod in run["pods"]]
    claimant = member(run["pod"])
    free = {name: dict(node) for name, node in sorted(run["nodes"].items())}
    capacity: dict[str, int] = {}
    for node in run["nodes"].values():
        for name, amount in with_gpu_memory(Resources(node), gigabytes).items():
            capacity[name] = capacity.get(name, 0) + amount
    for each in running:
        for name, amount in each.takes.items():
            free[each.node][name] = free[each.node].get(name, 0) - amount
    standing = Standing(book, running)
    rules = Rules(standing, standing.entitlements([claimant], capacity))
    return Case(rules, running, claimant, Nodes(free, capacity))


def decided(case: Case) -> Decision:
    return decide(case.rules, case.claimant, case.nodes, case.running)


def without_zeros(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}


def reason_of(decision: Decision, mode: str) -> str:
    if decision.refusals:
        return REASONS[decision.refusals[0].barrier]
    if mode == "nos":
        return "no_node_fits"
    return "above_entitlement" if decision.barred == "above-entitlement" else "no_quota_above_entitlement"


def agree(decision: Decision, expected: Mapping[str, Any], mode: str) -> None:
    assert decision.verdict == expected["verdict"]
    assert decision.proven
    if decision.verdict == "refuse":
        assert reason_of(decision, mode) == expected["reason"]
        if mode == "nos":
            assert BARRED[decision.barred] == expected["no_preemption_because"]
        return
    assert decision.node == expected["node"]
    if decision.verdict == "admit":
        assert decision.borrows == expected["borrows"]
        return
    assert sorted(each.key for each in decision.victims) == expected["victims"]
    assert bool(decision.cost and decision.cost.quotas_below) == expected["leaves_victim_quota_below"]


@pytest.mark.parametrize(("mode", "field"), [("nos", "expected"), ("fair", "fair")])
def test_every_run_is_decided_as_annotated(nos, annotations, mode, field):
    runs = nos["oracle_runs"]
    assert len(runs) == 418
    for run in runs:
        expected = annotations[f"oracle_runs/{run['id']}"]
        case = case_of(run, mode)
        book, standing = case.rules.book, case.rules.standing
        for place, each in enumerate(book.quotas):
            used = without_zeros(book.readable(standing.used[place]))
            named = {
                name: amount
                for name, amount in expected[field]["used"][each.name].items()
                if name in book.resources
            }
            assert used == without_zeros(named), run["id"]
            if mode == "nos":
                assert (
                    dict(book.readable(standing.guaranteed(place)))
                    == expected[field]["guaranteed"][each.name]
                )
            else:
                assert (
                    dict(book.readable(case.rules.entitlements[place]))
                    == expected[field]["entitlement"][each.name]
                )
        labels = {
            key: label for place in range(len(book.quotas)) for key, label in standing.labels(place).items()
        }
        assert labels == expected["labels"]
        agree(decided(case), expected[field], mode)


def in_the_form_of_runs(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case of nos' unit test as if it were a run of its code."""
    priorities = {"low": 10, "mid": 100, "high": 1000}

    def named(amounts: Mapping[str, int]) -> dict[str, int]:
        return {name.replace("cpu_milli", "cpu"): amount for name, amount in amounts.items()}

    def pod(given: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "Name": given["name"],
            "Namespace": given["namespace"],
            "Node": given["node"],
            "Priority": priorities[given["priority"]],
            "Requests": named(given["requests"]),
        }

    quotas = {
        name: {"Namespaces": [name], "Min": named(each["min"]), "Max": named(each.get("max") or {})}
        for name, each in case["quotas"].items()
    }
    return {
        "gpu_gb": case["gpu_gb"],
        "quotas": quotas,
        "nodes": {name: named(each) for name, each in case["nodes"].items()},
        "pods": [pod(each) for each in case["pods"]],
        "pod": pod(case["preemptor"]),
    }


@pytest.mark.parametrize(("mode", "field"), [("nos", "expected"), ("fair", "fair")])
def test_the_cases_of_its_unit_test_are_decided_as_annotated(nos, annotations, mode, field):
    for case in nos["dry_run_preemption"]:
        expected = annotations[f"dry_run_preemption/{case['id']}"][field]
        agree(decided(case_of(in_the_form_of_runs(case), mode)), expected, mode)


@pytest.mark.parametrize(("mode", "field"), [("nos", "expected"), ("fair", "fair")])
def test_the_example_of_the_documentation_holds(nos, annotations, mode, field):
    (case,) = nos["fair_share_preemption_doc"]
    expected = annotations["fair_share_preemption_doc/seed-example"][field]
    resource = "nos.nebuly.com/gpu-memory"
    teams = {name: each["used"][resource] // 10 for name, each in case["quotas"].items()}

    def pod(name: str, team: str, node: str) -> dict[str, Any]:
        return {"Name": name, "Namespace": team, "Node": node, "Priority": 0, "Requests": {resource: 10}}

    run = {
        "gpu_gb": 1,
        "quotas": {name: {"Namespaces": [name], "Min": each["min"]} for name, each in case["quotas"].items()},
        "nodes": {"n1": {resource: 80}},
        "pods": [pod(f"p{place}", team, "n1") for team, count in teams.items() for place in range(count)],
        "pod": pod("new", case["pod"]["quota"], ""),
    }
    found = case_of(run, mode)
    decision = decided(found)
    assert (decision.verdict, len(decision.victims)) == (expected["verdict"], expected["count"])
    assert {each.key[0] for each in decision.victims} == {expected["victims_from"]}
    book, standing = found.rules.book, found.rules.standing
    if mode == "nos":
        figures = {
            each.name: dict(book.readable(standing.guaranteed(book.index[each.name]))) for each in book.quotas
        }
        assert figures == expected["guaranteed"]
    else:
        shares = {each.name: found.rules.entitlements[book.index[each.name]][0] for each in book.quotas}
        assert shares == expected["entitlement_if_capacity_80"]
