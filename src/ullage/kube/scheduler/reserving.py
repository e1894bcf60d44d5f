"""Disks of csi-baremetal that are reserved for a pod: one reservation, on its node, and none left behind.

The hard thing is somebody else who writes the same one: another replica, or a pod of another namespace whose
reservation is called alike. So one that was not seen is created, one that was is changed only as it was seen,
and it is deleted only as it was written. What cannot be deleted now is tried again: a disk that nobody uses
must not be held.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import msgspec

from ullage.engine.placement.outcome import Served
from ullage.kube.install.choices import SCHEDULER, metadata
from ullage.kube.scheduler.actions import NotDoneError
from ullage.kube.scheduler.acts import Acts
from ullage.kube.scheduler.holds import claim_names, reservation_name
from ullage.model.cluster import Workload
from ullage.sources.kubernetes.api.client import ApiClient, HeldBackError, RefusedError, segment
from ullage.sources.kubernetes.api.connection import BrokenError
from ullage.sources.kubernetes.api.mirror import Mirror
from ullage.sources.kubernetes.api.mirrored_claims import revision_number
from ullage.sources.kubernetes.baremetal import GROUP as BAREMETAL

RESERVED: Final = "RESERVED"
RESERVATIONS: Final = f"/apis/{BAREMETAL}/v1/availablecapacityreservations"
FIRST_SECONDS: Final = 1.0
SECONDS_MAX: Final = 30.0
"""How long it is waited before a reservation is deleted that could not be."""
LOOKS_MAX: Final = 5
"""How often it is looked for one of which nobody knows whether it was made."""


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct):
    metadata: _Metadata


_OBJECT: Final = msgspec.json.Decoder(_Object)


class Reservation:
    """What is reserved for one pod: what it is called, and as what it was written.

    `is_doubted` is one whose answer was lost: it may be there. `is_seen` is one that the watch has shown.
    """

    def __init__(self, name: str, owner: str) -> None:
        self.name = name
        self.owner = owner
        self.uid = ""
        self.revision = ""
        self.is_doubted = False
        self.is_seen = False


class Reserving:
    """The reservations of pods that are being bound."""

    def __init__(
        self,
        client: ApiClient,
        mirror: Mirror,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`client` is one that writes nothing once another replica may lead."""
        self._client = client
        self._mirror = mirror
        self._sleep = sleep
        self._made: dict[str, Reservation] = {}
        self._acts = Acts()

    def unserved(self, workload: Workload, disks: Iterable[Served]) -> list[Served]:
        """Return those of the disks of a pod that are to be reserved: not for a claim that has its volume."""
        return [each for each in disks if not self._has_volume(workload, each)]

    def begin(self, workload: Workload) -> Reservation:
        """Have the name of a pod's reservation; raises a NotDoneError where it is another pod's."""
        key, name = workload.key, reservation_name(workload.namespace, workload.name)
        holder = self._made.get(name)
        if holder is not None and holder.owner != key:
            raise NotDoneError(_is_taken(name, holder.owner))
        known = self._mirror.reservation(name)
        if known is not None and known.owner != key and self._mirror.facts(known.owner) is not None:
            raise NotDoneError(_is_taken(name, known.owner))
        made = self._made[name] = Reservation(name, key)
        return made

    async def write(self, made: Reservation, workload: Workload, served: Iterable[Served]) -> None:
        """Reserve disks on the chosen node, instead of whatever is reserved for this pod; as the client."""
        document = self._document(made.name, workload, served)
        known = self._mirror.reservation(made.name)
        made.is_doubted = True
        try:
            if known is None:
                answer = await self._client.create(RESERVATIONS, document)
            else:
                document["metadata"]["resourceVersion"] = known.revision
                answer = await self._client.apply(reservation_path(made.name), document)
        except RefusedError as error:
            if error.is_conflict:
                made.is_doubted = False
                raise NotDoneError(
                    f"reservation {made.name} was written by somebody else meanwhile"
                ) from None
            raise
        written = _OBJECT.decode(answer).metadata
        made.uid, made.revision = written.uid, written.resource_version

    def is_missing(self, made: Reservation) -> bool:
        """Whether a reservation was there and is not any more: somebody else has deleted it."""
        known = self._mirror.reservation(made.name)
        is_there = known is not None and known.uid == made.uid
        made.is_seen = made.is_seen or is_there
        return made.is_seen and not is_there

    def forget(self, made: Reservation) -> None:
        """Let others have the name of a reservation that is not being made any more."""
        if self._made.get(made.name) is made:
            del self._made[made.name]

    async def release(self, made: Reservation) -> None:
        """Delete the reservation of a pod; where that fails, again and again beside all else."""
        if await self._is_released(made):
            self.forget(made)
        else:
            self._acts.begin(self._release_later(made))

    async def _release_later(self, made: Reservation) -> None:
        wait, looks = FIRST_SECONDS, 1
        while self._made.get(made.name) is made:  # else the pod has it again, or another of its name
            await self._sleep(wait)
            wait = min(2 * wait, SECONDS_MAX)
            looks += 1
            if self._made.get(made.name) is made and await self._is_released(made, looks):
                self.forget(made)

    async def _is_released(self, made: Reservation, looks: int = 1) -> bool:
        """Delete a reservation as it was written, or as it is seen now; return whether it is settled."""
        known = self._mirror.reservation(made.name)
        seen = known if known is not None and known.owner == made.owner else None
        uid, revision = made.uid, made.revision
        if seen is not None and (not uid or seen.uid == uid):
            uid, revision = seen.uid, max(revision, seen.revision, key=revision_number)
        if not uid:
            return not made.is_doubted or looks >= LOOKS_MAX
        preconditions = {"uid": uid, "resourceVersion": revision}
        try:
            await self._client.delete(reservation_path(made.name), {"preconditions": preconditions})
        except RefusedError as error:
            others = known is not None and known.uid != uid  # it was deleted, and is another one by now
            return error.is_absent or (error.is_conflict and others)
        except HeldBackError:
            return True
        except BrokenError:
            return False
        return True

    def _has_volume(self, workload: Workload, served: Served) -> bool:
        """Whether what is served is a claim that has its volume and is to be larger."""
        facts = self._mirror.claim(f"{workload.namespace}/{served.volume}")
        return served.volume in claim_names(workload) and facts is not None and facts.is_bound

    def _document(self, name: str, workload: Workload, served: Iterable[Served]) -> dict[str, Any]:
        requests, node_id = [], ""
        for each in served:
            offered = self._mirror.offered(each.node, each.place)
            if offered is None:
                raise NotDoneError(f"{each.place} on {each.node} is not offered any more")
            facts = self._mirror.claim(f"{workload.namespace}/{each.volume}")
            asked: dict[str, Any] = {
                "Name": each.volume,
                "StorageClass": each.storage_class,
                "Size": each.size_bytes,
            }
            if facts is not None and facts.storage_group:
                asked["StorageGroup"] = facts.storage_group
            requests.append({"CapacityRequest": asked, "Reservations": [offered.capacity]})
            node_id = offered.node_id
        return {
            "apiVersion": f"{BAREMETAL}/v1",
            "kind": "AvailableCapacityReservation",
            "metadata": metadata(name, SCHEDULER),
            "spec": {
                "Namespace": workload.namespace,
                "Status": RESERVED,
                "NodeRequests": {"Requested": [node_id], "Reserved": [node_id]},
                "ReservationRequests": requests,
            },
        }


def reservation_path(name: str) -> str:
    """Return where a reservation of csi-baremetal is."""
    return f"{RESERVATIONS}/{segment(name)}"


def _is_taken(name: str, owner: str) -> str:
    return f"reservation {name} is that of pod {owner}, which comes first"
