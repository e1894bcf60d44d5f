"""Use and labels of all quotas of a cluster that changes: a delta costs what it changes.

The same ledger as accounts, kept instead of counted anew: members enter and leave, and only the quotas they
are of are looked at again. What changes how members are counted (quotas, the policy, the size of a GPU)
counts all anew, and so does a great number of changes: what workloads shared that are gone is then forgotten.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts, asks_to_run, holds_quota
from ullage.engine.quota.audit import CAPACITY_LABEL
from ullage.engine.quota.book import NO_QUOTA
from ullage.engine.quota.cluster_capacity import shared_capacity
from ullage.engine.quota.gpu_sizes import GpuSizes
from ullage.engine.quota.ordered_standing import OrderedStanding
from ullage.engine.quota.rights import Rules
from ullage.engine.quota.shares import beyond, entitlements, guaranteed, names_of
from ullage.model.cluster import Quota, Workload
from ullage.model.delta import Delta
from ullage.model.resources import Resources

CHANGES_MAX: Final = 200_000
"""Changes of workloads after which all are counted anew."""


class QuotaFigures(NamedTuple):
    """What a quota has: used, beyond its min, and at most by right."""

    quota: Quota
    used: Resources
    borrowed: Resources
    entitlement: Resources


class Relabelled(NamedTuple):
    """A workload that should have another label, and its quota; both empty where it should have none."""

    workload: str
    label: str
    quota: str = ""


class FollowedQuotas:
    """Everybody who runs or asks under quotas, as deltas come."""

    def __init__(self, columns: Columns) -> None:
        self._begin(columns)

    def _begin(self, columns: Columns) -> None:
        """Count all anew."""
        self._columns = columns
        self._changes = 0
        self._cordoned = _cordoned(columns)
        self._accounts = accounts = Accounts(columns)
        self._counted = {**accounts.running, **accounts.leaving}
        self._waiting = dict(accounts.waiting)
        self._standing = OrderedStanding(accounts.book, self._counted.values(), accounts.standing.order)
        self._stale = set(range(len(accounts.book.quotas)))
        self._wanted: list[Mapping[str, str]] = [{} for _ in accounts.book.quotas]
        self._unsure: set[str] = set()
        self._odd = {
            each.key
            for each in columns.snapshot.workloads
            if CAPACITY_LABEL in each.labels and not self._is_counted(each.key)
        }

    def advance(self, columns: Columns, delta: Delta) -> bool:
        """Take a change into account; return whether it may have changed anything here."""
        before, self._columns = self._columns, columns
        self._accounts.columns = columns
        dropped = delta.dropped.get("workloads", ())
        self._changes += len(delta.workloads) + len(dropped)
        if self._is_to_be_counted_anew(before, delta):
            self._begin(columns)
            return True
        changed = False
        if self._moves_capacity(before, delta):
            self._accounts.capacity = shared_capacity(columns)
            changed = bool(self._accounts.book.quotas)
        for key in dropped:
            changed |= self._replace(key, None)
        for row in delta.workloads:
            changed |= self._replace(row.key, row)
        return changed

    def _moves_capacity(self, before: Columns, delta: Delta) -> bool:
        """Whether nodes change, or what runs on those that count with nothing else."""
        if delta.nodes or delta.dropped.get("nodes"):
            self._cordoned = _cordoned(self._columns)
            return True
        if not self._cordoned:
            return False
        known = before.snapshot.workloads
        keys = (*(row.key for row in delta.workloads), *delta.dropped.get("workloads", ()))
        left = (row.node for row in map(known.get, keys) if row is not None)
        return not self._cordoned.isdisjoint((*left, *(row.node for row in delta.workloads)))

    def _is_to_be_counted_anew(self, before: Columns, delta: Delta) -> bool:
        known_quotas = before.snapshot.quotas
        if any(_terms(row) != _terms(known_quotas.get(row.key)) for row in delta.quotas):
            return True
        if delta.dropped.get("quotas") or self._changes > CHANGES_MAX:
            return True
        if not self._columns.snapshot.quotas:
            return False
        if self._columns.snapshot.policy != before.snapshot.policy:
            return True
        names = (*(node.name for node in delta.nodes), *delta.dropped.get("nodes", ()))
        if not names:
            return False
        known, sizes = self._accounts.sizes, GpuSizes(self._columns.snapshot)
        self._accounts.sizes = sizes
        return known.waiting != sizes.waiting or any(
            known.of_name(name) != sizes.of_name(name) for name in names
        )

    def _replace(self, key: str, row: Workload | None) -> bool:
        """Let a workload enter, change or leave."""
        member = asking = None
        if row is not None and holds_quota(row):
            member = self._accounts.member_of(row)
        elif row is not None and asks_to_run(row):
            asking = self._accounts.member_of(row)
        before, waited = self._counted.get(key), self._waiting.pop(key, None)
        if asking is not None and asking.quota != NO_QUOTA:
            self._waiting[key] = asking
        else:
            asking = None
        is_other = before != member
        if is_other and before is not None:
            del self._counted[key]
            self._standing.remove(before)
        if is_other and member is not None:
            self._counted[key] = member
            self._standing.add(member)
        touched = [each for each in (before, member) if each is not None and each.quota != NO_QUOTA]
        if is_other:
            self._stale |= {each.quota for each in touched}
        unsure = self._is_unsure(key, "" if row is None else row.labels.get(CAPACITY_LABEL, ""))
        return unsure or waited != asking or (is_other and bool(touched))

    def _is_unsure(self, key: str, label: str) -> bool:
        """Take note of a workload that may have another label than it should; return whether that is so."""
        self._odd.discard(key)
        if not self._is_counted(key):
            if label:
                self._odd.add(key)
            return bool(label)
        wanted = self._wanted[self._counted[key].quota].get(key)
        self._unsure.add(key)
        return wanted != label

    def _is_counted(self, key: str) -> bool:
        member = self._counted.get(key)
        return member is not None and member.quota != NO_QUOTA

    def labels(self) -> list[Relabelled]:
        """Return who should have another label, of the quotas that have changed since the last call.

        Those that run have one; of those that run no longer, or under no quota, it is taken away.
        """
        workloads = self._columns.snapshot.workloads
        found = []
        for place, key, wanted in self._to_be_compared():
            row = workloads.get(key)
            if row is None or row.terminating or not row.node:
                continue
            if row.labels.get(CAPACITY_LABEL, "") != wanted:
                found.append(Relabelled(key, wanted, self._accounts.book.quotas[place].name))
        self._stale.clear()
        self._unsure.clear()
        for key in sorted(self._odd):
            row = workloads.get(key)
            if row is not None and not row.terminating:
                found.append(Relabelled(key, ""))
        self._odd.clear()
        return found

    def _to_be_compared(self) -> Iterator[tuple[int, str, str]]:
        """Yield whose label is to be looked at: what it should be has changed, or what it is has."""
        for place in sorted(self._stale):
            known, now = self._wanted[place], self._standing.labels(place)
            self._wanted[place] = now
            for key, wanted in now.items():
                if known.get(key) != wanted or key in self._unsure:
                    yield place, key, wanted
        for key in sorted(self._unsure):
            member = self._counted.get(key)
            if member is not None and member.quota != NO_QUOTA and member.quota not in self._stale:
                yield member.quota, key, self._wanted[member.quota][key]

    def look_again(self, keys: Iterable[str]) -> None:
        """Look again at the labels of workloads that could not be written."""
        for key in keys:
            member = self._counted.get(key)
            counted = member is not None and member.quota != NO_QUOTA
            (self._unsure if counted else self._odd).add(key)

    def figures(self) -> list[QuotaFigures]:
        """Return what every quota has at present, by name."""
        standing, book = self._standing, self._accounts.book
        shared = standing.entitlements(self._waiting.values(), self._accounts.capacity)
        found = []
        for place, entitled in enumerate(entitlements(Rules(standing, shared))):
            used = standing.used[place]
            named = names_of(book, place, used)
            borrowed = book.readable(beyond(used, guaranteed(book, place))).only(named)
            found.append(
                QuotaFigures(
                    book.quotas[place], book.readable(used).only(named), borrowed, book.readable(entitled)
                )
            )
        return found


def _terms(quota: Quota | None) -> Quota | None:
    """Return a quota without what was stated of its use, which decides nothing."""
    return None if quota is None else msgspec.structs.replace(quota, stated_used=None)


def _cordoned(columns: Columns) -> frozenset[str]:
    """Return the nodes that take nothing new."""
    return frozenset(node.name for node in columns.nodes if node.state == "cordoned")
