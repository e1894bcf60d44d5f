"""How far an answer has come, told to whoever listens: a bar on a terminal, the job of a server.

Who listens is known to the context alone, so that no question has to hand it through. Where nobody does,
nothing is counted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from ullage.engine.steps import Steps

_LISTENER: Final[ContextVar[Steps | None]] = ContextVar("listener", default=None)


@contextmanager
def stepping(told: Steps | None) -> Iterator[None]:
    """Let a function hear of every step; None lets nobody."""
    token = _LISTENER.set(told)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def listener() -> Steps | None:
    """Return who listens, for loops of the engine; None where nobody does."""
    return _LISTENER.get()


def words_of(what: str, done: int, total: int) -> str:
    """Return how far something has come, as people read it."""
    return f"{done} of {total} {what}"
