"""Smaller requests with which all of a gang would run that its quota does not let in: found by trying.

What a quota lets in depends on everybody who is counted, so nothing is reckoned here: parts of what members
ask for of one resource are tried, and the largest that lets the gang run is told.
"""

from collections.abc import Callable, Iterator
from typing import Final

from ullage.engine.capacity.admission import show_down
from ullage.engine.placement.refused_batch import PODS
from ullage.model.cluster import Workload
from ullage.model.resources import Resources, ResourceTypes

PARTS: Final = 1000
"""A request is lowered in thousandths of itself."""


def smaller_members(
    asked: Workload, types: ResourceTypes, runs: Callable[[Resources], bool]
) -> Iterator[str]:
    """Yield in words the requests of one resource with which `runs` says that a gang does."""
    for name, amount in asked.requests.items():
        if amount <= 0 or name == PODS:
            continue
        fits, fails, best = 0, PARTS, ""
        while fails - fits > 1:
            part = (fits + fails) // 2
            shown = show_down(name, amount * part // PARTS, types)
            lowered = types[name].parse(shown)
            if lowered and runs(Resources({**asked.requests, name: lowered})):
                fits, best = part, shown
            else:
                fails = part
        if best:
            yield f"lower the request of {name} to {best}"
