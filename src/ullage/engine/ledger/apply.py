"""What a decision makes of a ledger: everything is in the decision, so this cannot fail."""

from ullage.engine.ledger.overlay import Overlay
from ullage.engine.ledger.state import LedgerState
from ullage.engine.ledger.view import key_of
from ullage.model.ledger import Decision
from ullage.model.ledger_entry import FINAL


def apply(state: LedgerState, decision: Decision, at_seconds: int) -> None:
    """Take one step of the ledger's history; a refusal is a step too, and changes nothing else."""
    if decision.accepted:
        amend(state, decision)
    state.at_seconds = max(state.at_seconds, at_seconds)
    state.revision += 1


def amend(ledger: LedgerState | Overlay, decision: Decision) -> None:
    """Change what a decision names: an entry in a final state goes, any other is now as it says."""
    for capacity in decision.capacities:
        ledger.supply(capacity)
    for name in decision.gone:
        ledger.withdraw(name)
    for entry in decision.changed:
        if entry.state in FINAL:
            ledger.end(key_of(entry))
        else:
            ledger.put(entry)
    if decision.waiting is not None:
        ledger.waiting = decision.waiting
