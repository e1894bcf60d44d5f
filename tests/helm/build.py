"""Builds Helm, once, into the user's cache: the chart is rendered by the program that people use.

It is a step of its own (`make helm`), as the test control plane is: no test ever builds, and one that finds
no program skips and names the step.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from plane.build import PlaneAbsentError, build_once, cached_name
from reference.build import say

SOURCE = Path(__file__).parent
OVERRIDE = "ULLAGE_HELM"
FLAGS = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w")


class HelmAbsentError(Exception):
    """There is no program, for the reason it states."""


def helm_program() -> Path:
    """Return the program if it is there already; otherwise say why it is not and what to do."""
    override = os.environ.get(OVERRIDE, "")
    if override:
        if os.access(override, os.X_OK):
            return Path(override)
        raise HelmAbsentError(f"{OVERRIDE} names {override}, which is not a program")
    program = _cached()
    if not program.exists():
        raise HelmAbsentError("Helm is not built: run `make helm`, which takes minutes")
    return program


def build(report: Callable[[str], None] = say) -> Path:
    """Return the program, building it if need be."""
    if os.environ.get(OVERRIDE, ""):
        return helm_program()
    try:
        return build_once(_cached(), SOURCE, FLAGS, report)
    except PlaneAbsentError as absent:
        raise HelmAbsentError(str(absent)) from None


def _cached() -> Path:
    try:
        return cached_name("helm", SOURCE, FLAGS)
    except PlaneAbsentError as absent:
        raise HelmAbsentError(f"Helm: {absent} in {OVERRIDE}") from None


if __name__ == "__main__":
    try:
        say(f"Helm: {build()}")
    except HelmAbsentError as reason:
        say(f"{reason}; the tests that need it will be skipped")
    sys.exit(0)
