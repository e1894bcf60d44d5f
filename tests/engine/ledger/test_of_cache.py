"""A cache grows by what its pool has free, and what it grows by is nobody else's."""

import pytest

from builders import cluster, node, pod, policy
from engine.ledger.ledgers import Ledger
from ullage.engine.columns import Columns
from ullage.engine.ledger.of_cache import cache_commands
from ullage.engine.ledger.promises import with_promises
from ullage.model.resources import SSD_SPACE

GIB = 1 << 30
POOL = cluster(
    node("n1", {SSD_SPACE: "100Gi"}).reserving({SSD_SPACE: "10Gi"}).holding(pod("a", {SSD_SPACE: "40Gi"})),
    policy=policy(storage_mode="zos"),
)


def sized(ledger, gibibytes):
    entries = ledger.state.entries
    return ledger.do(cache_commands(Columns(with_promises(POOL, entries)), entries, "n1", gibibytes * GIB))


def free_gibibytes(ledger):
    columns = Columns(with_promises(POOL, ledger.state.entries))
    return int(columns.free[0, columns.resource_index[SSD_SPACE]]) // GIB


@pytest.mark.parametrize(("size", "free"), [(5, 50), (10, 50), (15, 45), (60, 0)])
def test_a_new_cache_is_in_use_at_once_and_takes_of_the_pool_what_is_beyond_its_reserve(size, free):
    ledger = Ledger()
    assert sized(ledger, size).accepted
    assert {each.state for each in ledger.state.entries} == {"BOUND"}
    assert free_gibibytes(ledger) == free


def test_it_grows_while_the_pool_has_room_and_no_further():
    ledger = Ledger()
    assert sized(ledger, 10).accepted
    assert sized(ledger, 15).accepted
    assert sized(ledger, 60).accepted
    refused = sized(ledger, 61)
    assert not refused.accepted
    assert refused.shortfalls[0].missing.value == GIB
    assert ledger.state.held("cache/n1") == {SSD_SPACE: 60 * GIB}


def test_it_may_always_shrink_and_gives_back_what_it_had():
    ledger = Ledger()
    sized(ledger, 60)
    assert sized(ledger, 5).accepted
    assert free_gibibytes(ledger) == 50


def test_a_new_cache_that_is_too_large_is_refused():
    ledger = Ledger()
    assert not sized(ledger, 61).accepted
    assert not ledger.state.entries
