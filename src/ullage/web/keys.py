"""What was done under an `Idempotency-Key`: who asks the same again gets what came of it, not more of it.

A key belongs to one kind of request about one cluster, and to what was asked first under it: anything else
under the same key is refused. Whoever does something writes its key down in the same transaction, so that of
two who ask at once one is told what came of the other's. Keys are remembered for a while, and only so many of
each kind.
"""

import sqlite3
import time
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final, NamedTuple

from ullage.web.http import Problem

HEADER: Final = "idempotency-key"
CHARACTERS_MAX: Final = 256
SECONDS_MAX: Final = 7 * 86_400
KEYS_MAX: Final = 10_000
UNPROCESSABLE: Final = 422


class Keyed(NamedTuple):
    """Something that is asked for under a key; without one, nothing is remembered of it."""

    operation: str
    cluster: str
    key: str
    digest: str

    def known(self, connection: sqlite3.Connection) -> str | None:
        """Return what came of it before; raises a Problem where something else was asked under its key."""
        if not self.key:
            return None
        found = connection.execute(
            "SELECT digest, answer FROM keys WHERE operation = ? AND cluster = ? AND key = ?", self[:3]
        ).fetchone()
        if found is not None and found[0] != self.digest:
            what = "something else was asked for under this Idempotency-Key"
            raise Problem(UNPROCESSABLE, what, "use another key for each request")
        return None if found is None else str(found[1])

    def remember(self, connection: sqlite3.Connection, answer: str) -> None:
        """Note what came of it, and forget what is too old or too much."""
        if not self.key:
            return
        now = int(time.time())
        connection.execute(
            "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?, ?)", (*self[:3], now, self.digest, answer)
        )
        connection.execute(
            "DELETE FROM keys WHERE at_seconds < ? OR (operation, cluster, key) IN "
            "(SELECT operation, cluster, key FROM keys WHERE operation = ? "
            "ORDER BY at_seconds DESC LIMIT -1 OFFSET ?)",
            (now - SECONDS_MAX, self.operation, KEYS_MAX),
        )


def forget_keys(connection: sqlite3.Connection, cluster: str) -> None:
    """Forget all that was done to a cluster: another one may get its name."""
    connection.execute("DELETE FROM keys WHERE cluster = ?", (cluster,))


def key_in(headers: Mapping[str, str]) -> str:
    """Return the key that a request has, empty where it has none."""
    key = headers.get(HEADER, "")
    if len(key) > CHARACTERS_MAX:
        what = f"Idempotency-Key has more than {CHARACTERS_MAX} characters"
        raise Problem(UNPROCESSABLE, what, "use a short one")
    return key


def digest_of(*parts: bytes) -> str:
    """Return what tells one request from others."""
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
