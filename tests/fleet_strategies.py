"""Hypothesis strategies for small fleets of every kind, how they are looked at, and what balancing may do."""

from fractions import Fraction

from hypothesis import strategies as st

from ganeti_clusters import Kind, random_cluster
from ullage.engine.balance.candidates import Balancing
from ullage.engine.balance.facts import NO_LOAD, Load, View
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.score import TERMS, with_load, with_weights


def made(kind: type, **fields: st.SearchStrategy) -> st.SearchStrategy:
    """Draw some fields of a named tuple; the others are as they are unless told."""
    return st.fixed_dictionaries(fields).map(lambda chosen: kind(**chosen))


seeds = st.integers(0, 10**6)
shares = st.sampled_from((0.0, 0.0, 0.3))
loads = st.one_of(
    st.builds(Load, *[st.sampled_from((0.0, 0.5, 1.0, 2.7)) for _ in range(4)]),
    st.builds(NO_LOAD._replace, memory=st.integers(0, 8 << 30).map(float)),
)
any_size = made(
    Kind,
    nodes=st.integers(0, 3),
    instances=st.integers(4, 14),
    storage=st.sampled_from(("drbd", "drbd", "ext", "mixed")),
    groups=st.sampled_from((1, 1, 2)),
    offline_share=shares,
    down_share=shares,
    tagged_share=shares,
    has_migration_tags=st.sampled_from((False, False, True)),
    has_locations=st.sampled_from((False, False, True)),
    has_distinct_sizes=st.booleans(),
    has_equal_nodes=st.booleans(),
    is_tight=st.booleans(),
    memory_missing_share=shares,
)
kinds = any_size.map(lambda kind: kind._replace(nodes=2 * kind.groups + kind.nodes))
rare_kinds = st.builds(
    lambda kind, forthcoming, exclusive: kind._replace(
        forthcoming_share=forthcoming, exclusive_share=exclusive
    ),
    kinds,
    shares,
    shares,
)
views = made(
    View,
    exact=st.booleans(),
    memory_ratio=st.sampled_from((None, None, Fraction(1), Fraction(3, 2), Fraction(7, 10))),
    loads=st.dictionaries(st.sampled_from([f"instance-{at:05}" for at in range(14)]), loads, max_size=5),
    memory_beyond=st.dictionaries(
        st.sampled_from([f"node-{at:04}" for at in range(4)]), st.integers(0, 1 << 31), max_size=2
    ),
    ignores_load=st.sampled_from((False, False, True)),
    offline=st.sampled_from((frozenset(), frozenset(), frozenset({"node-0001"}))),
    disk_min=st.sampled_from((None, None, 0.8)),
    cpu_ratio=st.sampled_from((None, None, 1.2)),
)
balancings = made(
    Balancing,
    force=st.sampled_from((False, False, True)),
    disk_moves=st.sampled_from((True, True, False)),
    instance_moves=st.sampled_from((True, True, False)),
    restricted_migration=st.sampled_from((False, False, True)),
    evac_mode=st.sampled_from((False, False, True)),
)
_with_weights = st.builds(
    with_weights,
    st.dictionaries(st.sampled_from([term.name for term in TERMS]), st.sampled_from((0.0, 0.3, 9.0))),
)
tables = st.one_of(
    st.just(TERMS),
    _with_weights,
    st.builds(with_load, _with_weights, st.sampled_from((Fraction(1), Fraction(3, 2), Fraction(5)))),
)


@st.composite
def fleets(draw: st.DrawFn, kinds_of_fleets: st.SearchStrategy[Kind] = kinds) -> Fleet:
    """Draw a fleet, of which one group counts."""
    kind = draw(kinds_of_fleets)
    fleet = Fleet(random_cluster(draw(seeds), kind), draw(views))
    return fleet.of_group(draw(st.integers(0, kind.groups - 1)))
