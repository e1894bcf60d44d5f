"""What is done about the volumes of a pod before it is bound: disks reserved, nodes named, volumes bound.

The order is that of kube-scheduler and csi-baremetal: a reservation on the one chosen node first, because the
driver looks for it as soon as a claim names that node; then the claims, each with the free volume that was
chosen for it or with the node where one is made; then all of them must be bound, which the watch tells. The
hard thing is to give back what was begun and nothing else: what has changed meanwhile is left as it is.
"""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from ullage.engine.placement.outcome import Served
from ullage.engine.placement.scheduling import Bound
from ullage.kube.election import ALONE, Leading
from ullage.kube.install.choices import SCHEDULER, metadata
from ullage.kube.scheduler.actions import NotDoneError
from ullage.kube.scheduler.holds import claim_names, reservation_name
from ullage.model.cluster import Workload
from ullage.sources.kubernetes.api.client import FIELD_MANAGER, ApiClient, RefusedError, segment
from ullage.sources.kubernetes.api.connection import BrokenError
from ullage.sources.kubernetes.api.mirror import Mirror
from ullage.sources.kubernetes.api.mirrored_claims import ClaimFacts, revision_number
from ullage.sources.kubernetes.baremetal import GROUP as BAREMETAL
from ullage.sources.kubernetes.objects import SELECTED_NODE_ANNOTATION

VOLUME_SECONDS_MAX: Final = 600.0
"""How long a pod waits for its volumes at most, as in kube-scheduler; then it is judged again."""
LOOK_SECONDS: Final = 1.0
"""How often a pod that waits is looked at though no claim of its has changed: it may be gone."""
GIVE_BACK_TRIES: Final = 3
GIVE_BACK_SECONDS: Final = 0.3
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
RESERVED: Final = "RESERVED"
_VOLUMES: Final = "/api/v1/persistentvolumes"


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    resource_version: str = ""


class _Reference(msgspec.Struct):
    uid: str = ""
    name: str = ""
    namespace: str = ""


class _VolumeSpec(msgspec.Struct, rename="camel"):
    claim_ref: _Reference | None = None


class _Object(msgspec.Struct):
    metadata: _Metadata
    spec: _VolumeSpec | None = None


_OBJECT: Final = msgspec.json.Decoder(_Object)


class _Begun:
    """What was written for one pod: a reservation, claims with the revision they then had, volumes alike."""

    def __init__(self, bound: Bound, uid: str) -> None:
        self.bound = bound
        self.uid = uid
        self.reservation = ""
        self.reservation_uid = ""
        self.claims: dict[str, int] = {}
        self.volumes: dict[str, int] = {}


class Volumes:
    """Makes volumes ready for pods; a Preparing of the scheduler."""

    def __init__(
        self,
        client: ApiClient,
        mirror: Mirror,
        leading: Leading = ALONE,
        *,
        seconds_max: float = VOLUME_SECONDS_MAX,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._mirror = mirror
        self._leading = leading
        self._seconds_max = seconds_max
        self._now = now
        self._begun: dict[str, _Begun] = {}
        self._reserving: dict[str, str] = {}
        self._waiters: dict[str, set[asyncio.Event]] = {}
        self.waiting = 0
        mirror.hear_claims(self._heard)

    # What a scheduler calls

    async def prepare(self, workload: Workload, bound: Bound) -> None:
        """Make everything ready; raises a NotDoneError, after which all is to be given back."""
        facts = self._mirror.facts(workload.key)
        begun = self._begun[workload.key] = _Begun(bound, facts.uid if facts else "")
        until = self._now() + self._seconds_max
        try:
            self._check(workload, begun)
            await self._reserve(workload, begun)
            claims = [f"{workload.namespace}/{name}" for name in sorted(claim_names(workload))]
            for key in claims:
                await self._wait(workload, begun, key, self._is_there, until)
            chosen = {f"{workload.namespace}/{each.claim}": each.volume for each in bound.chosen}
            for key in claims:
                await self._begin_claim(begun, key, chosen.get(key, ""))
            for key in claims:
                await self._wait(workload, begun, key, self._is_bound, until)
        except RefusedError as error:
            raise NotDoneError(error.message) from None
        except BrokenError as error:
            raise NotDoneError(str(error)) from None

    def done(self, workload: Workload, bound: Bound) -> None:
        """Take note that a pod is bound."""
        if self._is_of(workload, bound):
            self._forget_name(workload.key, self._begun.pop(workload.key))

    async def give_back(self, workload: Workload, bound: Bound) -> None:
        """Undo what was begun for a pod; what cannot be undone now is left to the operator."""
        if not self._is_of(workload, bound):
            return
        begun = self._begun.pop(workload.key)
        for key, revision in begun.claims.items():
            await self._give_back_claim(key, revision, begun)
        for name, revision in begun.volumes.items():
            change = {
                "metadata": {
                    "resourceVersion": str(revision),
                    "annotations": {BOUND_BY_CONTROLLER: None},
                },
                "spec": {"claimRef": None},
            }
            await self._try(self._client.patch(f"{_VOLUMES}/{segment(name)}", change))
        if begun.reservation:
            await self._release(workload.key, begun)
        self._forget_name(workload.key, begun)

    def _is_of(self, workload: Workload, bound: Bound) -> bool:
        """Whether what was begun last for a pod of this name was begun for this decision."""
        begun = self._begun.get(workload.key)
        return begun is not None and begun.bound is bound

    # Disks

    async def _reserve(self, workload: Workload, begun: _Begun) -> None:
        """Have one reservation on the chosen node, instead of any that is there for this pod."""
        served = [each for each in begun.bound.disks if not self._has_volume(workload, each)]
        if not served:
            return
        name = reservation_name(workload.namespace, workload.name)
        holder = self._reserving.get(name, workload.key)
        if holder != workload.key:
            raise NotDoneError(_is_taken(name, holder))
        known = self._mirror.reservation(name)
        if known is not None and known.owner != workload.key and self._mirror.facts(known.owner) is not None:
            raise NotDoneError(_is_taken(name, known.owner))
        document = self._reservation(name, workload, served)
        if known is not None:
            document["metadata"]["resourceVersion"] = known.revision
        self._reserving[name] = workload.key
        begun.reservation = name
        self._require_lead()
        begun.reservation_uid = await self._write_reservation(name, workload, document)

    async def _write_reservation(self, name: str, workload: Workload, document: dict[str, Any]) -> str:
        """Write a reservation and return its identifier; raises where it is that of another pod.

        Pods of two namespaces may call theirs the same. So each namespace writes under a name of its own, and
        what another one has written meanwhile is a conflict, as is any change to one that was seen.
        """
        was_seen = "resourceVersion" in document["metadata"]
        manager = f"{FIELD_MANAGER}-{workload.namespace}"
        try:
            answer = await self._client.apply(
                reservation_path(name), document, field_manager=manager, force=was_seen
            )
        except RefusedError as error:
            if error.is_conflict:
                raise NotDoneError(f"reservation {name} was written by somebody else meanwhile") from None
            raise
        return _OBJECT.decode(answer).metadata.uid

    async def _release(self, key: str, begun: _Begun) -> None:
        """Delete the reservation of a pod; where its answer was lost, one that is seen to be of the pod."""
        uid, known = begun.reservation_uid, self._mirror.reservation(begun.reservation)
        if not uid and known is not None and known.owner == key:
            uid = known.uid
        if uid:
            path = reservation_path(begun.reservation)
            await self._try(self._client.delete(path, {"preconditions": {"uid": uid}}))

    def _forget_name(self, key: str, begun: _Begun) -> None:
        """Let others have the name of a reservation that is not being made any more."""
        if self._reserving.get(begun.reservation) == key and key not in self._begun:
            del self._reserving[begun.reservation]

    def _has_volume(self, workload: Workload, served: Served) -> bool:
        """Whether what is served is a claim that has its volume and is to be larger."""
        facts = self._mirror.claim(f"{workload.namespace}/{served.volume}")
        return served.volume in claim_names(workload) and facts is not None and facts.is_bound

    def _reservation(self, name: str, workload: Workload, served: Iterable[Served]) -> dict[str, Any]:
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

    # Claims

    async def _begin_claim(self, begun: _Begun, key: str, volume: str) -> None:
        """Have a claim get the volume that was chosen for it, or one that is made on the node."""
        facts = self._mirror.claim(key)
        if facts is None:
            raise NotDoneError(f"claim {key} is gone")
        if facts.is_bound:
            return
        self._require_lead()
        if volume:
            await self._bind_volume(begun, key, facts, volume)
        elif facts.selected_node == begun.bound.node:
            begun.claims[key] = facts.revision
        else:
            change = {"metadata": {"annotations": {SELECTED_NODE_ANNOTATION: begun.bound.node}}}
            begun.claims[key] = _revision(await self._client.patch(_claim_path(key), change))

    async def _bind_volume(self, begun: _Begun, key: str, facts: ClaimFacts, name: str) -> None:
        """Have a free volume name a claim, unless it names one already."""
        path = f"{_VOLUMES}/{segment(name)}"
        found = _OBJECT.decode(await self._client.get(path))
        holder = found.spec.claim_ref if found.spec else None
        namespace, _, claim = key.partition("/")
        if holder is not None and (holder.namespace, holder.name) != (namespace, claim):
            raise NotDoneError(f"volume {name} is that of claim {holder.namespace}/{holder.name}")
        if holder is not None and holder.uid == facts.uid:
            return
        change: dict[str, Any] = {
            "metadata": {"resourceVersion": found.metadata.resource_version},
            "spec": {
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": namespace,
                    "name": claim,
                    "uid": facts.uid,
                    "resourceVersion": str(facts.revision),
                }
            },
        }
        if holder is None:
            change["metadata"]["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
        revision = _revision(await self._client.patch(path, change))
        if holder is None:
            begun.volumes[name] = revision

    async def _give_back_claim(self, key: str, revision: int, begun: _Begun) -> None:
        """Have a claim name no node any more, unless it has its volume or names another one."""
        for _ in range(GIVE_BACK_TRIES):
            facts = self._mirror.claim(key)
            if facts is None or facts.is_bound:
                return
            if facts.revision >= revision and facts.selected_node != begun.bound.node:
                return
            latest = max(revision, facts.revision)
            change = {
                "metadata": {
                    "resourceVersion": str(latest),
                    "annotations": {SELECTED_NODE_ANNOTATION: None},
                }
            }
            if await self._try(self._client.patch(_claim_path(key), change)):
                return
            await asyncio.sleep(GIVE_BACK_SECONDS)  # the watch will show what was changed meanwhile

    async def _try(self, act: Any) -> bool:
        """Do something that may fail; return whether it need not be tried again."""
        if not self._leading.leads:
            act.close()
            return True
        try:
            await act
        except RefusedError as error:
            return not error.is_conflict
        except BrokenError:
            return False
        return True

    # Waiting

    async def _wait(
        self,
        workload: Workload,
        begun: _Begun,
        key: str,
        holds: Callable[[str, _Begun], bool],
        until: float,
    ) -> None:
        """Wait until something holds of a claim; raises a NotDoneError where it will not."""
        changed = asyncio.Event()
        self._waiters.setdefault(key, set()).add(changed)
        self.waiting += 1
        try:
            while not holds(key, begun):
                self._check(workload, begun)
                left = until - self._now()
                if left <= 0:
                    raise NotDoneError(f"claim {key} has no volume after {self._seconds_max:g} s")
                changed.clear()
                try:
                    async with asyncio.timeout(min(LOOK_SECONDS, left)):
                        await changed.wait()
                except TimeoutError:
                    pass
        finally:
            self.waiting -= 1
            self._waiters[key].discard(changed)
            if not self._waiters[key]:
                del self._waiters[key]

    def _is_there(self, key: str, _: _Begun) -> bool:
        return self._mirror.claim(key) is not None

    def _is_bound(self, key: str, begun: _Begun) -> bool:
        facts = self._mirror.claim(key)
        if facts is None:
            raise NotDoneError(f"claim {key} is gone")
        written = begun.claims.get(key)
        is_seen = written is not None and facts.revision >= written
        if not facts.is_bound and is_seen and facts.selected_node != begun.bound.node:
            raise NotDoneError(f"no volume can be made for claim {key} on {begun.bound.node}")
        return facts.is_bound

    def _check(self, workload: Workload, begun: _Begun) -> None:
        """Raise where it is of no use to go on: the pod or its node is gone, or another replica leads."""
        facts = self._mirror.facts(workload.key)
        if facts is None or facts.uid != begun.uid:
            raise NotDoneError("the pod is gone", is_for_good=True)
        if not self._mirror.has_node(begun.bound.node):
            raise NotDoneError(f"node {begun.bound.node} is gone")
        self._require_lead()

    def _require_lead(self) -> None:
        if not self._leading.leads:
            raise NotDoneError("another replica leads")

    def _heard(self, key: str) -> None:
        for each in self._waiters.get(key, ()):
            each.set()


def reservation_path(name: str) -> str:
    """Return where a reservation of csi-baremetal is."""
    return f"/apis/{BAREMETAL}/v1/availablecapacityreservations/{segment(name)}"


def _is_taken(name: str, owner: str) -> str:
    return f"reservation {name} is that of pod {owner}, which comes first"


def _claim_path(key: str) -> str:
    namespace, _, name = key.partition("/")
    return f"/api/v1/namespaces/{segment(namespace)}/persistentvolumeclaims/{segment(name)}"


def _revision(answer: bytes) -> int:
    return revision_number(_OBJECT.decode(answer).metadata.resource_version)
