"""The ledger's records as JSON text and back, and the hash that ties a journal row to all rows before it.

Amounts are written as integers in the internal steps of their resource, which no registry of types can change
afterwards. The same record always gives the same text: texts are hashed, and compared when a key comes again.
Reading a state is the hard part: a hundred thousand entries in a fraction of a second.
"""

from functools import lru_cache
from hashlib import sha256
from typing import Any, Final

import msgspec

from ullage.engine.ledger.state import LedgerState
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.ledger import Capacity, Command, Decision, Reserve
from ullage.model.ledger_entry import EntryState, LedgerEntry
from ullage.model.resources import Amount, Resources

MAPS_MAX: Final = 4096
"""Maps of resources that are kept as they were read last: most steps are about amounts seen before."""
HASH_BYTES: Final = 32
GENESIS: Final = bytes(HASH_BYTES)
"""What the first row is chained to."""
_Fields = tuple[
    str,
    str,
    str,
    str,
    dict[str, int],
    EntryState,
    bool,
    int | None,
    int | None,
    int | None,
    str,
    str,
    tuple[str, ...],
    str,
]
"""Those of an entry, in order."""


def chained(previous: bytes, row: tuple[int, int, str, str, str]) -> bytes:
    """Return the hash of a row: of the hash before it and of all that the row says, lengths included."""
    revision, at_seconds, key, command, decision = row
    lengths = f"{len(key)} {len(command)} {len(decision)}"
    text = f"{revision} {at_seconds} {lengths}\n{key}{command}{decision}"
    return sha256(previous + text.encode()).digest()


def command_text(command: Command) -> str:
    """Return a command as text, or say what cannot be written."""
    return _text(command)


def decision_text(decision: Decision) -> str:
    """Return a decision as text."""
    return _text(decision)


def entry_text(entry: LedgerEntry) -> str:
    """Return an entry as text: its fields in order, without their names, which is faster to read."""
    return _text(msgspec.structs.astuple(entry))


def capacity_text(capacity: Capacity) -> str:
    """Return a capacity as text."""
    return _text(capacity)


def name_text(name: str) -> str:
    """Return a name as it stands in the text of any record."""
    return _text(name)


def to_command(text: str) -> Command:
    """Return the command that a text holds."""
    return _COMMAND.decode(text)


def to_decision(text: str) -> Decision:
    """Return the decision that a text holds."""
    return _DECISION.decode(text)


def to_entries(text: str) -> list[LedgerEntry]:
    """Return the entries of a JSON array that was written here.

    When a ledger is opened, that is a hundred thousand of them. So their amounts are not checked and hashed
    once more, and nothing is called for each entry but what makes it.
    """
    entries = []
    new = _Stored.__new__
    for fields in _ENTRIES.decode(text):
        name, request, at, owner, amounts, state, paused, since, until, place, after, why, drives, claim = (
            fields
        )
        resources = new(_Stored)
        resources._amounts = amounts  # noqa: SLF001 - its own kind
        entries.append(
            LedgerEntry(
                name,
                request,
                at,
                owner,
                resources,
                state,
                paused,
                since,
                until,
                place,
                after,
                why,
                drives,
                claim,
            )
        )
    return entries


def to_places(text: str) -> list[int]:
    """Return the places of a JSON array."""
    return _PLACES.decode(text)


def to_capacities(text: str) -> list[Capacity]:
    """Return the capacities of a JSON array."""
    return _CAPACITIES.decode(text)


def to_waiting(text: str) -> list[Reserve]:
    """Return the reservations of a JSON array."""
    return _WAITING.decode(text)


def state_text(state: LedgerState) -> str:
    """Return all of a state but its revision, which is what it is kept under."""
    return _text(_KeptState(state.at_seconds, state.capacities, state.entries, state.waiting))


def to_state(revision: int, text: str) -> LedgerState:
    """Return the state that a text holds."""
    kept = _STATE.decode(text)
    return LedgerState(
        kept.capacities, kept.entries, kept.waiting, revision=revision, at_seconds=kept.at_seconds
    )


class _KeptState(Record, frozen=True):
    """A state as it was, in one text."""

    at_seconds: int
    capacities: tuple[Capacity, ...] = ()
    entries: tuple[LedgerEntry, ...] = ()
    waiting: tuple[Reserve, ...] = ()


def _text(record: Any) -> str:
    try:
        return _ENCODER.encode(record).decode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{error.object[:80]!r} holds half a character", remedy="write names in valid Unicode"
        ) from None


def _encode(value: Any) -> Any:
    if isinstance(value, Resources):
        return value._amounts  # noqa: SLF001 - it is only read; a copy of each would take as long as the rest
    if isinstance(value, Amount):
        return (value.resource, value.value)
    raise NotImplementedError(type(value).__name__)


class _Stored(Resources):
    """Resources as they were written here: in order and in range, and hashed when somebody asks."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(tuple(self._amounts.items()))


@lru_cache(MAPS_MAX)
def _resources(amounts: tuple[tuple[str, int], ...]) -> Resources:
    return Resources(amounts)


def _decode(wanted: type, value: Any) -> Any:
    if wanted is Resources:
        return _resources(tuple(value.items()))
    if wanted is Amount:
        resource, steps = value
        return Amount(resource, steps)
    raise NotImplementedError(wanted.__name__)


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_encode)
_COMMAND: Final[msgspec.json.Decoder[Command]] = msgspec.json.Decoder(Command, dec_hook=_decode)
_DECISION: Final = msgspec.json.Decoder(Decision, dec_hook=_decode)
_ENTRIES: Final = msgspec.json.Decoder(list[_Fields])
_PLACES: Final = msgspec.json.Decoder(list[int])
_CAPACITIES: Final = msgspec.json.Decoder(list[Capacity], dec_hook=_decode)
_STATE: Final = msgspec.json.Decoder(_KeptState, dec_hook=_decode)
_WAITING: Final = msgspec.json.Decoder(list[Reserve], dec_hook=_decode)
