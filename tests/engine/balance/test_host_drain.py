"""Emptying hosts: live moves first, then copies of standbys; every rule holds meanwhile."""

import pytest
from hypothesis import given, settings

from fleet_strategies import rare_kinds, seeds, views
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import random_cluster
from ullage.engine.balance.facts import NOWHERE, View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.host_drain import drain_hosts
from ullage.engine.balance.moves import COMMANDS
from ullage.engine.balance.state import Failure

NODES = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3"), ganeti_node("n4")]


def drain(names, *instances, nodes=NODES, tags=()):
    fleet = Fleet(ganeti_cluster(nodes, *instances, tags=tags), View(exact=True))
    return drain_hosts(fleet, [host.number for host in fleet.hosts if host.name in names])


def told(found):
    hosts = [*(host.name for host in found.fleet.hosts), ""]
    return [
        (found.fleet.machines[step.machine].name, COMMANDS[step.move.kind].format(hosts[step.move.target]))
        for step in found.steps
    ]


def refused(found):
    return {each.subject: each.reason for each in found.refusals}


class TestMirrored:
    def test_it_goes_to_its_standby_and_gets_a_new_one(self):
        found = drain(["n1"], instance("a", "n1", "n2"), instance("b", "n3"), instance("c", "n3"))
        assert told(found) == [("a", "f"), ("a", "r:n4")]
        assert (found.refusals, found.fleet.places[0]) == ((), (1, 3))

    def test_everything_that_runs_leaves_before_standbys_are_copied(self):
        found = drain(
            ["n1"],
            instance("a", "n1", "n2"),
            instance("b", "n2", "n1"),
            instance("c", "n1", "n2"),
            instance("d", "n1"),
        )
        assert [action[0] for _, action in told(found)] == ["f", "f", "f", "r", "r", "r"]
        assert told(found)[2][1].startswith("fa:")

    def test_a_standby_alone_is_copied(self):
        found = drain(["n2"], instance("a", "n1", "n2"), instance("b", "n3"))
        assert told(found) == [("a", "r:n4")]

    @pytest.mark.parametrize(("busy", "chosen"), [("n3", "n4"), ("n4", "n3")])
    def test_where_its_standby_is_full_it_goes_to_the_emptiest_that_its_disks_are_copied_to(
        self, busy, chosen
    ):
        found = drain(
            ["n1"],
            instance("a", "n1", "n2", memory=600),
            instance("b", "n2", memory=500),
            instance("c", busy, memory=300),
        )
        assert told(found)[0] == ("a", f"r:{chosen} f")
        assert found.steps[0].place.standby == 0
        assert told(found)[1:] == [("a", f"r:{busy}")]
        assert found.refusals == ()

    def test_where_its_standby_is_offline_too(self):
        nodes = [ganeti_node("n1"), ganeti_node("n2", offline=True), ganeti_node("n3"), ganeti_node("n4")]
        found = drain(["n1"], instance("a", "n1", "n2"), nodes=nodes)
        assert [step.move.kind for step in found.steps] == ["rf", "r"]

    def test_from_a_host_that_is_offline_nothing_is_copied(self):
        nodes = [ganeti_node("n1", offline=True), ganeti_node("n2", offline=True), ganeti_node("n3")]
        found = drain(["n1"], instance("a", "n1", "n2"), nodes=nodes)
        assert told(found) == []
        assert refused(found)["a"].startswith("its standby n2: ")

    def test_with_both_its_hosts_drained_it_goes_to_two_others(self):
        found = drain(["n1", "n2"], instance("a", "n1", "n2"))
        assert [step.move.kind for step in found.steps] == ["r", "f", "r"]
        assert set(found.fleet.places[0]) == {2, 3}

    def test_with_both_drained_two_others_must_take_it(self):
        nodes = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3")]
        found = drain(["n1", "n2"], instance("a", "n1", "n2"), nodes=nodes)
        assert (told(found), refused(found)) == ([], {"a": "no two other nodes of its group take it"})

    def test_without_a_standby_it_stays(self):
        found = drain(["n1"], instance("a", "n1", template="drbd"))
        assert refused(found) == {"a": "it has no standby"}

    def test_a_standby_that_no_other_host_takes_stays(self):
        nodes = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3", memory=50)]
        found = drain(["n1"], instance("a", "n1", "n2"), nodes=nodes)
        assert told(found) == [("a", "f")]
        assert refused(found) == {
            "a": "its standby stays: no other node of its group takes it (memory short on 1); "
            "nearest: node n3, memory short by 50Mi"
        }

    def test_what_keeps_it_off_its_standby_and_all_others_is_told(self):
        nodes = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3", memory=50)]
        found = drain(
            ["n1"], instance("a", "n1", "n2", memory=600), instance("b", "n2", memory=500), nodes=nodes
        )
        assert refused(found) == {
            "a": "its standby n2: memory short by 100Mi; no other node of its group takes it "
            "(memory short on 1); nearest: node n3, memory short by 550Mi"
        }


class TestOthers:
    @pytest.mark.parametrize("template", ["ext", "rbd", "sharedfile", "gluster", "blockdev", "diskless"])
    def test_disks_that_all_hosts_reach_need_no_copy(self, template):
        found = drain(
            ["n1"], instance("a", "n1", template=template), instance("b", "n2"), instance("c", "n3")
        )
        assert told(found) == [("a", "fa:n4")]

    @pytest.mark.parametrize("template", ["plain", "file"])
    def test_disks_of_one_host_alone_stay_with_it(self, template):
        found = drain(["n1"], instance("a", "n1", template=template))
        (refusal,) = found.refusals
        assert refusal.reason == f"its disks ({template}) are on n1 alone, so it cannot leave while it runs"
        assert refusal.remedy == "stop it and copy its disks (gnt-instance move -n NODE a)"

    def test_it_goes_to_no_host_that_is_offline(self):
        nodes = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3", offline=True)]
        found = drain(
            ["n1"], instance("a", "n1"), instance("b", "n2"), instance("c", "n2", "n1"), nodes=nodes
        )
        assert told(found) == [("a", "fa:n2")]
        assert refused(found) == {"c": "its standby stays: no other node of its group is online"}

    def test_it_stays_in_its_group(self):
        nodes = [ganeti_node("n1"), ganeti_node("m1", "h")]
        assert refused(drain(["n1"], instance("a", "n1"), nodes=nodes)) == {
            "a": "no other node of its group is online"
        }


class TestStillToCome:
    def test_it_is_reserved_elsewhere_after_all_that_runs_has_left(self):
        found = drain(
            ["n1"],
            instance("a", "n1", "n2", forthcoming=True),
            instance("b", "n3"),
            instance("c", "n2", "n1"),
        )
        assert told(found) == [("c", "r:n4"), ("a", "f"), ("a", "r:n3")]

    def test_its_standby_alone_is_reserved_elsewhere(self):
        found = drain(["n2"], instance("a", "n1", "n2", forthcoming=True), instance("b", "n3"))
        assert told(found) == [("a", "r:n4")]

    def test_one_whose_disks_every_host_reaches_goes_to_another(self):
        assert told(drain(["n1"], instance("a", "n1", forthcoming=True), nodes=NODES[:2])) == [("a", "fa:n2")]

    def test_one_without_a_second_host_has_to_be_reserved_anew(self):
        found = drain(["n1"], instance("a", "n1", template="plain", forthcoming=True))
        assert refused(found) == {"a": "it is reserved on n1 and its disks (plain) could be nowhere else"}
        assert "gnt-instance remove a" in found.refusals[0].remedy

    def test_hosts_that_are_to_be_full_do_not_take_it(self):
        nodes = [ganeti_node("n1"), ganeti_node("n2")]
        found = drain(
            ["n1"],
            instance("a", "n1", memory=600, forthcoming=True),
            instance("b", "n2", memory=600, forthcoming=True),
            nodes=nodes,
        )
        assert "memory short" in refused(found)["a"]


class TestSoftRules:
    def test_memory_that_is_held_for_failover_is_not_taken(self):
        nodes = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3", memory=50)]
        found = drain(
            ["n1"], instance("a", "n1", memory=300), instance("b", "n3", "n2", memory=800), nodes=nodes
        )
        assert "memory held for failover on 1" in refused(found)["a"]

    def test_tags_keep_machines_apart(self):
        tagged = [instance("a", "n1", tags=("x:1",)), instance("b", "n2", tags=("x:1",))]
        found = drain(["n1"], *tagged, nodes=NODES[:2], tags=("htools:iextags:x",))
        assert refused(found) == {"a": "no other node of its group takes it (exclusion tags on 1)"}


@given(seeds, rare_kinds, views)
@settings(max_examples=50, deadline=None)
def test_steps_can_be_made_in_order_and_empty_the_hosts_of_all_that_is_not_refused(seed, kind, view):
    fleet = Fleet(random_cluster(seed, kind), view)
    drained = {0, 1} if seed % 3 == 0 else {0}
    found = drain_hosts(fleet, drained)
    state = fleet.copy()
    bad_before = {host.number for host in state.bad_hosts()}
    for step in found.steps:
        assert step.before == state.places[step.machine]
        moved = state.try_move(step.machine, step.move)
        assert not isinstance(moved, Failure)
        assert moved.place == step.place
        state.accept(step.machine, moved)
    assert (state.places, state.states) == (found.fleet.places, found.fleet.states)
    refused_names = {each.subject for each in found.refusals}
    for machine, place in zip(state.machines, state.places, strict=True):
        touched = drained & ({*place} - {NOWHERE})
        assert not touched or machine.name in refused_names
    if not any(fleet.hosts[number].offline for number in drained):
        assert {host.number for host in state.bad_hosts()} <= bad_before
