"""What quotas forbid, what a claim has a right to, and whom it may take, in a tree too."""

import pytest

from builders import batch, cluster, node, pod, quota, resources, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.standing import Standing


def member(book: Book, key: str, amount: int, *, priority: int = 0) -> Member:
    place = book.index.get(key.partition("/")[0], NO_QUOTA)
    return Member(key, place, (amount,), resources(), priority=priority)


def rules_of(book: Book, running: dict[str, int], entitlements: dict[str, int] | None = None) -> Rules:
    standing = Standing(book, [member(book, key, amount) for key, amount in running.items()])
    shares = tuple(((entitlements or {}).get(each.name, 0),) for each in book.quotas)
    return Rules(standing, shares)


def refused(rules: Rules, name: str, amount: int) -> list[tuple[str, str, int]]:
    book = rules.book
    found = rules.refusals(book.index[name], [amount])
    return [(each.barrier, book.quotas[each.quota].name, each.short) for each in found]


def test_max_binds_at_every_quota_up_to_the_root():
    book = Book(
        [
            quota("top", {}, {"cpu": "9m"}),
            quota("a", {}, {"cpu": "6m"}, parent="top"),
            quota("b", parent="top"),
        ]
    )
    rules = rules_of(book, {"a/1": 4, "b/1": 4})
    assert refused(rules, "a", 1) == []
    assert refused(rules, "a", 2) == [("max", "top", 1)]
    assert refused(rules, "a", 3) == [("max", "a", 1), ("max", "top", 2)]


def test_a_borrowing_limit_is_counted_above_min():
    book = Book([quota("a", {"cpu": "4m"}, borrowing_limit=resources(cpu="2m"))])
    rules = rules_of(book, {"a/1": 3})
    assert refused(rules, "a", 3) == []
    assert refused(rules, "a", 4) == [("borrowing-limit", "a", 1)]


def test_in_mode_nos_all_quotas_together_stay_within_the_sum_of_their_mins():
    book = Book([quota("a", {"cpu": "4m"}), quota("b", {"cpu": "4m"}), quota("c", {"memory": "1"})], "nos")
    rules = Rules(Standing(book, [Member("a/1", 0, (5, 9), resources())]), [(None, None)] * 3)
    assert rules.refusals(1, [3, 0]) == [], "memory is beyond all mins, but nobody asks for more of it"
    assert [each.barrier for each in rules.refusals(1, [4, 0])] == ["sum-of-min"]
    assert [each.barrier for each in rules.refusals(1, [0, 1])] == ["sum-of-min"]
    fair = Standing(Book(book.quotas, "fair"), [Member("a/1", 0, (5, 9), resources())])
    assert Rules(fair, [(0, 0)] * 3).refusals(1, [4, 1]) == []


def test_what_no_bound_names_is_not_compared():
    book = Book([quota("a", {"cpu": "4m"}, {"memory": "1"})], "nos")
    rules = Rules(Standing(book, []), [(None, None)])
    assert rules.refusals(0, [4, 1]) == []
    assert [each.barrier for each in rules.refusals(0, [4, 2])] == ["max"]


def test_a_workload_without_a_quota_is_forbidden_nothing():
    rules = rules_of(Book([quota("a", {"cpu": "1m"})], "nos"), {})
    assert rules.refusals(NO_QUOTA, [99]) == []


@pytest.mark.parametrize(
    ("amount", "right"), [(10, "min"), (11, "guaranteed"), (30, "guaranteed"), (31, None)]
)
def test_in_mode_nos_a_claim_stands_on_min_then_on_the_guarantee(amount, right):
    book = Book([quota("A", {"cpu": "40m"}), quota("B", {"cpu": "10m"}), quota("C", {"cpu": "30m"})], "nos")
    rules = rules_of(book, {"A/1": 30, "B/1": 40})
    assert rules.standing.guaranteed(0) == (20,)
    assert rules.right_of(0, [amount]) == right


TREE = Book(
    [
        quota("left", {"cpu": "10m"}),
        quota("a", {"cpu": "5m"}, parent="left"),
        quota("b", {"cpu": "5m"}, parent="left"),
        quota("right", {"cpu": "10m"}),
        quota("c", {"cpu": "5m"}, parent="right"),
    ]
)


@pytest.mark.parametrize(
    ("running", "shares", "claimant", "victim", "may"),
    [
        # a sibling above its own share gives, whatever their parent uses
        ({"b/1": 6}, {"left": 10, "a": 5, "b": 5}, ("a", 5), "b/1", True),
        ({"b/1": 5}, {"left": 10, "a": 5, "b": 5}, ("a", 5), "b/1", False),
        # across the tree the parents decide too: the victim's must be above, the claimant's must stay within
        ({"c/1": 6}, {"left": 10, "a": 5, "right": 5, "c": 5}, ("a", 5), "c/1", True),
        ({"c/1": 6}, {"left": 10, "a": 5, "right": 6, "c": 5}, ("a", 5), "c/1", False),
        ({"c/1": 6, "b/1": 6}, {"left": 10, "a": 5, "b": 5, "right": 5, "c": 5}, ("a", 5), "c/1", False),
        # without a right nobody is taken
        ({"b/1": 6}, {"left": 10, "a": 4, "b": 5}, ("a", 5), "b/1", False),
    ],
)
def test_two_quotas_meet_at_their_lowest_common_parent(running, shares, claimant, victim, may):
    rules = rules_of(TREE, running, shares)
    name, amount = claimant
    claim = rules.claim([member(TREE, f"{name}/new", amount)])
    assert rules.may_be_taken(member(TREE, victim, running[victim]), claim) is may


@pytest.mark.parametrize("name", ["a", "x"])
def test_inside_one_quota_and_without_any_only_lower_priority_goes(name):
    rules = rules_of(TREE, {}, {})
    claim = rules.claim([member(TREE, f"{name}/new", 9, priority=5)])
    taken = [
        rules.may_be_taken(member(TREE, f"{name}/old", 1, priority=priority), claim) for priority in (4, 5, 6)
    ]
    assert taken == [True, False, False]


def test_who_has_no_quota_is_safe_from_those_who_have_one_and_the_other_way_round():
    rules = rules_of(TREE, {"a/1": 9}, {})
    inside, outside = member(TREE, "a/1", 9), member(TREE, "x/1", 9)
    assert not rules.may_be_taken(outside, rules.claim([member(TREE, "a/new", 0, priority=9)]))
    assert not rules.may_be_taken(inside, rules.claim([member(TREE, "x/new", 1, priority=9)]))


def test_a_gang_claims_the_sum_and_with_its_lowest_priority():
    rules = rules_of(TREE, {}, {"left": 10, "a": 5})
    both = [member(TREE, "a/1", 3, priority=7), member(TREE, "a/2", 3, priority=2)]
    claim = rules.claim(both)
    assert (claim.amounts, claim.priority, claim.right) == ((6,), 2, None)


# Each row: whom a quota evicts of its own and of others, and who of priority 1 to 3 goes for a claim of 2.
EVICTS = {
    "as quotas do": ({}, ["a/1", "b/1", "b/2", "b/3"]),
    "never its own": ({"evicts_own": "Never"}, ["b/1", "b/2", "b/3"]),
    "never others": ({"evicts_others": "Never"}, ["a/1"]),
    "lower ones of others": ({"evicts_others": "LowerPriority"}, ["a/1", "b/1"]),
    "nobody": ({"evicts_own": "Never", "evicts_others": "Never"}, []),
}


@pytest.mark.parametrize("case", EVICTS)
@pytest.mark.parametrize("mode", ["fair", "nos"])
def test_whom_a_quota_evicts_by_its_own_word(case, mode):
    fields, goes = EVICTS[case]
    book = Book([quota("a", {"cpu": "9m"}, **fields), quota("b", {"cpu": "0"})], mode)
    running = [
        member(book, f"{name}/{priority}", 1, priority=priority) for name in "ab" for priority in (1, 2, 3)
    ]
    rules = Rules(Standing(book, running), ((9,), (0,)))
    claim = rules.claim([member(book, "a/new", 1, priority=2)])
    assert [each.key for each in running if rules.may_be_taken(each, claim)] == goes


# Each row: whom quota a evicts, who goes for two of its workloads of priority 2, and why not, if nobody does.
TAKES = {
    "as quotas do": ({}, ["b/1", "b/3"], ""),
    "never others": ({"evicts_others": "Never"}, [], "quota a never evicts workloads of others"),
    "lower ones of others": (
        {"evicts_others": "LowerPriority"}, [], "no other quota with lower priorities uses enough",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TAKES)
@pytest.mark.parametrize("atomic", [False, True])
def test_who_goes_by_that_word_for_one_after_the_other_and_for_all_together(case, atomic):
    fields, goes, why = TAKES[case]
    held = [pod(f"b/{priority}", cpu="1", priority=priority) for priority in (1, 3)]
    snapshot = cluster(
        node("n", cpu="2").holding(*held), quota("a", {"cpu": "2"}, **fields), quota("b", {"cpu": "0"})
    )
    asked = waiting("a/new", cpu="1", priority=2)
    (outcome,) = fit(Columns(snapshot), [batch(2, asked, atomic=atomic)]).outcomes
    partly = ["b/1"] if "lower" in case and not atomic else []
    assert [each.workload for each in outcome.evicted] == (goes or partly)
    assert outcome.refusal is None if goes else why in outcome.refusal.reason


def test_a_quota_that_never_evicts_others_is_entitled_all_the_same():
    book = Book([quota("a", {"cpu": "9m"}, evicts_others="Never")], "fair")
    rules = rules_of(book, {}, {"a": 9})
    claim = rules.claim([member(book, "a/new", 1)])
    assert (claim.right, claim.reach, rules.right_of(0, [1])) == (None, 1, "entitlement")
