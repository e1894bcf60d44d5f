"""Objects that are rows of a table, each for itself, as they come and go.

The hard thing is the little that one says of another: the default storage class is that of claims that name
none, and two kinds of quotas may have one name. Only these are looked at again when one of them changes.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from ullage.model.cluster import Quota
from ullage.model.storage import Claim, StorageClass
from ullage.sources.kubernetes import storage_objects as storage
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.api.mirrored_claims import MirroredClaims
from ullage.sources.kubernetes.faults import decoded
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.object_kinds import OBJECT_KINDS
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE, names_no_class, with_names_of_their_own
from ullage.sources.kubernetes.wire import ClaimWire

_CLAIMS: Final = "claims"
_CLASSES: Final = "storage_classes"
_QUOTAS: Final = "quotas"
_WHOLE: Final = frozenset((_CLASSES, _QUOTAS))
"""Tables in which one row depends on the others: few rows, looked at together."""

Changes = dict[str, dict[str, Any]]
"""By table and key: the row as it is now, None for one that is gone."""


class MirroredRows:
    """The rows of all tables whose objects are read one to one."""

    def __init__(self) -> None:
        self._read: dict[Kind, dict[str, Any]] = {kind: {} for kind in OBJECT_KINDS}
        self._classless: set[str] = set()
        self.claims = MirroredClaims()
        self._created: dict[str, float] = {}
        self._shown: dict[str, dict[str, Any]] = {kind.table: {} for kind in OBJECT_KINDS.values()}
        self._stale: Changes = {}
        self._stale_whole: set[str] = set()

    def read_by(self, amounts: Amounts, check: Callable[[str, object], None]) -> None:
        """Read what follows by these; `check` raises where no table can hold a row."""
        self._amounts = amounts
        self._check = check

    def put(self, kind: Kind, key: str, content: Any) -> None:
        """Take an object; raises a Fault, an InputError or a msgspec error."""
        facts = OBJECT_KINDS[kind]
        wire = decoded(facts.decoder, content)
        row = facts.read(wire, self._amounts, DEFAULT_NAMESPACE)
        self._check(facts.table, row)
        self._read[kind][key] = row
        if isinstance(wire, ClaimWire):
            (self._classless.add if names_no_class(wire) else self._classless.discard)(row.key)
            self.claims.put(wire, row)
        if isinstance(wire, storage.ClassObject):
            created = wire.metadata.creation_timestamp
            self._created[row.key] = created.timestamp() if created is not None else 0
        self._mark(facts.table, row)

    def drop(self, kind: Kind, key: str) -> None:
        """Forget an object."""
        row = self._read[kind].pop(key, None)
        if row is not None:
            table = OBJECT_KINDS[kind].table
            self._mark(table, row)
            if table == _CLAIMS:
                self._classless.discard(row.key)
                self.claims.drop(row.key)
            if table == _CLASSES:
                self._created.pop(row.key, None)
            if table not in _WHOLE:
                self._stale[table][row.key] = None

    def keys(self, kind: Kind) -> list[str]:
        """Return the keys of all objects of a kind."""
        return list(self._read[kind])

    def _mark(self, table: str, row: Any) -> None:
        if table in _WHOLE:
            self._stale_whole.add(table)
        else:
            self._stale.setdefault(table, {})[row.key] = row

    def claim(self, key: str) -> Claim | None:
        """Return a claim as it was shown last."""
        found: Claim | None = self._shown[_CLAIMS].get(key)
        return found

    def rows(self, table: str) -> Mapping[str, Any]:
        """Return the rows of a table as they were shown last."""
        return self._shown[table]

    def quotas(self) -> tuple[Quota, ...]:
        """Return the quotas as they are now, each under the name it was written with."""
        return tuple(self._rows_of(_QUOTAS))

    @property
    def default_class(self) -> str:
        """The class of claims that name none, as it was shown last."""
        return next((each.name for each in self._shown[_CLASSES].values() if each.default), "")

    def changes(self) -> Changes:
        """Return what has changed since the last call."""
        found: Changes = {}
        for table in self._stale_whole:
            wanted = {row.key: row for row in self._whole(table)}
            shown = self._shown[table]
            changed = {key: row for key, row in wanted.items() if shown.get(key) != row}
            changed |= dict.fromkeys(key for key in shown if key not in wanted)
            found[table] = changed
        if found.get(_CLASSES):
            self._show(_CLASSES, found[_CLASSES])
            stale = self._stale.setdefault(_CLAIMS, {})
            for key in self._classless:
                stale.setdefault(key, self._shown[_CLAIMS].get(key))
        for table, rows in self._stale.items():
            for key, each in rows.items():
                row = each
                if table == _CLAIMS and row is not None and key in self._classless:
                    row = msgspec.structs.replace(row, storage_class=self.default_class)
                if self._shown[table].get(key) != row:
                    found.setdefault(table, {})[key] = row
        self._stale.clear()
        self._stale_whole.clear()
        for table, changed in found.items():
            self._show(table, changed)
        return {table: changed for table, changed in found.items() if changed}

    def _show(self, table: str, changed: Mapping[str, Any]) -> None:
        shown = self._shown[table]
        for key, row in changed.items():
            if row is None:
                shown.pop(key, None)
            else:
                shown[key] = row

    def _rows_of(self, table: str) -> list[Any]:
        """Return the rows of a table, each as its object alone says."""
        return [
            row
            for kind, facts in OBJECT_KINDS.items()
            if facts.table == table
            for _, row in sorted(self._read[kind].items())
        ]

    def _whole(self, table: str) -> Iterator[Any]:
        """Yield the rows of a table in which one row depends on the others."""
        rows = self._rows_of(table)
        if table == _QUOTAS:
            quotas: list[Quota] = rows
            yield from with_names_of_their_own(quotas)
            return
        classes: list[StorageClass] = rows
        defaults = [each.name for each in classes if each.default]
        newest = min(defaults, key=lambda name: (-self._created[name], name), default="")
        for each in classes:
            chosen = each.name == newest
            yield each if each.default == chosen else msgspec.structs.replace(each, default=chosen)
