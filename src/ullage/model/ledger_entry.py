"""One promise: who holds how much of what, where, since when and until when.

Compute admissions, quota use, disk holds and deployments are entries of this one kind, so that a promise
can be checked against all others. Totals are always summed from entries and never kept beside them.
"""

from typing import Final, Literal

from ullage.model.constraints import Record
from ullage.model.resources import NOTHING, Resources

EntryState = Literal["REQUESTED", "WAITING", "RESERVED", "BOUND", "RELEASED", "REJECTED", "EXPIRED"]

HOLDING: Final = frozenset(("RESERVED", "BOUND"))
FINAL: Final = frozenset(("RELEASED", "REJECTED", "EXPIRED"))

STATE_OF_WORKLOAD: Final = {
    "init": "REQUESTED",
    "ok": "BOUND",
    "paused": "BOUND",
    "error": "REJECTED",
    "deleted": "RELEASED",
}
"""The words that workloads use for the states of their entries; paused is a flag on a bound entry."""


class LedgerEntry(Record, frozen=True):
    """What one request of one reservation holds of one capacity (a node, a drive, a volume group).

    `drives` are the capacities whose bytes a volume group was made of when this was promised: should the
    group go, it is still promised there. `claim` is that of a volume which several reservations may share:
    one of their entries has its bytes, the others have nothing, and when it ends another one has them.
    """

    reservation: str
    request: str
    capacity: str
    owner: str
    resources: Resources = NOTHING
    state: EntryState = "REQUESTED"
    paused: bool = False
    created_seconds: int | None = None
    expires_seconds: int | None = None
    queue_position: int | None = None
    blocked_by: str = ""
    reason: str = ""
    drives: tuple[str, ...] = ()
    claim: str = ""

    @property
    def key(self) -> str:
        """An entry is one request of one reservation on one capacity."""
        return f"{self.reservation}/{self.request}@{self.capacity}"

    @property
    def holds(self) -> bool:
        """Whether the resources are taken by this entry."""
        return self.state in HOLDING

    @property
    def refers(self) -> bool:
        """Whether it has nothing itself, because another entry has the bytes of its claim."""
        return bool(self.claim) and not any(self.resources.values())
