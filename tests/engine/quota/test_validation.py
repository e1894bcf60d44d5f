"""What is wrong with quotas, and what of them holds all the same."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import BUILT_IN_TYPES, quota, resources
from ullage.engine.quota.book import Book
from ullage.engine.quota.entitlement import fair_shares
from ullage.engine.quota.validation import (
    findings,
    findings_by_quota,
    in_force,
    refuse_errors,
    refuse_wrong,
)
from ullage.model.cluster import Quota
from ullage.model.errors import InputError
from ullage.model.resources import NOTHING, Resources

CEQ = "CompositeElasticQuota"
EQ = "ElasticQuota"
NEGATIVE = Resources({"memory": -(1 << 30)})

# Each row: quotas, and the one error that is found: its code, subject and text.
ERRORS = {
    "min above max": (
        (quota("q", {"cpu": "4", "memory": "1Gi"}, {"cpu": "2"}),),
        ("quota-min-above-max", "quota/q", "quota q: cpu has min 4 above max 2; lower min or raise max"),
    ),
    "a negative min": (
        (quota("q", {"cpu": "-4"}),),
        ("quota-negative", "quota/q", "quota q: min: cpu is -4; use 0 or more"),
    ),
    "a negative max, whatever min says": (
        (quota("q", {"cpu": "1"}, {"cpu": "-4"}),),
        ("quota-negative", "quota/q", "quota q: max: cpu is -4; use 0 or more"),
    ),
    "a negative borrowing limit": (
        (quota("q", borrowing_limit=NEGATIVE),),
        ("quota-negative", "quota/q", "quota q: borrowingLimit: memory is -1Gi; use 0 or more"),
    ),
    "a negative lending limit": (
        (quota("q", lending_limit=NEGATIVE),),
        ("quota-negative", "quota/q", "quota q: lendingLimit: memory is -1Gi; use 0 or more"),
    ),
    "a negative weight": (
        (quota("q", weight=Fraction(-1)),),
        ("quota-weight", "quota/q", "quota q: weight is -1; use 0 or more, at most 1000000"),
    ),
    "a weight beyond reason": (
        (quota("q", weight=Fraction(10**7)),),
        ("quota-weight", "quota/q", "quota q: weight is 10000000; use 0 or more, at most 1000000"),
    ),
    "a composite without namespaces": (
        (quota("q", kind=CEQ, namespaces=()),),
        (
            "quota-without-namespaces",
            "quota/q",
            (
                "quota q: a CompositeElasticQuota without namespaces covers nothing; "
                "name its namespaces, or remove it"
            ),
        ),
    ),
    "a queue that is none": (
        (quota("q", queues=("team/a", "team")),),
        ("quota-queue", "quota/q", "quota q: queue 'team' is no NAMESPACE/NAME; write team/queue"),
    ),
    "an elastic and a composite quota over one namespace": (
        (quota("b/q", kind=EQ, namespaces=("b",)), quota("a/c", kind=CEQ, namespaces=("a", "b"))),
        (
            "quota-namespace-twice",
            "quota/b/q",
            (
                "quota b/q: this ElasticQuota and CompositeElasticQuota a/c both cover namespace b; "
                "what a/c says holds; leave the namespace to one of them"
            ),
        ),
    ),
    "two quotas over two namespaces": (
        (quota("q", namespaces=("a", "b", "c")), quota("p", namespaces=("b", "a", "a"))),
        (
            "quota-namespace-twice",
            "quota/q",
            (
                "quota q: this Quota and Quota p both cover namespaces a, b; what p says holds; "
                "leave the namespaces to one of them"
            ),
        ),
    ),
    "two quotas over one queue": (
        (quota("p", queues=("team/main",)), quota("q", queues=("team/main",))),
        (
            "quota-queue-twice",
            "quota/q",
            (
                "quota q: this Quota and Quota p both cover queue team/main; what p says holds; "
                "leave the queue to one of them"
            ),
        ),
    ),
    "an unknown parent": (
        (quota("q", parent="p"),),
        (
            "quota-unknown-parent",
            "quota/q",
            "quota q: parent 'p' is no quota; add it, correct the name, or leave parent out",
        ),
    ),
    "a quota that is its own parent": (
        (quota("q", parent="q"),),
        (
            "quota-circle",
            "quota/q",
            "quota q: its parents form a circle: q -> q; remove the parent of one of them",
        ),
    ),
    "a circle, and a quota below it": (
        (quota("c", parent="b"), quota("b", parent="a"), quota("a", parent="b")),
        (
            "quota-circle",
            "quota/a",
            "quota a: its parents form a circle: a -> b -> a; remove the parent of one of them",
        ),
    ),
    "children guaranteed more than their parent": (
        (
            quota("p", {"cpu": "10", "memory": "1Gi"}),
            quota("a", {"cpu": "6"}, parent="p"),
            quota("b", {"cpu": "6", "pods": "9"}, parent="p"),
        ),
        (
            "quota-children-above-parent",
            "quota/p",
            (
                "quota p: its children are guaranteed 12 cpu, it has 10 itself; "
                "raise its min by 2, or lower theirs"
            ),
        ),
    ),
}

# Rows of quotas with which nothing is wrong.
FINE = {
    "nothing": (),
    "a min without a max of the same name": (quota("q", {"cpu": "4"}, {"memory": "1Gi"}),),
    "min and max are equal": (quota("q", {"cpu": "4"}, {"cpu": "4"}),),
    "a max of 0 and no min": (quota("q", {}, {"cpu": "0"}),),
    "an elastic quota and a composite of other namespaces": (
        quota("a/c", kind=CEQ, namespaces=("a", "b")),
        quota("c/q", kind=EQ, namespaces=("c",)),
    ),
    "a tree whose parent covers nothing itself": (
        quota("p", {"cpu": "10"}, namespaces=()),
        quota("a", {"cpu": "6"}, parent="p"),
        quota("b", {"cpu": "4", "memory": "1Gi"}, parent="p"),
    ),
    "weights of all, of none, and of other families": (
        quota("p"),
        quota("a", parent="p", weight=Fraction(1)),
        quota("b", parent="p", weight=Fraction(0)),
        quota("c", parent="a"),
    ),
    "elastic quotas have no weight": (quota("e", kind=EQ), quota("q", weight=Fraction(1))),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    quotas, (code, subject, text) = ERRORS[case]
    (found,) = findings(quotas, None)
    assert (found.severity, found.code, found.subject) == ("error", code, subject)
    assert f"{found.message}; {found.remedy}" == text
    with pytest.raises(InputError) as caught:
        refuse_errors(quotas)
    assert str(caught.value) == text


@pytest.mark.parametrize("case", FINE)
def test_nothing_wrong(case):
    assert findings(FINE[case], None) == ()
    assert in_force(FINE[case]) == tuple(sorted(FINE[case], key=lambda each: each.name))
    refuse_errors(FINE[case])


def test_more_guaranteed_than_the_cluster_has_is_a_warning():
    quotas = (
        quota("p", {"cpu": "10", "memory": "8Gi"}),
        quota("c", {"cpu": "10"}, parent="p"),
        quota("q", {"cpu": "3", "nvidia.com/gpu": "1"}),
    )
    capacity = resources(cpu="12", memory="8Gi")
    found = findings(quotas, capacity)
    assert [(each.severity, each.code, each.subject) for each in found] == [
        ("warning", "quota-above-cluster", "cluster")
    ] * 2
    assert found[0].message == "quotas guarantee 13 cpu in all, the cluster can promise 12"
    assert found[0].remedy == "lower their min by 1, or add nodes"
    assert found[1].message == "quotas guarantee 1 nvidia.com/gpu in all, the cluster can promise 0"
    refuse_errors(quotas)


def test_weights_that_some_siblings_state_are_a_warning():
    family = (quota("a", parent="p"), quota("b", parent="p", weight=Fraction(2)), quota("p"))
    (found,) = findings(family, None)
    assert (found.severity, found.code, found.subject) == ("warning", "quota-weights-mixed", "quota/p")
    assert found.message == (
        "quota a below quota p states no weight, others there do: min and weight are compared as numbers"
    )
    roots = (quota("a"), quota("b"), quota("c", weight=Fraction(1)))
    (found,) = findings(roots, None)
    assert (found.subject, found.message[:44]) == ("cluster", "quotas a, b without a parent state no weight")
    refuse_errors(roots)


def test_the_worst_comes_first():
    quotas = (quota("a"), quota("b", weight=Fraction(1)), quota("c", parent="x", weight=Fraction(1)))
    assert [each.code for each in findings(quotas, None)] == ["quota-unknown-parent", "quota-weights-mixed"]


def test_a_document_is_refused_for_what_it_adds_and_not_for_what_stands_beside_it():
    wrong, there = quota("wrong", parent="x"), quota("z", namespaces=("team",))
    refuse_errors((quota("new"),), beside=(wrong, there))
    with pytest.raises(InputError, match="quota z: this Quota and Quota a both cover namespace team"):
        refuse_errors((quota("a", namespaces=("team",)),), beside=(wrong, there))
    with pytest.raises(InputError, match="quota z: parent 'x' is no quota"):
        refuse_errors((quota("z", parent="x"),), beside=(there,))
    refuse_errors((quota("wrong", parent="z"),), beside=(wrong, there))


@pytest.mark.parametrize("name", ["", " ", "Team", "ä", "a b", "a/b", "a.b", "-a", "a-", "a" * 64, "a\n"])
def test_in_kubernetes_a_quota_covers_no_name_that_no_namespace_can_have(name):
    wrong = quota("q", namespaces=("team", name))
    refuse_errors((wrong,))
    with pytest.raises(InputError, match="quota q: no namespace can be called"):
        refuse_errors((wrong,), in_kubernetes=True)
    refuse_errors((wrong,), beside=(wrong,), in_kubernetes=True)  # it was there before


@pytest.mark.parametrize("name", ["a", "0", "team-a", "kube-system", "a" * 63])
def test_in_kubernetes_a_quota_covers_what_a_namespace_can_be_called(name):
    refuse_errors((quota("q", namespaces=(name,)),), in_kubernetes=True)


def test_a_row_alone_is_refused_for_what_is_its_own():
    refuse_wrong(quota("q", parent="elsewhere"))
    with pytest.raises(InputError, match="min: cpu is -1"):
        refuse_wrong(quota("q", {"cpu": "-1"}))


# Each row: quotas, and what of the last by name holds.
HELD = {
    "the first by name has the namespace": (
        (quota("b", namespaces=("x", "y")), quota("a", namespaces=("y",))), {"namespaces": ("x",)},
    ),
    "the first by name has the queue": (
        (quota("b", queues=("t/x", "t/y")), quota("a", queues=("t/y",))), {"queues": ("t/x",)},
    ),
    "a parent that is not there counts as none": ((quota("q", parent="x"),), {"parent": ""}),
    "nor does one in a circle": ((quota("q", parent="p"), quota("p", parent="q")), {"parent": ""}),
    "who is below a circle keeps its parent": (
        (quota("z", parent="q"), quota("q", parent="p"), quota("p", parent="q")), {"parent": "q"},
    ),
    "where min is above max, max holds": (
        (quota("q", {"cpu": "4", "memory": "1Gi"}, {"cpu": "2"}),),
        {"min": resources(cpu="2", memory="1Gi")},
    ),
    "a negative amount counts as 0": (
        (quota("q", {"cpu": "1"}, {"cpu": "-4"}, borrowing_limit=NEGATIVE, lending_limit=NEGATIVE),),
        {
            "min": resources(cpu="0"), "max": resources(cpu="0"),
            "borrowing_limit": resources(memory="0"), "lending_limit": resources(memory="0"),
        },
    ),
    "a negative weight counts as none": ((quota("q", weight=Fraction(-1)),), {"weight": None}),
    "a weight has a bound": ((quota("q", weight=Fraction(10**9)),), {"weight": Fraction(10**6)}),
}  # fmt: skip


@pytest.mark.parametrize("case", HELD)
def test_what_holds(case):
    quotas, expected = HELD[case]
    last = in_force(quotas)[-1]
    assert {field: getattr(last, field) for field in expected} == expected


NAMES = ("a", "b", "c", "d")
amounts = st.dictionaries(st.sampled_from(("cpu", "memory")), st.integers(-5, 9)).map(Resources)
some = st.lists(st.sampled_from(("t/x", "t/y", "u/x")), max_size=3).map(tuple)
any_quotas = st.lists(
    st.builds(
        Quota,
        st.sampled_from(NAMES),
        kind=st.sampled_from((EQ, CEQ, "Quota")),
        namespaces=st.lists(st.sampled_from(("t", "u", "v")), max_size=3).map(tuple),
        min=amounts,
        max=amounts,
        parent=st.sampled_from(("", "x", *NAMES)),
        weight=st.none() | st.fractions(-1, 3),
        lending_limit=st.none() | amounts,
        borrowing_limit=st.none() | amounts,
        queues=some,
    ),
    unique_by=lambda each: each.name,
)
HARMLESS = {"quota-children-above-parent", "quota-without-namespaces"}
"""Errors that leave every rule something to go by."""


@settings(deadline=None)
@given(any_quotas)
def test_what_holds_has_no_error_that_a_rule_could_stumble_over(quotas):
    held = in_force(quotas)
    left = {each.code for each in findings(held, None) if each.severity == "error"}
    assert left <= HARMLESS
    assert in_force(held) == held
    assert [each.name for each in held] == sorted(each.name for each in quotas)
    book = Book(held)
    assert all(len(chain) <= len(held) for chain in book.chains)
    fair_shares(held, {each.name: NOTHING for each in held}, resources(cpu="9", memory="9"))


@settings(deadline=None)
@given(any_quotas)
def test_a_quota_without_an_error_of_its_own_or_with_others_is_left_as_it_is(quotas):
    wrong = {each.subject for each in findings(quotas, None) if each.severity == "error"}
    in_circles = any(each.code == "quota-circle" for each in findings(quotas, None))
    held = {each.name: each for each in in_force(quotas)}
    for each in quotas:
        if f"quota/{each.name}" not in wrong and not in_circles:
            assert held[each.name] is each


def test_warnings_are_about_all_quotas_that_have_a_part_in_them():
    quotas = [
        quota("a", {"cpu": "4"}, weight=1),
        quota("b", {"cpu": "4"}),
        quota("c", {"memory": "1"}, {"memory": "0"}),
        quota("below", {"cpu": "2"}, parent="a"),
        quota("e", {"cpu": "1"}, kind="ElasticQuota"),
    ]
    found = findings_by_quota(quotas, {"cpu": 1000, "memory": 9}, BUILT_IN_TYPES)
    codes = {name: [each.code for each in each_found] for name, each_found in found.items()}
    above, mixed = "quota-above-cluster", "quota-weights-mixed"
    assert codes == {
        "a": [above, mixed],
        "b": [above, mixed],
        "c": ["quota-min-above-max", mixed],
        "e": [above],
    }
    assert {each for row in found.values() for each in row} == set(
        findings(quotas, {"cpu": 1000, "memory": 9}, BUILT_IN_TYPES)
    )
