"""What is remembered of hosts that can be evacuated agrees with looking at all of them again."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_strategies import rare_kinds, seeds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import random_cluster
from ullage.engine.balance.allocation import Allocation, after, allocable, on_pair, on_single, pairs_of
from ullage.engine.balance.candidates import Balancing, movers_of, moves_of, targets_of
from ullage.engine.balance.facts import machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.global_n1 import Redundancy, evacuable, is_redundant
from ullage.engine.balance.moves import Move, Moved, Place
from ullage.engine.balance.redundancy_watch import Standing, Watch
from ullage.engine.balance.score import statistics

TIGHT = st.booleans()


@given(seeds, rare_kinds, TIGHT, st.sampled_from(("drbd", "plain")), st.integers(40, 20_000))
@settings(max_examples=40, deadline=None)
def test_a_place_keeps_a_fleet_redundant_if_all_hosts_can_be_evacuated_then(
    seed, kind, tight, template, memory
):
    fleet = Fleet(random_cluster(seed, kind._replace(is_tight=tight)))
    machine = machine_of(instance("new", memory=memory, template=template))
    known = statistics(fleet.hosts, fleet.states)
    hosts = allocable(fleet, range(kind.groups))
    if template == "drbd":
        places = [Place(at, standby) for at, standbys in pairs_of(fleet, hosts) for standby in standbys]
        tried = [on_pair(fleet, known, machine, place, force=True) for place in places]
    else:
        tried = [on_single(fleet, machine, at, force=True) for at in hosts]
    for redundancy in (Redundancy(), Redundancy(accepts_existing=True, ignored_groups=frozenset((1,)))):
        watch = Watch(fleet, redundancy)
        for each in tried:
            if isinstance(each, Allocation):
                then = after(fleet, each)
                assert watch.keeps(then, each.placed) == is_redundant(then, **redundancy._asdict())


def test_a_place_that_fills_the_standby_of_another_is_refused():
    nodes = [ganeti_node(name) for name in ("n1", "n2", "n3")]
    fleet = Fleet(ganeti_cluster(nodes, instance("a", "n1", "n2", memory=600, template="drbd")))
    watch = Watch(fleet, Redundancy())
    machine = machine_of(instance("new", memory=500, template="drbd"))
    known = statistics(fleet.hosts, fleet.states)
    for place, kept in ((Place(2, 1), True), (Place(1, 2), False)):
        found = on_pair(fleet, known, machine, place, force=True)
        assert isinstance(found, Allocation)
        assert watch.keeps(after(fleet, found), found.placed) is kept


def test_a_move_that_fills_the_standby_of_another_is_refused():
    nodes = [ganeti_node(name) for name in ("n1", "n2", "n3", "n4")]
    held = [
        instance("a", "n1", "n2", memory=600, template="drbd"),
        instance("b", "n3", "n4", memory=500, template="drbd"),
    ]
    fleet = Fleet(ganeti_cluster(nodes, *held))
    for move, kept in ((Move("r", 1), True), (Move("rf", 1), False), (Move("f"), True)):
        moved = fleet.try_move(1, move, force=True)
        assert isinstance(moved, Moved)
        then = fleet.copy()
        then.accept(1, moved)
        assert Standing(fleet).holds(then, moved.changed) is kept


@given(seeds, rare_kinds, TIGHT, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_a_move_is_allowed_if_as_many_hosts_as_at_first_can_be_evacuated(seed, kind, tight, random):
    fleet = Fleet(random_cluster(seed, kind._replace(is_tight=tight)))
    standing, least = Standing(fleet), len(evacuable(fleet))
    options = Balancing()
    for _ in range(6):
        choices = [
            (number, move)
            for number in movers_of(fleet, options)
            for move in moves_of(fleet, number, options, targets_of(fleet))
        ]
        if not choices:
            return
        number, move = random.choice(choices)
        moved = fleet.try_move(number, move, force=True)
        if isinstance(moved, Moved):
            then = fleet.copy()
            then.accept(number, moved)
            allowed = len(evacuable(then)) >= least
            assert standing.holds(then, moved.changed) is allowed
            fleet = then if allowed else fleet
