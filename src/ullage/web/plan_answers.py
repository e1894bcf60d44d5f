"""What tells the answers of plans apart, and why one is not committed: a problem with what is missing."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ullage.model.ledger import Extend, Reserve, Supply, Together
from ullage.service.plan_record import FitPlan
from ullage.stores.codec import to_command
from ullage.web.http import Problem


def essence(step: str) -> list[Any]:
    """Return what a step holds and gives back, apart from until when, and from what there is."""
    command = to_command(step) if step else Together(())
    parts = command.commands if isinstance(command, Together) else (command,)
    return [
        msgspec.structs.replace(part, expires_seconds=0) if isinstance(part, Reserve | Extend) else part
        for part in parts
        if not isinstance(part, Supply)
    ]


def places_of(answer: FitPlan) -> list[str]:
    """Return where a plan has put each of its workloads."""
    return [
        f"{outcome['workload']}={place['node']}"
        for outcome in answer.report["outcomes"]
        for place in outcome["nodes"]
    ]


def other_answer(planned: FitPlan, now: FitPlan) -> Problem:
    """Return why a plan is not committed on a cluster that has moved: what its places lack now."""
    before = {each["workload"]: each["placed"] for each in planned.report["outcomes"]}
    lost = [
        each["refusal"]
        for each in now.report["outcomes"]
        if each["refusal"] and each["placed"] < before.get(each["workload"], 0)
    ]
    if not lost:
        return Problem(
            409,
            "the cluster has moved, and what fits now is something else",
            "look at a new plan",
            clusterRevision=now.cluster_revision,
        )
    return Problem(
        409,
        f"the cluster has moved, and {lost[0]['subject']} has its place no more: {lost[0]['reason']}",
        "look at a new plan",
        clusterRevision=now.cluster_revision,
        shortfalls=_shortfalls(lost),
    )


def nothing_to_hold(answer: FitPlan) -> Problem:
    """Return why a plan cannot be committed as it is: nothing of it fits, or all or none was asked for."""
    refusals = [each["refusal"] for each in answer.report["outcomes"] if each["refusal"]]
    if answer.fits or not refusals:
        return Problem(409, "there is nothing to hold", "all of it is held already, or nothing was asked for")
    why = "all or none was asked for, and not all fit"
    if not answer.atomic:
        placed = any(each["placed"] for each in answer.report["outcomes"])
        why = "what fits of the plan is held already" if placed else "nothing of the plan fits"
    first = f"{refusals[0]['subject']}: {refusals[0]['reason']}"
    return Problem(409, why, first, shortfalls=_shortfalls(refusals))


def refused_by_worker(status: int, body: bytes) -> Problem:
    """Return the problem that a worker has answered with."""
    told = msgspec.json.decode(body)
    members = {name: value for name, value in told.items() if name in {"what", "where", "remedy"}}
    return Problem(status, told.get("title", "it cannot be planned"), told.get("detail", ""), **members)


def _shortfalls(refusals: Iterable[Mapping[str, Any]]) -> list[Any]:
    return [shortfall for each in refusals for shortfall in each.get("shortfalls", ())]
