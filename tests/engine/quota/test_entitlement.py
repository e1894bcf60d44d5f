"""Fair shares of a tree of quotas: the rules in small cases, and what holds for all of them."""

from fractions import Fraction
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders import quota
from quota_trees import NAMES, SMALL, Situation, amounts, families, judged, situations
from ullage.engine.quota.entitlement import CELLS_MIN, FairTable, fair_shares
from ullage.engine.quota.entitlement_columns import EntitlementColumns
from ullage.model.cluster import Quota
from ullage.model.resources import NOTHING, Resources

LARGE = 1 << 45
ANY = situations(SMALL, LARGE)
RANDOM = st.integers(0, 1 << 32).map(Random)


def pods(amount: int) -> Resources:
    return Resources({"pods": amount})


def member(name: str, guaranteed: int, parent: str = "", **fields) -> Quota:
    return quota(name, {"pods": str(guaranteed)}, parent=parent, **fields)


def shares_of(capacity: int, demand: dict[str, int], *quotas: Quota) -> dict[str, int]:
    asked = {quota.name: pods(demand.get(quota.name, 0)) for quota in quotas}
    found, _ = whole_and_own(Situation(quotas, asked, pods(capacity)))
    return {name: share["pods"] for name, share in found.items()}


def whole_and_own(situation: Situation) -> tuple[dict[str, Resources], dict[str, Resources]]:
    """The shares with all below, and those of a quota's own workloads; the same in both forms."""
    quotas, demand, capacity = situation
    table = FairTable(quotas)
    asked = [[demand[quota.name].of(name) for name in table.resources] for quota in quotas]
    room = [capacity.of(name) for name in table.resources]
    table._columns = None
    shares = table.shares(asked, room)
    if table.resources:
        table._columns = EntitlementColumns(table._tree)
        assert table.shares(asked, room) == shares
    whole, own = (
        {
            quota.name: Resources(zip(table.resources, found, strict=True))
            for quota, found in zip(quotas, part, strict=True)
        }
        for part in shares
    )
    return whole, own


def with_quota(situation: Situation, changed: Quota) -> Situation:
    quotas = tuple(changed if each.name == changed.name else each for each in situation.quotas)
    return situation._replace(quotas=quotas)


def test_a_parents_share_is_what_its_children_divide():
    tree = [member("p", 10), member("a", 4, "p"), member("b", 4, "p"), member("q", 10)]
    assert shares_of(30, {"a": 9, "b": 50, "q": 50}, *tree) == {"p": 15, "a": 8, "b": 7, "q": 15}


def test_a_parents_own_workloads_are_one_more_child():
    tree = [member("p", 10), member("a", 4, "p"), member("q", 10)]
    assert shares_of(20, {"p": 50, "a": 50, "q": 50}, *tree) == {"p": 10, "a": 4, "q": 10}
    assert shares_of(30, {"p": 50, "a": 50, "q": 50}, *tree) == {"p": 15, "a": 6, "q": 15}


def test_own_workloads_have_what_children_do_not_ask_for():
    found, own = whole_and_own(
        Situation((member("p", 10), member("a", 4, "p")), {"p": pods(9), "a": pods(2)}, pods(10))
    )
    assert (found["p"], found["a"], own["p"], own["a"]) == (pods(10), pods(2), pods(8), pods(2))


def test_own_workloads_are_named_like_the_parent_in_a_tie():
    tree = [member("m", 2), member("a", 1, "m"), member("z", 1, "m", weight=Fraction(1))]
    assert shares_of(3, {"m": 5, "a": 5}, *tree)["a"] == 3
    even = [replace(each, weight=Fraction(1)) for each in (member("m", 2), member("n", 1, "m"))]
    assert shares_of(3, {"m": 5, "n": 5}, *even)["n"] == 1


def test_demand_counts_only_up_to_max_and_borrowing_limit():
    tree = [member("a", 4, max=pods(6)), member("b", 4, borrowing_limit=pods(1)), member("c", 1)]
    assert shares_of(40, {"a": 50, "b": 50, "c": 50}, *tree) == {"a": 6, "b": 5, "c": 29}


def test_what_a_child_may_not_have_its_parent_does_not_ask_for():
    tree = [member("p", 10), member("a", 10, "p", max=pods(3)), member("q", 5)]
    assert shares_of(40, {"a": 50, "q": 50}, *tree) == {"p": 3, "a": 3, "q": 37}


def test_a_lending_limit_holds_for_siblings_alone():
    tree = [member("p", 10), member("a", 10, "p", lending_limit=pods(0)), member("b", 0, "p"), member("q", 5)]
    assert shares_of(20, {"b": 50, "q": 50}, *tree) == {"p": 13, "a": 0, "b": 3, "q": 7}
    assert shares_of(20, {"q": 50}, *tree) == {"p": 0, "a": 0, "b": 0, "q": 20}


def test_every_resource_that_some_min_names_is_in_every_share():
    tree = [quota("a", {"cpu": "1"}), quota("b", {"pods": "2"}, {"memory": "9"})]
    found = fair_shares(
        tree, {"b": Resources({"memory": 5, "cpu": 300})}, Resources({"cpu": 900, "memory": 9})
    )
    assert found == {"a": Resources({"cpu": 0, "pods": 0}), "b": Resources({"cpu": 300, "pods": 0})}


def test_without_any_min_there_is_nothing_to_be_entitled_to():
    assert fair_shares([quota("a")], {}, pods(9)) == {"a": NOTHING}
    assert fair_shares([], {}, pods(9)) == {}


def test_demand_of_nobody_does_not_count():
    assert fair_shares([member("a", 1)], {"gone": pods(50), "a": pods(3)}, pods(9)) == {"a": pods(3)}


def test_many_quotas_are_divided_by_columns_and_few_plainly():
    many = [member(f"q{index:03}", index) for index in range(CELLS_MIN)]
    assert FairTable(many)._columns is not None
    assert FairTable(many[1:])._columns is None
    asked = {each.name: pods(40) for each in many}
    found, _ = whole_and_own(Situation(tuple(many), asked, pods(7777)))
    assert fair_shares(many, asked, pods(7777)) == found


@given(situations())
def test_shares_are_those_of_one_unit_after_the_other(situation):
    found, _ = whole_and_own(situation)
    for name in next(iter(found.values())):
        assert {quota: share[name] for quota, share in found.items()} == judged(situation, name)


@given(ANY)
def test_the_shares_of_every_family_sum_to_what_is_lendable_or_to_what_is_asked_for(situation):
    found, own = whole_and_own(situation)
    for name in next(iter(found.values())):
        for family in families(situation, found, own, name):
            after_guarantees = max(0, family.capacity - sum(family.first))
            lendable = family.capacity - min(family.withheld, after_guarantees)
            assert sum(family.shares) == min(lendable, sum(family.caps))


@given(ANY)
def test_nobody_is_below_what_it_asks_for_of_its_min_unless_capacity_is_short_of_it(situation):
    found, own = whole_and_own(situation)
    for name in next(iter(found.values())):
        for family in families(situation, found, own, name):
            enough = sum(family.first) <= family.capacity
            for first, share, cap in zip(family.first, family.shares, family.caps, strict=True):
                assert (first <= share <= cap) if enough else (share <= first)


@given(ANY, RANDOM)
def test_more_capacity_lowers_no_share(situation, draw):
    before = whole_and_own(situation)
    more = situation._replace(capacity=situation.capacity + amounts(draw, draw.choice((1, SMALL, LARGE))))
    after = whole_and_own(more)
    for part in (0, 1):
        for name, share in before[part].items():
            assert all(share[resource] <= after[part][name][resource] for resource in share)


@given(ANY, RANDOM)
def test_a_larger_min_never_lowers_ones_own_share(situation, draw):
    before, _ = whole_and_own(situation)
    raised = draw.choice(situation.quotas)
    larger = replace(raised, min=raised.min + amounts(draw, draw.choice((1, SMALL, LARGE))))
    after, _ = whole_and_own(with_quota(situation, larger))
    assert all(after[raised.name][name] >= share for name, share in before[raised.name].items())


@given(ANY, RANDOM)
def test_the_order_of_the_quotas_does_not_matter(situation, draw):
    quotas = list(situation.quotas)
    draw.shuffle(quotas)
    assert whole_and_own(situation._replace(quotas=tuple(quotas))) == whole_and_own(situation)


@given(situations(), RANDOM)
def test_resources_do_not_mix(situation, draw):
    name = draw.choice(NAMES)
    found, _ = whole_and_own(situation)
    more = {each: asked + Resources({name: 3}) for each, asked in situation.demand.items()}
    after, _ = whole_and_own(situation._replace(demand=more))
    others = set(NAMES) - {name}
    assert {each: share.only(others) for each, share in after.items()} == {
        each: share.only(others) for each, share in found.items()
    }
