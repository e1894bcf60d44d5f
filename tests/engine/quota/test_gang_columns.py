"""Columns that are kept up are the columns that would be made anew."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.quota.gang_cases import random_case, seeded
from ullage.engine.quota.gang_columns import Columns
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.victims import Nodes
from ullage.model.errors import InputError
from ullage.model.resources import Resources

COMPARED = ("free", "quota", "amounts", "takes", "node", "priority", "created", "budgets")
MADE = ("rank", "sum_to", "over", "taste", "by_node")


@given(st.integers(0, 2**32))
def test_evicting_and_placing_keeps_the_columns_as_if_made_anew(seed):
    random = seeded(seed)
    case = random_case(random)
    columns = case.columns()
    gone = random.sample(case.running, random.randint(0, len(case.running)))
    come = [
        each._replace(node=random.choice(columns.nodes), budgets=(1,) * random.randint(0, 1))
        for each in case.claim.members
    ]
    columns.evict(gone)
    columns.place(come)
    free = {name: dict(amounts) for name, amounts in case.nodes.free.items()}
    for sign, members in ((1, gone), (-1, come)):
        for member in members:
            for name, amount in member.takes.items():
                free[member.node][name] += sign * amount
    running = [each for each in case.running if each not in gone] + come
    standing = Standing(case.rules.book, running)
    anew = Columns(standing, running, Nodes(free, case.nodes.capacity))
    assert columns.members == anew.members
    assert columns.row == anew.row
    assert columns.standing.used == standing.used
    assert columns.standing.members == standing.members
    for name in (*COMPARED, *MADE):
        assert np.array_equal(getattr(columns, name), getattr(anew, name)), name


@given(st.integers(0, 2**32))
def test_the_same_members_on_other_nodes_are_as_if_made_anew(seed):
    random = seeded(seed)
    case = random_case(random)
    some = random.sample(sorted(case.nodes.free), random.randint(0, len(case.nodes.free)))
    free = {name: {**case.nodes.free[name], "cpu": random.randint(0, 9)} for name in some}
    before = case.columns()
    known = {name: getattr(before, name).copy() for name in (*COMPARED, *MADE)}
    columns = before.on(Nodes(free, case.nodes.capacity))
    anew = Columns(case.rules.standing, case.running, Nodes(free, case.nodes.capacity))
    assert (columns.nodes, columns.node_row, columns.resources) == (anew.nodes, anew.node_row, anew.resources)
    for name in (*COMPARED, *MADE):
        assert np.array_equal(getattr(columns, name), getattr(anew, name)), name
        assert np.array_equal(getattr(before, name), known[name]), name


def test_a_resource_nobody_knew_of_is_refused():
    case = random_case(seeded(1))
    member = case.claim.members[0]._replace(takes=Resources({"example.com/licence": 1}))
    with pytest.raises(InputError, match="licence"):
        case.columns().place([member])


def test_two_members_of_one_key_are_refused():
    case = random_case(seeded(1))
    with pytest.raises(InputError, match="same key"):
        Columns(case.rules.standing, [*case.running, case.running[0]], case.nodes)
