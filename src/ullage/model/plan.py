"""Plans: steps that change the cluster, each with its evidence; nothing changes until one is committed.

A plan names the revision it was made for. Committing it on a later revision checks every step again.
"""

from typing import Literal

from ullage.model.constraints import Record
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import NOTHING, Resources
from ullage.model.verdict import Shortfall

Action = Literal["place", "resize", "move", "evict", "reserve", "release"]


class Step(Record, frozen=True):
    """One change: what is done to which workload or reservation, from where to where, and why."""

    action: Action
    subject: str
    to_node: str = ""
    from_node: str = ""
    resources: Resources = NOTHING
    count: int = 1
    evidence: str = ""


class Refusal(Record, frozen=True):
    """A part of the question that cannot be met, with the nearest shortfalls and a remedy."""

    subject: str
    count: int
    reason: str
    shortfalls: tuple[Shortfall, ...] = ()
    remedy: str = ""


class Plan(Record, frozen=True):
    """What to do about a question, made for one revision of a snapshot under one policy."""

    question: str
    revision: int
    policy: str
    steps: tuple[Step, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    entries: tuple[LedgerEntry, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether everything that was asked for is met."""
        return not self.refusals
