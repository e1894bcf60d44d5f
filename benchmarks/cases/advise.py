"""Advice about ratios: how often nodes that are filled as advised are over, and what is gained.

Families of usage are made from seeds by tests/ratio_builders.py: the advice is made by the first two weeks,
and the week that follows is the judge. Recorded is what pods of the openb trace held together, by size; its
requests with a model of use (both ../shared/data/openb, else left out) tell the gain.
"""

import os
import sys
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from ratio_builders import FAMILIES, advised_and_over, openb_requests, openb_tenants, shocks, world
from ullage.engine.usage.ratio import NODES_COMPOSED

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("ULLAGE_SHARED", "") or ROOT.parent / "shared")
OPENB = SHARED / "data" / "openb"
RISK = 0.001
DAYS = 14
SEEDS = 40
NODE_SIZES_MIB = (393_216, 524_288, 262_144)
BEGIN_DAYS = range(112, 129, 2)


def families() -> dict[str, object]:
    """Return the advised ratio and how often nodes are over later, by family."""
    found: dict[str, object] = {}
    for name, family in (*FAMILIES.items(), ("shocks", shocks)):
        worlds = [advised_and_over(world(family, seed, days=DAYS), DAYS, RISK)[:2] for seed in range(SEEDS)]
        over = [each for _, each in worlds]
        found[f"{name}: advised, mean"] = float(np.mean([float(ratio) for ratio, _ in worlds]))
        found[f"{name}: over later, mean of {SEEDS} worlds"] = float(np.mean(over))
        found[f"{name}: over later, highest"] = max(over)
        found[f"{name}: worlds above the stated risk"] = sum(each > RISK for each in over)
    return found


def recorded() -> dict[str, object]:
    """Return the same for what tenants of the trace held, from several days on."""
    worlds = [
        advised_and_over(openb_tenants(OPENB, begin, DAYS + 7, DAYS), DAYS, RISK)[:2] for begin in BEGIN_DAYS
    ]
    return {
        "openb tenants: advised, by first day": {
            str(begin): float(ratio) for begin, (ratio, _) in zip(BEGIN_DAYS, worlds, strict=True)
        },
        "openb tenants: over later, mean": float(np.mean([over for _, over in worlds])),
        "openb tenants: over later, highest": max(over for _, over in worlds),
    }


def gain() -> dict[str, object]:
    """Return what the advice gains for the requests of the trace, with a model of use."""
    found: dict[str, object] = {}
    for size in NODE_SIZES_MIB:
        made = openb_requests(OPENB, size, 1, DAYS, 3000)
        start = time.process_time()
        ratio, over, _ = advised_and_over(made, DAYS, RISK, nodes=NODES_COMPOSED)
        spent = time.process_time() - start
        whole = int(made.allocatable.sum())
        typical = int(np.median(made.requests))
        name = f"openb, {len(made.allocatable)} nodes of {size // 1024} GiB"
        found[f"{name}: advised"] = float(ratio)
        found[f"{name}: over later"] = over
        found[f"{name}: more to promise, GiB"] = int((ratio - 1) * whole) >> 30
        found[f"{name}: more pods of the median request ({typical >> 20} MiB)"] = (
            int((ratio - 1) * int(made.allocatable[0])) // typical * len(made.allocatable)
        )
        found[f"{name}: CPU s"] = spent
    return found


def run() -> dict[str, object]:
    """Measure all of it."""
    figures = families()
    if OPENB.is_dir():
        figures |= recorded() | gain()
    bars = {
        name: [value, "<=", RISK]
        for name, value in figures.items()
        if "over later, mean" in name and not name.startswith("shocks")
    }
    return {**figures, "bars": bars}
