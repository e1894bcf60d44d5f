"""The questions about promises: who answers them, from what was sent. They are about the cluster's ledger."""

from typing import TYPE_CHECKING

from ullage.model.errors import InputError

if TYPE_CHECKING:
    from ullage.service.answer import Answer
    from ullage.service.questions import Sent


def _with_ledger(sent: "Sent") -> str:
    if not sent.asked.ledger:
        raise InputError("the cluster has no ledger", remedy="nothing was promised yet")
    return sent.asked.ledger


def ask_ledger_show(sent: "Sent") -> "Answer":
    """What is promised."""
    from ullage.service.ledger_show import ShowQuestion, ledger_show

    told = sent.told
    return ledger_show(
        ShowQuestion(
            _with_ledger(sent), told.owner, told.capacity, told.state or "", told.revision, sent.asked.cluster
        )
    )


def ask_ledger_history(sent: "Sent") -> "Answer":
    """What was promised when."""
    from ullage.service.ledger_history import HistoryQuestion, ledger_history

    told = sent.told
    return ledger_history(HistoryQuestion(_with_ledger(sent), told.subject, told.after, sent.asked.cluster))


def ask_ledger_explain(sent: "Sent") -> "Answer":
    """What one step was."""
    from ullage.service.ledger_explain import StepQuestion, ledger_explain

    return ledger_explain(StepQuestion(sent.told.revision, _with_ledger(sent), sent.asked.cluster))


def ask_ledger_verify(sent: "Sent") -> "Answer":
    """Whether the ledger is whole."""
    from ullage.service.ledger_verify import ledger_verify

    return ledger_verify(_with_ledger(sent), sent.asked, sent.asked.cluster)
