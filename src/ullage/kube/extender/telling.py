"""kube-scheduler told to ask again about pods that have a place by now.

It looks again at a pod that was refused once something happens that it watches. A max that is raised, a
policy that changes, a promise that ends are none of that; and what it does watch it may see before we do: it
asks at once, and is refused by what we knew. Any change of the pod makes it ask again, so a condition is
written. The hard thing is to write seldom, because everybody who watches pods sees it: only where two looks,
some time apart, find a place for a pod that is still not bound, and after a pause that grows each time. Only
where a gang has places, and waits for those of it that were refused before, it is told at once.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, NamedTuple

from ullage.engine.columns import Columns
from ullage.engine.placement.scheduling import schedule
from ullage.kube.election import Leading
from ullage.kube.extender.outlook import Outlook
from ullage.kube.scheduler.actions import NotDoneError
from ullage.model.cluster import Workload
from ullage.sources.kubernetes.api.client import STRATEGIC_PATCH, ApiClient, RefusedError, segment
from ullage.sources.kubernetes.api.connection import BrokenError

ROOM_AGAIN: Final = "ullage.dev/RoomAgain"
REASON: Final = "HasPlace"
SURE_SECONDS: Final = 2.0
"""How long a pod has had a place before anybody is told: kube-scheduler may be about to bind it."""
PAUSE_SECONDS: Final = 15.0
"""After how long it is told again; kube-scheduler lets a pod wait for ten seconds at most."""
PAUSE_SECONDS_MAX: Final = 300.0
"""As often kube-scheduler looks again by itself."""
GANG_PAUSE_SECONDS: Final = 5.0
"""After how long it is told again of one of a gang for which a place is held meanwhile."""
TOLD_MAX: Final = 20
"""Pods that are told of at once, and not more often than every second."""
TELL_SECONDS: Final = 1.0

Write = Callable[[str, str, str], Awaitable[None]]
"""Writes that a pod, by its key and identifier, has a place on a node; raises a NotDoneError."""


class _Hope(NamedTuple):
    """A pod that has a place, and since when; it was told so often, and is not told again before a time.

    While its gang waits for it that is another time.
    """

    uid: str
    since: float | None = None
    told: int = 0
    not_before: float = 0.0
    gang_not_before: float = 0.0

    def is_due(self, now: float) -> bool:
        """Whether it is time to look again, and to tell if the place is still there."""
        return self.since is not None and now >= max(self.since + SURE_SECONDS, self.not_before)


class Telling:
    """What kube-scheduler is told, by the replica that leads."""

    def __init__(self, outlook: Outlook, write: Write, now: Callable[[], float] = time.monotonic) -> None:
        self._outlook = outlook
        self._write = write
        self._now = now
        self._hopes: dict[str, _Hope] = {}
        self._quiet_until = 0.0
        self.told = 0

    def due(self) -> list[Workload]:
        """Return the pods that are to be looked at again, each with all of its gang that had a place."""
        now, line = self._now(), self._outlook.line
        for key in [key for key in self._hopes if key not in line]:
            del self._hopes[key]
        rows = {key: row for key in self._hopes if (row := line.get(key)) is not None}
        due = {key for key in rows if self._hopes[key].is_due(now)}
        gangs = {(rows[key].namespace, rows[key].gang) for key in due if rows[key].gang}
        return [row for key, row in rows.items() if key in due or (row.namespace, row.gang) in gangs]

    async def places(self, columns: Columns, waiting: Sequence[Workload]) -> dict[str, str]:
        """Return the nodes that pods could run on now; nobody is evicted for them here."""
        held = self._outlook.held
        promised = [each.key for each in waiting if self._outlook.promised_to(each.key)]
        asked = {each.key: each for each in waiting if each.key not in promised}
        found: dict[str, str] = {}
        if asked:
            first = {key: row for key in held if (row := self._outlook.line.get(key)) is not None}
            cycle = await asyncio.to_thread(
                schedule,
                columns,
                list({**first, **asked}.values()),
                nominated=dict(held),
                names_remedies=False,
            )
            found = {each.workload: each.node for each in cycle.bound if each.workload in asked}
        names = [each.name for each in columns.nodes] if promised else []
        return {**found, **{key: place for key in promised if (place := self._promised_place(key, names))}}

    def _promised_place(self, key: str, names: Sequence[str]) -> str:
        """Return where a pod could run for which the ledger holds room: there first of all."""
        outlook = self._outlook
        verdicts = outlook.catch_up()
        place, pod = outlook.promised_to(key), outlook.pod(key)
        if pod is None or key not in outlook.line:
            return ""
        reasons = verdicts.reasons(pod, names, outlook.held)
        if reasons.get(place) == "":
            return place
        return next((name for name, reason in reasons.items() if not reason), "")

    async def tell(self, asked: Collection[str], places: Mapping[str, str]) -> None:
        """Take note of which of the pods that were looked at have a place, and tell what is due of it."""
        now = self._now()
        for key in asked:
            self._note(key, now, has_place=key in places)
        if now < self._quiet_until:
            return
        due = [key for key in places if key in self._hopes and self._hopes[key].is_due(now)]
        due.sort(key=lambda key: (self._hopes[key].since or 0.0, key))
        for key in due[:TOLD_MAX]:
            self._quiet_until = now + TELL_SECONDS
            pause = min(PAUSE_SECONDS * 2 ** min(self._hopes[key].told, 10), PAUSE_SECONDS_MAX)
            await self._tell(key, places[key], now + pause)

    async def tell_at_once(self, places: Mapping[str, str]) -> None:
        """Tell of those of gangs that have places, of so many at a time: the others of their gangs wait."""
        now = self._now()
        for key in places:
            self._note(key, now, has_place=True)
        due = [key for key in places if key in self._hopes and now >= self._hopes[key].gang_not_before]
        for key in due[:TOLD_MAX]:
            self._hopes[key] = self._hopes[key]._replace(gang_not_before=now + GANG_PAUSE_SECONDS)
            await self._tell(key, places[key], now + PAUSE_SECONDS)

    async def _tell(self, key: str, place: str, not_before: float) -> None:
        hope = self._hopes[key]
        self._hopes[key] = hope._replace(told=hope.told + 1, not_before=not_before)
        with suppress(NotDoneError):
            await self._write(key, hope.uid, place)
            self.told += 1

    def _note(self, key: str, now: float, *, has_place: bool) -> None:
        facts, hope = self._outlook.facts(key), self._hopes.get(key)
        if facts is None:
            return
        if hope is None or hope.uid != facts.uid:
            hope = _Hope(facts.uid)
        since = hope.since if hope.since is not None else now
        if has_place or hope.told:
            self._hopes[key] = hope._replace(since=since if has_place else None)
        else:
            self._hopes.pop(key, None)


class Conditions:
    """The condition by which it is told."""

    def __init__(self, client: ApiClient, leading: Leading) -> None:
        self._client = client
        self._leading = leading

    async def write(self, key: str, uid: str, node: str) -> None:
        """Write that a pod has a place, with the time, so that it is a change each time."""
        namespace, _, name = key.partition("/")
        condition = {
            "type": ROOM_AGAIN,
            "status": "True",
            "reason": REASON,
            "message": f"there was room on {node} at this time, and kube-scheduler is to ask again",
            "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        try:
            await self._client.request(
                "PATCH",
                f"/api/v1/namespaces/{segment(namespace)}/pods/{segment(name)}/status",
                {"metadata": {"uid": uid}, "status": {"conditions": [condition]}},
                content=STRATEGIC_PATCH,
                before=self._require_lead,
            )
        except (RefusedError, BrokenError) as error:
            raise NotDoneError(str(error)) from None

    def _require_lead(self) -> None:
        if not self._leading.leads:
            raise NotDoneError("another replica leads")
