"""Scores of hosts of which a few changed equal scores taken anew, to the last bit."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ganeti_clusters import random_cluster, random_kind
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move, Moved
from ullage.engine.balance.rescoring import Rescoring
from ullage.engine.balance.score import score_of


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), draw=st.data())
def test_a_change_is_scored_as_if_all_were_scored_anew(seed: int, draw: st.DataObject) -> None:
    fleet = Fleet(random_cluster(seed, random_kind(seed)))
    group = draw.draw(st.sampled_from(sorted({host.group for host in fleet.hosts})))
    hosts = [host for host in fleet.hosts if host.group == group]
    rescoring = Rescoring(hosts, [fleet.states[host.number] for host in hosts])
    number = draw.draw(st.sampled_from(range(len(fleet.machines))))
    kind = "r" if fleet.machines[number].has_standby else "fa"
    target = draw.draw(st.sampled_from(range(len(fleet.hosts))))
    moved = fleet.try_move(number, Move(kind, target), force=True)
    changed = moved.changed if isinstance(moved, Moved) else {}
    after = fleet.copy()
    for at, state in changed.items():
        after.states[at] = state
    assert rescoring.score(changed) == score_of(hosts, [after.states[host.number] for host in hosts])
