"""The dynamic cache: when it grows, when it shrinks, and what its pool says to that."""

import pytest

from builders import policy
from ullage.engine.capacity.cache import CacheDecision, cache_without_ssd, resize_cache, wanted_quota
from ullage.model.resources import ResourceTypes
from ullage.model.settings import Rules, rules_for
from ullage.model.verdict import Finding

GIB = 1 << 30
PLENTY = 1 << 60


def rules(**settings: str) -> Rules:
    return rules_for(policy(**settings), ResourceTypes())


@pytest.mark.parametrize(
    ("quota", "used", "wanted"),
    [
        # at or over 60 %: one unit more
        (100, 60, 105),
        (100, 59, 100),
        (100, 91, 105),
        (5, 3, 10),
        (5, 2, 5),
        # below 20 % and over one unit: twice what is used, in whole units, and one to spare
        (100, 20, 100),
        (100, 19, 40),
        (100, 1, 5),
        (100, 0, 5),
        (1000, 16, 35),
        (1000, 15, 35),
        (1000, 14, 30),
        (10, 1, 5),
        (10, 2, 10),
        (6, 1, 5),
        (5, 0, 5),
        # in between: as it is
        (100, 50, 100),
        # new: one unit, or twice what is used, not rounded
        (0, 0, 5),
        (0, 2, 5),
        (0, 3, 6),
        (0, 4, 8),
        (0, 30, 60),
        (-1, 4, 8),
        # under one unit: one unit, however much is used
        (1, 0, 5),
        (4, 4, 5),
        (4, 40, 5),
    ],
)
def test_the_quota_that_a_cache_should_have(quota, used, wanted):
    assert wanted_quota(quota, used, rules(cache_unit="5")) == wanted


def test_the_unit_is_five_gibibytes_unless_the_policy_says_otherwise():
    assert wanted_quota(5 * GIB, 3 * GIB, rules()) == 10 * GIB
    assert wanted_quota(5 * GIB, 3 * GIB - 1, rules()) == 5 * GIB


def test_the_thresholds_are_policy():
    own = rules(cache_unit="5", cache_grow="90", cache_shrink="40")
    assert [wanted_quota(100, used, own) for used in (90, 89, 40, 39)] == [105, 100, 100, 80]


def test_shrinking_never_makes_a_cache_larger():
    own = rules(cache_unit="5", cache_grow="100", cache_shrink="90")
    assert wanted_quota(100, 80, own) == 100


@pytest.mark.parametrize(
    ("quota", "used", "pool_free", "decision"),
    [
        (100, 60, 5, CacheDecision(105)),
        (100, 60, 4, CacheDecision(None, "the cache needs 5 bytes more, its pool has 4 bytes free")),
        (100, 60, 0, CacheDecision(None, "the cache needs 5 bytes more, its pool has 0 bytes free")),
        (100, 60, -7, CacheDecision(None, "the cache needs 5 bytes more, its pool has 0 bytes free")),
        (100, 1, 0, CacheDecision(5)),
        (100, 1, -7, CacheDecision(5)),
        (100, 50, 0, CacheDecision(None)),
        (0, 4, 8, CacheDecision(8)),
        (0, 4, 7, CacheDecision(None, "the cache needs 8 bytes more, its pool has 7 bytes free")),
        (3, 0, 2, CacheDecision(5)),
    ],
)
def test_growth_is_limited_by_what_the_pool_has_free(quota, used, pool_free, decision):
    assert resize_cache(quota, used, pool_free, rules(cache_unit="5")) == decision


def test_a_cache_that_stays_as_it_is_has_nothing_against_it():
    assert resize_cache(100, 50, PLENTY, rules(cache_unit="5")).reason == ""


def test_without_an_ssd_the_cache_is_memory_and_a_finding_says_so():
    size, finding = cache_without_ssd("n1", rules())
    assert size == 500 << 20
    assert finding == Finding(
        "cache-limited",
        "warning",
        "node/n1",
        "node n1 has no SSD: its cache is 500 MiB of memory",
        "add an SSD to the node",
    )
    assert cache_without_ssd("n1", rules(cache_fallback="64Mi"))[0] == 64 << 20
