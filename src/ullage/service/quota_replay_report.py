"""The report of `quota replay` for machines; resource-hours are quantities, as `2500m` of a GPU."""

from collections.abc import Mapping
from typing import Any, Final

from ullage.engine.quota.outcome import JobOutcome
from ullage.engine.quota.replay_figures import Figures, total_of
from ullage.model.constraints import Record
from ullage.model.resources import ResourceTypes
from ullage.service.answer import versioned
from ullage.service.quota_replay import NOT_SIMULATED, Comparison, Played

HOUR_SECONDS: Final = 3600
MILLI: Final = 1000


class ReplayFigures(Record, frozen=True):
    """What came of a group of workloads; times are sums over them, but for the longest."""

    finished: int
    waiting: int
    starts: int
    evicted: int
    took: int
    waited_seconds: int
    waited_longest_seconds: int
    delay_seconds: int
    used_hours: Mapping[str, str]
    lost_hours: Mapping[str, str]
    within_min_hours: Mapping[str, str]
    borrowed_hours: Mapping[str, str]


class QuotaReplay(Record, frozen=True):
    """A quota's workloads: as it is, and under the other policy."""

    quota: str
    workloads: int
    own: ReplayFigures
    other: ReplayFigures | None = None
    result: str = ""


class WorkloadReplay(Record, frozen=True):
    """A workload that is sooner or later done under the other policy."""

    workload: str
    own_delay_seconds: int
    other_delay_seconds: int
    own_evictions: int
    other_evictions: int


class QuotaReplayReport(Record, frozen=True, omit_defaults=False):
    """The answer to `ullage quota replay`."""

    cluster: str
    own: str
    other: str
    end_seconds: int
    workloads: int
    capacity_hours: Mapping[str, str]
    quotas: tuple[QuotaReplay, ...]
    total: QuotaReplay
    differing: tuple[WorkloadReplay, ...]
    not_simulated: tuple[str, ...]


def quota_replay_data(found: Comparison, types: ResourceTypes) -> dict[str, Any]:
    """Return every number of the answer as JSON data."""
    own, other = found.own, found.other
    names = sorted({*own.figures, *(other.figures if other else ())})
    report = QuotaReplayReport(
        cluster=found.recording.snapshot.name,
        own=own.name,
        other=other.name if other else "",
        end_seconds=own.outcome.end_seconds,
        workloads=len(own.outcome.jobs),
        capacity_hours=hours(types, {name: found.capacity.get(name, 0) for name in found.resources}),
        quotas=tuple(
            _quota(name, figures(own, name), figures(other, name) if other else None, types) for name in names
        ),
        total=_quota("", own.total, other.total if other else None, types),
        differing=tuple(_workload(one, two) for one, two in found.moved()),
        not_simulated=not_simulated(found),
    )
    return versioned("QuotaReplayReport", report, types)


def figures(played: Played, name: str) -> Figures:
    """Return the figures of a group; one that a replay does not have is empty."""
    return played.figures.get(name) or total_of(())


def result_of(own: Figures, other: Figures) -> str:
    """Return whether workloads won or lost: by the time they waited and lost in all."""
    if own.delay_seconds == other.delay_seconds:
        return "same"
    return "won" if other.delay_seconds < own.delay_seconds else "lost"


def not_simulated(found: Comparison) -> tuple[str, ...]:
    """Return what the replay leaves out, with what it met on its way."""
    notes = [*NOT_SIMULATED, *found.recording.notes]
    for played in (found.own, found.other):
        if played is not None and played.outcome.unproven:
            count = played.outcome.unproven
            notes.append(
                f"a proof that victims are the best, {count} times of many candidates ({played.name})"
            )
        if played is not None and (played.outcome.cut_short or played.outcome.unsettled):
            notes.append(f"all turns: the replay was cut short ({played.name})")
    return (*notes, *found.recording.snapshot.unknowns)


def hours_text(types: ResourceTypes, resource: str, resource_seconds: int, *, readable: bool = False) -> str:
    """Return resource-seconds in hours: exact to a thousandth, bytes to a byte."""
    kind = types[resource]
    if kind.is_bytes or kind.internal_scale_exponent:
        amount = abs(resource_seconds) // HOUR_SECONDS
    else:
        kind, amount = types["cpu"], abs(resource_seconds) * MILLI // HOUR_SECONDS
    text = kind.readable(amount) if readable else kind.print(amount)
    return f"-{text}" if resource_seconds < 0 and amount else text


def hours(types: ResourceTypes, amounts: Mapping[str, int]) -> dict[str, str]:
    """Return resource-seconds by name in hours."""
    return {name: hours_text(types, name, amounts[name]) for name in sorted(amounts)}


def _quota(name: str, own: Figures, other: Figures | None, types: ResourceTypes) -> QuotaReplay:
    return QuotaReplay(
        name,
        max(own.workloads, other.workloads if other else 0),
        _figures(own, types),
        _figures(other, types) if other else None,
        result_of(own, other) if other else "",
    )


def _figures(given: Figures, types: ResourceTypes) -> ReplayFigures:
    return ReplayFigures(
        *given[1:9],
        used_hours=hours(types, given.used),
        lost_hours=hours(types, given.lost),
        within_min_hours=hours(types, given.within),
        borrowed_hours=hours(types, given.borrowed),
    )


def _workload(own: JobOutcome, other: JobOutcome) -> WorkloadReplay:
    return WorkloadReplay(own.key, own.delay_seconds, other.delay_seconds, own.evictions, other.evictions)
