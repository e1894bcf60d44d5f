"""Forecasts: how long ten thousand take, how often intervals hold what comes, and how far the middle is off.

Synthetic series are made from a seed by tests/series_builders.py; the recorded ones are what the pods of the
openb trace had committed in the five weeks in which it has all of them (../shared/data/openb, else left out).
"""

import os
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from series_builders import DAY, KINDS, Table, made, openb_committed
from ullage.engine.usage.forecast import band, forecast, run_out

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("ULLAGE_SHARED", "") or ROOT.parent / "shared")
LEVEL = Fraction(9, 10)
SEED = 2026
SERIES = 500
DISTANCES = (1, 3, 7, 14, 28)
HORIZON_DAYS = 90


def speed() -> dict[str, object]:
    """Return the CPU seconds of forecasting and of dating many series of two weeks."""
    values = made("daily", 10_000, 14, SEED)
    rows = np.arange(len(values))
    start = time.process_time()
    found = forecast(values, LEVEL)
    told = time.process_time()
    run_out(found, rows, np.full(len(values), 1100.0), HORIZON_DAYS)
    return {
        "10 000 series of 14 days, forecast and backtest, CPU s": told - start,
        "10 000 series, 90 days ahead, when a bound is reached, CPU s": time.process_time() - told,
    }


def held(kind: str, days: int) -> dict[str, object]:
    """Return the shares of hours that intervals held, by distance, and errors beside a plain guess."""
    ahead = max(DISTANCES)
    values = made(kind, SERIES, days + ahead, SEED)
    before, came = values[:, : days * DAY], values[:, days * DAY :]
    found = forecast(before, LEVEL)
    edges = band(found, np.arange(SERIES), ahead)
    inside = ((edges.low <= came) & (came <= edges.high)).reshape(SERIES, ahead, DAY).mean(axis=(0, 2))
    what = f"{kind}, {days} days"
    shares = {f"{what}, held {each} days ahead": float(inside[each - 1]) for each in DISTANCES}
    told = float(found.inside.sum() / max(1, found.hours.sum()))
    ratio = float(found.error.mean() / found.naive_error.mean())
    return {
        **shares,
        f"{what}, held, as the backtest tells": told,
        f"{what}, error, times a plain one": ratio,
    }


def recorded(days: int, ahead: int) -> tuple[dict[str, object], float]:
    """Return what intervals of recorded series held, each day anew, and errors beside a plain guess."""
    values: Table = np.array(list(openb_committed(SHARED / "data" / "openb").values()))
    scale = values.mean(axis=1, keepdims=True)
    rows = np.arange(len(values))
    inside, errors, plain = [], [], []
    for end in range(days, values.shape[1] // DAY - ahead + 1):
        before = values[:, (end - days) * DAY : end * DAY]
        came = values[:, end * DAY : (end + ahead) * DAY]
        edges = band(forecast(before, LEVEL), rows, ahead)
        inside.append((edges.low <= came) & (came <= edges.high))
        errors.append(np.abs(came - edges.likely) / scale)
        plain.append(np.abs(came - np.tile(before[:, -DAY:], ahead)) / scale)
    share = float(np.mean(inside))
    what = f"openb, {days} days, {ahead} ahead"
    return {
        f"{what}, held": share,
        f"{what}, least of the {len(values)} series": float(np.mean(inside, axis=(0, 2)).min()),
        f"{what}, error, of the mean": float(np.mean(errors)),
        f"{what}, error of a plain guess, of the mean": float(np.mean(plain)),
        f"{what}, error, times a plain one": float(np.mean(errors) / np.mean(plain)),
    }, share


def run() -> dict[str, object]:
    """Measure speed, then what intervals hold on series of every kind and on those of the trace."""
    figures = speed()
    bars: dict[str, object] = {
        "10 000 series, forecast and backtest, CPU s": [
            figures["10 000 series of 14 days, forecast and backtest, CPU s"],
            "<=",
            30,
        ]
    }
    for days in (14, 28):
        for kind in KINDS:
            figures.update(held(kind, days))
    if (SHARED / "data" / "openb").is_dir():
        for days, ahead in ((7, 3), (14, 3), (14, 7), (21, 7)):
            found, share = recorded(days, ahead)
            figures.update(found)
            bars[f"openb, {days} days, {ahead} ahead, held"] = [share, ">=", 0.9]
    return {**figures, "bars": bars}
