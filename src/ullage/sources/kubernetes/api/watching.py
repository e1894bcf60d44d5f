"""A kind of objects, followed for as long as the process runs: listed once, then watched.

The hard thing is that a watch may end at any moment and a server forgets: it goes on from the last revision
it has seen (bookmarks keep that recent where nothing happens), and where that is gone (410) all is listed
anew and whatever is no longer there is dropped. So is everything that a server has against a watch other than
being busy: going on from where it was would be refused for ever. Whoever follows never sees a gap: from any
missed event the next list mends it.
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

import msgspec
from msgspec import Raw

from ullage.model.errors import InputError
from ullage.sources.kubernetes.api.client import NOT_FOUND, TOO_MANY, ApiClient, RefusedError
from ullage.sources.kubernetes.api.connection import BrokenError
from ullage.sources.kubernetes.items import Kind
from ullage.sources.kubernetes.live_discovery import Listed
from ullage.sources.kubernetes.wire import Wire
from ullage.sources.places import one_line

PAGE_ITEMS: Final = 1000
PAGES_MAX: Final = 10_000
TURN_ITEMS: Final = 100
"""After so many objects of a list it is the turn of others, such as the request for its next page."""
WATCH_SECONDS: Final = 300
"""After this the server ends a watch, and it is begun again from where it was."""
FIRST_WAIT_SECONDS: Final = 0.2
WAIT_SECONDS_MAX: Final = 5.0
_TYPE: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"([A-Z]{1,20})"')
_PLAIN: Final = re.compile(rb'\{"type":"([A-Z]{1,20})","object":(?=\{)')
"""How API servers write an event; the object then ends one character before the line does."""
_BUSY: Final = frozenset((401, 403, TOO_MANY, 500, 502, 503))
"""Refusals that say nothing against the revision from which a watch goes on."""
_SAID_CHARACTERS_MAX: Final = 500
_VERSION: Final = re.compile(rb'"resourceVersion"\s*:\s*"([0-9]{1,20})"')


class Sink(Protocol):
    """Whoever follows objects, kind by kind."""

    def begin(self, kind: Kind) -> None:
        """A list of all objects of a kind begins."""

    def put(self, kind: Kind, content: Any) -> str:
        """An object is there, new or changed; return its revision."""

    def drop(self, kind: Kind, content: Any) -> str:
        """An object is gone; return the revision of that."""

    def end(self, kind: Kind) -> None:
        """The list ends: what was not in it is gone."""


class _ListMetadata(Wire):
    continue_: str | None = msgspec.field(default=None, name="continue")
    resource_version: str | None = None


class _Page(Wire):
    metadata: _ListMetadata | None = None
    items: list[Raw] | None = None


class _Event(Wire):
    object: Raw


_PAGE: Final = msgspec.json.Decoder(_Page)
_EVENT: Final = msgspec.json.Decoder(_Event)


class ExpiredError(Exception):
    """The server no longer knows the revision from which a watch should go on."""


class Watch:
    """One kind that is followed."""

    def __init__(
        self,
        client: ApiClient,
        listed: Listed,
        sink: Sink,
        *,
        changed: Callable[[], None],
        selector: str = "",
        page_items: int = PAGE_ITEMS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`changed` is called when something came that the sink has taken."""
        self._client = client
        self._listed = listed
        self._sink = sink
        self._changed = changed
        self._selector = {"labelSelector": selector} if selector else {}
        self._page_items = page_items
        self._sleep = sleep
        self._revision = ""
        self._heard = False
        self.synced = asyncio.Event()
        self.lists = 0
        self.failure = ""

    def forget(self) -> None:
        """List everything anew when this runs again; `synced` says when that is done."""
        self._revision = ""
        self.synced.clear()

    async def run(self) -> None:
        """Follow until cancelled; what fails is tried again, ever more slowly."""
        wait = FIRST_WAIT_SECONDS
        clock = asyncio.get_running_loop().time
        while True:
            self._heard = False
            began = clock()
            try:
                if not self._revision:
                    await self._list()
                await self._watch()
            except ExpiredError as error:
                self.failure = str(error)
                self._revision = ""
            except (BrokenError, RefusedError, InputError) as error:
                self.failure = str(error)
                if isinstance(error, RefusedError):
                    self._refused(error)
            if self._heard or clock() - began > WAIT_SECONDS_MAX:
                wait = FIRST_WAIT_SECONDS
            await self._sleep(wait * random.uniform(0.8, 1.2))  # noqa: S311 - spreads clients
            wait = min(2 * wait, WAIT_SECONDS_MAX)

    def _refused(self, refusal: RefusedError) -> None:
        if refusal.status not in _BUSY:
            self._revision = ""
        if refusal.status == NOT_FOUND:
            # its definition was removed, and all objects with it: list again once it is back
            self._sink.begin(self._listed.kind)
            self._sink.end(self._listed.kind)
            self.synced.set()
            self._changed()

    async def _list(self) -> None:
        """Read all pages, each while the one before is taken; what is not in them is dropped at the end."""
        kind, revision, pages = self._listed.kind, "", 0
        self.lists += 1
        self._sink.begin(kind)
        ahead: asyncio.Task[bytes] | None = self._begin_page("")
        try:
            while ahead is not None:
                page = _page(await ahead)
                pages += 1
                if pages > PAGES_MAX:
                    raise _too_many_pages()
                metadata = page.metadata or _ListMetadata()
                # a list that took long goes on from a later state: it is watched from the first revision
                revision = revision or metadata.resource_version or "0"
                ahead = self._begin_page(metadata.continue_) if metadata.continue_ else None
                for number, content in enumerate(page.items or ()):
                    self._sink.put(kind, content)
                    if not number % TURN_ITEMS:
                        await asyncio.sleep(0)
        finally:
            if ahead is not None:
                ahead.cancel()
        self._sink.end(kind)
        self._revision = revision
        self.failure = ""
        self.synced.set()
        self._changed()

    def _begin_page(self, token: str) -> asyncio.Task[bytes]:
        query = {"limit": str(self._page_items), **self._selector}
        query |= {"continue": token} if token else {}
        return asyncio.create_task(self._client.get(self._listed.path(), query))

    async def _watch(self) -> None:
        """Follow from the last revision until the server ends the watch."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._revision,
            "timeoutSeconds": str(WATCH_SECONDS),
            **self._selector,
        }
        await self._client.follow(self._listed.path(), query, self._take, begun=self._begun)

    def _begun(self) -> None:
        self.failure = ""

    def _take(self, line: bytes) -> None:
        """Hand over one event."""
        word, content = _event(line)
        if word == b"ERROR":
            raise ExpiredError(one_line(line[:_SAID_CHARACTERS_MAX].decode("utf-8", "replace")))
        if word == b"BOOKMARK":
            version = _VERSION.search(line)
            self._revision = version[1].decode() if version else self._revision
            self._heard = True
            return
        hand_over = self._sink.drop if word == b"DELETED" else self._sink.put
        self._revision = hand_over(self._listed.kind, content) or self._revision
        self._heard = True
        self._changed()


async def items_of(client: ApiClient, path: str) -> list[Raw]:
    """Return all objects of a list, to be read once; raises a RefusedError or a BrokenError.

    In pages, however few there are: a server that was not asked for a kind before has them at once, and tells
    who asks for all of it to come again in a second.
    """
    found: list[Raw] = []
    query = {"limit": str(PAGE_ITEMS)}
    for _ in range(PAGES_MAX):
        page = _page(await client.get(path, query))
        found += page.items or ()
        if page.metadata is None or not page.metadata.continue_:
            return found
        query["continue"] = page.metadata.continue_
    raise _too_many_pages()


def _event(line: bytes) -> tuple[bytes, Raw | bytes]:
    """Return what has happened, and to which object; raises a BrokenError."""
    plain = _PLAIN.match(line)
    if plain is not None and line.endswith(b"}"):
        return plain[1], line[plain.end() : -1]
    found = _TYPE.match(line)
    try:
        return found[1] if found else b"", _EVENT.decode(line).object
    except (msgspec.DecodeError, RecursionError) as error:
        raise BrokenError(f"an event that cannot be read: {error}") from None


def _too_many_pages() -> BrokenError:
    return BrokenError(f"a list of more than {PAGES_MAX} pages")


def _page(data: bytes) -> _Page:
    try:
        return _PAGE.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BrokenError(f"a list that cannot be read: {error}") from None
