"""Room that the ledger holds, as those count it who give room away.

What is promised stands on its node like a pod until the pod that it is for runs; see with_promises. The hard
thing is that the cluster goes on changing underneath: what was seen is kept without promises too, and after
every change it is looked at again which of them still stand beside it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from ullage.engine.ledger.promises import with_promises
from ullage.kube.plans import Plans
from ullage.model.cluster import Snapshot
from ullage.model.delta import Delta
from ullage.model.delta import apply as apply_delta
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.table import Keyed, Table

_TABLES = ("workloads", "reservations")
_NOBODY: tuple[LedgerEntry, ...] = ()


class HeldRoom:
    """The promises that are counted, row by row."""

    def __init__(self, plans: Plans, now: Callable[[], int]) -> None:
        self._plans = plans
        self._now = now
        self._seen: Snapshot | None = None
        self._entries = _NOBODY
        self._rows: dict[str, dict[str, Any]] = {table: {} for table in _TABLES}
        self.places: Mapping[str, str] = {}
        """The nodes on which room is held for pods that wait."""

    def applied(self, delta: Delta, shown: Snapshot | None) -> Delta:
        """Return a change with what it makes of promises; `shown` is the cluster before it, with promises."""
        entries = self._plans.standing(self._now())
        if shown is None or not (entries or any(self._rows.values())):
            self._seen = None
            return delta
        before = shown if self._seen is None else self._seen
        if self._seen is not None and delta.is_empty and entries is self._entries:
            return self._mended(delta, shown, self._seen, self._rows)
        self._entries = entries
        self._seen = seen = before if delta.is_empty else apply_delta(before, delta)
        counted = with_promises(seen, entries)
        rows = {table: _changed(getattr(seen, table), getattr(counted, table)) for table in _TABLES}
        mended = self._mended(delta, shown, seen, rows)
        self._rows = rows
        self.places = {
            key: row.node
            for key, row in rows["workloads"].items()
            if (waiting := seen.workloads.get(key)) is not None and not waiting.holds_capacity
        }
        return mended

    def lifted(self, keys: Iterable[str]) -> Delta:
        """Return what shows pods as they are, whatever is held for them: it is theirs to use."""
        if self._seen is None:
            return Delta()
        found = (self._seen.workloads.get(key) for key in keys if key in self.places)
        return Delta(workloads=tuple(row for row in found if row is not None))

    def _mended(
        self, delta: Delta, shown: Snapshot, seen: Snapshot, rows: Mapping[str, Mapping[str, Any]]
    ) -> Delta:
        """Return a change by which what is shown becomes what was seen, with these rows over it."""
        fields: dict[str, Any] = {}
        dropped = {table: set(keys) for table, keys in delta.dropped.items()}
        for table in _TABLES:
            put = {row.key: row for row in getattr(delta, table)}
            gone = dropped.setdefault(table, set())
            known, plain = getattr(shown, table), getattr(seen, table)
            for key in {*self._rows[table], *rows[table]}:
                wanted = rows[table].get(key) or plain.get(key)
                put.pop(key, None)
                gone.discard(key)
                if wanted is None and key in known:
                    gone.add(key)
                elif wanted is not None and known.get(key) != wanted:
                    put[key] = wanted
            fields[table] = tuple(put.values())
        kept = {table: tuple(sorted(keys)) for table, keys in dropped.items() if keys}
        return msgspec.structs.replace(delta, **fields, dropped=kept)


def _changed(before: Table[Keyed], after: Table[Keyed]) -> dict[str, Any]:
    rows, _ = before.difference(after)
    return {row.key: row for row in rows}
