"""Volumes onto local disks, in the mode that a policy names; what cannot be asked for is refused first.

The hard thing is that names decide. Requests and the capacities of a node are known by name in every plan, so
that two of one name would be answered as one.
"""

from collections.abc import Iterable, Sequence
from typing import Final, get_args

from ullage.engine.storage import compat, exact, zos
from ullage.model.disk_plan import DiskCapacity, DiskHold, DiskPlan, DiskRequest
from ullage.model.drives import LocalClass
from ullage.model.errors import InputError
from ullage.model.ledger import StorageMode
from ullage.model.quantity import INT64_MAX

REQUESTS_MAX: Final = 1000
"""Volumes that one plan may be asked for."""
CAPACITIES_MAX: Final = 1_000_000
HOLDS_MAX: Final = 1_000_000
_CLASSES: Final = frozenset(get_args(LocalClass))


def plan(
    mode: StorageMode,
    capacities: Sequence[DiskCapacity],
    holds: Sequence[DiskHold],
    requests: Sequence[DiskRequest],
    nodes: Iterable[str],
    *,
    few_drives: bool = True,
    explains: bool = True,
) -> DiskPlan:
    """Return which of the nodes can serve all requests and how, the best first, and why others cannot.

    `few_drives` is for mode compat: logical volumes of one class are decided one reservation after the other.
    Where nobody asks why, `explains` is false, and no witnesses are looked for.
    """
    check_requests(requests)
    _check_capacities(capacities, holds)
    candidates = tuple(dict.fromkeys(nodes))
    if mode == "compat":
        return compat.plan_nodes(
            capacities, holds, requests, candidates, few_drives=few_drives, explains=explains
        )
    if mode == "zos":
        return zos.plan_nodes(capacities, holds, requests, candidates, explains=explains)
    return exact.plan_nodes(capacities, holds, requests, candidates, explains=explains)


def check_requests(requests: Sequence[DiskRequest]) -> None:
    """Refuse volumes that nobody can mean, and more of them than a plan takes."""
    if len(requests) > REQUESTS_MAX:
        raise InputError(f"{len(requests)} volumes at once", remedy=f"ask for at most {REQUESTS_MAX}")
    names: set[str] = set()
    for request in requests:
        where = f"volume {request.name}"
        if request.name in names:
            raise InputError("asked for twice", where=where, remedy="give each volume a name of its own")
        names.add(request.name)
        if request.storage_class not in _CLASSES:
            remedy = f"use one of {', '.join(get_args(LocalClass))}"
            raise InputError(f"unknown class {request.storage_class}", where=where, remedy=remedy)
        if not 0 < request.size_bytes <= INT64_MAX:
            raise InputError(
                f"a size of {request.size_bytes} bytes", where=where, remedy=f"use 1 to {INT64_MAX}"
            )


def _check_capacities(capacities: Sequence[DiskCapacity], holds: Sequence[DiskHold]) -> None:
    if len(capacities) > CAPACITIES_MAX:
        raise InputError(
            f"{len(capacities)} drives and groups", remedy=f"ask about at most {CAPACITIES_MAX} at once"
        )
    if len(holds) > HOLDS_MAX:
        raise InputError(f"{len(holds)} holds on disks", remedy=f"at most {HOLDS_MAX} can be looked at")
    names: set[tuple[str, str]] = set()
    for capacity in capacities:
        key = (capacity.node, capacity.name)
        if key in names:
            raise InputError(
                "two drives or groups of this name",
                where=f"node {capacity.node}: {capacity.name}",
                remedy="give each of a node a name of its own",
            )
        names.add(key)
