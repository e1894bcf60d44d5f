"""Pairs: machines of one exclusion tag in one failure domain, each beyond the first."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_strategies import fleets, kinds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance.candidates import Balancing, movers_of, moves_of, targets_of
from ullage.engine.balance.facts import View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.pairs import Pairs
from ullage.engine.balance.score import TERMS, values_of
from ullage.engine.balance.state import Failure

TAGS = ("htools:iextags:service", "htools:nlocation:rack")
AT = [term.name for term in TERMS].index("location_exclusion_score")
tagged_kinds = kinds.map(lambda kind: kind._replace(tagged_share=0.8, has_locations=True))


def fleet_of(view: View | None = None) -> Fleet:
    """Return two hosts in rack 1 with a web machine each, one in rack 2 with another, and one nowhere."""
    nodes = [ganeti_node(name, tags=(f"rack:{rack}",)) for name, rack in zip("abc", "112", strict=True)]
    web = [instance(f"on-{name}", name, tags=("service:web",)) for name in "abc"]
    return Fleet(ganeti_cluster([*nodes, ganeti_node("d")], *web, tags=TAGS), view)


def test_each_machine_beyond_the_first_of_a_domain_is_one_too_many():
    pairs = Pairs(fleet_of())
    assert pairs.may_be
    assert pairs.total({}) == 1.0


def test_a_host_that_is_offline_does_not_count():
    assert Pairs(fleet_of(View(offline=frozenset("b")))).total({}) == 0.0


@pytest.mark.parametrize(
    ("left", "joined", "more"),
    [
        (("rack:1",), (), -1),
        (("rack:2",), (), 0),
        (("rack:1",), ("rack:2",), 0),
        (("rack:2",), ("rack:1",), 1),
        (("rack:1",), ("rack:1",), 0),
        ((), ("rack:3",), 0),
    ],
)
def test_a_machine_that_leaves_and_joins_domains_changes_what_is_too_many(left, joined, more):
    assert Pairs(fleet_of()).more(("service:web",), left, joined) == more


@pytest.mark.parametrize(
    ("tags", "places", "may_be"),
    [((), ("rack:1",), False), (("service:web",), (), False), (("service:web",), ("rack:1",), True)],
)
def test_there_may_be_some_where_there_are_tags_and_domains(tags, places, may_be):
    nodes = [ganeti_node("a"), ganeti_node("b", tags=places)]
    pairs = Pairs(Fleet(ganeti_cluster(nodes, instance("i", "a", tags=tags), tags=TAGS)))
    assert pairs.may_be is may_be
    assert pairs.total({}) == 0.0


@given(fleets(tagged_kinds), st.data())
@settings(max_examples=40)
def test_the_total_is_that_of_the_score_before_and_after_a_move(fleet, data):
    pairs = Pairs(fleet)
    hosts = [fleet.hosts[number] for number in fleet.scope]
    assert pairs.total({}) == values_of(hosts, [fleet.states[number] for number in fleet.scope])[AT]
    for number in movers_of(fleet, Balancing()):
        moves = list(moves_of(fleet, number, Balancing(), targets_of(fleet)))
        if not moves:
            continue
        moved = fleet.try_move(number, data.draw(st.sampled_from(moves)), force=True)
        if isinstance(moved, Failure):
            continue
        states = [moved.changed.get(each, fleet.states[each]) for each in fleet.scope]
        assert pairs.total(moved.changed) == values_of(hosts, states)[AT]
        fleet.accept(number, moved)
        pairs.renew(moved.changed)
        assert pairs.total({}) == values_of(hosts, states)[AT]
