"""One family: guarantees first, the surplus by weight, and what lending limits hold back."""

import pytest

from ullage.engine.quota.entitlement_plain import family_shares


def shares(capacity, *members):
    """Each member is (min, demand), (min, demand, weight) or (min, demand, weight, lending limit)."""
    rows = [(*member, *(None, None)[len(member) - 2 :]) for member in members]
    minimums, demands, weights, lending = map(list, zip(*rows, strict=True))
    stated = [
        minimum if weight is None else weight for minimum, weight in zip(minimums, weights, strict=True)
    ]
    return family_shares(capacity, minimums, demands, stated, lending)


@pytest.mark.parametrize(
    ("capacity", "members", "expected"),
    [
        pytest.param(80, [(40, 50), (10, 40), (30, 0)], [50, 30, 0], id="the seed's example"),
        pytest.param(20, [(30, 30), (10, 10)], [15, 5], id="short of the guarantees: by min"),
        pytest.param(20, [(30, 6), (10, 10), (10, 10)], [6, 7, 7], id="short: nobody above min(min, demand)"),
        pytest.param(20, [(30, 30, 1), (10, 10, 99)], [15, 5], id="short: weights do not count"),
        pytest.param(30, [(10, 90, 1), (10, 90, 4)], [12, 18], id="the surplus goes by stated weight"),
        pytest.param(30, [(10, 90), (0, 90)], [30, 0], id="without a min there is no weight"),
        pytest.param(30, [(10, 15), (0, 90)], [15, 15], id="weight 0 has what the others leave"),
        pytest.param(99, [(10, 15), (0, 20)], [15, 20], id="nobody has more than it asks for"),
        pytest.param(0, [(10, 15), (5, 20)], [0, 0], id="no capacity"),
    ],
)
def test_guarantees_come_first_and_the_surplus_goes_by_weight(capacity, members, expected):
    assert shares(capacity, *members) == expected


@pytest.mark.parametrize(
    ("capacity", "lender", "expected"),
    [
        pytest.param(30, (20, 5, 1, 0), [5, 10], id="all that is unused is held back"),
        pytest.param(30, (20, 5, 1, 4), [5, 14], id="up to the limit it is lent"),
        pytest.param(30, (20, 5, 1, 15), [5, 25], id="a limit that is not reached holds nothing back"),
        pytest.param(30, (20, 5, 1, None), [5, 25], id="without a limit all is lent"),
        pytest.param(30, (20, 20, 1, 0), [20, 10], id="what is used is not held back"),
        pytest.param(18, (20, 5, 1, 0), [5, 10], id="short of the mins: held back from the surplus alone"),
        pytest.param(12, (20, 5, 1, 0), [4, 8], id="short of the guarantees asked for: nothing is held back"),
    ],
)
def test_a_lending_limit_holds_back_what_is_lent_and_never_what_is_guaranteed(capacity, lender, expected):
    borrower = (10, 90) if capacity > 12 else (40, 8)
    assert shares(capacity, lender, borrower) == expected
