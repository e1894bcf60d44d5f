"""The disks of replicas that stay on their nodes, when they are asked for again.

What is reserved for one and is what is asked for stays as it is. Anything else is planned anew on its node,
as if nothing were reserved for it: a mere promise may go to other disks, or to another node. A volume that
exists grows on its own disk or not at all. The hard thing is to know what is whose: the claims of a
StatefulSet carry the names of its pods, replicas of other sets are all alike.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np

from ullage.engine.ledger.naming import STATEFUL_SET, volume_of
from ullage.engine.placement.disk_holders import served_on
from ullage.engine.placement.local_disks import DiskRule, LocalDisks, rule_of
from ullage.engine.placement.outcome import Replanned
from ullage.engine.placement.shapes import Shape
from ullage.engine.placement.volume_binding import Binding
from ullage.engine.placement.volume_places import OnNodes
from ullage.engine.storage.disk_requests import claim_key, volumes_of_replica
from ullage.engine.trial import Trial
from ullage.model.cluster import Volume, Workload
from ullage.model.disk_plan import DiskWitness
from ullage.model.ledger import VOLUME_SPACE
from ullage.model.ledger_entry import LedgerEntry


class Stay(NamedTuple):
    """How a replica stays: its shape there, and the reservation by which it has its disks.

    `keeps` says that these stay as they are, `replans` that others are to be reserved. `has_data` is one
    whose volumes exist, which cannot go elsewhere.
    """

    shape: Shape
    reservation: str = ""
    keeps: bool = False
    replans: bool = False
    has_data: bool = False


class KeptDisks:
    """The disks of all replicas of one batch that have a node."""

    def __init__(self, trial: Trial, asked: Workload, running: Sequence[Workload]) -> None:
        self._trial = trial
        self._asked = asked
        self._stays: dict[str, Stay] = {}
        self._disks: LocalDisks | None = None
        known = bool(asked.volumes) or len(trial.columns.snapshot.reservations) > 0
        if known and (asked.volumes or trial.volumes.disks.reserved_names(asked.key)):
            self._disks = trial.volumes.disks
            self._disks.keep(asked.key, frozenset())
            self._look(running)
            self._keep()

    def of(self, replica: Workload) -> Stay:
        """Return how a replica would stay on its node."""
        found = self._stays.get(replica.key)
        return Stay(self._trial.shape_of(self._asked)) if found is None else found

    def lacking(self, replica: Workload) -> DiskWitness | None:
        """Return what the node of a replica lacks for its volumes; None if nothing. It is off its node."""
        stay = self.of(replica)
        rule = rule_of(stay.shape)
        row = self._trial.row_of[replica.node]
        away = _kept_away(stay.shape, row) if replica.promised else ""
        if away:
            return DiskWitness(replica.node, (), away)
        if rule is None or stay.keeps:
            return None
        # of volumes that nobody knows to be missing none is looked for: only what exists and grows is new
        found = rule.chosen(row) if stay.replans else rule.disks.chosen((), row, rule.growing(row))
        return found if isinstance(found, DiskWitness) else None

    def lacking_if_off(self, replica: Workload) -> DiskWitness | None:
        """Return the same for a replica that is still on its node."""
        mark = self._trial.mark()
        self._trial.evict(replica)
        found = self.lacking(replica)
        self._trial.undo(mark)
        return found

    def place(self, replica: Workload) -> Replanned | None:
        """Put a replica back on its node, and return the disks that it has there now, if they are others."""
        stay, row = self.of(replica), self._trial.row_of[replica.node]
        if stay.keeps and self._disks is not None:
            with self._disks.keeping(replica.key):
                self._trial.place(stay.shape, row)
            return None
        self._trial.place(stay.shape, row)
        rule = rule_of(stay.shape)
        if not stay.replans and (rule is None or not rule.growing(row)):
            return None
        return Replanned(stay.reservation, replica.node, tuple(served_on(stay.shape, row, 1)))

    def leave(self, replica: Workload) -> None:
        """Give up what is kept for a replica that does not stay."""
        if self._stays.pop(replica.key, None) is not None:
            self._keep()

    def _keep(self) -> None:
        if self._disks is not None:
            kept = frozenset(each.reservation for each in self._stays.values() if each.keeps)
            self._disks.keep(self._asked.key, kept)

    def _look(self, running: Sequence[Workload]) -> None:
        """Find what is reserved for whom, those first whose claims say it, then those that only stand."""
        free: dict[str, dict[str, list[LedgerEntry]]] = {}
        for replica in running:
            row = self._trial.row_of[replica.node]
            free.setdefault(replica.node, self._disks_of().reserved_for(self._asked.key, row))
        named: dict[str, str] = {}
        for replica in running:
            claims = {each.claim for each in self._own_volumes(replica) if each.claim}
            for name in sorted(free[replica.node], key=_by_number):
                requests = {entry.request for entry in free[replica.node][name]}
                if self._asked.kind == STATEFUL_SET and name not in named.values() and claims & requests:
                    named[replica.key] = name
                    break
        for replica in sorted(running, key=lambda each: not each.promised):
            left = sorted(free[replica.node].keys() - set(named.values()), key=_by_number)
            if replica.key not in named and left:
                named[replica.key] = left[0]
        for replica in running:
            name = named.get(replica.key, "")
            self._stays[replica.key] = self._stay(replica, name, free[replica.node].get(name, ()))

    def _disks_of(self) -> LocalDisks:
        return self._trial.volumes.disks

    def _stay(self, replica: Workload, reservation: str, entries: Iterable[LedgerEntry]) -> Stay:
        made = self._trial.volumes.growths
        own = self._own_volumes(replica)
        has_data = any(each.claim and made.is_made(claim_key(self._asked, each)) for each in own)
        if not reservation and not replica.promised:
            own = self._known_volumes(replica, own)
        shape = self._trial.shape_of(msgspec.structs.replace(self._asked, volumes=own))
        if not reservation and not replica.promised:
            return Stay(shape, has_data=has_data)
        rule = rule_of(shape)
        keeps = self._is_as_asked(rule, replica, list(entries))
        has_data |= not replica.promised
        return Stay(shape, reservation, keeps=keeps, replans=not keeps, has_data=has_data)

    def _own_volumes(self, replica: Workload) -> tuple[Volume, ...]:
        """Return what is asked for with the claims of a replica in place of those of the template."""
        return volumes_of_replica(self._asked, replica.name)

    def _known_volumes(self, replica: Workload, own: tuple[Volume, ...]) -> tuple[Volume, ...]:
        """Return the volumes of something that runs: of a set's template those that exist, and its own."""
        if self._asked.key == replica.key:
            return own
        made = self._trial.volumes.growths
        exist = [each for each in own if each.claim and made.is_made(claim_key(self._asked, each))]
        claims = {each.claim for each in exist}
        return (*exist, *(each for each in replica.volumes if each.claim not in claims or not each.claim))

    def _is_as_asked(self, rule: DiskRule | None, replica: Workload, entries: list[LedgerEntry]) -> bool:
        """Whether what is reserved is what is asked for, no more and no less."""
        held = [self._disks_of().carriers.get(each.claim, each) if each.refers else each for each in entries]
        pairs = [(volume_of(entry.request), has) for entry, has in zip(entries, held, strict=True)]
        left = {request: has for request, has in pairs if has.state == "RESERVED"}
        made = {request: has for request, has in pairs if has.state == "BOUND"}
        if rule is None:
            return not left
        row = self._trial.row_of[replica.node]
        wanted = rule.wanted()
        for request in rule.requests:
            entry = left.pop(request.name, None) or made.get(request.name)
            if entry is None and request.name in rule.shared_names & self._shared_and_held:
                continue
            if entry is None and request not in wanted:
                continue
            if entry is None or not rule.disks.serves(entry, request, row):
                return False
        grows = {each.request for each in rule.growing(row)}
        for promised in rule.promised:
            name = promised.request.name
            if name not in grows and left.pop(name, None) is None and name not in made:
                return False
        for each in rule.growing(row):
            entry = left.pop(each.request, None)
            if each.refusal or entry is None or entry.resources.of(VOLUME_SPACE) != each.more_bytes:
                return False
        return not left

    @cached_property
    def _shared_and_held(self) -> frozenset[str]:
        """The requests that another replica has, for all of them."""
        if self._asked.kind == STATEFUL_SET:
            return frozenset()
        return self._trial.volumes.disks.reserved_names(self._asked.key)


def _kept_away(shape: Shape, row: int) -> str:
    """Return why a promise cannot stay on a node: a claim of it has its volume elsewhere, or nowhere."""
    for rule in (*shape.local_rules, *shape.wide_rules):
        if isinstance(rule, OnNodes | Binding) and not rule.allows(np.array([row]))[0]:
            return rule.reason
    return ""


def _by_number(reservation: str) -> tuple[int, str]:
    return len(reservation), reservation
