"""Events: what happened to an object and why, where `kubectl describe` shows it.

Nothing depends on them, so nothing waits for them: they are written one after the other behind the work,
slowly while there is much of it (an event costs the API server as much as a binding does), the same one again
only after a while, and those that come too fast are dropped and counted.
"""

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from ullage.sources.kubernetes.api.client import ApiClient, RefusedError, segment
from ullage.sources.kubernetes.api.connection import BrokenError

WAITING_MAX: Final = 10_000
AGAIN_SECONDS: Final = 300.0
"""How long the same event about the same object is not written again."""
REMEMBERED_MAX: Final = 20_000
NOTE_CHARACTERS_MAX: Final = 1024
WRITERS: Final = 2
BUSY_SECONDS: Final = 0.2
"""How long each writer waits with an event while the process has more urgent things to write."""


class Subject(NamedTuple):
    """The object that an event is about."""

    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    api_version: str = "v1"


class _Event(NamedTuple):
    subject: Subject
    reason: str
    action: str
    note: str
    is_warning: bool


class Events:
    """The events that one process writes."""

    def __init__(
        self, client: ApiClient, *, component: str, identity: str, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._client = client
        self._component = component
        self._identity = identity
        self._now = now
        self._waiting: asyncio.Queue[_Event] = asyncio.Queue(WAITING_MAX)
        self._written: OrderedDict[tuple[str, str, str, str], float] = OrderedDict()
        self._number = time.time_ns()
        self.dropped = 0
        self.is_busy: Callable[[], bool] = lambda: False

    def say(
        self,
        subject: Subject,
        reason: str,
        note: str,
        *,
        action: str = "Scheduling",
        is_warning: bool = False,
    ) -> None:
        """Write an event as soon as there is time, unless it was written lately."""
        key = (subject.namespace, subject.name, reason, note)
        at = self._now()
        if at - self._written.get(key, float("-inf")) < AGAIN_SECONDS:
            return
        self._written[key] = at
        self._written.move_to_end(key)
        if len(self._written) > REMEMBERED_MAX:
            self._written.popitem(last=False)
        try:
            self._waiting.put_nowait(_Event(subject, reason, action, note, is_warning))
        except asyncio.QueueFull:
            self.dropped += 1

    async def run(self) -> None:
        """Write events until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WRITERS):
                group.create_task(self._write_all())

    async def drain(self) -> None:
        """Return when all that was said is written."""
        await self._waiting.join()

    async def _write_all(self) -> None:
        while True:
            event = await self._waiting.get()
            try:
                if self.is_busy():
                    await asyncio.sleep(BUSY_SECONDS)
                with contextlib.suppress(RefusedError, BrokenError):
                    await self._client.create(*self._request(event))
            finally:
                self._waiting.task_done()

    def _request(self, event: _Event) -> tuple[str, dict[str, Any]]:
        subject = event.subject
        namespace = subject.namespace or "default"
        self._number += 1
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        document = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": f"{subject.name[:200]}.{self._number:x}", "namespace": namespace},
            "eventTime": stamp,
            "type": "Warning" if event.is_warning else "Normal",
            "reason": event.reason,
            "action": event.action,
            "note": event.note[:NOTE_CHARACTERS_MAX],
            "reportingController": self._component,
            "reportingInstance": self._identity[:128],
            "regarding": {
                "apiVersion": subject.api_version,
                "kind": subject.kind,
                "name": subject.name,
                "namespace": subject.namespace,
                "uid": subject.uid,
            },
        }
        return f"/apis/events.k8s.io/v1/namespaces/{segment(namespace)}/events", document
