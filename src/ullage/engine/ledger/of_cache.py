"""The commands that give the system cache of a node another size.

The cache has its reserve of the node's SSDs; what it takes beyond that is taken of the node like anything
else. So a cache holds of two things, its own capacity and its node, and both change in one step: it grows
only by what the pool has free, and nobody is promised what it has grown by.
"""

from collections.abc import Iterable
from typing import Final

from ullage.engine.columns import Columns
from ullage.engine.ledger.naming import OF_NODE
from ullage.engine.ledger.supply import cache_capacity, cache_reserve_bytes, supply_of
from ullage.model.ledger import Bind, Hold, Reserve, Resize, Supply, Together, node_capacity
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import SSD_SPACE, Resources

CACHE: Final = "cache"
"""The request under which a cache is held."""


def cache_commands(columns: Columns, entries: Iterable[LedgerEntry], node: str, size_bytes: int) -> Together:
    """Return what makes a node's cache so large; the columns are those in which promises are counted."""
    live = [entry for entry in entries if entry.holds]
    cache, whole = cache_capacity(node), node_capacity(node)
    reserve_bytes = cache_reserve_bytes(columns, columns.nodes[columns.node_index[node]])
    holds = (
        Hold(CACHE, cache, Resources({SSD_SPACE: size_bytes})),
        Hold(CACHE, whole, Resources({SSD_SPACE: max(0, size_bytes - reserve_bytes)})),
    )
    supply = Supply(supply_of(columns, live, {cache, whole}))
    if any(entry.reservation == cache for entry in live):
        resized = (Resize(cache, hold.request, hold.capacity, hold.resources) for hold in holds)
        return Together((supply, *resized))
    # It is in use at once, so that the time at which it would end never comes.
    return Together((supply, Reserve(cache, f"{OF_NODE}{node}", INT64_MAX, holds=holds), Bind(cache, node)))
