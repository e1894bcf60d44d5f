"""A plan that is kept until somebody commits it: an answer, the step that would hold it, and the revisions.

The hard thing is that time goes on between the two. What was to be held for an hour is held for an hour from
the commit on. If the ledger has moved, it decides each hold again on what is there then. If the cluster has,
the plan tells the ledger what nodes no longer offer: it must be made again.
"""

from typing import Any

import msgspec

from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.ledger import Bind, Command, Extend, Reserve, Resize, Together
from ullage.stores.codec import to_command


class MovedPlanError(InputError):
    """A plan was made on a revision of its cluster that is not the present one."""


class FitPlan(Record, frozen=True):
    """What `fit` answered, and how it would be committed; without a `step`, there is nothing to hold.

    `step` is the text of a command as ledgers keep it. `kept` are reservations that are held already and stay
    as they are, `in_line` those that wait; `owners` are all that were asked about. If nothing fits, or
    all or none was asked for and not all fit, nothing may be committed. Whoever keeps it says on which
    `cluster_revision` it is.
    """

    report: dict[str, Any]
    fits: bool
    atomic: bool
    step: str
    ledger_revision: int
    at_seconds: int
    hold_seconds: int
    kept: tuple[str, ...] = ()
    in_line: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    cluster_revision: int = 0

    @property
    def may_be_committed(self) -> bool:
        """Whether there is something to hold, and it may be: to note refusals alone is not that."""
        return bool(self.step) and (self.fits or (not self.atomic and holds_something(to_command(self.step))))


def holds_something(command: Command | None) -> bool:
    """Whether a step holds something, for longer or of another size too, or has somebody stand in line."""
    parts = command.commands if isinstance(command, Together) else ()
    return any(isinstance(part, Reserve | Resize | Extend | Bind) for part in parts)


def step_to_commit(plan: FitPlan, *, cluster_revision: int, at_seconds: int) -> Together:
    """Return the step that commits a plan now, to be taken on `plan.ledger_revision`."""
    if cluster_revision != plan.cluster_revision:
        raise MovedPlanError(
            f"it was made on revision {plan.cluster_revision} of the cluster, now it is {cluster_revision}",
            remedy="make the plan again",
        )
    if not plan.may_be_committed:
        why = "all or none was asked for, and not all fit" if plan.atomic else "what fits is held already"
        raise InputError(f"there is nothing to commit: {why}", remedy="make another plan")
    command = to_command(plan.step)
    if not isinstance(command, Together):
        raise InputError("the step of a plan is damaged", remedy="make the plan again")
    later = max(0, at_seconds - plan.at_seconds)
    return msgspec.structs.replace(command, commands=tuple(_later(part, later) for part in command.commands))


def _later(part: Any, seconds: int) -> Any:
    """Return a command whose end is so much later."""
    if isinstance(part, Reserve | Extend):
        return msgspec.structs.replace(part, expires_seconds=part.expires_seconds + seconds)
    return part
