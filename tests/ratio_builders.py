"""Usage with known behaviour for advice about ratios, and what the openb trace really held over time.

A family is hourly use of workloads as a share of what they were promised. `advised_and_over` advises by the
first days, fills nodes to the advised ratio, and tells how often they are over on the days that follow.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ullage.engine.usage.ratio import Curve, curve_of
from ullage.engine.usage.ratio_nodes import ANYWHERE, Evidence

Table = npt.NDArray[np.float64]
Generator = np.random.Generator
GI = 1 << 30
DAY = 24
MONDAY = 4
"""The first Monday, in days since 1970."""
HELD_DAYS = 7


def independent(rows: int, hours: int, numbers: Generator) -> Table:
    """Everybody for himself, around a level of its own."""
    return _levels(rows, numbers) * np.exp(numbers.normal(0, 0.15, (rows, hours)))


def daily(rows: int, hours: int, numbers: Generator) -> Table:
    """All peak at the same time of day, and some days are higher than others for all."""
    together = (1 + 0.5 * _time_of_day(hours)) * _days(hours, numbers, 0.08)
    return _levels(rows, numbers) * together * np.exp(numbers.normal(0, 0.08, (rows, hours)))


def weekly(rows: int, hours: int, numbers: Generator) -> Table:
    """Daily peaks on workdays, far less on the weekend."""
    workday = np.where(np.arange(hours) // DAY % 7 < 5, 1.2, 0.7)
    together = (1 + 0.4 * _time_of_day(hours)) * workday * _days(hours, numbers, 0.05)
    return _levels(rows, numbers) * together * np.exp(numbers.normal(0, 0.1, (rows, hours)))


def heavy(rows: int, hours: int, numbers: Generator) -> Table:
    """Rare bursts without a usual size."""
    bursts = (numbers.random((rows, hours)) < 0.003) * numbers.pareto(1.5, (rows, hours))
    return independent(rows, hours, numbers) * (1 + bursts)


def trend(rows: int, hours: int, numbers: Generator) -> Table:
    """One per cent more every day, on top of daily peaks."""
    grown = np.exp(0.01 * np.arange(hours) / DAY)
    together = (1 + 0.3 * _time_of_day(hours)) * grown * _days(hours, numbers, 0.05)
    return _levels(rows, numbers) * together * np.exp(numbers.normal(0, 0.15, (rows, hours)))


def walk(rows: int, hours: int, numbers: Generator) -> Table:
    """Levels that drift, each its own way."""
    drift = np.exp(np.cumsum(numbers.normal(0, 0.005, (rows, hours)), axis=1))
    return independent(rows, hours, numbers) * drift


def resting(rows: int, hours: int, numbers: Generator) -> Table:
    """All rest on Sundays and use nothing; the days of work are far apart, for all of them together."""
    works = np.where(np.arange(hours) // DAY % 7 < 6, 1.0, 0.0)
    return independent(rows, hours, numbers) * works * _days(hours, numbers, 0.15)


def shocks(rows: int, hours: int, numbers: Generator) -> Table:
    """One day in twenty is a fifth higher for all, or much more: no two weeks need have one."""
    days = hours // DAY
    struck = (numbers.random(days) < 0.05) * numbers.exponential(0.2, days)
    return independent(rows, hours, numbers) * np.exp(np.repeat(struck, DAY))


FAMILIES: Mapping[str, Callable[[int, int, Generator], Table]] = {
    each.__name__: each for each in (independent, daily, weekly, heavy, trend, walk, resting)
}
"""Those for which the stated risk must hold: what comes is like what was."""


def _levels(rows: int, numbers: Generator) -> Table:
    return numbers.uniform(0.15, 0.6, (rows, 1))


def _time_of_day(hours: int) -> Table:
    found: Table = np.sin(2 * np.pi * np.arange(hours) / DAY)
    return found


def _days(hours: int, numbers: Generator, spread: float) -> Table:
    """What whole days are higher or lower by."""
    return np.repeat(np.exp(numbers.normal(0, spread, hours // DAY)), DAY)


class World(NamedTuple):
    """Workloads with all that they use, and the memory of each node."""

    requests: npt.NDArray[np.int64]
    uses: npt.NDArray[np.int64]
    allocatable: npt.NDArray[np.int64]


def world(family: str | Callable[..., Table], seed: int, *, days: int = 14, workloads: int = 120) -> World:
    """A world of a family, with a week more than is looked at."""
    numbers = np.random.default_rng(seed)
    requests = numbers.choice([1, 2, 4, 8], size=workloads, p=[0.4, 0.3, 0.2, 0.1]) * GI
    make = FAMILIES[family] if isinstance(family, str) else family
    shares = np.minimum(make(workloads, (days + HELD_DAYS) * DAY, numbers), 1.0)
    nodes = max(2, workloads // 15)
    return World(requests, (shares * requests[:, None]).astype(np.int64), np.full(nodes, 32 * GI))


def evidence_of(found: World, days: int) -> Evidence:
    """What is known of a world after some days."""
    nodes = len(found.allocatable)
    return Evidence(
        found.requests,
        found.uses[:, : days * DAY],
        np.full(len(found.requests), ANYWHERE),
        found.allocatable,
        np.zeros(nodes, np.int64),
        np.zeros((nodes, days * DAY), np.int64),
        DAY,
        MONDAY + np.arange(days),
    )


def over_later(found: World, days: int, ratio: Fraction, seed: int, nodes: int = 60) -> float:
    """How often nodes filled with whole workloads up to a ratio are over on the days that follow."""
    numbers = np.random.default_rng(seed)
    later = found.uses[:, days * DAY : (days + HELD_DAYS) * DAY]
    over = 0
    for _ in range(nodes):
        whole = int(numbers.choice(found.allocatable))
        left = int(ratio * whole)
        chosen = []
        for number in numbers.permutation(len(found.requests)).tolist():
            if found.requests[number] <= left:
                chosen.append(number)
                left -= int(found.requests[number])
        over += int(np.count_nonzero(later[chosen].sum(axis=0) > whole))
    return over / (nodes * later.shape[1])


def advised_and_over(
    found: World, days: int, risk: float, *, nodes: int = 150, seed: int = 1
) -> tuple[Fraction, float, Curve]:
    """The ratio that is advised after some days, how often it is over then, and the curve."""
    curve = curve_of(evidence_of(found, days), seed=seed, nodes=nodes)
    ratio = curve.highest(risk)
    return ratio, over_later(found, days, ratio, seed), curve


def over_by_risk(found: World, days: int, risks: Sequence[float]) -> list[float]:
    """How often what is advised at each risk is over on the days that follow."""
    curve = curve_of(evidence_of(found, days), seed=1, nodes=150)
    return [over_later(found, days, curve.highest(risk), 1) for risk in risks]


def openb_tenants(folder: Path, begin_day: int, days: int, known_days: int, pods_min: int = 20) -> World:
    """What pods of one size held together in the openb trace, hour by hour, as use of one workload each.

    A tenant was promised the most that it held on the days that are known; nodes have an eighth of all that
    is promised.
    """
    with (folder / "openb_pod_list_default.csv").open(encoding="utf-8", newline="") as file:
        pods = list(csv.DictReader(file))
    by_size: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for pod in pods:
        by_size.setdefault((pod["cpu_milli"], pod["memory_mib"], pod["num_gpu"]), []).append(pod)
    rows = []
    hours = (begin_day + days) * DAY
    for size in sorted(by_size):
        change = np.zeros(hours + 1, np.int64)
        for pod in by_size[size]:
            begin, end = int(pod["creation_time"]) // 3600, int(pod["deletion_time"]) // 3600 + 1
            change[min(begin, hours)] += int(pod["memory_mib"]) << 20
            change[min(end, hours)] -= int(pod["memory_mib"]) << 20
        held = np.cumsum(change)[begin_day * DAY : hours]
        if len(by_size[size]) >= pods_min and held[: known_days * DAY].max() > 0:
            rows.append(held)
    uses = np.array(rows)
    requests = uses[:, : known_days * DAY].max(axis=1)
    return World(requests, uses, np.full(8, int(requests.sum()) // 8))


def openb_requests(folder: Path, memory_mib: int, seed: int, days: int, workloads: int) -> World:
    """What pods of the openb trace asked for, on its nodes of one size, with use by a model.

    The model: each pod uses a level of its own of what it asked for, between 15 and 75 %, with a swing of 20
    % by the time of day that all have in common, days that are 5 % apart for all, and 12 % noise of its own
    from hour to hour; never more than it asked for.
    """
    numbers = np.random.default_rng(seed)
    with (folder / "openb_pod_list_default.csv").open(encoding="utf-8", newline="") as file:
        asked = np.array([int(pod["memory_mib"]) << 20 for pod in csv.DictReader(file)])
    with (folder / "openb_node_list_all_node.csv").open(encoding="utf-8", newline="") as file:
        sizes = [int(node["memory_mib"]) for node in csv.DictReader(file)]
    nodes = np.array([each << 20 for each in sizes if each == memory_mib])
    asked = asked[(asked > 0) & (asked <= nodes[0])]
    requests = numbers.choice(asked, workloads, replace=False)
    hours = (days + HELD_DAYS) * DAY
    together = (1 + 0.2 * _time_of_day(hours)) * _days(hours, numbers, 0.05)
    shares = numbers.uniform(0.15, 0.75, (workloads, 1)) * together
    shares = np.minimum(shares * np.exp(numbers.normal(0, 0.12, (workloads, hours))), 1.0)
    return World(requests, (shares * requests[:, None]).astype(np.int64), nodes)
