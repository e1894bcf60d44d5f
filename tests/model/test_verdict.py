"""Verdicts: every term of a decision is written as a canonical quantity, unknown ones as null."""

import json

from ullage.model.resources import Amount, ResourceTypes
from ullage.model.verdict import Finding, Terms, Verdict
from ullage.model.wire import to_builtins

GIB = 1 << 30


def test_a_verdict_is_written_with_the_terms_in_the_order_they_follow_from_each_other():
    memory = [Amount("memory", value * GIB) for value in range(8)]
    terms = Terms(
        "n1", "memory", memory[7], memory[1], "stated by the source", memory[6], "1",
        promised=memory[2], actual=None, committed=memory[2], limit=memory[6], free=memory[4],
    )  # fmt: skip
    verdict = Verdict("web", "n1", admitted=True, terms=(terms,))
    written = json.loads(json.dumps(to_builtins(verdict, ResourceTypes())))
    assert written == {
        "workload": "web",
        "node": "n1",
        "admitted": True,
        "terms": [
            {
                "node": "n1",
                "resource": "memory",
                "capacity": "7Gi",
                "reserve": "1Gi",
                "reserveOrigin": "stated by the source",
                "allocatable": "6Gi",
                "ratio": "1",
                "promised": "2Gi",
                "actual": None,
                "committed": "2Gi",
                "limit": "6Gi",
                "free": "4Gi",
            }
        ],
    }
    assert list(written["terms"][0]) == [
        "node", "resource", "capacity", "reserve", "reserveOrigin", "allocatable", "ratio", "promised",
        "actual", "committed", "limit", "free",
    ]  # fmt: skip


def test_an_unbounded_limit_is_written_as_null():
    cpu = Amount("cpu", 1500)
    terms = Terms("n1", "cpu", cpu, cpu, "", cpu, "unlimited", cpu, cpu, cpu, limit=None, free=None)
    written = to_builtins(terms, ResourceTypes())
    assert (written["limit"], written["free"], written["actual"]) == (None, None, "1500m")


def test_a_finding_states_a_fact_and_may_offer_a_remedy():
    finding = Finding("no-limit", "warning", "pod/web", "no memory limit")
    assert to_builtins(finding, ResourceTypes()) == {
        "code": "no-limit",
        "severity": "warning",
        "subject": "pod/web",
        "message": "no memory limit",
    }
