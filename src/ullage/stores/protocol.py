"""What every store of the ledger does, wherever it keeps it.

The promise behind `submit`: who has an outcome will find it there after any crash. Who gets an error knows
that nothing was promised to them; whether the step was taken all the same is learned by asking again under
the same key, which never takes it twice.
"""

from collections.abc import Iterator
from typing import Final, Protocol

from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.model.ledger import Command, JournalRow, Outcome
from ullage.model.verdict import Finding

KEY_CHARACTERS_MAX: Final = 256


class StoreUnavailableError(InputError):
    """The store could not keep or read what was asked for: the disk is full, failed, or is not there."""


class StoreBusyError(StoreUnavailableError):
    """Others were writing for longer than anybody should wait."""


class LedgerStore(Protocol):
    """A ledger that lasts: one order of steps for all who use it, in this process and in others."""

    def submit(
        self, command: Command, *, at_seconds: int, key: str = "", revision: int | None = None
    ) -> Outcome:
        """Decide a command, and return once the decision is durable.

        A `key` that was used before gives the outcome of that time if the command is the same, and is refused
        otherwise. `revision` is what the caller has planned on: the outcome says whether it has moved since.
        """

    async def submit_async(
        self, command: Command, *, at_seconds: int, key: str = "", revision: int | None = None
    ) -> Outcome:
        """Do the same for a task, without holding up others of its loop."""

    def state(self) -> LedgerState:
        """Return the state now; it is the caller's own and changes no more."""

    def at(self, revision: int) -> LedgerState:
        """Return the state after a step of the past; 0 is before the first."""

    def journal(self, after: int = 0) -> Iterator[JournalRow]:
        """Yield the steps after a revision, in order, up to the one that is last now."""

    def history(self, *, reservation: str = "", owner: str = "", capacity: str = "") -> Iterator[JournalRow]:
        """Yield the steps that name all of what is given."""

    def verify(self) -> list[Finding]:
        """Prove that the ledger is what it says: nothing lost, nothing changed, nothing promised twice."""

    def close(self) -> None:
        """Answer what was asked already, and let go."""


def checked_key(key: str) -> str:
    """Return a key that can be kept, or say what is wrong with it."""
    if len(key) > KEY_CHARACTERS_MAX or not key.isprintable():
        raise InputError(
            f"the key {key[:40]!r} cannot be kept",
            remedy=f"use at most {KEY_CHARACTERS_MAX} printable characters",
        )
    return key
