"""Advice about ratios: how often nodes that are filled as advised are over, and what is gained.

Families of usage are made from seeds by tests/ratio_builders.py: the advice is made by the first two weeks,
and the week that follows is the judge. Recorded is what pods of the openb trace held together, by size; its
requests with a model of use (both ../shared/data/openb, else left out) tell the gain.
"""

import os
import re
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from ratio_builders import (
    FAMILIES,
    World,
    advised_and_over,
    evidence_of,
    openb_requests,
    openb_tenants,
    over_later,
    shocks,
    world,
)
from ullage.engine.usage.ratio import NODES_COMPOSED, curve_of

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("ULLAGE_SHARED", "") or ROOT.parent / "shared")
OPENB = SHARED / "data" / "openb"
RISK = 0.001
HIGHER_RISKS = (0.005, 0.01, 0.05)
DAYS = 14
SEEDS = 40
NODE_SIZES_MIB = (393_216, 524_288, 262_144)
BEGIN_DAYS = range(112, 129, 2)


def families() -> dict[str, object]:
    """Return the advised ratio and how often nodes are over later, by family."""
    found: dict[str, object] = {}
    for name, family in (*FAMILIES.items(), ("shocks", shocks)):
        worlds = [judged(world(family, seed, days=DAYS)) for seed in range(SEEDS)]
        over = [each[RISK][1] for each in worlds]
        found[f"{name}: advised, mean"] = float(np.mean([float(each[RISK][0]) for each in worlds]))
        found[f"{name}: over later, mean of {SEEDS} worlds"] = float(np.mean(over))
        found[f"{name}: over later, highest"] = max(over)
        found[f"{name}: worlds above the stated risk"] = sum(each > RISK for each in over)
        found |= at_higher_risks(name, worlds)
    return found


def judged(found: World) -> dict[float, tuple[Fraction, float]]:
    """Return the advised ratio and how often nodes are over later, by risk."""
    curve = curve_of(evidence_of(found, DAYS), seed=1, nodes=150)
    advised = {risk: curve.highest(risk) for risk in (RISK, *HIGHER_RISKS)}
    return {risk: (ratio, over_later(found, DAYS, ratio, 1)) for risk, ratio in advised.items()}


def at_higher_risks(name: str, worlds: Sequence[dict[float, tuple[Fraction, float]]]) -> dict[str, object]:
    """Return the means of what higher risks advise, and of how often nodes are over then."""
    found: dict[str, object] = {}
    for risk in HIGHER_RISKS:
        found[f"{name}, risk {risk}: advised, mean"] = float(
            np.mean([float(each[risk][0]) for each in worlds])
        )
        found[f"{name}, risk {risk}: over later, mean"] = float(np.mean([each[risk][1] for each in worlds]))
    return found


def recorded() -> dict[str, object]:
    """Return the same for what tenants of the trace held, from several days on."""
    worlds = [judged(openb_tenants(OPENB, begin, DAYS + 7, DAYS)) for begin in BEGIN_DAYS]
    over = [each[RISK][1] for each in worlds]
    return {
        "openb tenants: advised, by first day": {
            str(begin): float(each[RISK][0]) for begin, each in zip(BEGIN_DAYS, worlds, strict=True)
        },
        "openb tenants: over later, mean": float(np.mean(over)),
        "openb tenants: over later, highest": max(over),
        **at_higher_risks("openb tenants", worlds),
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
    bars = {}
    for name, value in figures.items():
        if "over later, mean" in name and not name.startswith("shocks"):
            stated = re.search(r", risk ([\d.]+):", name)
            bars[name] = [value, "<=", float(stated[1]) if stated else RISK]
    return {**figures, "bars": bars}
