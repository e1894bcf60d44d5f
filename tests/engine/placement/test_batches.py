"""Many replicas at once go where they would go one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import cluster, node, policy, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.batches import place_replicas, slots_of
from ullage.engine.trial import Trial
from ullage.model.constraints import Constraints, HostPort

sizes = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)), min_size=1, max_size=8)


def one_by_one(trial: Trial, shape, replicas: int) -> dict[int, int]:
    counts: dict[int, int] = {}
    for _ in range(replicas):
        row = trial.pick(shape)
        if row < 0:
            break
        trial.place(shape, row)
        counts[row] = counts.get(row, 0) + 1
    return counts


@given(
    sizes,
    st.tuples(st.integers(0, 5), st.integers(0, 5)),
    st.integers(0, 60),
    st.sampled_from(["spread", "pack", "balanced"]),
    st.tuples(st.booleans(), st.booleans()),
)
def test_at_once_is_as_one_by_one(machines, asked, replicas, placement, rules):
    below, actual = rules
    parts = []
    for number, (memory, cpu) in enumerate(machines):
        built = node(f"n{number}", memory=str(memory), cpu=f"{cpu}m")
        used = built.record.capacity * 0 if number % 2 else built.record.capacity
        parts.append(built.with_(actual=used) if actual else built)
    settings = {"fill": "below" if below else "exact", "committed": "actual" if actual else "promised"}
    columns = Columns(cluster(*parts, policy=policy(**settings)))
    workload = waiting("w", memory=str(asked[0]), cpu=f"{asked[1]}m")
    trial, other = Trial(columns, placement), Trial(columns, placement)
    counts = place_replicas(trial, trial.shape_of(workload), replicas)
    assert counts == one_by_one(other, other.shape_of(workload), replicas)
    assert (trial.room.free == other.room.free).all()


@pytest.mark.parametrize("placement", ["spread", "pack"])
def test_a_port_lets_one_replica_onto_a_node(placement):
    trial = Trial(Columns(cluster(node("a", memory="9"), node("b", memory="5"))), placement)
    shape = trial.shape_of(waiting("w", memory="1", constraints=Constraints(host_ports=(HostPort(80),))))
    assert place_replicas(trial, shape, 5) == {0: 1, 1: 1}


def test_slots_are_what_room_allows():
    trial = Trial(Columns(cluster(node("a", memory="9", cpu="2"), node("b", memory="5", cpu="9"))))
    shape = trial.shape_of(waiting("w", memory="2", cpu="1"))
    assert slots_of(trial, shape, trial.scores(shape).nonzero()[0]).tolist() == [2, 2]
