"""Hourly series with known behaviour, and what the openb trace really had committed over time.

Everything is made from a seed. A row is a series; `days` are whole days of hours.
"""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

DAY = 24
Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Generator = np.random.Generator
FIRST_DAY, END_DAY = 115, 149
"""The days of the trace in which pods come and go; of earlier ones only those that lived long are in it."""


def _based(rows: int, hours: int, numbers: Generator) -> Table:
    """Levels of 1000, of which two thirds grow or shrink by up to five a day."""
    slope = numbers.uniform(-2, 5, (rows, 1)) * (numbers.random((rows, 1)) < 2 / 3)
    return 1000 + slope * np.arange(hours) / DAY


def noise(rows: int, hours: int, numbers: Generator) -> Table:
    return _based(rows, hours, numbers) + 5 * numbers.standard_normal((rows, hours))


def daily(rows: int, hours: int, numbers: Generator) -> Table:
    phase = numbers.integers(0, DAY, (rows, 1))
    wave = 30 * np.sin(2 * np.pi * (np.arange(hours) + phase) / DAY)
    return noise(rows, hours, numbers) + wave


def weekly(rows: int, hours: int, numbers: Generator) -> Table:
    at = np.arange(hours)
    working = at // DAY % 7 < 5
    return noise(rows, hours, numbers) + working * (60 + 30 * np.sin(2 * np.pi * at / DAY))


def sluggish(rows: int, hours: int, numbers: Generator) -> Table:
    """What is off stays off for a day and a half: an autoregression of 0.97 an hour."""
    off = np.zeros((rows, hours))
    steps = 5 * numbers.standard_normal((rows, hours))
    for hour in range(1, hours):
        off[:, hour] = 0.97 * off[:, hour - 1] + steps[:, hour]
    return _based(rows, hours, numbers) + off


def walk(rows: int, hours: int, numbers: Generator) -> Table:
    return 1000 + np.cumsum(2 * numbers.standard_normal((rows, hours)), axis=1)


def heavy(rows: int, hours: int, numbers: Generator) -> Table:
    """Outliers without end: Student's distribution with two degrees of freedom."""
    return _based(rows, hours, numbers) + 5 * numbers.standard_t(2, (rows, hours))


def jumps(rows: int, hours: int, numbers: Generator) -> Table:
    """Levels that stay, and jump every five days or so."""
    jumped = (numbers.random((rows, hours)) < 1 / 120) * numbers.normal(0, 40, (rows, hours))
    return (
        _based(rows, hours, numbers) + np.cumsum(jumped, axis=1) + 2 * numbers.standard_normal((rows, hours))
    )


def compounding(rows: int, hours: int, numbers: Generator) -> Table:
    """Levels that grow by one to five per cent of what they are every day, and are off by one per cent."""
    growth = numbers.uniform(0.01, 0.05, (rows, 1))
    return 1000 * np.exp(growth * np.arange(hours) / DAY + 0.01 * numbers.standard_normal((rows, hours)))


KINDS: Mapping[str, Callable[[int, int, Generator], Table]] = {
    each.__name__: each for each in (noise, daily, weekly, sluggish, walk, heavy, jumps, compounding)
}


def made(kind: str, rows: int, days: int, seed: int) -> Table:
    """Rows of a kind of series."""
    return KINDS[kind](rows, days * DAY, np.random.default_rng(seed))


def openb_committed(folder: Path) -> dict[str, Table]:
    """What the pods of the trace asked for together, hour by hour: in all, and by their class of service."""
    with (folder / "openb_pod_list_default.csv").open(encoding="utf-8", newline="") as file:
        pods = list(csv.DictReader(file))
    asks: dict[str, Callable[[dict[str, str]], int]] = {
        "cpu": lambda pod: int(pod["cpu_milli"]),
        "memory": lambda pod: int(pod["memory_mib"]) << 20,
        "gpu": lambda pod: int(pod["num_gpu"]) * int(pod["gpu_milli"]),
    }
    found = {}
    for name, ask in asks.items():
        for quality in ("", "LS", "BE", "Burstable"):
            change = np.zeros((END_DAY + 30) * DAY)
            for pod in pods:
                if quality in {"", pod["qos"]}:
                    change[int(pod["creation_time"]) // 3600] += ask(pod)
                    change[int(pod["deletion_time"]) // 3600 + 1] -= ask(pod)
            label = f"{name} {quality}".strip()
            found[label] = np.cumsum(change)[FIRST_DAY * DAY : END_DAY * DAY]
    return found
