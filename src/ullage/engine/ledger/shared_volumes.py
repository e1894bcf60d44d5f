"""Volumes of a plan that several workloads share: each holds the claim, on the disk that one was given.

The plan has a disk for the first who is placed, the others follow it to its node. Where somebody holds the
claim already and stays, its disk is the one, by the name that the ledger has for it.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from ullage.engine.ledger.naming import STATEFUL_SET, place_of_owner, request_of, volume_of
from ullage.engine.ledger.sharing import with_claims
from ullage.engine.ledger.view import Key, key_of
from ullage.engine.storage.disk_requests import claim_key, is_own_claim
from ullage.model.cluster import Volume, Workload
from ullage.model.ledger import Hold, Reserve, is_disk, node_of
from ullage.model.ledger_entry import LedgerEntry

Change = TypeVar("Change")


def claim_of(workload: Workload, request: str) -> str:
    """Return the key of the claim that a request of a workload is for; none where it goes with one replica.

    The replicas of a StatefulSet have claims of their own, which others may name too.
    """
    for volume in workload.volumes:
        if volume.claim and not volume.inline and _names(workload, volume, request):
            return claim_key(workload, msgspec.structs.replace(volume, claim=request))
    return ""


def _names(workload: Workload, volume: Volume, request: str) -> bool:
    if not is_own_claim(workload, volume):
        return request == volume.claim
    template, _, number = request.rpartition("-")
    numbered = template == volume.claim and number.isascii() and number.isdecimal()
    return workload.kind == STATEFUL_SET and numbered


def held_by_claim(entries: Iterable[LedgerEntry], workloads: Iterable[Workload]) -> list[LedgerEntry]:
    """Return entries with the claims that workloads name and that are held without being written down."""
    asked: dict[str, list[Workload]] = {}
    for workload in workloads:
        if workload.volumes:
            asked.setdefault(workload.namespace, []).append(workload)

    def names(entry: LedgerEntry, claim: str) -> bool:
        namespace, _ = place_of_owner(entry.owner)
        volume = volume_of(entry.request)
        return any(claim_of(workload, volume) == claim for workload in asked.get(namespace, ()))

    return with_claims(entries, names) if asked else list(entries)


class SharedVolumes:
    """The claims that are held already, and those that a plan has disks for."""

    def __init__(self, live: Sequence[LedgerEntry]) -> None:
        self._carriers = {entry.claim: entry for entry in live if entry.claim and not entry.refers}
        self._placed: dict[str, Hold] = {}

    def place(self, holds: Iterable[Hold]) -> None:
        """Note the disks that a plan has for claims."""
        self._placed.update((hold.claim, hold) for hold in holds if hold.claim)

    def hold_of(self, entry: LedgerEntry) -> Hold:
        """Return an entry as a hold: of a claim, all that it takes."""
        has = self._carriers.get(entry.claim, entry) if entry.refers else entry
        return Hold(entry.request, entry.capacity, has.resources, entry.claim)

    def of(self, workload: Workload, node: str, holds: Iterable[Hold]) -> tuple[Hold, ...]:
        """Return what a workload on a node shares with others, beside what it holds."""
        volumes = {volume_of(hold.request) for hold in holds if is_disk(hold.capacity)}
        found = []
        for claim in {each.claim: None for each in workload.volumes if each.claim}:
            key = claim_of(workload, claim)
            has = self._placed.get(key) or self._held(key)
            if claim not in volumes and has is not None and node_of(has.capacity) == node:
                found.append(Hold(request_of(claim), has.capacity, has.resources, key))
        return tuple(found)

    def _held(self, claim: str) -> Hold | None:
        entry = self._carriers.get(claim)
        return None if entry is None else self.hold_of(entry)

    def where_they_are(
        self, changes: Iterable[Change], left: Sequence[LedgerEntry], unnamed: Collection[Key] = ()
    ) -> Iterator[Change]:
        """Yield the changes of a plan, with claims by the names of the disks where those who stay hold them.

        It is the same disk under another name, so it is on the same node: a claim that is promised on another
        node stays as it is planned, and the ledger will say where it is. Entries that are `unnamed` have
        claims that the ledger does not know of.
        """
        adopts = {
            entry.claim: entry.reservation for entry in left if key_of(entry) in unnamed and entry.claim
        }
        places = {(entry.claim, node_of(entry.capacity)): entry.capacity for entry in left if entry.claim}
        for each in changes:
            if isinstance(each, Reserve) and any(hold.claim for hold in each.holds):
                holds = tuple(
                    msgspec.structs.replace(
                        hold,
                        capacity=places.get((hold.claim, node_of(hold.capacity)), hold.capacity),
                        adopts=adopts.get(hold.claim, ""),
                    )
                    for hold in each.holds
                )
                yield msgspec.structs.replace(each, holds=holds)
            else:
                yield each
