"""Plans: steps that change the cluster, each with its evidence; nothing changes until one is committed.

A plan names the revision it was made for. Committing it on a later revision checks every step again.
"""

from typing import Literal

from ullage.model.cluster import Node
from ullage.model.constraints import Record, Toleration
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import NOTHING, Resources
from ullage.model.verdict import Shortfall

Action = Literal["place", "resize", "move", "evict", "wait", "reserve", "release"]


class Step(Record, frozen=True):
    """One change: what is done to which workload or reservation, from where to where, and why.

    wait: nothing is done, the workload is on its way out of `from_node` already.
    """

    action: Action
    subject: str
    to_node: str = ""
    from_node: str = ""
    resources: Resources = NOTHING
    count: int = 1
    evidence: str = ""


class Remedy(Record, frozen=True):
    """One change that makes a refused part fit, in words and as what is to be changed.

    wait: for those that are on their way out already (`waits_for`); request: what each replica asks for
    instead (`requests`); open: `nodes` uncordoned, a `toleration` added, or a constraint dropped
    (`without`); replicas: so many only; evict: the workloads that go (`evicted`); node: so many nodes
    (`count`) like `node`; quota: its `bound` (min, max or borrowing_limit) raised to `bounds`, with
    `least_proven` if it is proven that no smaller raise will do; volume: a `volume` of `size_bytes` instead;
    drive: one of `drive_class` with `size_bytes` added to one of `nodes`; spare: what groups keep for
    failover is promised too.
    """

    kind: Literal["wait", "request", "open", "replicas", "evict", "node", "quota", "volume", "drive", "spare"]
    text: str
    requests: Resources = NOTHING
    nodes: tuple[str, ...] = ()
    toleration: Toleration | None = None
    without: str = ""
    replicas: int = 0
    evicted: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    node: Node | None = None
    count: int = 0
    quota: str = ""
    bound: str = ""
    bounds: Resources = NOTHING
    least_proven: bool = True
    volume: str = ""
    drive_class: str = ""
    size_bytes: int = 0


class Refusal(Record, frozen=True):
    """A part of the question that cannot be met, with the nearest shortfalls and what would help.

    `remedy` says in words what the `remedies` are, the smallest change first.
    """

    subject: str
    count: int
    reason: str
    shortfalls: tuple[Shortfall, ...] = ()
    remedy: str = ""
    remedies: tuple[Remedy, ...] = ()


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
