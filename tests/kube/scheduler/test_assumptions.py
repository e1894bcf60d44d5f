"""What is being done counts as done until the watch shows it, and is given back whole where it was not."""

import msgspec
import pytest

from builders import waiting, workload
from ullage.kube.scheduler.assumptions import Assumptions
from ullage.model.delta import Delta

IDENTIFIERS = {"a": "1", "b": "2"}


@pytest.fixture
def identifiers() -> dict[str, str]:
    return dict(IDENTIFIERS)


@pytest.fixture
def assumptions(identifiers) -> Assumptions:
    return Assumptions(lambda key: identifiers.get(key, ""))


def rows(assumptions: Assumptions, *seen, gone: tuple[str, ...] = ()):
    delta = Delta(workloads=seen, dropped={"workloads": gone} if gone else {})
    return assumptions.applied(delta).workloads


def test_a_pod_that_is_being_bound_runs_on_its_node(assumptions):
    row = assumptions.bind(waiting("a", cpu=1), "n1")
    assert (row.node, row.state, row.holds_capacity) == ("n1", "ok", True)
    assert assumptions.is_bound("a")


def test_an_update_that_does_not_know_of_the_binding_yet_changes_nothing_about_it(assumptions):
    assumptions.bind(waiting("a", cpu=1), "n1")
    (row,) = rows(assumptions, waiting("a", cpu=1, labels={"new": "label"}))
    assert (row.node, row.state, row.labels) == ("n1", "ok", {"new": "label"})
    assert assumptions.is_bound("a")


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_what_the_watch_shows_is_assumed_no_longer(assumptions, node):
    assumptions.bind(waiting("a", cpu=1), "n1")
    (row,) = rows(assumptions, workload("a", cpu=1, node=node))
    assert row.node == node
    assert not len(assumptions)


def test_a_pod_that_was_deleted_meanwhile_is_forgotten(assumptions):
    assumptions.bind(waiting("a", cpu=1), "n1")
    rows(assumptions, gone=("a",))
    assert not len(assumptions)
    assert assumptions.forget("a") is None


def test_another_pod_of_the_same_name_inherits_nothing(assumptions, identifiers):
    assumptions.bind(waiting("a", cpu=1), "n1")
    identifiers["a"] = "9"
    (row,) = rows(assumptions, waiting("a", cpu=2))
    assert row.node == ""
    assert not assumptions.is_bound("a")


def test_a_pod_that_is_being_evicted_is_on_its_way_out(assumptions):
    running = workload("b", cpu=1, node="n1")
    assert assumptions.evict(running).terminating
    (row,) = rows(assumptions, running)
    assert row.terminating
    (row,) = rows(assumptions, msgspec.structs.replace(running, terminating=True))
    assert not assumptions.is_leaving("b")


def test_what_did_not_happen_is_given_back_as_it_was_last_seen(assumptions):
    assumptions.bind(waiting("a", cpu=1), "n1")
    latest = waiting("a", cpu=1, labels={"new": "label"})
    rows(assumptions, latest)
    assert assumptions.forget("a") == latest
    assert not assumptions.is_bound("a")


def test_others_pass_unchanged(assumptions):
    other = waiting("b", cpu=1)
    assumptions.bind(waiting("a", cpu=1), "n1")
    assert rows(assumptions, other) == (other,)


def test_a_pod_whose_node_is_gone_runs_nowhere_and_is_still_being_bound(assumptions):
    pod = waiting("a", cpu=1)
    assumptions.bind(pod, "n1")
    assert assumptions.applied(Delta(dropped={"nodes": ("n2",)})).workloads == ()
    assert assumptions.applied(Delta(dropped={"nodes": ("n1",)})).workloads == (pod,)
    assert assumptions.is_bound("a")
    later = waiting("a", cpu=1, labels={"new": "label"})
    assert rows(assumptions, later) == (later,)
    assert assumptions.forget("a") == later
