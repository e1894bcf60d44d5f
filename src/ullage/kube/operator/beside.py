"""The quotas beside the one that somebody writes: as the watch shows them, and with what was just allowed.

A watch comes a moment late, and what was allowed is stored a moment later still. So what was allowed counts
for the next question, until a list shows it or seconds have passed: others may have refused it. The hard
thing is to be wrong in neither direction. Where what is known says that something cannot hold, or does not
say the same with and without what was just allowed, the API server is asked for all quotas, again until
these tell the same; nobody is refused because of what is gone, or was never stored.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from ullage.engine.quota.validation import refuse_errors, refuse_going
from ullage.kube.operator.statuses import PATHS
from ullage.model.cluster import Quota
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.amounts import Amounts
from ullage.sources.kubernetes.api.client import ApiClient, RefusedError
from ullage.sources.kubernetes.api.connection import BrokenError
from ullage.sources.kubernetes.api.watching import items_of
from ullage.sources.kubernetes.faults import Fault, decoded
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.object_kinds import OBJECT_KINDS, QUOTA_KINDS
from ullage.sources.kubernetes.objects import DEFAULT_NAMESPACE, with_names_of_their_own

ALLOWED_SECONDS: Final = 2.0
"""How long what was allowed counts without having been seen; an API server waits longer for an answer."""
LOOK_SECONDS: Final = 0.05
Identity = tuple[str, str]
"""Kind and name, as they are written."""
Rows = Mapping[Identity, Quota]
Listing = Callable[[], Awaitable[Iterable[Quota]]]


class Change(NamedTuple):
    """A quota that is to be as it is here, or to go."""

    quota: Quota
    goes: bool = False

    @property
    def identity(self) -> Identity:
        """Which quota it is."""
        return (self.quota.kind, self.quota.name)

    def is_in(self, rows: Rows) -> bool:
        """Whether quotas show that it was made."""
        found = rows.get(self.identity)
        return found is None if self.goes else found is not None and _wanted(found) == _wanted(self.quota)

    def applied(self, rows: Rows) -> Rows:
        """Return quotas after it."""
        left = {identity: each for identity, each in rows.items() if identity != self.identity}
        return left if self.goes else {**left, self.identity: self.quota}


class Beside:
    """What a quota is judged beside."""

    def __init__(
        self,
        types: ResourceTypes,
        known: Callable[[], Iterable[Quota]],
        listed: Listing | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`known` are the quotas that the watch shows, `listed` those of the API server now."""
        self._types = types
        self._known = known
        self._listed = listed
        self._now = now
        self._sleep = sleep
        self._allowed: dict[Identity, tuple[Change, float]] = {}

    def quotas(self) -> tuple[Quota, ...]:
        """Return the quotas as far as they are known, under names of their own."""
        return with_names_of_their_own(self._with_allowed(_rows(self._known())).values())

    async def refusal(self, change: Change, *, counts: bool = True) -> str:
        """Return why quotas cannot hold with a change; nothing where they can, and from then on it counts.

        One that does not count, as it is only tried, is forgotten at once.
        """
        rows = _rows(self._known())
        why, with_allowed = self._judged(change, rows), self._judged(change, self._with_allowed(rows))
        while (why or with_allowed) and self._listed is not None:
            try:
                rows = _rows(await self._listed())
            except (RefusedError, BrokenError):
                why = with_allowed or why
                break
            why, with_allowed = self._judged(change, rows), self._judged(change, self._with_allowed(rows))
            if bool(why) == bool(with_allowed):
                break
            await self._sleep(LOOK_SECONDS)
        if not why and counts:
            self._allowed[change.identity] = (change, self._now() + ALLOWED_SECONDS)
        return why

    def _with_allowed(self, rows: Rows) -> Rows:
        """Return quotas after the changes that were allowed and that they do not show yet."""
        now = self._now()
        self._allowed = {key: each for key, each in self._allowed.items() if each[1] > now}
        for change, _ in self._allowed.values():
            if not change.is_in(rows):
                rows = change.applied(rows)
        return rows

    def _judged(self, change: Change, rows: Rows) -> str:
        """Return what a change makes wrong beside quotas."""
        after = change.applied(rows)
        names = dict(zip(after, with_names_of_their_own(after.values()), strict=True))
        own = names.pop(change.identity, change.quota)
        before = rows.get(change.identity)
        there = [*names.values(), *([msgspec.structs.replace(before, name=own.name)] if before else ())]
        try:
            if change.goes:
                refuse_going(own.name, self._types, there)
            else:
                refuse_errors([own], self._types, there, in_kubernetes=True)
        except InputError as error:
            return str(error)
        return ""


def listing(client: ApiClient, types: ResourceTypes) -> Listing:
    """Return what asks the API server for all quotas; it raises a RefusedError or a BrokenError."""

    async def of_kind(kind: Kind) -> list[Quota]:
        where = PATHS[kind]
        try:
            contents = await items_of(client, f"/apis/{where.version}/{where.plural}")
        except RefusedError as error:
            if error.is_absent:
                return []  # its definition is not installed
            raise
        return list(_readable(kind, contents, types))

    async def listed() -> list[Quota]:
        found = await asyncio.gather(*map(of_kind, QUOTA_KINDS))
        return [quota for each in found for quota in each]

    return listed


def read(kind: Kind, content: Raw, types: ResourceTypes) -> Quota:
    """Return what a quota says; raises a Fault."""
    facts = OBJECT_KINDS[kind]
    row: Quota = facts.read(decoded(facts.decoder, content), Amounts(types), DEFAULT_NAMESPACE)
    return row


def _readable(kind: Kind, contents: Iterable[Raw], types: ResourceTypes) -> Iterable[Quota]:
    for content in contents:
        try:
            yield read(kind, content, types)
        except (Fault, msgspec.DecodeError, RecursionError):
            continue  # what cannot be read does not hold, and its status says so


def _rows(quotas: Iterable[Quota]) -> Rows:
    return {(each.kind, each.name): each for each in quotas}


def _wanted(quota: Quota) -> Quota:
    """Return a quota without what others write about it."""
    return msgspec.structs.replace(quota, stated_used=None)
