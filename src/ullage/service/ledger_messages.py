"""A ledger as whoever uses it from elsewhere is told of it: its state, its steps, and what is wrong with it.

Where nothing was promised yet there is no ledger, which is told as an empty one.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, Final

from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.service.ledger_file import (
    earliest_step,
    ledger_path,
    read_journal,
    read_ledger,
    row_under,
    verified,
)
from ullage.stores import exchange

_SUBJECTS: Final = ("reservation", "owner", "capacity")


def _state(ledger: str, parameters: Mapping[str, Any]) -> bytes:
    revision = parameters.get("revision")
    if not ledger:
        if revision:
            raise InputError(f"there is no revision {revision}", remedy="use 0 to 0")
        return exchange.state_message(LedgerState())
    return exchange.state_message(read_ledger(ledger_path(ledger), revision))


def _journal(ledger: str, parameters: Mapping[str, Any]) -> bytes:
    if not ledger:
        return exchange.journal_message((), 0)
    place = ledger_path(ledger)
    earliest = earliest_step(place) - 1
    key = parameters.get("key")
    if key:
        row = row_under(place, key)
        return exchange.journal_message((row,) if row else (), earliest)
    subject = {kind: parameters[kind] for kind in _SUBJECTS if parameters.get(kind)}
    rows = read_journal(place, subject, parameters.get("after", 0))
    return exchange.journal_message(islice(rows, parameters.get("limit")), earliest)


def _proof(ledger: str, parameters: Mapping[str, Any]) -> bytes:
    del parameters
    return exchange.proof_message(verified(ledger_path(ledger))[1] if ledger else ())


MESSAGES: Final[Mapping[str, Callable[[str, Mapping[str, Any]], bytes]]] = MappingProxyType(
    {"state": _state, "journal": _journal, "proof": _proof}
)
"""What can be told of a ledger that is named, with parameters; without a name there is none yet."""
