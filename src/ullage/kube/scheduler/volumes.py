"""What is done about the volumes of a pod before it is bound: disks reserved, nodes named, volumes bound.

The order is that of kube-scheduler and csi-baremetal: a reservation on the one chosen node first, because the
driver looks for it as soon as a claim names that node; then the claims, each with the free volume that was
chosen for it or with the node where one is made; then all of them must be bound, which the watch tells. The
hard thing is to give back what was begun and nothing else: what has changed meanwhile is left as it is.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from ullage.engine.placement.scheduling import Bound
from ullage.kube.election import ALONE, Leading, led
from ullage.kube.scheduler.actions import NotDoneError
from ullage.kube.scheduler.holds import claim_names
from ullage.kube.scheduler.reserving import Reservation, Reserving
from ullage.model.cluster import Workload
from ullage.sources.kubernetes.api.client import ApiClient, RefusedError, segment
from ullage.sources.kubernetes.api.connection import BrokenError
from ullage.sources.kubernetes.api.mirror import Mirror
from ullage.sources.kubernetes.api.mirrored_claims import ClaimFacts, revision_number
from ullage.sources.kubernetes.objects import SELECTED_NODE_ANNOTATION

VOLUME_SECONDS_MAX: Final = 600.0
"""How long a pod waits for its volumes at most, as in kube-scheduler; then it is judged again."""
LOOK_SECONDS: Final = 1.0
"""How often a pod that waits is looked at though no claim of its has changed: it may be gone."""
MISSING_SECONDS_MAX: Final = 30.0
"""How long a reservation may be gone before the volumes are there: a driver that has made them deletes it."""
GIVE_BACK_TRIES: Final = 3
GIVE_BACK_SECONDS: Final = 0.3
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
CONNECTIONS_MAX: Final = 16
_VOLUMES: Final = "/api/v1/persistentvolumes"


class _Metadata(msgspec.Struct, rename="camel"):
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
        self.changed = asyncio.Event()
        self.reservation: Reservation | None = None
        self.missing_since: float | None = None
        self.stopped = ""
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
        self._client = led(client, leading, CONNECTIONS_MAX)
        self._reserving = Reserving(self._client, mirror)
        self._mirror = mirror
        self._leading = leading
        self._seconds_max = seconds_max
        self._now = now
        self._begun: dict[str, _Begun] = {}
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
            begun = self._begun.pop(workload.key)
            if begun.reservation is not None:
                self._reserving.forget(begun.reservation)

    def stop(self, key: str, why: str) -> None:
        """Have a pod that is made ready give that up at the next step."""
        begun = self._begun.get(key)
        if begun is not None:
            begun.stopped = why
            begun.changed.set()

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
        if begun.reservation is not None:
            await self._reserving.release(begun.reservation)

    def _is_of(self, workload: Workload, bound: Bound) -> bool:
        """Whether what was begun last for a pod of this name was begun for this decision."""
        begun = self._begun.get(workload.key)
        return begun is not None and begun.bound is bound

    async def _reserve(self, workload: Workload, begun: _Begun) -> None:
        """Have one reservation on the chosen node, instead of any that is there for this pod."""
        served = self._reserving.unserved(workload, begun.bound.disks)
        if served:
            begun.reservation = self._reserving.begin(workload)
            await self._reserving.write(begun.reservation, workload, served)

    # Claims

    async def _begin_claim(self, begun: _Begun, key: str, volume: str) -> None:
        """Have a claim get the volume that was chosen for it, or one that is made on the node."""
        facts = self._mirror.claim(key)
        if facts is None:
            raise NotDoneError(f"claim {key} is gone")
        if facts.is_bound:
            return
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
        changed = begun.changed
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
        """Raise where it is of no use to go on: the pod or its node is gone, or it is to make way."""
        facts = self._mirror.facts(workload.key)
        if facts is None or facts.uid != begun.uid:
            raise NotDoneError("the pod is gone", is_for_good=True)
        if not self._mirror.has_node(begun.bound.node):
            raise NotDoneError(f"node {begun.bound.node} is gone")
        if begun.stopped:
            raise NotDoneError(begun.stopped)
        self._check_reservation(begun)
        if not self._leading.leads:
            raise NotDoneError("another replica leads")

    def _check_reservation(self, begun: _Begun) -> None:
        """Raise where a reservation was deleted by somebody else: no driver makes volumes without it."""
        made = begun.reservation
        if made is None or not self._reserving.is_missing(made):
            begun.missing_since = None
            return
        if begun.missing_since is None:
            begun.missing_since = self._now()
        if self._now() - begun.missing_since > MISSING_SECONDS_MAX:
            raise NotDoneError(f"reservation {made.name} was deleted before the volumes were made")

    def _heard(self, key: str) -> None:
        for each in self._waiters.get(key, ()):
            each.set()


def _claim_path(key: str) -> str:
    namespace, _, name = key.partition("/")
    return f"/api/v1/namespaces/{segment(namespace)}/persistentvolumeclaims/{segment(name)}"


def _revision(answer: bytes) -> int:
    return revision_number(_OBJECT.decode(answer).metadata.resource_version)
