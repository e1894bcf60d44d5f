"""Columns agree with the arithmetic of one node, and deltas with rebuilding, whatever the cluster."""

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.same_columns import assert_same, numbers
from properties.small_clusters import MOSTLY_SMALL, SMALL, clusters, deltas
from ullage.engine.capacity.bounds import committed_of, figures_of, free_of
from ullage.engine.columns import Columns
from ullage.model.cluster import Snapshot
from ullage.model.delta import apply
from ullage.model.errors import InputError
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import NOTHING
from ullage.model.settings import rules_for
from ullage.model.table import Table

sizes = st.one_of(st.integers(0, 9), st.integers(0, INT64_MAX))


@given(st.lists(st.tuples(sizes, sizes, sizes, sizes, sizes), min_size=1, max_size=6), st.booleans())
def test_one_node_and_many_are_judged_by_the_same_lines(rows, counts_actual):
    columns = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    promised, actual, reserve, limit, standby = columns
    committed = committed_of(promised, actual, reserve, counts_actual=counts_actual)
    one_by_one = [committed_of(row[0], row[1], row[2], counts_actual=counts_actual) for row in rows]
    assert committed.tolist() == one_by_one
    assert free_of(limit, committed, standby).tolist() == [
        free_of(row[3], taken, row[4]) for row, taken in zip(rows, one_by_one, strict=True)
    ]


def promised_on(snapshot: Snapshot, name: str):
    held = (each.requests for each in snapshot.workloads if each.holds_capacity and each.node == name)
    return sum(held, NOTHING)


@given(clusters())
def test_columns_say_of_every_node_what_it_says_alone(snapshot):
    columns = Columns(snapshot)
    committed, free = columns.committed, columns.free
    for row, node in enumerate(columns.nodes):
        rules = rules_for(snapshot.policy, snapshot.resource_types, node.group, node.name)
        alone = figures_of(node, rules, promised_on(snapshot, node.name))
        assert columns.figures(row) == alone
        for resource, column in columns.resource_index.items():
            figures = alone.get(resource)
            if figures is None:
                assert columns.capacity[row, column] == columns.limit[row, column] == 0
                continue
            assert columns.capacity[row, column] == figures.bounds.capacity
            assert columns.reserve[row, column] == figures.bounds.reserve
            assert columns.allocatable[row, column] == figures.bounds.allocatable
            assert columns.promised[row, column] == figures.promised
            assert columns.actual[row, column] == (figures.actual or 0)
            assert committed[row, column] == figures.committed
            assert columns.bounded[row, column] == (figures.free is not None)
            assert free[row, column] == (figures.free or 0)


def rebuilt(snapshot: Snapshot) -> Columns | None:
    try:
        return Columns(snapshot)
    except InputError:
        return None


@given(st.data(), st.sampled_from((SMALL, MOSTLY_SMALL)))
def test_advancing_by_deltas_is_rebuilding_from_the_snapshot_after(data, amounts):
    columns = rebuilt(data.draw(clusters(amounts)))
    if columns is None:
        return
    for _ in range(2):
        delta = data.draw(deltas(amounts))
        before = numbers(columns.copy())
        expected = rebuilt(apply(columns.snapshot, delta))
        if expected is None:
            try:
                columns.advance(delta)
            except InputError:
                assert numbers(columns) == before
                continue
            raise AssertionError("rebuilding is refused, advancing is not")
        kept = columns.copy()
        columns = columns.advance(delta)
        assert columns.snapshot.revision == kept.snapshot.revision + 1
        assert_same(columns, expected)
        assert numbers(kept) == before


@given(clusters(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(snapshot, random):
    rows = list(snapshot.nodes)
    held = list(snapshot.workloads)
    random.shuffle(rows)
    random.shuffle(held)
    shuffled = msgspec.structs.replace(snapshot, nodes=Table(rows), workloads=Table(held))
    assert_same(Columns(shuffled), Columns(snapshot))
