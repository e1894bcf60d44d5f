"""How many plans are kept of each cluster: those that were committed are apart from all others.

Plans are made by whoever may, as often as they like; what was committed is part of what has happened. So
none that was is ever dropped for one that was not, nor any of a cluster for those of another.
"""

import sqlite3
from collections.abc import Iterable
from typing import Final

import msgspec

PLANS_MAX: Final = 1000
BYTES_MAX: Final = 64 << 20
"""What is kept of a cluster's plans that were not committed: the open ones go last, and the newest."""
COMMITTED_MAX: Final = 10_000
COMMITTED_BYTES_MAX: Final = 256 << 20


def make_room(connection: sqlite3.Connection, cluster: str) -> None:
    """Drop plans of a cluster where there are too many; one of each kind is always kept."""
    connection.execute(
        "DELETE FROM plans WHERE identifier IN (SELECT identifier FROM (SELECT identifier, "
        "state = 'committed' AS is_done, row_number() OVER last AS number, "
        "sum(size_bytes) OVER last AS total FROM plans WHERE cluster = ?1 WINDOW last AS "
        "(PARTITION BY state = 'committed' ORDER BY state = 'open' DESC, identifier DESC)) "
        "WHERE number > iif(is_done, ?2, ?3) OR (number > 1 AND total > iif(is_done, ?4, ?5)))",
        (cluster, COMMITTED_MAX, PLANS_MAX, COMMITTED_BYTES_MAX, BYTES_MAX),
    )


def still_kept(connection: sqlite3.Connection, plans: Iterable[str]) -> frozenset[str]:
    """Return which of some plans are still there."""
    found = connection.execute(
        "SELECT identifier FROM plans WHERE identifier IN (SELECT value FROM json_each(?))",
        (msgspec.json.encode(list(plans)).decode(),),
    )
    return frozenset(identifier for (identifier,) in found)
