"""Promises of the ledger that are over: their time has come, their pod runs, or their owner is gone.

A pod that runs is its own entry: what was held of its node and of quotas is given back as soon as it has all
of that, so that only what is still to come is in the ledger. Disks are held until their time: the volume may
be made later. What is bound by hand stays until its owner is gone. And old steps are removed.
"""

from collections.abc import Callable
from typing import Final

from ullage.engine.columns import Columns
from ullage.engine.ledger.matching import broken_promises, kept_promises, promises_on_nodes
from ullage.engine.ledger.promises import with_promises
from ullage.engine.ledger.sharing import survivors
from ullage.engine.ledger.supply import supply_of
from ullage.engine.ledger.view import key_of
from ullage.kube.election import Leading
from ullage.kube.plans import Plans
from ullage.model.cluster import Snapshot, Workload
from ullage.model.errors import InputError
from ullage.model.ledger import COMPUTE, Command, Expire, Release, Supply, Together, is_disk
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources
from ullage.service.asked import standing
from ullage.stores.kubernetes_objects import OBJECT_BYTES_MAX, PlanObjects
from ullage.stores.kubernetes_writing import PlanLedger
from ullage.stores.protocol import asked_for

PATIENCE_SECONDS: Final = 5.0
ORPHAN_SECONDS: Final = 60
"""How long the owner of what is in use has to be gone: a pod that is replaced is soon there again."""
RELEASES_MAX: Final = 200
"""Reservations that are given back in one step; the others in the next."""
_POD: Final = "Pod"


class HoldKeeper:
    """Ends promises of the ledger that are over, for as long as this process leads."""

    def __init__(
        self,
        objects: PlanObjects,
        plans: Plans,
        leading: Leading,
        *,
        now: Callable[[], int],
        say: Callable[[str], None] = lambda _: None,
        hears_pods: Callable[[], bool] = lambda: True,
    ) -> None:
        """`hears_pods` says whether what is known of pods is up to date."""
        self._ledger = PlanLedger(objects, patience_seconds=PATIENCE_SECONDS)
        self._plans = plans
        self._leading = leading
        self._say = say
        self._now = now
        self._hears_pods = hears_pods
        self._waits_for = 0
        self._gone_since: dict[str, int] = {}
        self._said = ""
        self.ended = 0

    async def look(self, snapshot: Snapshot) -> None:
        """End what is over; what fails is tried again at the next look."""
        if not self._leading.leads or self._plans.revision < self._waits_for:
            return  # the watch has not shown yet what was done last
        if self._plans.problem:
            self._tell(self._plans.problem)
        at_seconds = max(self._now(), self._plans.state.at_seconds)
        command = self._wanted(snapshot, at_seconds)
        try:
            if command is not None:
                outcome = await self._ledger.submit(
                    asked_for(command, at_seconds, "", None, OBJECT_BYTES_MAX)
                )
                self._waits_for = outcome.revision
                self.ended += len({entry.reservation for entry in outcome.decision.changed})
                self._tell("" if outcome.decision.accepted else outcome.decision.reason)
            await self._ledger.compact_if_due()
        except InputError as error:
            self._tell(str(error))

    def _tell(self, why: str) -> None:
        """Say what is wrong, once for as long as it is."""
        if why and why != self._said:
            self._say(why)
        self._said = why

    def _wanted(self, snapshot: Snapshot, at_seconds: int) -> Command | None:
        """Return what ends all that is over now; None where nothing is.

        It is told first what is there besides: what a pod has by now is not for those who wait in line.
        """
        live = self._plans.standing(at_seconds)
        gone = self._orphans(snapshot, live, at_seconds)[:RELEASES_MAX]
        used = [name for name in used_promises(snapshot, live) if name not in gone][:RELEASES_MAX]
        if not (gone or used or self._plans.state.due(at_seconds)):
            return None

        def ends_now(entry: LedgerEntry) -> bool:
            return entry.reservation in gone or (entry.reservation in used and entry.request == COMPUTE)

        left = survivors(live, ends_now)
        kept = {key_of(entry) for entry in left}
        ends = [entry for entry in self._plans.state.entries if entry.holds and key_of(entry) not in kept]
        supply = _supply(snapshot, left, {entry.capacity for entry in ends})
        told = {capacity.name for capacity in supply.capacities}
        stay = {each.reservation for each in ends if is_disk(each.capacity) and each.capacity not in told}
        releases = [Release(name, volumes_stay=name in stay) for name in gone]
        releases += [Release(name, (COMPUTE,)) for name in used]
        return Together((Expire(), supply, *releases), line_last=True)

    def _orphans(self, snapshot: Snapshot, live: tuple[LedgerEntry, ...], at_seconds: int) -> list[str]:
        """Return what is in use by nobody, and has been for a while in which pods were seen."""
        if not self._hears_pods():
            self._gone_since = {}
            return []
        known = self._gone_since
        self._gone_since = {name: known.get(name, at_seconds) for name in broken_promises(snapshot, live)}
        return [name for name, since in self._gone_since.items() if at_seconds - since >= ORPHAN_SECONDS]


def _supply(snapshot: Snapshot, entries: list[LedgerEntry], names: set[str]) -> Supply:
    """Return what capacities offer beside what is still held; nodes and quotas that are not there go."""
    columns = Columns(with_promises(standing(snapshot), entries))
    offered = supply_of(columns, entries, names)
    gone = names - {capacity.name for capacity in offered}
    return Supply(offered, tuple(sorted(name for name in gone if not is_disk(name))))


def used_promises(snapshot: Snapshot, entries: tuple[LedgerEntry, ...]) -> list[str]:
    """Return the reservations whose pods run and have all that was held of nodes for them."""
    reserved = [entry for entry in entries if entry.state == "RESERVED"]
    found: set[str] = set()
    for promise, workload in kept_promises(snapshot, promises_on_nodes(reserved)):
        itself = snapshot.workloads.get(promise.owner) if promise.kind in {"", _POD} else None
        if any(_has(each, promise.resources) for each in (workload, itself)):
            found.add(promise.reservation)
    return sorted(found)


def _has(workload: Workload | None, promised: Resources) -> bool:
    if workload is None or not workload.holds_capacity:
        return False
    return workload.requests.larger(promised) == workload.requests
