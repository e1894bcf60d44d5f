"""Exact plans of volumes on local disks: CPU time from records to the answer, its search included.

Worlds are drawn with fixed seeds, with volumes of a third, of half and of most of a drive, in three mixes:
logical volumes of different sizes alone (the most sets to look at), with whole drives among them, and with
ANY drive over three classes. Each world counts with the least time of several runs; the figures are the
middle and the worst of the worlds. Why the one node cannot serve is part of the answer, so of the time too.
A pod that may go to a hundred nodes is planned as placement plans it, without reasons, which it asks for node
by node; what it takes to give them for all nodes at once stands beside it, as does what the tables of sets
cost, which are made once for each shape.
"""

from collections.abc import Callable, Iterator
from random import Random
from statistics import mean, median

from measure import best_seconds
from ullage.engine.storage.exact import plan_nodes
from ullage.engine.storage.lattice import lattice
from ullage.model.disk_plan import DiskCapacity, DiskPlan, DiskRequest
from ullage.model.drives import LocalClass

GIB = 1 << 30
DRIVES = 12
WORLDS = 12
ROUNDS = 5
SIZES_PERCENT = (30, 60, 90)
MIXES: dict[str, tuple[tuple[LocalClass, ...], tuple[LocalClass, ...]]] = {
    "logical volumes": (("HDD", "HDD", "HDDLVG"), ("HDDLVG",)),
    "with whole drives": (("HDD", "HDD", "HDDLVG"), ("HDDLVG", "HDDLVG", "HDD")),
    "with ANY": (("HDD", "SSD", "NVME", "HDDLVG", "SSDLVG"), ("HDDLVG", "SSDLVG", "HDD", "ANY")),
}

Plan = Callable[[], DiskPlan]


def world(
    random: Random, mix: str, nodes: int, volumes: int, size_percent: int, *, explains: bool = True
) -> Plan:
    """Return a plan to be made, for volumes that have so much of a drive on average."""
    offered, wanted = MIXES[mix]
    names = [f"n{node:03d}" for node in range(nodes)]
    capacities = [
        DiskCapacity(f"d{drive:02d}", name, random.choice(offered), random.randint(50 * GIB, 200 * GIB))
        for name in names
        for drive in range(DRIVES)
    ]
    mean = 125 * GIB * size_percent // 100
    requests = [
        DiskRequest(f"v{number:02d}", random.choice(wanted), random.randint(mean * 2 // 5, mean * 8 // 5))
        for number in range(volumes)
    ]
    return lambda: plan_nodes(capacities, (), requests, names, explains=explains)


def worlds(mix: str, nodes: int, volumes: int, *, explains: bool = True) -> Iterator[Plan]:
    """Yield worlds of one mix, always the same ones."""
    random = Random(f"{mix}/{nodes}/{volumes}")  # noqa: S311 - the same worlds in every run
    for size_percent in SIZES_PERCENT:
        for _ in range(WORLDS):
            yield world(random, mix, nodes, volumes, size_percent, explains=explains)


def milliseconds(plans: Iterator[Plan]) -> tuple[list[float], float]:
    """Return what each plan took, and how many nodes could serve, on average."""
    found: list[float] = []
    served: list[int] = []
    for make in plans:
        served.append(len(make().nodes))
        found.append(1000 * best_seconds(make, ROUNDS))
    return found, mean(served)


def tables_milliseconds(volumes: int) -> float:
    """Return what the tables for so many logical volumes of different sizes cost, made anew."""
    return 1000 * best_seconds(lambda: lattice.__wrapped__((1,) * volumes, ()))


def run() -> dict[str, object]:
    """Measure one node with 8 and 12 volumes, 100 nodes with 4, and one node beyond the exact limit."""
    figures: dict[str, object] = {}
    bars: dict[str, object] = {}
    for mix in MIXES:
        for nodes, volumes, middle_bar, worst_bar in ((1, 8, 1, 3), (1, 12, 50, 50), (100, 4, 5, 5)):
            what = f"{nodes} x {DRIVES} drives, {volumes} volumes, {mix}"
            found, served = milliseconds(worlds(mix, nodes, volumes, explains=nodes == 1))
            figures[f"{what}, nodes that can serve"] = served / nodes
            bars[f"{what}, median, ms"] = [median(found), "<=", middle_bar]
            bars[f"{what}, worst, ms"] = [max(found), "<=", worst_bar]
            if nodes > 1:
                found, _ = milliseconds(worlds(mix, nodes, volumes))
                figures[f"{what}, with all reasons, median, ms"] = median(found)
                figures[f"{what}, with all reasons, worst, ms"] = max(found)
    found, served = milliseconds(worlds("logical volumes", 1, 24))
    figures[f"1 x {DRIVES} drives, 24 volumes, logical volumes, worst, ms"] = max(found)
    for volumes in (4, 8, 12):
        figures[f"tables for {volumes} volumes, ms"] = tables_milliseconds(volumes)
    return {**figures, "bars": bars}
