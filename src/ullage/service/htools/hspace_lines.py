"""The lines of hspace: for people, and as KEY=value for scripts."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from math import isfinite
from typing import NamedTuple

from ullage.engine.balance.facts import NOWHERE, Machine
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.state import FailureKind
from ullage.engine.balance.tiered import NewSize
from ullage.engine.balance.totals import Part, Totals, allocated, totals
from ullage.model.ganeti import DRBD, MIB
from ullage.service.htools.decimals import fixed
from ullage.service.htools.printed import Page, keys
from ullage.service.htools.tables import lined_up

PREFIX = "HTS"
Reasons = Sequence[tuple[FailureKind, int]]
"""Why nothing more fits, the most frequent first."""


class Result(NamedTuple):
    """A fleet with what was added to it, in order, and why nothing more fits."""

    fleet: Fleet
    added: Sequence[tuple[NewSize, Machine]]
    reasons: Reasons


def say_cluster(page: Page, fleet: Fleet, *, machine_readable: bool) -> None:
    """Print what a cluster has and holds."""
    known = totals(fleet)
    has = [
        ("MEM", fixed(known.memory / MIB, 0)),
        ("DSK", fixed(known.disk / MIB, 0)),
        ("CPU", fixed(known.cpu / 1000, 0)),
        ("VCPU", str(known.cpu_high)),
        ("SPN", str(known.spindles)),
    ]
    if machine_readable:
        pairs = [*has, ("NODES", str(len(fleet.hosts)))]
        page.say(*keys(f"{PREFIX}_CLUSTER", pairs), *_total_keys("INI", known))
        return
    shown = _listed(has if _has_exclusive(fleet) else has[:-1])
    page.say(
        f"The cluster has {len(fleet.hosts)} nodes and the following resources:",
        f"  {shown}.",
        f"There are {known.machines or 'no'} initial instances on the cluster.",
    )


def say_size(page: Page, fleet: Fleet, size: NewSize, *, tiered: bool, machine_readable: bool) -> None:
    """Print the size that is looked for."""
    if machine_readable:
        pairs = [
            *_size_pairs(size),
            ("RQN", "2" if size.template == DRBD else "1"),
            ("DISK_TEMPLATE", size.template),
        ]
        page.say(*keys(f"{PREFIX}_TSPEC_INI" if tiered else f"{PREFIX}_SPEC", pairs))
        return
    kind = "Tiered (initial size)" if tiered else "Standard (fixed-size)"
    page.say(f"{kind} instance spec is:", f"  {_shown(fleet, size)}, using disk template '{size.template}'.")


def say_tiered(page: Page, before: Fleet, result: Result, *, machine_readable: bool) -> None:
    """Print how many instances of which sizes fit one after the other."""
    counted = [(size, len(list(added))) for size, added in groupby(result.added, key=lambda each: each[0])]
    if machine_readable:
        after = totals(result.fleet)
        sizes = " ".join(
            f"{','.join(value for _, value in _size_pairs(size))}={count}" for size, count in counted
        )
        page.say(*_total_keys("TRL", after), *keys(PREFIX, [("TSPEC", sizes)]))
        for name, part in zip(("USED", "POOL", "UNAV"), allocated(totals(before), after), strict=True):
            page.say(*_part_keys(name, part))
        return
    page.say("Tiered allocation results:")
    if not counted:
        page.say("  - no instances allocated")
    page.say(*(f"  - {count:3d} instances of spec {_shown(before, size)}" for size, count in counted))
    _say_outcome(page, before, result)


def say_standard(page: Page, before: Fleet, result: Result, *, machine_readable: bool) -> None:
    """Print how many instances of one size fit."""
    count = len(result.added)
    if not machine_readable:
        page.say("Normal (fixed-size) allocation results:", f"  - {count:3d} instances allocated")
        _say_outcome(page, before, result)
        return
    instances = len(before.machines)
    page.say(*_total_keys("FIN", totals(result.fleet)))
    pairs = [
        ("USAGE", fixed(_share(instances, instances + count), 8)),
        ("INSTANCES", str(count)),
        ("FAIL_REASON", result.reasons[0][0].upper()),
        *((f"{kind}_CNT", str(failures)) for kind, failures in result.reasons),
    ]
    page.say(*keys(f"{PREFIX}_ALLOC", pairs))


def tell_map(page: Page, result: Result, what: str) -> None:
    """Print where instances would go."""
    page.tell(f"{what} map")
    has_exclusive = _has_exclusive(result.fleet)
    rows = []
    for size, machine in result.added:
        place = result.fleet.places[machine.number]
        names = [result.fleet.hosts[at].name if at != NOWHERE else "" for at in place]
        figures = _size_pairs(size)
        shown = [value for _, value in (figures if has_exclusive else [*figures[:-1], ("", "")])]
        rows.append([machine.name, *names, *shown])
    if rows:
        page.tell(*lined_up(rows[0], rows[1:], [False] * 3 + [True] * 4))


def _say_outcome(page: Page, before: Fleet, result: Result) -> None:
    after = totals(result.fleet)
    page.say(
        f"  - most likely failure reason: {result.reasons[0][0]}",
        f"  - initial cluster score: {fixed(before.score(), 8)}",
        f"  -   final cluster score: {fixed(after.score, 8)}",
    )
    shares = [
        ("memory", _share(after.memory_used, after.memory)),
        ("disk", _share(after.disk_used, after.disk)),
        ("vcpu", _share(after.cpu_used // 1000, after.cpu_high)),
    ]
    if _has_exclusive(result.fleet):
        shares.append(("spindles", _share(after.spindles_used, after.spindles)))
    width = max(len(name) for name, _ in shares)
    page.say(
        *(f"  - {name:>{width}} usage efficiency: {fixed(share * 100, 2):>5}%" for name, share in shares)
    )


def _total_keys(phase: str, known: Totals) -> list[str]:
    mebibytes = {
        "MEM_FREE": known.memory_free,
        "MEM_AVAIL": known.memory_available,
        "MEM_RESVD": known.memory_free - known.memory_available,
        "MEM_INST": known.memory_used,
        "MEM_OVERHEAD": known.memory_missing + known.memory_node,
        "DSK_FREE": known.disk_free,
        "DSK_AVAIL": known.disk_available,
        "DSK_RESVD": known.disk_free - known.disk_available,
        "DSK_INST": known.disk_used,
        "MNODE_MEM_AVAIL": known.memory_available_max,
        "MNODE_DSK_AVAIL": known.disk_available_max,
    }
    sizes = [(name, str(size // MIB)) for name, size in mebibytes.items()]
    pairs = [
        ("SCORE", fixed(known.score, 8)),
        ("INST_CNT", str(known.machines)),
        *sizes[:5],
        ("MEM_EFF", fixed(_share(known.memory_used, known.memory), 8)),
        *sizes[5:9],
        ("DSK_EFF", fixed(_share(known.disk_used, known.disk), 8)),
        ("SPN_FREE", str(known.spindles_free)),
        ("SPN_INST", str(known.spindles_used)),
        ("SPN_EFF", fixed(_share(known.spindles_used, known.spindles), 8)),
        ("CPU_INST", str(known.cpu_used // 1000)),
        ("CPU_EFF", fixed(_share(known.cpu_used // 1000, known.cpu_high), 8)),
        *sizes[9:],
    ]
    return keys(f"{PREFIX}_{phase}", pairs)


def _part_keys(name: str, part: Part) -> list[str]:
    from ullage.sources.ganeti.text_writer import shown_decimal

    shares = part.cpu_shares
    pairs = [
        ("CPU", str(part.cpu // 1000)),
        ("NPU", shown_decimal(Fraction(shares)) if isfinite(shares) else fixed(shares, 0)),
        ("MEM", str(part.memory // MIB)),
        ("DSK", str(part.disk // MIB)),
        ("SPN", str(part.spindles)),
    ]
    return keys(f"{PREFIX}_KM_{name}", pairs)


def _size_pairs(size: NewSize) -> list[tuple[str, str]]:
    return [
        ("MEM", str(size.memory_bytes // MIB)),
        ("DSK", str(size.disk_bytes // MIB)),
        ("CPU", str(size.cpu_milli // 1000)),
        ("SPN", str(size.spindles)),
    ]


def _shown(fleet: Fleet, size: NewSize) -> str:
    pairs = _size_pairs(size)
    return _listed(pairs if _has_exclusive(fleet) else pairs[:-1])


def _listed(pairs: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in pairs)


def _has_exclusive(fleet: Fleet) -> bool:
    return any(host.exclusive for host in fleet.hosts)


def _share(part: float, whole: float) -> float:
    if whole:
        return part / whole
    return float("nan") if not part else float("inf") if part > 0 else float("-inf")
