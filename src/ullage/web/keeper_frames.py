"""What travels between the process that speaks HTTP and one that keeps a ledger: many steps in each record.

Commands and decisions travel as the text that the journal has of them.
"""

from typing import Final

import msgspec

from ullage.model.errors import InputError
from ullage.model.ledger import Capacity
from ullage.stores import codec
from ullage.stores.protocol import MovedError, StoreBusyError, StoreUnavailableError

_ERRORS: Final = {
    each.__name__: each for each in (InputError, StoreUnavailableError, StoreBusyError, MovedError)
}


class Step(msgspec.Struct, array_like=True, frozen=True, tag="step"):
    """A command on its way, with the number by which it is answered."""

    number: int
    text: str
    at_seconds: int
    key: str
    revision: int | None
    exact: bool


class IsDue(msgspec.Struct, array_like=True, frozen=True, tag="due"):
    """The question whether the time of a promise has come."""

    number: int
    now_seconds: int


class Opened(msgspec.Struct, array_like=True, frozen=True, tag="opened"):
    """That a ledger is open, at which revision, and the capacities that it knows."""

    revision: int
    capacities: tuple[str, ...]

    @property
    def known(self) -> list[Capacity]:
        """The capacities themselves."""
        return codec.to_capacities(f"[{','.join(self.capacities)}]")


class Taken(msgspec.Struct, array_like=True, frozen=True, tag="taken"):
    """What became of a step, now that it is durable."""

    number: int
    revision: int
    decision: str
    moved: bool
    repeated: bool


class Due(msgspec.Struct, array_like=True, frozen=True, tag="due"):
    """At which revision a ledger is, and whether the time of a promise has come."""

    number: int
    revision: int
    is_due: bool


class Refused(msgspec.Struct, array_like=True, frozen=True, tag="refused"):
    """Why something was not done; what nobody foresaw has no kind."""

    number: int
    kind: str
    what: str
    where: str = ""
    remedy: str = ""

    def error(self) -> Exception:
        """Return the error as it was raised at the other side."""
        kind = _ERRORS.get(self.kind)
        if kind is None:
            return RuntimeError(self.what)
        return kind(self.what, where=self.where, remedy=self.remedy)


ASKED: Final = msgspec.msgpack.Decoder(list[Step | IsDue])
TOLD: Final = msgspec.msgpack.Decoder(list[Opened | Taken | Due | Refused])


def refused(number: int, error: BaseException) -> Refused:
    """Return an error as it travels."""
    if not isinstance(error, InputError):
        return Refused(number, "", f"{type(error).__name__}: {error}")
    name = type(error).__name__
    kind = name if name in _ERRORS else InputError.__name__
    return Refused(number, kind, error.what, error.where, error.remedy)
