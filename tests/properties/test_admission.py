"""Admission: remedies that are true, evictions that could help, and no rule that rewards asking for more."""

import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from properties.small_clusters import NODES, RESOURCES, nodes, policies, resource_maps
from ullage.engine.capacity.admission import (
    ABSENT,
    Place,
    admit,
    explain_shortfalls,
    judge,
    shortfall_of,
    show_down,
)
from ullage.engine.capacity.bounds import figures_of, floor_scaled
from ullage.model.cluster import Workload
from ullage.model.policy import Layer
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import NOTHING, Resources, ResourceTypes
from ullage.model.settings import rules_for

TYPES = ResourceTypes()
AT_MOST = re.compile(r"; fits if the request is at most (\S+)$")


def place_with(node, policy, promised: Resources) -> Place:
    rules = rules_for(policy, TYPES, node.group, node.name)
    return Place(node.name, figures_of(node, rules, promised), rules, TYPES)


@st.composite
def places(draw: st.DrawFn) -> Place:
    return place_with(draw(nodes()), draw(policies()), draw(resource_maps()))


requests = st.tuples(st.sampled_from(RESOURCES), st.integers(1, 40))


@given(places(), requests, st.integers(0, 10))
def test_the_offered_amount_fits_and_one_step_more_does_not(place, request, held):
    resource, amount = request
    short = shortfall_of(place, resource, amount, held)
    if short is None:
        return
    fitting = amount - short.missing.value
    assert shortfall_of(place, resource, fitting, held) is None
    assert shortfall_of(place, resource, max(fitting, held) + 1, held) is not None
    offered = AT_MOST.search(explain_shortfalls([short], place))
    has_some = place.figures.get(resource, ABSENT).bounds.capacity > 0
    assert (offered is not None) == (fitting > 0 and has_some)
    if offered is not None:
        assert shortfall_of(place, resource, TYPES[resource].parse(offered[1]), held) is None


@given(nodes(), policies(), resource_maps(), requests)
def test_eviction_could_help_where_the_request_fits_the_node_once_all_others_are_gone(
    node, policy, promised, request
):
    by_promises = policy.with_layer(
        Layer("promises", nodes={name: {"committed": "promised"} for name in NODES})
    )
    resource, amount = request
    short = shortfall_of(place_with(node, by_promises, promised), resource, amount)
    if short is not None:
        empty = place_with(node, by_promises, NOTHING)
        assert short.eviction_could_help == (shortfall_of(empty, resource, amount) is None)


@given(places(), resource_maps(), resource_maps())
def test_who_asks_for_less_is_admitted_where_more_is(place, one, other):
    larger = one.larger(other)
    if admit(place, Workload("w", requests=larger)).admitted:
        assert admit(place, Workload("w", requests=one)).admitted


@given(places(), resource_maps(), resource_maps())
def test_a_verdict_is_the_sum_of_its_resources(place, asked, held):
    verdict = judge(place, "w", asked, held)
    short = [shortfall_of(place, name, amount, held.of(name)) for name, amount in asked.items()]
    assert verdict.shortfalls == tuple(each for each in short if each is not None)
    assert verdict.admitted == (not verdict.shortfalls)
    assert [terms.resource for terms in verdict.terms] == [name for name in asked if name in place.figures]


@given(nodes(), policies(), resource_maps())
def test_the_terms_follow_from_each_other(node, policy, promised):
    rules = rules_for(policy, TYPES, node.group, node.name)
    for resource, figures in figures_of(node, rules, promised).items():
        bounds = figures.bounds
        assert bounds.allocatable == max(0, bounds.capacity - bounds.reserve)
        used = (figures.actual or 0) - bounds.reserve if rules.committed == "actual" else 0
        assert figures.committed == max(promised.of(resource), used)
        if bounds.limit is not None:
            assert bounds.limit == floor_scaled(bounds.allocatable, bounds.ratio or 1)
            assert figures.free == max(0, bounds.limit - figures.committed)


@given(nodes(), policies(), resource_maps())
def test_the_arithmetic_ignores_what_is_no_term(node, policy, promised):
    rules = rules_for(policy, TYPES, node.group, node.name)
    renamed = msgspec.structs.replace(node, name="other", state="offline", domain="z", labels={"a": "b"})
    assert figures_of(renamed, rules, promised) == figures_of(node, rules, promised)


@given(st.sampled_from(("cpu", "memory", "pods", "storage-time")), st.integers(0, INT64_MAX))
def test_an_amount_shown_as_a_remedy_is_never_above_the_real_one(resource, amount):
    assert TYPES[resource].parse(show_down(resource, amount, TYPES)) <= amount
