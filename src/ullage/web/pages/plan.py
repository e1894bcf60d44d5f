"""A plan that somebody keeps: what it would hold where, and whether it was committed.

It is drawn where HTTP is spoken, from what was kept of it: no cluster is needed.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from ullage.web.pages.history import PlanLine
from ullage.web.pages.shell import Shell, draw

if TYPE_CHECKING:
    from ullage.web.plans import Kept, Plan

STATES: Final = {
    "open": "not committed yet",
    "committed": "committed",
    "refused": "refused when it was committed",
    "discarded": "discarded",
}
"""What each state of a plan is called."""


class Placed(NamedTuple):
    """A workload of a plan: how many of it have a place, where, and who is evicted for it."""

    name: str
    placed: int
    replicas: int
    nodes: tuple[tuple[str, int], ...]
    evicted: tuple[str, ...]


def plan_page(shell: Shell, kept: "Kept", notice: str = "", tone: str = "") -> bytes:
    """Return the page of a plan, with what came of the last attempt to do something with it."""
    plan = kept.told
    source = f"/v1/clusters/{quote(plan.cluster, safe='')}/plans/{quote(plan.id, safe='')}"
    return draw(
        "plan",
        shell,
        plan=plan,
        state=STATES[plan.state],
        what=words_of(plan),
        outcomes=tuple(placed_of(kept.answer.report)),
        notice=notice,
        notice_tone=tone,
        source=source,
    )


def plan_line(plan: "Plan") -> PlanLine:
    """Return a plan as a list tells it."""
    return PlanLine(plan.id, plan.made, plan.who, STATES[plan.state], words_of(plan))


def words_of(plan: "Plan") -> str:
    """Return the workloads of a plan in a few words."""
    more = plan.workloads - len(plan.names)
    return ", ".join((*plan.names, *((f"{more} more",) if more else ()))) or "nothing"


def placed_of(report: Mapping[str, Any]) -> Iterator[Placed]:
    """Yield the workloads of a report of `fit`."""
    for outcome in report.get("outcomes", ()):
        yield Placed(
            outcome["workload"],
            outcome["placed"],
            outcome["replicas"],
            tuple((each["node"], each["replicas"]) for each in outcome["nodes"]),
            tuple(each["workload"] for each in outcome.get("evicted", ())),
        )
