"""Plans: complete when nothing that was asked for is refused."""

import json

from ullage.model.plan import Plan, Refusal, Step
from ullage.model.resources import Amount, Resources, ResourceTypes
from ullage.model.verdict import Shortfall
from ullage.model.wire import to_builtins

STEP = Step("place", "web", "n1", resources=Resources({"cpu": 500}), count=2, evidence="fits")
SHORTFALL = Shortfall(
    "n2", "cpu", *(Amount("cpu", value) for value in (4000, 1000, 3000, 2000, 2000)), eviction_could_help=True
)
REFUSAL = Refusal("web", 3, "no room", (SHORTFALL,), "add a node")


def test_a_plan_is_complete_when_nothing_is_refused():
    assert Plan("fit", 4, "kubernetes").complete is True
    assert Plan("fit", 4, "kubernetes", (STEP,)).complete is True
    assert Plan("fit", 4, "kubernetes", (STEP,), (REFUSAL,)).complete is False


def test_a_step_is_about_one_workload_unless_it_says_more():
    assert Step("evict", "db") == Step("evict", "db", "", "", Resources(), 1, "")


def test_a_plan_is_written_with_its_steps_refusals_and_numbers():
    plan = Plan("fit", 4, "kubernetes", (STEP,), (REFUSAL,))
    assert json.loads(json.dumps(to_builtins(plan, ResourceTypes()))) == {
        "question": "fit",
        "revision": 4,
        "policy": "kubernetes",
        "steps": [
            {
                "action": "place",
                "subject": "web",
                "toNode": "n1",
                "resources": {"cpu": "500m"},
                "count": 2,
                "evidence": "fits",
            }
        ],
        "refusals": [
            {
                "subject": "web",
                "count": 3,
                "reason": "no room",
                "shortfalls": [
                    {
                        "node": "n2",
                        "resource": "cpu",
                        "requested": "4",
                        "committed": "1",
                        "limit": "3",
                        "free": "2",
                        "missing": "2",
                        "evictionCouldHelp": True,
                    }
                ],
                "remedy": "add a node",
            }
        ],
    }
