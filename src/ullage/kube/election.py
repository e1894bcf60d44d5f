"""One of several replicas leads: a Lease says who, as Kubernetes' own components do it.

The hard thing is the leader that does not know it is none any more, because it was paused: it asks its own
clock, which goes on meanwhile, before each thing it does (`leads`), and stops well before another may begin.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from ullage.sources.kubernetes.api.client import ApiClient, HeldBackError, RefusedError, segment
from ullage.sources.kubernetes.api.connection import BrokenError

LEASE_SECONDS: Final = 15
RENEW_SECONDS_MAX: Final = 10
"""After this long without a renewal a leader stops: before anyone else may begin."""
RETRY_SECONDS: Final = 2
NOT_FOUND: Final = 404


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None
    acquire_time: str | None = None
    lease_transitions: int | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""


class _Lease(msgspec.Struct, rename="camel"):
    metadata: _Metadata
    spec: _Spec | None = None


_LEASE: Final = msgspec.json.Decoder(_Lease)


class _Seen(NamedTuple):
    """A lease of somebody else, and when we saw that it had been renewed: by our clock, not by theirs."""

    revision: str
    at: float


class Leading(Protocol):
    """Whoever knows whether a process leads."""

    @property
    def leads(self) -> bool:
        """Whether it does at this moment."""


class _Alone:
    """A process that is the only one."""

    leads = True


ALONE: Final = _Alone()


def led(client: ApiClient, leading: Leading, connections_max: int) -> ApiClient:
    """Return a client that writes nothing once another replica may lead, also no second time."""

    def require() -> None:
        if not leading.leads:
            raise HeldBackError("another replica leads")

    return client.lane(connections_max, require)


class Election:
    """The lease of one process of several."""

    def __init__(
        self,
        client: ApiClient,
        *,
        namespace: str,
        name: str,
        identity: str,
        lease_seconds: int = LEASE_SECONDS,
        renew_seconds_max: int = RENEW_SECONDS_MAX,
        retry_seconds: float = RETRY_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{segment(namespace)}/leases"
        self._name = name
        self.identity = identity
        self._lease_seconds = lease_seconds
        self._renew_seconds_max = renew_seconds_max
        self._retry_seconds = retry_seconds
        self._now = now
        self._renewed = float("-inf")
        self._seen: _Seen | None = None
        self.holder = ""
        self.took_over = False
        self._created = False

    @property
    def leads(self) -> bool:
        """Whether this one leads, for sure, at this moment."""
        return self._now() - self._renewed < self._renew_seconds_max

    async def wait(self) -> None:
        """Return when this one leads; `took_over` says whether another one may have led before.

        None has where this one has made the lease, and has not waited for anybody.
        """
        self._created = self.took_over = False
        while not await self._try():
            self.took_over = True
            await asyncio.sleep(self._retry_seconds)
        self.took_over |= not self._created

    async def keep(self) -> None:
        """Renew for as long as that succeeds, and return when this one leads no more."""
        while self.leads:
            await asyncio.sleep(self._retry_seconds)
            await self._try()

    async def release(self) -> None:
        """Let another one lead at once."""
        if not self.leads:
            return
        self._renewed = float("-inf")
        with contextlib.suppress(RefusedError, BrokenError):
            lease = _LEASE.decode(await self._client.get(self._path))
            if lease.spec is not None and lease.spec.holder_identity == self.identity:
                await self._write(lease, holder="", seconds=1)

    @property
    def _path(self) -> str:
        return f"{self._collection}/{segment(self._name)}"

    async def _try(self) -> bool:
        """Take or renew the lease if that is allowed; return whether this one leads now."""
        began = self._now()
        try:
            async with asyncio.timeout(self._renew_seconds_max):
                taken = await self._take()
        except (RefusedError, BrokenError, TimeoutError):
            return self.leads
        if taken:
            # counted from before the request: the server may have taken its time
            self._renewed = began
        elif self.holder != self.identity:
            self._renewed = float("-inf")
        return taken

    async def _take(self) -> bool:
        try:
            lease = _LEASE.decode(await self._client.get(self._path))
        except RefusedError as error:
            if error.status != NOT_FOUND:
                raise
            await self._client.create(self._collection, self._document(None, self.identity))
            self.holder = self.identity
            self._created = True
            return True
        spec = lease.spec or _Spec()
        self.holder = spec.holder_identity or ""
        if self.holder not in {"", self.identity} and not self._is_over(lease, spec):
            return False
        await self._write(lease, holder=self.identity, seconds=self._lease_seconds)
        self.holder = self.identity
        return True

    def _is_over(self, lease: _Lease, spec: _Spec) -> bool:
        """Whether a lease has not been renewed for its time, while we looked."""
        revision = lease.metadata.resource_version
        if self._seen is None or self._seen.revision != revision:
            self._seen = _Seen(revision, self._now())
            return False
        return self._now() - self._seen.at > (spec.lease_duration_seconds or self._lease_seconds)

    async def _write(self, lease: _Lease, *, holder: str, seconds: int) -> None:
        document = self._document(lease, holder)
        document["spec"]["leaseDurationSeconds"] = seconds
        document["metadata"]["resourceVersion"] = lease.metadata.resource_version
        await self._client.replace(self._path, document)

    def _document(self, lease: _Lease | None, holder: str) -> dict[str, Any]:
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        before = (lease.spec if lease else None) or _Spec()
        changes = before.holder_identity != holder
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._name},
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": self._lease_seconds,
                "renewTime": stamp,
                "acquireTime": stamp if changes or not before.acquire_time else before.acquire_time,
                "leaseTransitions": (before.lease_transitions or 0) + (1 if changes and lease else 0),
            },
        }
