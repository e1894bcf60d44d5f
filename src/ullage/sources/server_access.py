"""How servers of ours are reached by one command: with which token, and whose certificates count.

    with reaching(Access(token_file="token")):
        open_source("https://host:8480")

Whatever a command reads and writes at servers is told here, so that what it does in the end is what it has
looked at in the beginning: a step that was planned on one reading of a cluster names that reading.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple

SCHEMES: Final = ("http://", "https://")


class Access(NamedTuple):
    """The file of a token (else $ULLAGE_TOKEN has it), and that of certificates (else the system's count)."""

    token_file: str = ""
    ca_file: str = ""


class Reached:
    """What one command knows of servers: how to reach them, and which revision of a cluster it has read."""

    def __init__(self, access: Access | None = None) -> None:
        self.access = access or Access()
        self.revisions: dict[tuple[str, str], int] = {}
        """By the address of a server and the name of a cluster."""


_REACHED: ContextVar[Reached | None] = ContextVar("reached", default=None)


@contextmanager
def reaching(access: Access) -> Iterator[None]:
    """Reach servers in this way, for as long as this lasts."""
    token = _REACHED.set(Reached(access))
    try:
        yield
    finally:
        _REACHED.reset(token)


def reached() -> Reached:
    """Return how servers are reached now; what is learned where nobody has said so is forgotten."""
    return _REACHED.get() or Reached()


def is_server(spec: str) -> bool:
    """Whether a cluster or a ledger is named by the address of a server."""
    return spec.startswith(SCHEMES)
