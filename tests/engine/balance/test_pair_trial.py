"""Pairs of hosts for a new machine: scores and failures are those of trying each pair by itself."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_strategies import rare_kinds, seeds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import random_cluster
from ullage.engine.balance.allocation import Allocation, on_pair, pairs_of
from ullage.engine.balance.facts import View, machine_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Place
from ullage.engine.balance.pair_trial import PairTrial, corrected
from ullage.engine.balance.score import statistics
from ullage.engine.balance.state import Failure

VIEWS = st.sampled_from((View(), View(exact=True)))


@given(seeds, rare_kinds, VIEWS, st.booleans(), st.integers(40, 20_000))
@settings(max_examples=40, deadline=None)
def test_every_pair_is_judged_as_if_it_were_tried_alone(seed, kind, view, force, memory):
    fleet = Fleet(random_cluster(seed, kind), view)
    tags = ("service:0",) if seed % 2 else ()
    machine = machine_of(instance("new", memory=memory, template="drbd", tags=tags), exclusion=["service"])
    known = statistics(fleet.hosts, fleet.states)
    trial = PairTrial(fleet, known, machine, force=force)
    for at, standbys in pairs_of(fleet, fleet.scope):
        alone = [(on_pair(fleet, known, machine, Place(at, each), force=force), each) for each in standbys]
        found, failures = trial.scores(at, standbys)
        assert found == [(each.score, standby) for each, standby in alone if isinstance(each, Allocation)]
        assert failures == Counter(each.kind for each, _ in alone if isinstance(each, Failure))


def test_a_standby_counts_what_it_keeps_for_each_primary_already():
    nodes = [ganeti_node(name) for name in ("n1", "n2", "n3")]
    fleet = Fleet(ganeti_cluster(nodes, instance("a", "n1", "n3", memory=400, template="drbd")))
    machine = machine_of(instance("new", memory=200, template="drbd"))
    known = statistics(fleet.hosts, fleet.states)
    trial = PairTrial(fleet, known, machine, force=False)
    for at in (0, 1):
        alone = on_pair(fleet, known, machine, Place(at, 2))
        assert isinstance(alone, Allocation)
        assert trial.scores(at, [2])[0] == [(alone.score, 2)]


@given(seeds, rare_kinds)
@settings(max_examples=20, deadline=None)
def test_a_term_that_a_host_does_not_change_stays_as_it_is(seed, kind):
    fleet = Fleet(random_cluster(seed, kind))
    known = statistics(fleet.hosts, fleet.states)
    assert corrected(known, fleet.hosts[0], fleet.states[0], fleet.states[0]) == known
