"""Label selectors as kubectl reads them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.constraints import (
    Affinity,
    Constraints,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
)
from ullage.model.errors import InputError
from ullage.service.selector import CONDITIONS_MAX, parse_selector, selects, with_node_requirements

LABELS = {"zone": "a", "pool": "general", "empty": ""}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("", True),
        ("zone=a", True),
        ("zone==a", True),
        ("zone = a , pool=general", True),
        ("zone=b", False),
        ("zone!=b", True),
        ("zone!=a", False),
        ("missing!=a", True),
        ("zone in (a,b)", True),
        ("zone in (b, c)", False),
        ("zone notin (b,c)", True),
        ("missing notin (b)", True),
        ("zone,pool", True),
        ("missing", False),
        ("!missing", True),
        ("!zone", False),
        ("empty=", True),
        ("zone in (a,b),pool!=gpu,!missing", True),
        ("zone=a,pool=gpu", False),
    ],
)
def test_every_condition_must_hold(text, holds):
    assert selects(parse_selector(text), LABELS) is holds


@pytest.mark.parametrize(
    "text", ["=a", "zone=a=b", "zone in a", "zone in (a", "a b", ",", "zone=a,", "zone in ((a))", "!"]
)
def test_what_is_no_condition_is_refused(text):
    with pytest.raises(InputError, match=r"-l: selector .* is no condition"):
        parse_selector(text)


def test_there_is_a_limit():
    with pytest.raises(InputError, match=f"more than {CONDITIONS_MAX} conditions"):
        parse_selector(",".join(["a"] * (CONDITIONS_MAX + 1)))


@given(st.text(alphabet="ab=!,() in", max_size=30))
def test_any_text_is_read_or_refused_as_bad_input(text):
    with contextlib.suppress(InputError):
        selects(parse_selector(text), LABELS)


def test_conditions_of_nodes_hold_beside_each_of_those_that_are_there():
    pool, disk = Requirement("pool", "Exists"), Requirement("disk", "In", ("ssd",))
    named = Requirement("metadata.name", "In", ("n1",))
    terms = (NodeSelectorTerm((pool,)), NodeSelectorTerm((), (named,)), NodeSelectorTerm())
    before = Constraints(affinity=Affinity(node_affinity=NodeAffinity(NodeSelector(terms))))
    after = with_node_requirements(before, (disk,)).affinity.node_affinity.required.node_selector_terms
    assert after == (NodeSelectorTerm((pool, disk)), NodeSelectorTerm((disk,), (named,)))
    alone = with_node_requirements(Constraints(), (disk,)).affinity.node_affinity.required
    assert alone.node_selector_terms == (NodeSelectorTerm((disk,)),)
