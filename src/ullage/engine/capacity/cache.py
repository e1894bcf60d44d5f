"""The dynamic cache: how large a node's system cache volume should be, given what it holds.

Used share at or over the growing threshold: one unit more. Below the shrinking threshold and over one
unit: twice what is used, in whole units, and one unit to spare. Growth is bounded by the pool it lies in.
"""

from typing import NamedTuple

from ullage.model.settings import Rules
from ullage.model.verdict import Finding


class CacheDecision(NamedTuple):
    """The quota to set; None leaves it as it is, and `reason` says what stood against growing."""

    new_bytes: int | None
    reason: str = ""


def resize_cache(quota_bytes: int, used_bytes: int, pool_free_bytes: int, rules: Rules) -> CacheDecision:
    """Return the new quota of a cache; `pool_free_bytes` is what its pool has beside it."""
    wanted = wanted_quota(quota_bytes, used_bytes, rules)
    if wanted == quota_bytes:
        return CacheDecision(None)
    growth = wanted - quota_bytes
    if growth > max(0, pool_free_bytes):
        return CacheDecision(
            None, f"the cache needs {growth} bytes more, its pool has {max(0, pool_free_bytes)} bytes free"
        )
    return CacheDecision(wanted)


def wanted_quota(quota_bytes: int, used_bytes: int, rules: Rules) -> int:
    """Return the quota that a cache should have, without regard to its pool."""
    unit = rules.cache_unit_bytes
    if quota_bytes <= 0:
        return max(unit, 2 * used_bytes)
    if quota_bytes < unit:
        return unit
    if used_bytes * 100 >= quota_bytes * rules.cache_grow_percent:
        return quota_bytes + unit
    if used_bytes * 100 < quota_bytes * rules.cache_shrink_percent and quota_bytes > unit:
        return min(quota_bytes, 2 * used_bytes // unit * unit + unit)
    return quota_bytes


def cache_without_ssd(node: str, rules: Rules) -> tuple[int, Finding]:
    """Return the size of the cache in memory on a node without an SSD, and the finding that says so."""
    size = rules.cache_fallback_bytes
    return size, Finding(
        "cache-limited",
        "warning",
        f"node/{node}",
        f"node {node} has no SSD: its cache is {size >> 20} MiB of memory",
        "add an SSD to the node",
    )
