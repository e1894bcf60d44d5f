"""Figures of quotas: who borrows, who lends, and that both sum up at every level."""

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import quota
from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.shares import beyond, borrowed_and_lent, guaranteed, lent, names_of, shares, unused
from ullage.engine.quota.standing import Standing
from ullage.model.resources import NOTHING, Resources

GPU_MEMORY = "nos.nebuly.com/gpu-memory"


def standing_of(quotas, use, mode="by-kind"):
    """Quotas that use so much, each in pods of one amount: {name: [amounts of its pods]}."""
    book = Book(quotas, mode)
    members = [
        Member(f"{name}/{number}", book.index[name], book.amounts(amounts), NOTHING, created_seconds=number)
        for name, pods in use.items()
        for number, amounts in enumerate(pods)
    ]
    return Standing(book, members)


def figures(standing, capacity=NOTHING):
    rules = Rules(standing, standing.entitlements((), capacity))
    return {standing.book.quotas[each.place].name: each for each in shares(rules, (), capacity)}


def seed(mode="nos"):
    quotas = [
        quota(name, {GPU_MEMORY: least}, kind="ElasticQuota")
        for name, least in (("A", "40"), ("B", "10"), ("C", "30"))
    ]
    ten = [Resources({GPU_MEMORY: 10})] * 4
    return standing_of(quotas, {"A": ten, "B": ten}, mode)


def test_the_example_in_mode_nos():
    found = figures(seed())
    assert {name: each.used for name, each in found.items()} == {"A": (40,), "B": (40,), "C": (0,)}
    assert {name: each.borrowed for name, each in found.items()} == {"A": (0,), "B": (30,), "C": (0,)}
    assert {name: each.lent for name, each in found.items()} == {"A": (0,), "B": (0,), "C": (30,)}
    assert {name: each.entitlement for name, each in found.items()} == {"A": (55,), "B": (13,), "C": (41,)}
    assert found["B"].over_quota == ("B/1", "B/2", "B/3")
    assert (found["A"].members, found["A"].over_quota) == (4, ())


def test_the_example_in_mode_fair():
    found = figures(seed("fair"), Resources({GPU_MEMORY: 80}))
    assert {name: each.entitlement for name, each in found.items()} == {"A": (40,), "B": (40,), "C": (0,)}


def test_nobody_is_entitled_beyond_a_max_nor_are_all_below_a_parent():
    def quotas(most):
        return [
            quota("top", {"cpu": "4m"}, {"cpu": most}, kind="ElasticQuota", namespaces=()),
            quota("one", {"cpu": "2m"}, {"cpu": "3m"}, kind="ElasticQuota", parent="top"),
            quota("two", {"cpu": "2m"}, kind="ElasticQuota", parent="top"),
            quota("other", {"cpu": "2m"}, kind="ElasticQuota"),
        ]

    found = figures(standing_of(quotas("9m"), {}))
    assert {name: each.entitlement for name, each in found.items()} == {
        "one": (3,), "two": (4,), "other": (4,), "top": (7,),
    }  # fmt: skip
    assert figures(standing_of(quotas("6m"), {}))["top"].entitlement == (6,)


def test_what_all_borrow_is_counted_once_inside_a_tree_too():
    quotas = [
        quota("top", {"cpu": "6m"}, namespaces=()),
        quota("one", {"cpu": "2m"}, parent="top"),
        quota("two", {"cpu": "4m"}, parent="top"),
        quota("other", {"cpu": "5m"}),
    ]
    borrowed, lends = borrowed_and_lent(standing_of(quotas, {"one": [Resources({"cpu": 8})]}))
    assert (dict(borrowed), dict(lends)) == ({"cpu": 6}, {"cpu": 6})


def test_lenders_lend_in_proportion_to_what_they_leave_unused():
    quotas = [quota("a", {"cpu": "4"}), quota("b", {"cpu": "8"}), quota("c", {"cpu": "1"})]
    standing = standing_of(quotas, {"b": [Resources({"cpu": 2000})], "c": [Resources({"cpu": 6000})]})
    assert lent(standing).whole == ((2000,), (3000,), (0,))


def test_more_is_borrowed_than_is_unused():
    quotas = [quota("a", {"cpu": "4"}), quota("b", {"cpu": "1"})]
    standing = standing_of(quotas, {"b": [Resources({"cpu": 9000})]})
    assert lent(standing).whole == ((4000,), (0,))


def test_what_a_min_does_not_name_is_neither_borrowed_nor_lent_in_mode_nos():
    quotas = [quota("a", {"cpu": "4"}), quota("b", {"memory": "1"})]
    found = figures(standing_of(quotas, {"b": [Resources({"cpu": 1, "memory": 3})]}, "nos"))
    assert (found["b"].borrowed, found["b"].lent) == ((None, 2), (None, 0))
    assert (found["a"].borrowed, found["a"].lent) == ((0, None), (0, None))


def test_in_mode_fair_nothing_is_guaranteed_of_it_and_all_that_is_used_is_borrowed():
    quotas = [quota("a", {"cpu": "4m"}), quota("b", {"memory": "1"}), quota("c", {}, {"pods": "1"})]
    found = figures(standing_of(quotas, {"b": [Resources({"cpu": 1, "memory": 3})]}, "fair"))
    assert (found["b"].borrowed, found["b"].lent) == ((1, 2, None), (0, 0, None))
    assert (found["a"].borrowed, found["a"].lent) == ((0, 0, None), (1, 0, None))
    assert names_of(Book(quotas), 1, found["b"].used) == {"cpu", "memory"}
    assert names_of(Book(quotas), 0, found["a"].used) == {"cpu"}


def test_a_family_borrows_among_itself_before_it_is_seen_outside():
    quotas = [
        quota("top", {"cpu": "10"}, namespaces=()),
        quota("one", {"cpu": "4"}, parent="top"),
        quota("two", {"cpu": "4"}, parent="top"),
        quota("other", {"cpu": "1"}),
    ]
    use = {"one": [Resources({"cpu": 6000})], "other": [Resources({"cpu": 4000})]}
    standing = standing_of(quotas, use)
    found, lends = figures(standing), lent(standing)
    place = standing.book.index
    assert (found["top"].used, found["top"].borrowed, found["top"].lent) == ((6000,), (0,), (3000,))
    assert found["one"].borrowed == (2000,)
    # 5000 are asked of 4000 that two leaves, and of 2000 that top keeps for workloads of its own
    assert lends.whole[place["two"]][0] == 3333
    assert lends.own[place["top"]][0] == 1667
    assert lends.own[place["two"]] == lends.whole[place["two"]]


def test_a_parents_entitlement_in_mode_nos_is_the_sum_of_all_below_it():
    quotas = [
        quota("top", {"cpu": "10"}, namespaces=()),
        quota("one", {"cpu": "4"}, parent="top"),
        quota("two", {"cpu": "6"}, parent="top"),
    ]
    found = figures(standing_of(quotas, {"one": [Resources({"cpu": 5000})]}, "nos"))
    assert (found["one"].entitlement, found["two"].entitlement) == ((6400,), (9600,))
    assert found["top"].entitlement == (16000,)


@st.composite
def trees(draw):
    names = ["a", "b", "c", "d", "e"][: draw(st.integers(1, 5))]
    amounts = st.dictionaries(st.sampled_from(("cpu", "memory")), st.integers(0, 20), max_size=2)
    quotas = [
        quota(
            name,
            parent=draw(st.sampled_from(("", *names[:number]))),
            min=Resources(draw(amounts)),
        )
        for number, name in enumerate(names)
    ]
    use = {name: [Resources(each) for each in draw(st.lists(amounts, max_size=3))] for name in names}
    return standing_of(quotas, use)


@settings(max_examples=150, deadline=None)
@given(trees())
def test_at_every_level_what_is_lent_is_what_is_borrowed_or_all_that_is_unused(standing):
    book, lends = standing.book, lent(standing)
    for parent in (NO_QUOTA, *range(len(book.quotas))):
        children = [
            place
            for place, each in enumerate(book.quotas)
            if (book.index[each.parent] if each.parent else NO_QUOTA) == parent
        ]
        if not children:
            continue
        for resource in range(len(book.resources)):
            rows = [
                (standing.used[place], guaranteed(book, place), lends.whole[place][resource])
                for place in children
            ]
            passed_on = 0
            if parent != NO_QUOTA:
                own = lends.own[parent][resource]
                rows.append((standing.own_used[parent], guaranteed(book, parent, own=True), own))
                passed_on = lends.whole[parent][resource] or 0
            taken = sum(beyond(used, least)[resource] or 0 for used, least, _ in rows)
            free = [unused(used, least)[resource] for used, least, _ in rows]
            assert sum(each or 0 for _, _, each in rows) == min(taken + passed_on, sum(free))
            assert all((each or 0) <= left for (_, _, each), left in zip(rows, free, strict=True))
