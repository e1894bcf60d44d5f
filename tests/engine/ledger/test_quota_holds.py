"""A workload holds of its quota and of those above it."""

from builders import cluster, node, quota, waiting
from ullage.engine.ledger.quota_holds import QuotaHolds
from ullage.model.ledger import COMPUTE, Hold
from ullage.model.resources import Resources


def test_the_quota_of_a_namespace_and_its_parents_are_held():
    made = cluster(
        node("n1", cpu="4"),
        quota("company", maximum={"cpu": "9"}, namespaces=()),
        quota("team", parent="company", namespaces=("web",), maximum={"cpu": "4"}),
    )
    holds = QuotaHolds(made)
    amount = Resources({"cpu": 1000})
    assert holds.of(waiting("web/a", cpu="1", memory="1Gi"), 32) == (
        Hold(COMPUTE, "quota/team", amount),
        Hold(COMPUTE, "quota/company", amount),
    )
    assert holds.of(waiting("other/a", cpu="1"), 32) == ()
