"""Reservations of csi-baremetal that nobody needs any more are deleted: no hold survives its pod.

A reservation is needless when its pod is gone or over, when all its volumes are made, or when its pod has
waited for too long. The hard thing is that watches are not in step: a pod may be seen later than the
reservation that was made for it, or not for as long as pods cannot be watched. So what looks needless is
looked at again a little later, the server itself is asked for a pod that is not seen, or not on a node, and a
reservation is deleted only if it is still the very version that was looked at. Time is counted from the first
look, by this process's own clock, so that no other clock matters.
"""

import time
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

import msgspec

from ullage.model.cluster import Snapshot, Workload
from ullage.sources.kubernetes.api.client import ApiClient, RefusedError, segment
from ullage.sources.kubernetes.api.connection import BrokenError
from ullage.sources.kubernetes.api.mirror import Mirror
from ullage.sources.kubernetes.api.mirrored_disks import ReservationFacts
from ullage.sources.kubernetes.baremetal import GROUP as BAREMETAL
from ullage.sources.kubernetes.wire import Wire

Why = Literal["pod gone", "pod over", "volumes made", "pod waits"]
SECONDS: Final[dict[Why, float]] = {
    "pod gone": 5.0,
    "pod over": 5.0,
    "volumes made": 5.0,
    "pod waits": 900.0,
}
"""How long a reservation is left alone; a pod that is being bound waits for its volumes for 600 s at most."""


class _Spec(Wire):
    node_name: str | None = None


class _Pod(Wire):
    spec: _Spec | None = None


class _Pods(Wire):
    items: list[_Pod] | None = None


_PODS: Final = msgspec.json.Decoder(_Pods)


class _Noticed(NamedTuple):
    """Which version of a reservation was seen to be needless, why, and since when."""

    revision: str
    why: Why
    since: float


class ReservationKeeper:
    """Deletes reservations that are needless."""

    def __init__(self, client: ApiClient, mirror: Mirror, now: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._mirror = mirror
        self._now = now
        self._noticed: dict[str, _Noticed] = {}
        self.deleted = 0

    async def look(self, snapshot: Snapshot) -> None:
        """Look at all reservations, and delete what has been needless for long enough."""
        noticed, self._noticed = self._noticed, {}
        for each in self._mirror.reservations():
            why = self._why_needless(each, snapshot)
            if why is None:
                continue
            before = noticed.get(each.uid)
            if before is None or (before.revision, before.why) != (each.revision, why):
                before = _Noticed(each.revision, why, self._now())
            if self._now() - before.since < SECONDS[why]:
                self._noticed[each.uid] = before
            elif await self._is_needed(each, why):  # what was seen of its pod is old: asked again later
                self._noticed[each.uid] = before._replace(since=self._now())
            elif not await self._delete(each):
                self._noticed[each.uid] = before

    def _why_needless(self, reservation: ReservationFacts, snapshot: Snapshot) -> Why | None:
        """Return why a reservation may be needless; None where its pod has a node and waits for volumes."""
        pod = snapshot.workloads.get(reservation.owner)
        if pod is None:
            return "pod gone"
        if pod.state == "deleted":
            return "pod over"
        if _are_made(reservation, pod, snapshot):
            return "volumes made"
        return None if pod.node else "pod waits"

    async def _is_needed(self, reservation: ReservationFacts, why: Why) -> bool:
        """Ask the server for a pod that was not seen, or not on a node; who cannot be asked for is needed."""
        namespace, _, name = reservation.owner.partition("/")
        if why not in {"pod gone", "pod waits"} or not name:
            return False
        path = f"/api/v1/namespaces/{segment(namespace)}/pods"
        try:
            answer = await self._client.get(path, {"fieldSelector": f"metadata.name={name}", "limit": "1"})
            pods = _PODS.decode(answer).items or ()
        except (RefusedError, BrokenError, msgspec.DecodeError):
            return True
        return any(why == "pod gone" or (pod.spec is not None and pod.spec.node_name) for pod in pods)

    async def _delete(self, reservation: ReservationFacts) -> bool:
        """Delete a reservation as it was seen; return whether it is settled."""
        path = f"/apis/{BAREMETAL}/v1/availablecapacityreservations/{segment(reservation.name)}"
        seen = {"uid": reservation.uid, "resourceVersion": reservation.revision}
        try:
            await self._client.delete(path, {"preconditions": seen})
        except RefusedError as error:
            return error.is_absent
        except BrokenError:
            return False
        self.deleted += 1
        return True


def _are_made(reservation: ReservationFacts, pod: Workload, snapshot: Snapshot) -> bool:
    """Whether there is a volume for every request: its claim is bound, or the pod has one of its own."""
    claims = {volume.claim for volume in pod.volumes if volume.claim}
    of_claims = [request for request in reservation.requests if request in claims]
    for request in of_claims:
        claim = snapshot.claims.get(f"{pod.namespace}/{request}")
        if claim is None or not claim.bound:
            return False
    inline = len(reservation.requests) - len(of_claims)
    if not inline:
        return True
    node = snapshot.nodes.get(pod.node)
    return node is not None and inline <= sum(
        volume.owner == pod.key and not volume.claim for volume in node.placed_volumes
    )
