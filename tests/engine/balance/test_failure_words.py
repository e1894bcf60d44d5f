"""Why hosts do not take a machine, in words."""

import pytest

from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.facts import View
from ullage.engine.balance.failure_words import WORDS, kept_off, lacks
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move
from ullage.engine.balance.state import Failure
from ullage.model.ganeti import MIB


def fleet(*instances, exact=True, tags=()):
    nodes = [ganeti_node("n1"), ganeti_node("n2"), ganeti_node("n3", memory=500)]
    return Fleet(ganeti_cluster(nodes, *instances, tags=tags), View(exact=exact))


@pytest.mark.parametrize(
    ("failure", "exact", "expected"),
    [
        (Failure("FailMem", "memory", 3 * MIB), True, "memory short by 3Mi"),
        (Failure("FailMem", "memory", 0), False, "memory short by 1"),
        (Failure("FailDisk", "disk", 5 * MIB), True, "disk short by 5Mi"),
        (Failure("FailMem", "standby", 2 * MIB), True, "memory held for failover, short by 2Mi"),
        (Failure("FailCPU", "cpu", 2000), True, "cpu short"),
        (Failure("FailSpindles", "spindles", 2), True, "spindles short"),
        (Failure("FailTags", "tags"), True, "exclusion tags"),
        (Failure("FailDisk", "template"), True, "disk template"),
        (Failure("FailMig"), True, "migration tags"),
    ],
)
def test_what_one_host_lacks(failure, exact, expected):
    assert lacks(fleet(exact=exact).hosts[0], failure) == expected


def test_what_keeps_it_off_is_counted_and_the_nearest_named():
    found = fleet(instance("a", "n1", memory=700), instance("b", "n2", memory=600))
    moves = [Move("fa", 1), Move("fa", 2)]
    assert kept_off(found, 0, moves, force=True) == (
        "no other node of its group takes it (memory short on 2); nearest: node n3, memory short by 200Mi"
    )


def test_the_first_of_equals_is_the_nearest():
    found = fleet(instance("a", "n1", memory=700), instance("b", "n2", memory=500))
    assert kept_off(found, 0, [Move("fa", 2), Move("fa", 1)], force=True).endswith(
        "node n2, memory short by 200Mi"
    )


def test_soft_rules_keep_off_unless_they_are_ignored():
    found = fleet(
        instance("a", "n1", memory=300, tags=("x:1",)),
        instance("b", "n2", memory=10, tags=("x:1",)),
        instance("c", "n1", "n3", memory=400),
        tags=("htools:iextags:x",),
    )
    moves = [Move("fa", 1), Move("fa", 2)]
    assert kept_off(found, 0, moves, force=False) == (
        "no other node of its group takes it (exclusion tags on 1, memory held for failover on 1)"
    )


def test_where_there_is_no_other_node():
    assert kept_off(fleet(instance("a", "n1")), 0, [], force=False) == "no other node of its group is online"


def test_all_words_differ():
    assert len(set(WORDS.values())) == len(WORDS)
