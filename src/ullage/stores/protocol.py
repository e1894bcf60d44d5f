"""What every store of the ledger does, wherever it keeps it.

The promise behind `submit`: who has an outcome will find it there after any crash. Who gets an error knows
that nothing was promised to them; whether the step was taken all the same is learned by asking again under
the same key, which never takes it twice.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, Protocol, TypeVar

from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.model.ledger import Command, JournalRow, Outcome
from ullage.model.quantity import INT64_MAX
from ullage.model.verdict import Finding
from ullage.stores import codec

KEY_CHARACTERS_MAX: Final = 256
Answer = TypeVar("Answer")


class StoreUnavailableError(InputError):
    """The store could not keep or read what was asked for: the disk is full, failed, or is not there."""


class StoreBusyError(StoreUnavailableError):
    """Others were writing for longer than anybody should wait."""


class MovedError(InputError):
    """A step was to be taken on one revision and no other, and the ledger is at another: it was not taken."""


class LedgerStore(Protocol):
    """A ledger that lasts: one order of steps for all who use it, in this process and in others."""

    def submit(
        self,
        command: Command,
        *,
        at_seconds: int,
        key: str = "",
        revision: int | None = None,
        exact: bool = False,
    ) -> Outcome:
        """Decide a command, and return once the decision is durable.

        A `key` that was used before gives the outcome of that time if the command is the same, and is refused
        otherwise. `revision` is what the caller has planned on: the outcome says whether it has moved since.
        If it is to be `exact`, nothing is decided where it has, which is a MovedError.
        """

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

    def ask(self, question: Callable[[LedgerState], Answer]) -> Answer:
        """Return the answer to a question about the state now; it changes nothing and keeps nothing of it."""

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


class Asked(NamedTuple):
    """A command with all that was said with it; `text` is the command as it is kept."""

    command: Command
    text: str
    at_seconds: int
    key: str = ""
    revision: int | None = None
    exact: bool = False


def asked_for(
    command: Command,
    at_seconds: int,
    key: str,
    revision: int | None,
    characters_max: int,
    *,
    exact: bool = False,
) -> Asked:
    """Return what was asked for, or say what cannot be kept of it."""
    if not 0 <= at_seconds <= INT64_MAX:
        raise InputError(f"{at_seconds} is no time", remedy="give seconds since 1970")
    text = codec.command_text(command)
    if len(text) > characters_max:
        raise InputError(f"a command of {len(text)} characters", remedy="split it")
    return Asked(command, text, at_seconds, checked_key(key), revision, exact)


def repeated(asked: Asked, text: str, outcome: Outcome) -> Outcome:
    """Return the outcome that a key had before; refuse it if it was the key of something else."""
    if text != asked.text and codec.to_command(text) != asked.command:
        raise InputError(
            f"the key {asked.key} was used for another command at revision {outcome.revision}",
            remedy="use a new key for a new command",
        )
    return Outcome(outcome.revision, outcome.decision, repeated=True)


def moved_since(state: LedgerState, planned: int, *, exact: bool = False) -> bool:
    """Whether a ledger has changed since the revision that somebody has planned on.

    If it is to be `exact`, it must not have.
    """
    if planned > state.revision:
        raise InputError(
            f"revision {planned} is not reached yet, the last one is {state.revision}",
            remedy="plan on a state of this ledger",
        )
    if exact and planned < state.revision:
        raise MovedError(
            f"the ledger is at revision {state.revision}, not {planned}", remedy="look again and plan anew"
        )
    return planned < state.revision


def checked_key(key: str) -> str:
    """Return a key that can be kept, or say what is wrong with it."""
    if len(key) > KEY_CHARACTERS_MAX or not key.isprintable():
        raise InputError(
            f"the key {key[:40]!r} cannot be kept",
            remedy=f"use at most {KEY_CHARACTERS_MAX} printable characters",
        )
    return key
