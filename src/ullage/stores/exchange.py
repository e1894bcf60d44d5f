"""What a server and whoever uses its ledger from elsewhere tell each other: records, as stores keep them.

Amounts are integers in the internal steps of their resource, as in a ledger's file: no registry of types on
either side can change what was meant.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from ullage.engine.ledger.state import LedgerState
from ullage.model.ledger import JournalRow, Outcome
from ullage.model.verdict import Finding
from ullage.stores import codec

MEDIA: Final = "application/vnd.ullage.ledger+json"
STEPS_MAX: Final = 500
BYTES_MAX: Final = 16 << 20
"""What one answer has of the journal; the rest follows after its last step."""


class _State(msgspec.Struct, rename="camel"):
    revision: int
    state: msgspec.Raw


class _Step(msgspec.Struct, rename="camel"):
    revision: int
    at_seconds: int
    command: msgspec.Raw
    decision: msgspec.Raw
    key: str = ""


class _Journal(msgspec.Struct, rename="camel"):
    steps: list[_Step]
    more: bool
    earliest: int


class _Outcome(msgspec.Struct, rename="camel"):
    revision: int
    decision: msgspec.Raw
    repeated: bool = False
    moved: bool = False


class _Proof(msgspec.Struct, rename="camel"):
    findings: list[Finding]


class JournalPart(msgspec.Struct, frozen=True):
    """Some steps of a journal, whether others follow, and the first revision of which anything is kept."""

    rows: tuple[JournalRow, ...]
    more: bool = False
    earliest: int = 0


def state_message(state: LedgerState) -> bytes:
    """Return a state as it is told."""
    return msgspec.json.encode(_State(state.revision, _raw(codec.state_text(state))))


def to_state(message: bytes) -> LedgerState:
    """Return the state that was told."""
    told = _STATE.decode(message)
    return codec.to_state(told.revision, _text(told.state))


def journal_message(rows: Iterable[JournalRow], earliest: int) -> bytes:
    """Return the first of some steps as they are told, as many as one answer may have."""
    steps: list[_Step] = []
    size_bytes, more = 0, False
    for row in rows:
        if len(steps) == STEPS_MAX or size_bytes > BYTES_MAX:
            more = True
            break
        command, decision = _raw(codec.command_text(row.command)), _raw(codec.decision_text(row.decision))
        steps.append(_Step(row.revision, row.at_seconds, command, decision, row.key))
        size_bytes += len(command) + len(decision)
    return msgspec.json.encode(_Journal(steps, more, earliest))


def to_journal(message: bytes) -> JournalPart:
    """Return the steps that were told."""
    told = _JOURNAL.decode(message)
    rows = (
        JournalRow(
            each.revision,
            each.at_seconds,
            codec.to_command(_text(each.command)),
            codec.to_decision(_text(each.decision)),
            each.key,
        )
        for each in told.steps
    )
    return JournalPart(tuple(rows), told.more, told.earliest)


def outcome_message(outcome: Outcome) -> bytes:
    """Return an outcome as it is told."""
    decision = _raw(codec.decision_text(outcome.decision))
    return msgspec.json.encode(_Outcome(outcome.revision, decision, outcome.repeated, outcome.moved))


def to_outcome(message: bytes) -> Outcome:
    """Return the outcome that was told."""
    told = _OUTCOME.decode(message)
    return Outcome(told.revision, codec.to_decision(_text(told.decision)), told.repeated, told.moved)


def proof_message(findings: Iterable[Finding]) -> bytes:
    """Return what is wrong with a ledger as it is told."""
    return msgspec.json.encode(_Proof(list(findings)))


def to_findings(message: bytes) -> list[Finding]:
    """Return the findings that were told."""
    return _PROOF.decode(message).findings


def _raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode())


def _text(raw: msgspec.Raw) -> str:
    return bytes(raw).decode()


_STATE: Final = msgspec.json.Decoder(_State)
_JOURNAL: Final = msgspec.json.Decoder(_Journal)
_OUTCOME: Final = msgspec.json.Decoder(_Outcome)
_PROOF: Final = msgspec.json.Decoder(_Proof)
