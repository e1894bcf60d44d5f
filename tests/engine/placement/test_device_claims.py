"""Devices by resource claims are not modelled: whoever asks for some is refused, whoever has some counts."""

import msgspec

from builders import batch, cluster, node, pod, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.device_claims import REMEDY, what_it_claims, without_device_claims
from ullage.engine.placement.fit import fit
from ullage.engine.placement.scheduling import schedule
from ullage.model.constraints import UNCONSTRAINED, Constraints

CLAIMS = Constraints(resource_claims=("nic", "gpu"))
REASON = "asks for devices by resource claims (gpu, nic), which are not modelled"


def test_a_scheduler_refuses_it_and_places_the_others():
    asks, plain = waiting("web/a", cpu="1", constraints=CLAIMS), waiting("web/b", cpu="1")
    cycle = schedule(Columns(cluster(node("n", cpu="4"), asks, plain)), (asks, plain))
    assert [each.workload for each in cycle.bound] == ["web/b"]
    (refused,) = cycle.unplaced
    assert (refused.workload, refused.refusal.reason) == ("web/a", f"it {REASON}")
    assert refused.refusal.remedy == REMEDY


def test_fit_refuses_every_replica_of_it_though_some_run():
    runs = pod("web/site-1", cpu="1", owner="ReplicaSet/site-abc", constraints=CLAIMS)
    asked = batch(2, waiting("web/site", kind="Deployment", cpu="1", constraints=CLAIMS))
    (outcome,) = fit(Columns(cluster(node("n", cpu="4").holding(runs))), (asked,)).outcomes
    assert (outcome.placed, outcome.refusal.count) == (0, 2)
    assert REASON in outcome.refusal.reason


def test_one_that_runs_has_its_devices_and_may_grow_where_it_is():
    runs = pod("web/a", cpu="1", constraints=CLAIMS)
    here = cluster(node("n", cpu="4").holding(runs), node("m", cpu="4"))
    larger = waiting("web/a", cpu="2", constraints=CLAIMS)
    (grown,) = fit(Columns(here), (batch(1, larger),)).outcomes
    assert (grown.placed, grown.refusal) == (1, None)
    (moved,) = fit(Columns(here), (batch(1, msgspec.structs.replace(larger, node="m")),)).outcomes
    assert REASON in moved.refusal.reason


def test_one_that_runs_takes_what_it_asks_for():
    runs = pod("web/a", cpu="3", constraints=CLAIMS)
    (outcome,) = fit(
        Columns(cluster(node("n", cpu="4").holding(runs))), (batch(1, waiting("web/b", cpu="2")),)
    ).outcomes
    assert "cpu" in outcome.refusal.reason


def test_what_others_allocate_is_left_out_and_nothing_else():
    asks = waiting("web/a", constraints=msgspec.structs.replace(CLAIMS, node_selector={"a": "b"}))
    assert what_it_claims(asks) == REASON
    assert without_device_claims(asks).constraints == Constraints(node_selector={"a": "b"})
    plain = waiting("web/a")
    assert (what_it_claims(plain), without_device_claims(plain)) == ("", plain)
    assert without_device_claims(plain).constraints is UNCONSTRAINED
