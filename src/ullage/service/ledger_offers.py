"""What a ledger may promise of a cluster: everything that nodes, quotas, drives and caches offer.

Whoever keeps a ledger for a cluster that changes tells it so now and then. What is free is counted beside the
promises that stand, so an offer stays right when others are promised something meanwhile.
"""

from ullage.engine.ledger.supply import supply_of
from ullage.model.ledger import Capacity
from ullage.service.asked import Asked, read_everybody
from ullage.service.held import columns_of
from ullage.service.ledger_file import live_entries


def offers_of(asked: Asked) -> tuple[Capacity, ...]:
    """Return what everything in a cluster offers, beside what its ledger holds."""
    entries = live_entries(asked.ledger, asked) if asked.ledger else ()
    return supply_of(columns_of(read_everybody(asked)), entries)
