"""What was given away of the capacity that CSI drivers publish, until they publish what is left.

A driver says how much a class can still provide on some nodes (CSIStorageCapacity), and says so again some
time after a volume was made. Until then it is counted here: from the decision until the claim has its volume
and the capacity was published anew, or long enough after. Which capacity a volume is taken from nobody says:
it is taken from the largest that is there for its class and node.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from ullage.engine.placement.selectors import requirements_of, selects
from ullage.model.cluster import Snapshot
from ullage.model.delta import Delta
from ullage.model.storage import Claim, StorageCapacity

PUBLISHED_SECONDS: Final = 60.0
"""After so long a driver has published what is left: external-provisioner looks once in a minute."""


class _Given(NamedTuple):
    """What one claim takes of which capacity; `ends` is when that ends by itself, None before it is made."""

    capacity: str
    size_bytes: int
    owner: str
    ends: float | None = None


class StorageRoom:
    """The capacities that are published, less what was given away of them."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._rows: dict[str, StorageCapacity] = {}
        self._by_label: dict[tuple[str, str, str], dict[str, None]] = {}
        self._given: dict[str, _Given] = {}
        self._taken: Counter[str] = Counter()
        self._touched: set[str] = set()

    def __len__(self) -> int:
        return len(self._given)

    def has_room(self, claims: Iterable[Claim], node: str, snapshot: Snapshot) -> bool:
        """Whether each of some claims can still be served on a node, beside what was given away before."""
        for claim in claims:
            if self._is_counted(claim, snapshot) and claim.key not in self._given:
                key = self._best(claim, node, snapshot)
                if key and self._taken[key] and self._limit(key) < claim.size_bytes:
                    return False
        return True

    def hold(self, owner: str, claims: Iterable[Claim], node: str, snapshot: Snapshot) -> None:
        """Take for granted that claims of a pod are served on a node."""
        for claim in claims:
            key = self._best(claim, node, snapshot) if self._is_counted(claim, snapshot) else ""
            if key and claim.key not in self._given:
                self._given[claim.key] = _Given(key, claim.size_bytes, owner)
                self._taken[key] += claim.size_bytes
                self._touched.add(key)

    def let_go(self, owner: str) -> None:
        """Take back what was given to a pod that is not bound after all, and is not made yet."""
        for key in [key for key, each in self._given.items() if each.owner == owner and each.ends is None]:
            self._forget(key)

    def applied(self, delta: Delta) -> Delta:
        """Return what was seen with what is left of capacities."""
        self._note(delta)
        if not self._touched:
            return delta
        touched, self._touched = self._touched, set()
        left = tuple(self._left(key) for key in sorted(touched) if key in self._rows)
        return msgspec.structs.replace(delta, storage_capacities=left)

    def _note(self, delta: Delta) -> None:
        gone = delta.dropped.get("storage_capacities", ())
        for key in (*gone, *(row.key for row in delta.storage_capacities)):
            self._remove(key)
            made = [each for each, given in self._given.items() if given.capacity == key and given.ends]
            for each in made:
                self._forget(each)
        for row in delta.storage_capacities:
            self._rows[row.key] = row
            self._by_label.setdefault(_label(row), {})[row.key] = None
            self._touched.add(row.key)
        if not self._given:
            return
        now = self._now()
        for claim in delta.claims:
            given = self._given.get(claim.key)
            if given is not None and given.ends is None and claim.bound:
                self._given[claim.key] = given._replace(ends=now + PUBLISHED_SECONDS)
        over = {key for key, each in self._given.items() if each.ends is not None and each.ends <= now}
        for key in over.union(key for key in delta.dropped.get("claims", ()) if key in self._given):
            self._forget(key)

    def _remove(self, key: str) -> None:
        row = self._rows.pop(key, None)
        if row is not None:
            self._by_label[_label(row)].pop(key, None)

    def _forget(self, claim: str) -> None:
        given = self._given.pop(claim)
        self._taken[given.capacity] -= given.size_bytes
        self._touched.add(given.capacity)

    def _is_counted(self, claim: Claim, snapshot: Snapshot) -> bool:
        """Whether a claim is to be served from a capacity that somebody publishes."""
        storage = snapshot.storage_classes.get(claim.storage_class)
        driver = snapshot.storage_drivers.get(storage.provisioner) if storage is not None else None
        return driver is not None and driver.checks_capacity and claim.size_bytes > 0 and not claim.bound

    def _best(self, claim: Claim, node: str, snapshot: Snapshot) -> str:
        """Return the capacity that has most room for a claim on a node; '' where there is none."""
        row = snapshot.nodes.get(node)
        labels = row.labels if row is not None else {}
        found = list(self._for_node(claim.storage_class, labels))
        return max(found, key=lambda key: (self._limit(key), key), default="")

    def _for_node(self, storage_class: str, labels: Mapping[str, str]) -> Iterator[str]:
        places = [(storage_class, key, value) for key, value in labels.items()]
        for place in ((storage_class, "", ""), *places):
            for key in self._by_label.get(place, ()):
                if selects(requirements_of(self._rows[key].topology), labels):
                    yield key

    def _limit(self, key: str) -> int:
        """Return the largest volume that can still be made of a capacity."""
        row = self._left(key)
        return row.capacity_bytes if row.volume_bytes_max is None else row.volume_bytes_max

    def _left(self, key: str) -> StorageCapacity:
        """Return a capacity less what was given away of it; one that says no amount stays as it is."""
        row = self._rows[key]
        if not self._taken[key] or not row.capacity_bytes:
            return row
        left_bytes = max(0, row.capacity_bytes - self._taken[key])
        at_most = None if row.volume_bytes_max is None else min(row.volume_bytes_max, left_bytes)
        return msgspec.structs.replace(row, capacity_bytes=left_bytes, volume_bytes_max=at_most)


def _label(row: StorageCapacity) -> tuple[str, str, str]:
    """Return under which label of nodes a capacity is found: one that all of its nodes have, or none."""
    labels = row.topology.match_labels if row.topology is not None else {}
    key = min(labels, default="")
    return row.storage_class, key, labels.get(key, "")
