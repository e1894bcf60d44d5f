"""Lists of an API server, page by page, each page as the text it came in.

The hard thing is time: a server takes as long to write a page as we take to read one. So the first pages of
all lists are asked for at once, and each next page while the one before is read. A list that takes longer
than the server keeps its state is continued from a later state, where the server offers that.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple, Self
from urllib.parse import quote

import msgspec

from ullage.sources.kubernetes.live_discovery import Listed
from ullage.sources.kubernetes.live_server import FORBIDDEN, GONE, NOT_FOUND, OK, ApiServer, Reply
from ullage.sources.kubernetes.wire import Wire
from ullage.sources.limits import DEFAULT_LIMITS, Limits, size_text

PAGE_ITEMS: Final = 1000
"""Larger pages take no less time, and more memory on both sides; smaller ones more round trips."""
PAGES_MAX: Final = 100_000
REQUESTS_AT_ONCE: Final = 4


class NotListedError(Exception):
    """A list that the server does not give, for a reason that leaves the others as they are."""


class NotPermittedError(NotListedError):
    """Whoever asks may not see the list."""


class AbsentError(NotListedError):
    """There is no such list."""


class ExpiredError(Exception):
    """The state of a list is gone and the server offers no later one: all must be read anew."""


class ListPage(NamedTuple):
    """A page: its text, its number from 1, the revision of its list, and whether that was changed for it."""

    data: bytearray
    number: int
    revision: int
    is_later: bool


class _Metadata(Wire):
    continue_: str | None = msgspec.field(default=None, name="continue")
    resource_version: str | None = None


class _Head(Wire):
    metadata: _Metadata | None = None


_HEAD: Final = msgspec.json.Decoder(_Head)
_REVISION_DIGITS_MAX: Final = 18


class Lists:
    """The lists of one server; a context, which ends what is still under way."""

    def __init__(
        self, server: ApiServer, *, page_items: int = PAGE_ITEMS, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._server = server
        self._page_items = page_items
        self._limits = limits
        self._pool = ThreadPoolExecutor(REQUESTS_AT_ONCE, thread_name_prefix="list")
        self._begun: dict[str, Future[Reply]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def begin(self, lists: Iterable[tuple[str, str]]) -> None:
        """Ask for the first pages of lists, given by path and label selector."""
        for path, selector in lists:
            self._begun[path] = self._asked(path, selector)

    def pages(self, listed: Listed, namespace: str = "", selector: str = "") -> Iterator[ListPage]:
        """Yield the pages of a list; raises a NotListedError before the first, an InputError at any time."""
        path = listed.path(quote(namespace, safe=""))
        asked = self._begun.pop(path, None) or self._asked(path, selector)
        total_bytes, is_later = 0, False
        for number in range(1, PAGES_MAX + 1):
            reply = asked.result()
            if reply.status == GONE and number > 1:
                is_later = True
                asked = self._asked(path, selector, _later(reply))
                reply = asked.result()
            self._require(reply, listed, number)
            total_bytes += len(reply.data)
            if total_bytes > self._limits.file_bytes_max:
                most = size_text(self._limits.file_bytes_max)
                raise self._server.error(f"{listed.title}: more than {most} of text", "use -n NAMESPACE")
            metadata = self._metadata(reply, listed)
            if metadata.continue_:
                asked = self._asked(path, selector, metadata.continue_)
            yield ListPage(reply.data, number, _revision(metadata.resource_version), is_later)
            if not metadata.continue_:
                return
        raise self._server.error(f"{listed.title}: more than {PAGES_MAX} pages", "use -n NAMESPACE")

    def _asked(self, path: str, selector: str, token: str = "") -> Future[Reply]:
        query = {"limit": str(self._page_items)}
        query |= {"labelSelector": selector} if selector else {}
        query |= {"continue": token} if token else {}
        return self._pool.submit(self._server.get, path, query)

    def _require(self, reply: Reply, listed: Listed, number: int) -> None:
        """Raise unless the reply is a page."""
        if reply.status == OK:
            return
        if number > 1:
            if reply.status == GONE:
                raise ExpiredError
            raise self._server.error(
                f"{listed.title}, page {number}: {reply.reason()}", "ask again; the list broke off"
            )
        if reply.status == FORBIDDEN:
            raise NotPermittedError
        if reply.status == NOT_FOUND:
            raise AbsentError
        raise NotListedError(reply.reason())

    def _metadata(self, reply: Reply, listed: Listed) -> _Metadata:
        try:
            return _HEAD.decode(reply.data).metadata or _Metadata()
        except (msgspec.DecodeError, RecursionError):
            raise self._server.error(
                f"{listed.title}: the answer is no list of objects", "check the server in the kubeconfig"
            ) from None


def _later(reply: Reply) -> str:
    """Return the token that continues a list from a later state; raises an ExpiredError."""
    token = (reply.refusal().metadata or {}).get("continue")
    if not isinstance(token, str) or not token:
        raise ExpiredError
    return token


def _revision(version: str | None) -> int:
    """Return a resource version as a number; 0 where it is none."""
    if version and version.isdecimal() and len(version) <= _REVISION_DIGITS_MAX:
        return int(version)
    return 0
