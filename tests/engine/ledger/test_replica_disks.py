"""The disks of a plan go to the reservations that they are for, those of StatefulSets by number."""

import pytest

from builders import pod, volume, waiting
from ullage.engine.ledger.matching import Promise
from ullage.engine.ledger.replica_disks import Numbers, ReplicaDisks
from ullage.engine.placement.outcome import Outcome, Replanned, Served
from ullage.model.resources import NOTHING


def served(name, node="n"):
    return Served(name, node, "d", "HDDLVG", 1, fresh=False)


def promise(number, node="n", kind="StatefulSet"):
    return Promise(
        f"{kind}/shop/s/{number}",
        "shop/s",
        node,
        NOTHING,
        kind,
        number,
        bound=False,
        paused=False,
        created_seconds=None,
    )


def disks(*new, kind="StatefulSet", replanned=(), nodes=(("n", 3),)):
    asked = waiting("shop/s", kind=kind, owner=f"{kind}/s", volumes=(volume("data", "1Gi", claim="data-s"),))
    all_of_them = (*(each for group in replanned for each in group.disks), *new)
    outcome = Outcome("shop/s", kind, 3, 3, "ok", nodes, disks=all_of_them, replanned=tuple(replanned))
    return ReplicaDisks(outcome, asked)


def told(found):
    return [(node, number, [each.volume for each in of]) for node, number, of in found]


def test_numbers_are_the_least_that_are_free():
    numbers = Numbers([2, 3])
    assert [numbers.next(), numbers.next(), numbers.take(9), numbers.take(9), numbers.take(0)] == [
        1,
        4,
        9,
        5,
        6,
    ]


def test_new_replicas_have_claims_by_their_numbers():
    found = disks(served("data-s"), served("data-s")).of_others(["n", "n"], (), Numbers([1]))
    assert told(found) == [("n", 2, ["data-s-1"]), ("n", 3, ["data-s-2"])]


def test_replicas_of_other_sets_have_the_names_that_were_planned():
    found = disks(served("s-scratch"), kind="Deployment").of_others(["n"], (), Numbers([]))
    assert told(found) == [("n", 1, ["s-scratch"])]


def test_one_that_runs_has_the_number_of_its_name_and_what_it_grows_by():
    grown = Replanned("", "n", (served("data-s-4"),))
    of = disks(served("data-s"), replanned=[grown])
    found = of.of_others(["n", "n"], [pod("shop/s-4", node="n")], Numbers([]))
    assert told(found) == [("n", 5, ["data-s-4"]), ("n", 1, ["data-s-0"])]


def test_one_that_has_left_its_node_gives_its_number_to_who_comes():
    found = disks(served("data-s", "m"), nodes=(("m", 1),)).of_others(
        ["m"], [pod("shop/s-0", node="n")], Numbers([])
    )
    assert told(found) == [("m", 1, ["data-s-0"])]


@pytest.mark.parametrize("kind", ["StatefulSet", "Pod"])
def test_a_promise_has_the_disks_that_were_planned_in_place_of_its_own(kind):
    other = Replanned(f"{kind}/shop/s/2", "n", (served("data-s-1"),))
    of = disks(replanned=[other], kind=kind)
    found = of.of_promises([promise(1, kind=kind), promise(2, kind=kind)], lambda _: True)
    assert [each for _, each in found] == [None, other.disks]


def test_a_promise_without_disks_has_those_of_its_number():
    first, second = (Replanned("", "n", (served(f"data-s-{number}"),)) for number in (0, 1))
    found = disks(replanned=[first, second]).of_promises([promise(2), promise(1)], lambda _: False)
    assert [each for _, each in found] == [second.disks, first.disks]


def test_a_promise_that_has_its_disks_needs_no_others():
    other = Replanned("", "n", (served("data-s-1"),))
    found = disks(replanned=[other]).of_promises([promise(1), promise(2)], lambda name: name.endswith("1"))
    assert [each for _, each in found] == [None, other.disks]
