"""The search for large clusters, on cases small enough to judge: legal, enough, and nobody beyond need."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.quota.gang_cases import (
    Case,
    best_by_force,
    ends_well,
    is_legal,
    packings,
    random_case,
    seeded,
    wide_case,
)
from ullage.engine.quota.gang_bounds import victims_min
from ullage.engine.quota.gang_judge import Judge
from ullage.engine.quota.gang_packing import gang_of, slots
from ullage.engine.quota.gang_search import Outcome, search


def searched(case: Case) -> tuple[Judge, Outcome, int | None]:
    columns = case.columns()
    judge = Judge(case.rules, case.claim, columns, case.budgets)
    gang = gang_of(case.claim.members, columns, case.mask())
    least = victims_min(judge, gang, judge.takeable, columns.free[:, gang.resources])
    return judge, search(judge, gang, judge.takeable), least


@given(st.integers(0, 2**32))
def test_what_is_found_is_legal_and_enough_and_no_better_than_the_best(seed):
    case = random_case(seeded(seed))
    judge, outcome, least = searched(case)
    best = best_by_force(case)
    if best is not None:
        assert least is not None
        assert least <= best.cost.victims
    if outcome.chosen is None:
        return
    columns = judge.columns
    victims = [columns.members[row] for row in outcome.chosen.rows]
    assert best is not None
    assert judge.cost(outcome.chosen.rows) >= best.cost
    assert is_legal(case, victims)
    assert ends_well(case, victims)
    assert tuple(columns.nodes[row] for row in outcome.chosen.nodes) in set(packings(case, victims))


@pytest.mark.parametrize("kind", ["ElasticQuota", "Quota"])
@given(seed=st.integers(0, 2**32))
def test_of_one_size_nobody_is_evicted_beyond_need(kind, seed):
    case = wide_case(seeded(seed), kind, sizes=1)
    judge, outcome, least = searched(case)
    if least is None:
        assert outcome.chosen is None
        return
    assert outcome.chosen is not None
    columns = judge.columns
    rows = outcome.chosen.rows
    gang = gang_of(case.claim.members, columns, None)
    for left_out in [None, *rows.tolist()]:
        kept = rows[rows != left_out]
        free = columns.free[:, gang.resources].copy()
        np.add.at(free, columns.node[kept], columns.takes[np.ix_(kept, gang.resources)])
        fits = int(slots(free, gang.sizes[0], len(gang.members)).sum()) >= len(gang.members)
        enough = fits and judge.is_allowed(kept)
        assert enough == (left_out is None)
    assert least <= len(rows)
    assert is_legal(case, [columns.members[row] for row in rows])


@pytest.mark.parametrize("kind", ["ElasticQuota", "Quota"])
@given(seed=st.integers(0, 2**32))
def test_of_mixed_sizes_the_gang_fits_and_nobody_stays_for_nothing(kind, seed):
    case = wide_case(seeded(seed), kind, sizes=3)
    judge, outcome, least = searched(case)
    if outcome.chosen is None:
        return
    columns = judge.columns
    rows, nodes = outcome.chosen
    gang = gang_of(case.claim.members, columns, None)
    free = columns.free[:, gang.resources].copy()
    np.add.at(free, columns.node[rows], columns.takes[np.ix_(rows, gang.resources)])
    np.subtract.at(free, nodes, gang.sizes[list(gang.class_of)])
    assert (free[np.unique(nodes)] >= 0).all()
    assert is_legal(case, [columns.members[row] for row in rows])
    assert judge.is_allowed(rows)
    assert least <= len(rows)
    for row in rows.tolist():
        node = columns.node[row]
        stays = node not in nodes or (free[node] >= columns.takes[row, gang.resources]).all()
        assert not (stays and judge.is_allowed(rows[rows != row]))


@pytest.mark.parametrize(
    ("kind", "seed", "victims"), [("Quota", 70, 2), ("ElasticQuota", 191, 3), ("Quota", 389, 6)]
)
def test_a_victim_stays_where_members_of_the_gang_can_go_elsewhere(kind, seed, victims):
    _, outcome, least = searched(wide_case(seeded(seed), kind, sizes=3))
    assert len(outcome.chosen.rows) == victims
    assert least <= victims
