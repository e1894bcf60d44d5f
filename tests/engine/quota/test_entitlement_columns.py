"""The columns give what the plain form gives, whatever the tree and however large the amounts."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from msgspec.structs import replace

from builders import quota
from quota_trees import HUGE, SMALL, Situation, situations
from ullage.engine.quota.entitlement_columns import EntitlementColumns
from ullage.engine.quota.entitlement_plain import plain_shares
from ullage.engine.quota.quota_tree import QuotaTree
from ullage.model.cluster import Quota
from ullage.model.resources import Resources

FEW = Resources({"cpu": 50})
MOST = Resources({"cpu": HUGE})


def flat(
    minimum: Resources, asked: Resources, capacity: Resources, weight: Fraction | None = None
) -> Situation:
    """Four quotas with almost the same min and the same demand; the first two may have a weight."""
    quotas = [
        Quota(name, min=(minimum - Resources({"cpu": 3 * place})).at_least_zero())
        for place, name in enumerate("abcd")
    ]
    quotas[:2] = [replace(each, weight=weight) for each in quotas[:2]]
    return Situation(tuple(quotas), dict.fromkeys("abcd", asked), capacity)


def both(situation: Situation) -> tuple[list[list[int]], list[list[int]]]:
    quotas, demand, capacity = situation
    tree = QuotaTree(quotas)
    asked = np.zeros((len(tree.resources), len(tree)), np.int64)
    for name, row in tree.rows.items():
        asked[:, tree.own_rows.get(name, row)] = [demand[name].of(each) for each in tree.resources]
    room = np.array([capacity.of(name) for name in tree.resources], np.int64)
    plain = [plain_shares(tree, place, asked[place].tolist(), int(each)) for place, each in enumerate(room)]
    return EntitlementColumns(tree).shares(asked, room).tolist(), plain


@given(situations(SMALL, 10**6, 1 << 40, HUGE))
def test_both_forms_give_the_same_shares(situation):
    by_columns, plain = both(situation)
    assert by_columns == plain


@pytest.mark.parametrize(
    "situation",
    [
        pytest.param(flat(FEW, MOST, MOST), id="demand and capacity"),
        pytest.param(flat(FEW, MOST, FEW), id="demand"),
        pytest.param(flat(FEW, FEW, MOST), id="capacity"),
        pytest.param(flat(MOST, FEW, FEW), id="guarantees"),
        pytest.param(flat(MOST, MOST, MOST), id="all amounts"),
        pytest.param(flat(FEW, MOST, MOST, Fraction(1, (1 << 61) - 1)), id="weights as integers"),
        pytest.param(
            flat(Resources({"cpu": 0}), FEW, Resources({"cpu": 99}), Fraction(1, 1 << 70)),
            id="weights as integers, without guarantees",
        ),
        pytest.param(
            flat(FEW, Resources({"cpu": 99}), Resources({"cpu": 300}), Fraction(HUGE)), id="weights"
        ),
    ],
)
def test_what_does_not_fit_64_bits_in_sum_is_exact_all_the_same(situation):
    by_columns, plain = both(situation)
    assert by_columns == plain
    assert sum(plain[0]) == min(situation.capacity["cpu"], 4 * situation.demand["a"]["cpu"])


@pytest.mark.parametrize("capacity", [0, 1, 7, 100, 5000, 60_000])
def test_a_wide_tree_has_the_same_shares_in_both_forms(capacity):
    quotas = [quota(f"p{index}", {"cpu": "3", "memory": "40"}) for index in range(4)]
    quotas += [
        quota(f"c{index:02}", {"cpu": f"{index * 37 % 11}00m", "memory": str(index)}, parent=f"p{index % 4}")
        for index in range(60)
    ]
    demand = {each.name: Resources({"cpu": 700 + place, "memory": 5}) for place, each in enumerate(quotas)}
    by_columns, plain = both(
        Situation(tuple(quotas), demand, Resources({"cpu": capacity, "memory": capacity}))
    )
    assert by_columns == plain
    assert sum(map(sum, plain)) > 0 or not capacity
