"""The ledger that a server keeps, used from elsewhere; see LedgerStore.

Time is the server's: what the caller takes it to be does not count. The hard thing is an answer that never
comes: then nobody here knows whether the step was taken, and asking again under the same key tells.
"""

from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Final, Protocol, Self, TypeVar

import msgspec

from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.model.ledger import Command, JournalRow, Outcome
from ullage.model.verdict import Finding
from ullage.stores import exchange
from ullage.stores.protocol import asked_for, checked_key

COMMAND_CHARACTERS_MAX: Final = 32 << 20
Answer = TypeVar("Answer")
Read = TypeVar("Read")


class Asking(Protocol):
    """Whoever asks the server about a ledger; what is refused or broken is an InputError."""

    def __call__(
        self,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str | bytes] | None = None,
        body: bytes | None = None,
    ) -> bytes:
        """Return what the server answers; it is asked to take a step where there is a body."""

    def unreadable(self, what: str) -> InputError:
        """Return why an answer cannot be used."""


class RemoteLedger:
    """A ledger behind whoever asks for it."""

    def __init__(self, ask: Asking) -> None:
        self._ask = ask

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def submit(
        self,
        command: Command,
        *,
        at_seconds: int,
        key: str = "",
        revision: int | None = None,
        exact: bool = False,
    ) -> Outcome:
        """Have a command decided, and return once the decision is durable there."""
        asked = asked_for(command, at_seconds, key, revision, COMMAND_CHARACTERS_MAX, exact=exact)
        headers: dict[str, str | bytes] = {"Content-Type": exchange.MEDIA}
        if key:
            headers["Idempotency-Key"] = key.encode()
        query = {}
        if revision is not None and exact:
            headers["If-Match"] = f'"{revision}"'
        elif revision is not None:
            query["planned"] = str(revision)
        return self._read(exchange.to_outcome, self._ask("commands", query, headers, asked.text.encode()))

    async def submit_async(
        self,
        command: Command,
        *,
        at_seconds: int,
        key: str = "",
        revision: int | None = None,
        exact: bool = False,
    ) -> Outcome:
        """Do the same for a task, without holding up others of its loop."""
        import asyncio

        def submit() -> Outcome:
            return self.submit(command, at_seconds=at_seconds, key=key, revision=revision, exact=exact)

        return await asyncio.to_thread(submit)

    def ask(self, question: Callable[[LedgerState], Answer]) -> Answer:
        """Return the answer to a question about the state now."""
        return question(self.state())

    def state(self) -> LedgerState:
        """Return the state now; it is the caller's own and changes no more."""
        return self._read(exchange.to_state, self._ask("state", {}))

    def at(self, revision: int) -> LedgerState:
        """Return the state after a step of the past, as far back as steps are kept."""
        return self._read(exchange.to_state, self._ask("state", {"revision": str(revision)}))

    def earliest(self) -> int:
        """Return the first revision of which the state can be told."""
        return self._part({"limit": "1"}).earliest

    def journal(self, after: int = 0) -> Iterator[JournalRow]:
        """Yield the steps after a revision that are kept, in order."""
        return self._rows({}, after)

    def history(self, *, reservation: str = "", owner: str = "", capacity: str = "") -> Iterator[JournalRow]:
        """Yield the steps that are kept and name all of what is given."""
        wanted = {"reservation": reservation, "owner": owner, "capacity": capacity}
        given = {kind: name for kind, name in wanted.items() if name}
        if not given:
            raise InputError("nothing to look for", remedy="name a reservation, an owner or a capacity")
        return self._rows(given, 0)

    def row_of_key(self, key: str) -> JournalRow | None:
        """Return the step that was asked for under a key; None where none is kept."""
        rows = self._part({"key": checked_key(key)}).rows
        return rows[0] if rows else None

    def verify(self) -> list[Finding]:
        """Have the server prove that the ledger is what it says."""
        return self._read(exchange.to_findings, self._ask("proof", {}))

    def close(self) -> None:
        """Let go of the server, to which nothing is open between requests."""

    def _rows(self, subject: Mapping[str, str], after: int) -> Iterator[JournalRow]:
        more = True
        while more:
            part = self._part({**subject, "after": str(after)})
            yield from part.rows
            more = part.more and bool(part.rows)
            after = part.rows[-1].revision if part.rows else after

    def _part(self, query: Mapping[str, str]) -> exchange.JournalPart:
        return self._read(exchange.to_journal, self._ask("journal", query))

    def _read(self, decode: Callable[[bytes], Read], message: bytes) -> Read:
        try:
            return decode(message)
        except (msgspec.DecodeError, UnicodeDecodeError, InputError) as error:
            raise self._ask.unreadable(f"its ledger cannot be read: {error}") from None
