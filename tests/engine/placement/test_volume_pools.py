"""Free volumes go to the smallest claim first, each the smallest that suits it."""

import numpy as np
import pytest

from builders import cluster, node, persistent_volume
from ullage.engine.placement.counters import Dependent
from ullage.engine.placement.node_columns import NodeColumns
from ullage.engine.placement.volume_places import Places
from ullage.engine.placement.volume_pools import Pool, Wanted
from ullage.model.constraints import NodeSelector, NodeSelectorTerm, Requirement

HOST = "kubernetes.io/hostname"


def disk(name, amount, *where, **fields):
    terms = (NodeSelectorTerm((Requirement(HOST, "In", where),)),)
    return persistent_volume(name, amount, node_affinity=NodeSelector(terms) if where else None, **fields)


def pool_of(*volumes):
    snapshot = cluster(*(node(name).labelled({HOST: name}) for name in ("n0", "n1", "n2")))
    return Pool(volumes, Places(snapshot, NodeColumns(list(snapshot.nodes))))


def names(volumes):
    return [None if each is None else each.name for each in volumes]


MANY = frozenset(("ReadWriteMany",))
SUITS = {
    "a volume may be larger": (Wanted(5), disk("v", "6"), True),
    "a volume may not be smaller": (Wanted(5), disk("v", "4"), False),
    "modes of the volume differ": (Wanted(5, volume_mode="Block"), disk("v", "6"), False),
    "all ways of access must be there": (
        Wanted(5, MANY),
        disk("v", "6", access_modes=("ReadWriteOnce",)),
        False,
    ),
    "further ways of access do no harm": (
        Wanted(5, MANY),
        disk("v", "6", access_modes=("ReadWriteOnce", "ReadWriteMany")),
        True,
    ),
    "labels must be as selected": (
        Wanted(5, requirements=(Requirement("tier", "In", ("x",)),)),
        disk("v", "6", labels={"tier": "y"}),
        False,
    ),
    "an empty selector selects all": (Wanted(5, requirements=()), disk("v", "6"), True),
}


@pytest.mark.parametrize("rule", SUITS)
def test_what_suits_a_claim(rule):
    wanted, volume, suits = SUITS[rule]
    assert wanted.suits(volume) is pool_of(volume).suits(wanted) is suits


CHOSEN = {
    "the smallest": ([disk("a", "9"), disk("b", "6")], (Wanted(5),), ["b"]),
    "the first by name of equal ones": ([disk("b", "6"), disk("a", "6")], (Wanted(5),), ["a"]),
    "from wherever it is reached": (
        [disk("a", "9"), disk("b", "8", "n0", "n1"), disk("c", "7", "n0")],
        (Wanted(5),),
        ["c"],
    ),
    "the smallest, in whatever order": (
        [disk("c", "7", "n0"), disk("b", "8", "n0", "n1"), disk("a", "9", "n0", "n2")],
        (Wanted(5),),
        ["c"],
    ),
    "none from elsewhere": ([disk("a", "9", "n1")], (Wanted(5),), [None]),
    "none that has a claim": ([disk("a", "9", claim="web/x")], (Wanted(5),), [None]),
    "none that is not available": ([disk("a", "9", phase="Released")], (Wanted(5),), [None]),
    "no volume twice": ([disk("a", "9")], (Wanted(5), Wanted(5)), ["a", None]),
    "one for each": ([disk("a", "9"), disk("b", "6")], (Wanted(5), Wanted(6)), ["b", "a"]),
    "a small claim may take what a large one needs": ([disk("a", "9")], (Wanted(5), Wanted(9)), ["a", None]),
}


@pytest.mark.parametrize("rule", CHOSEN)
def test_what_claims_get_on_a_node(rule):
    volumes, claims, expected = CHOSEN[rule]
    matching = pool_of(*volumes).matching(claims)
    assert names(matching.chosen(0)) == expected
    assert matching.unserved()[:, 0].tolist() == [name is None for name in expected]


def test_what_is_taken_is_gone_where_it_was_reached_from_until_it_is_given_back():
    near, far = disk("a", "9", "n0", "n1"), disk("b", "9", "n2")
    pool = pool_of(near, far)
    matching = pool.matching((Wanted(5),))
    assert not matching.unserved().any()
    pool.take(near)
    assert np.flatnonzero(matching.unserved()[0]).tolist() == [0, 1]
    pool.give(near)
    assert not matching.unserved().any()


def test_who_looks_at_a_pool_is_told_once_when_it_changes():
    volume, watcher = disk("a", "9"), Dependent()
    pool = pool_of(volume)
    for change in (pool.take, pool.give):
        watcher.stale = False
        pool.watchers.add(watcher)
        change(volume)
        assert watcher.stale
        assert not pool.watchers
