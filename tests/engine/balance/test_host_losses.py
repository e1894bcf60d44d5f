"""Losing hosts: where machines start again follows from their disks, and nothing else starts them."""

from fractions import Fraction

import pytest
from hypothesis import given, settings

from fleet_strategies import rare_kinds, seeds, views
from ganeti_builders import SMALL, ganeti_cluster, ganeti_group, ganeti_node, instance
from ganeti_clusters import random_cluster
from ullage.engine.balance import host_losses
from ullage.engine.balance.evacuation_trial import leaving
from ullage.engine.balance.facts import View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import evacuable
from ullage.engine.balance.host_losses import HostLosses
from ullage.model.errors import InputError

EXACT = View(exact=True)
NODES = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3")]


def lose(names, *instances, nodes=NODES, view=EXACT, **fields):
    fleet = Fleet(ganeti_cluster(nodes, *instances, **fields), view)
    return HostLosses(fleet).of(names)


def places(report):
    """Where each machine of a lost host is then; nothing for one that nobody can start."""
    return {each.workload: each.to_node for each in report.moves} | {
        each.workload: "" for each in report.losers
    }


def reason(report):
    (loser,) = report.losers
    return loser.reason


class TestTemplates:
    def test_a_mirrored_machine_starts_on_its_standby_only(self):
        found = lose(["n1"], instance("a", "n1", "n2", memory=600), instance("b", "n2", memory=300))
        assert places(found) == {"a": "n2"}
        assert (found.moves[0].from_node, found.certificate) == ("n1", "greedy")

    def test_room_on_other_hosts_does_not_help_a_mirrored_machine(self):
        found = lose(["n1"], instance("a", "n1", "n2", memory=600), instance("b", "n2", memory=600))
        assert places(found) == {"a": ""}
        assert reason(found) == (
            "it can start on its standby n2 alone: memory short by 200Mi (needs 600Mi, free 400Mi)"
        )
        assert (found.losers[0].node, found.certificate) == ("n1", "impossible")
        assert found.losers[0].remedy == (
            "free room on n2, give it another standby (ullage balance proposes moves), or raise memory-ratio"
        )

    @pytest.mark.parametrize("template", ["ext", "rbd", "sharedfile", "gluster", "blockdev", "diskless"])
    def test_a_machine_whose_disks_all_hosts_reach_starts_where_there_is_room(self, template):
        found = lose(
            ["n1"], instance("a", "n1", memory=600, template=template), instance("b", "n2", memory=600)
        )
        assert places(found) == {"a": "n3"}

    @pytest.mark.parametrize("template", ["plain", "file"])
    def test_disks_of_a_lost_host_alone_are_lost_with_it(self, template):
        found = lose(["n1"], instance("a", "n1", memory=1, template=template))
        assert reason(found) == f"its disks ({template}) are on n1 alone, and lost with it"
        assert found.losers[0].remedy.startswith("restore it from a backup")
        assert found.certificate == "impossible"

    def test_a_mirrored_machine_without_its_standby_is_lost(self):
        found = lose(["n1"], instance("a", "n1", template="drbd"))
        assert reason(found) == "it has no standby, and its disks are lost"

    def test_a_machine_that_is_still_to_come_is_not_lost(self):
        found = lose(["n1"], instance("a", "n1", "n2", forthcoming=True))
        assert (places(found), found.displaced) == ({}, 0)

    def test_what_loses_only_its_standby_goes_on(self):
        assert places(lose(["n2"], instance("a", "n1", "n2"))) == {}


class TestRooms:
    @pytest.mark.parametrize(
        ("view", "memory", "starts"),
        [
            (EXACT, 400, True),
            (EXACT, 401, False),
            (View(), 399, True),
            (View(), 400, False),
            (View(exact=True, memory_ratio=Fraction(3, 2)), 900, True),
            (View(exact=True, memory_ratio=Fraction(3, 2)), 901, False),
        ],
    )
    def test_memory_is_filled_as_the_profile_and_the_ratio_say(self, view, memory, starts):
        found = lose(
            ["n1"], instance("a", "n1", "n2", memory=memory), instance("b", "n2", memory=600), view=view
        )
        assert places(found) == {"a": "n2" if starts else ""}

    def test_memory_that_may_not_be_filled_is_short_by_one_byte_more(self):
        found = lose(["n1"], instance("a", "n1", "n2"), instance("b", "n2", memory=900), view=View())
        assert (
            reason(found)
            == "it can start on its standby n2 alone: memory short by 1 (needs 100Mi, free 100Mi)"
        )

    def test_memory_held_for_a_host_that_did_not_fail_may_be_used(self):
        found = lose(["n1"], instance("a", "n1", "n2", memory=600), instance("b", "n3", "n2", memory=900))
        assert places(found) == {"a": "n2"}

    def test_machines_with_one_place_come_before_those_with_many(self):
        found = lose(
            ["n1"],
            instance("a", "n1", memory=600),
            instance("b", "n1", "n2", memory=600),
            instance("c", "n3", memory=300),
        )
        assert places(found) == {"b": "n2", "a": "n3"}
        assert [each.workload for each in found.moves] == ["b", "a"]

    def test_others_start_where_one_finds_no_place(self):
        found = lose(
            ["n1"],
            instance("a", "n1", memory=900),
            instance("b", "n1", memory=100),
            instance("c", "n2", memory=500),
            instance("d", "n3", memory=500),
        )
        assert places(found)["a"] == ""
        assert places(found)["b"] in {"n2", "n3"}
        assert "memory short on 2); nearest: node n" in found.losers[0].reason
        assert found.certificate == "unknown"

    def test_a_machine_starts_in_its_own_group(self):
        nodes = [ganeti_node("n1"), ganeti_node("n2", memory=50), ganeti_node("m1", "h")]
        found = lose(["n1"], instance("a", "n1"), nodes=nodes)
        assert reason(found) == (
            "no other node of its group takes it (memory short on 1); nearest: node n2, memory short by 50Mi"
        )

    def test_hosts_that_are_offline_take_nothing(self):
        nodes = [ganeti_node("n1"), ganeti_node("n2", offline=True)]
        found = lose(["n1"], instance("a", "n1", "n2"), instance("b", "n1"), nodes=nodes)
        assert [each.reason for each in found.losers] == [
            "its standby n2 is offline", "no other node of its group is online",
        ]  # fmt: skip


class TestSeveral:
    def test_a_machine_is_lost_with_both_its_hosts(self):
        found = lose(["n2", "n1"], instance("a", "n1", "n2"), instance("b", "n2", "n3"))
        assert found.nodes == ("n1", "n2")
        assert places(found) == {"a": "", "b": "n3"}
        assert reason(found) == "both its nodes, n1 and n2, are lost"

    def test_all_that_fails_over_to_one_host_counts_there(self):
        one = [instance("a", "n1", "n3", memory=600), instance("b", "n2", "n3", memory=500)]
        assert places(lose(["n1"], *one)) == {"a": "n3"}
        assert places(lose(["n1", "n2"], *one)) == {"a": "n3", "b": ""}

    def test_no_machine_starts_on_another_lost_host(self):
        assert places(lose(["n1", "n2"], instance("a", "n1"), instance("b", "n2"))) == {"a": "n3", "b": "n3"}

    def test_an_unknown_host_is_refused(self):
        with pytest.raises(InputError, match="node zz is unknown"):
            lose(["zz", "n1"])


class TestEvery:
    CLUSTER = ganeti_cluster(
        NODES, instance("a", "n1", "n2"), instance("b", "n1", "n2"), instance("c", "n3", template="plain")
    )

    def test_every_loss_is_counted_and_the_worst_come_first(self):
        survey = HostLosses(Fleet(self.CLUSTER, EXACT)).every(2)
        assert survey[:6] == (2, 3, 3, 3, 3, 3)
        assert [(each.nodes, len(each.losers)) for each in survey.worst] == [
            (("n1", "n2"), 2), (("n1", "n3"), 1), (("n2", "n3"), 1),
        ]  # fmt: skip

    def test_losses_of_one_host(self):
        survey = HostLosses(Fleet(self.CLUSTER, EXACT)).every(1)
        assert survey[:6] == (1, 3, 3, 3, 1, 1)
        assert [each.nodes for each in survey.worst] == [("n3",)]

    def test_of_named_hosts_alone_and_no_more_than_there_are(self):
        survey = HostLosses(Fleet(self.CLUSTER, EXACT)).every(3, ["n1", "n2"])
        assert survey[:4] == (2, 1, 1, 1)

    def test_where_there_are_too_many_the_fullest_are_tried(self, monkeypatch):
        monkeypatch.setattr(host_losses, "TRIES_MAX", 2)
        survey = HostLosses(Fleet(self.CLUSTER, EXACT)).every(2)
        assert (survey.kinds, survey.tried, survey.untried) == (3, 1, 2)
        assert [each.nodes for each in survey.worst] == [("n1", "n3")]
        monkeypatch.setattr(host_losses, "TRIES_MAX", 0)
        assert HostLosses(Fleet(self.CLUSTER, EXACT)).every(1).untried == 0

    def test_machines_that_may_go_anywhere_count_as_often_as_there_are_hosts(self, monkeypatch):
        monkeypatch.setattr(host_losses, "TRIES_MAX", 3)
        shared = ganeti_cluster(NODES, instance("a", "n1"), instance("b", "n2", "n3"))
        assert HostLosses(Fleet(shared, EXACT)).every(2).tried == 1


@given(seeds, rare_kinds, views)
@settings(max_examples=60, deadline=None)
def test_a_loss_leaves_nobody_out_exactly_where_the_host_can_be_evacuated(seed, kind, view):
    fleet = Fleet(random_cluster(seed, kind), view)
    possible = set(evacuable(fleet))
    for host in fleet.hosts:
        if not leaving(fleet, host.number).anew:
            report = HostLosses(fleet).of([host.name])
            assert (not report.losers) == (host.number in possible), host.name


@given(seeds, rare_kinds, views)
@settings(max_examples=25, deadline=None)
def test_a_survey_says_what_each_loss_says(seed, kind, view):
    fleet = Fleet(random_cluster(seed, kind), view)
    losses = HostLosses(fleet)
    alone = {host.name: len(losses.of([host.name]).losers) for host in fleet.hosts}
    assert losses.every(1).failing == sum(bool(count) for count in alone.values())
    both = losses.every(2)
    assert both.tried == both.kinds
    assert all(each == losses.of(each.nodes) for each in both.worst)


def test_a_policy_of_a_group_is_that_of_its_hosts():
    strict = ganeti_group("g", policy=SMALL)
    assert places(lose(["n1"], instance("a", "n1", "n2", memory=1000), groups=[strict])) == {"a": "n2"}
