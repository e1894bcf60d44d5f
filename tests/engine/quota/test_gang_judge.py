"""The rules on columns say of every set what the plain rules say."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.quota.gang_cases import (
    comes_back,
    cost_of,
    ends_well,
    is_better_entitled,
    is_legal,
    random_case,
    seeded,
)
from ullage.engine.quota.gang_judge import Judge
from ullage.engine.quota.standing import OVER_QUOTA

SETS_MAX = 40


@given(st.integers(0, 2**32))
def test_a_set_is_legal_allowed_and_costs_as_by_the_plain_rules(seed):
    random = seeded(seed)
    case = random_case(random)
    columns = case.columns()
    judge = Judge(case.rules, case.claim, columns, case.budgets)
    may = [case.rules.may_be_taken(each, case.claim) for each in columns.members]
    assert judge.takeable.tolist() == may
    rows = np.flatnonzero(judge.takeable).tolist()
    sets = [chosen for count in range(1, len(rows) + 1) for chosen in combinations(rows, count)]
    for chosen in random.sample(sets, min(SETS_MAX, len(sets))):
        victims = [columns.members[row] for row in chosen]
        those = np.array(chosen)
        assert judge.is_legal(those) == is_legal(case, victims)
        assert judge.is_allowed(those) == ends_well(case, victims)
        assert judge.cost(those) == cost_of(case, victims)


@given(st.integers(0, 2**32))
def test_who_could_come_back_is_told(seed):
    case = random_case(seeded(seed))
    columns = case.columns()
    judge = Judge(case.rules, case.claim, columns, case.budgets)
    rows = np.flatnonzero(judge.takeable)
    victims = [columns.members[row] for row in rows]
    standing = case.rules.standing
    for victim in victims:
        standing.remove(victim)
    better = [victim.key for victim in victims if is_better_entitled(case, [victim])]
    for member in case.claim.members:
        standing.add(member)
    back = [victim.key for victim in victims if victim.key in better or comes_back(case, [victim])]
    assert [columns.members[row].key for row in judge.coming_back(rows)] == back


@given(st.integers(0, 2**32))
def test_the_columns_label_members_as_the_standing_does(seed):
    case = random_case(seeded(seed))
    columns = case.columns()
    labels = {
        key: label == OVER_QUOTA
        for quota in range(len(case.rules.book.quotas))
        for key, label in case.rules.standing.labels(quota).items()
    }
    assert columns.over.tolist() == [labels.get(each.key, False) for each in columns.members]
