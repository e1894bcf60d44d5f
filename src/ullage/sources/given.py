"""Files that somebody sent along, by name: whoever answers others opens these and no file of the machine.

    with giving({"-": body}):
        read_documents("-")             # the body
        read_documents("/etc/passwd")   # refused

The hard thing is that paths come from everywhere, also from what was sent itself (a policy names the one it
inherits). So this is decided where files are opened, not where they are named.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from ullage.model.errors import InputError
from ullage.sources.places import one_line

_GIVEN: ContextVar[Mapping[str, bytes] | None] = ContextVar("given", default=None)


@contextmanager
def giving(files: Mapping[str, bytes]) -> Iterator[None]:
    """Let these be all files that there are, for as long as this lasts; `-` is standard input."""
    token = _GIVEN.set(files)
    try:
        yield
    finally:
        _GIVEN.reset(token)


@contextmanager
def of_our_own() -> Iterator[None]:
    """Open files of the machine all the same: those that we were told to use, never one that others name."""
    token = _GIVEN.set(None)
    try:
        yield
    finally:
        _GIVEN.reset(token)


def given(path: str) -> bytes | None:
    """Return the file of a name that was sent along; None where files of the machine are meant.

    Where files are given and this is none of them, it is refused.
    """
    files = _GIVEN.get()
    if files is None:
        return None
    if path not in files:
        raise InputError("was not sent along", where=one_line(path), remedy="send what is to be read")
    return files[path]


def refuse_others(source: str) -> None:
    """Refuse to look at something in our own name while others are answered: they would ask through us."""
    if _GIVEN.get() is not None:
        raise InputError(
            "is not looked at for others", where=one_line(source), remedy="record it: ullage usage observe"
        )


def is_there(path: str) -> bool:
    """Whether there is such a file or folder, of those that may be opened."""
    files = _GIVEN.get()
    return os.path.exists(path) if files is None else path in files  # noqa: PTH110 - Path.exists raises where a folder above may not be read
