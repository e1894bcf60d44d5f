"""Scores of hosts of which a few changed equal scores taken anew, to the last bit."""

from math import inf
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from ganeti_clusters import random_cluster, random_kind
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move, Moved
from ullage.engine.balance.rescoring import Rescoring, Scoring
from ullage.engine.balance.score import score_of


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), draw=st.data())
def test_a_change_is_scored_as_if_all_were_scored_anew(seed: int, draw: st.DataObject) -> None:
    fleet = Fleet(random_cluster(seed, random_kind(seed)))
    group = draw.draw(st.sampled_from(sorted({host.group for host in fleet.hosts})))
    hosts = [host for host in fleet.hosts if host.group == group]
    rescoring = Scoring(hosts, [fleet.states[host.number] for host in hosts])
    number = draw.draw(st.sampled_from(range(len(fleet.machines))))
    kind = "r" if fleet.machines[number].has_standby else "fa"
    target = draw.draw(st.sampled_from(range(len(fleet.hosts))))
    moved = fleet.try_move(number, Move(kind, target), force=True)
    changed = moved.changed if isinstance(moved, Moved) else {}
    after = fleet.copy()
    for at, state in changed.items():
        after.states[at] = state
    assert rescoring.score(changed) == score_of(hosts, [after.states[host.number] for host in hosts])


def test_hosts_that_are_all_offline_score_nothing_whatever_changes() -> None:
    fleet = Fleet(random_cluster(249, random_kind(249)))
    hosts = [host for host in fleet.hosts if host.offline]
    states = [fleet.states[host.number] for host in hosts]
    changed = {hosts[0].number: states[-1]}
    assert Scoring(hosts, states).score(changed) == Rescoring(hosts, states).score(changed) == 0.0
    assert score_of(hosts, states) == 0.0


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), random=st.randoms(use_true_random=False))
def test_the_least_of_many_scores_is_exact_and_others_are_no_less_than_it(seed: int, random: Random) -> None:
    fleet = Fleet(random_cluster(seed, random_kind(seed)))
    rescoring = Rescoring(fleet.hosts, fleet.states)
    least = inf
    for number in random.choices(range(len(fleet.machines)), k=12):
        kind = "r" if fleet.machines[number].has_standby else "fa"
        moved = fleet.try_move(number, Move(kind, random.randrange(len(fleet.hosts))), force=True)
        if isinstance(moved, Moved):
            after = [moved.changed.get(at, state) for at, state in enumerate(fleet.states)]
            found, exact = rescoring.score(moved.changed), score_of(fleet.hosts, after)
            assert found == exact if exact <= least else least < found <= exact
            least = min(least, exact)
