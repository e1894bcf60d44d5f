"""The tables that Ganeti's tools print: nodes, instances, and the terms of a score.

Sizes are shown in MiB or GiB. Where a memory ratio is in force, free memory is what may still be given, so
the table has one column for it; without a ratio the free memory that a node reports has its own.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from ullage.engine.balance.facts import NOWHERE, Host, memory_ratio_of
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.score import TERMS, values_of
from ullage.engine.balance.state import HostState
from ullage.model.ganeti import MIB, GanetiCluster
from ullage.service.htools.decimals import fixed

UNKNOWN: Final = "<unknown field>"
_GIB: Final = 1 << 30
_USUAL: Final = (
    "status", "name", "tmem", "nmem", "imem", "xmem", "fmem", "umem", "rmem", "tdsk", "fdsk", "tcpu", "ucpu",
    "pcnt", "scnt", "pfmem", "pfdsk", "rcpu", "cload", "mload", "dload", "nload",
)  # fmt: skip
_INSTANCE_HEADINGS: Final = (
    "F", "Name", "Pri_node", "Sec_node", "Auto_bal", "vcpu", "mem", "dsk", "lCpu", "lMem", "lDsk", "lNet",
)  # fmt: skip
RUNNING: Final = frozenset(("running", "ERROR_up"))
"""What counts as running where instances are listed and moved live."""


class Row(NamedTuple):
    """What a line about a node is made of."""

    host: Host
    state: HostState
    alias: str
    has_ratio: bool
    used: int
    missing: int


class Column(NamedTuple):
    """A column: its heading, what it shows, and whether it is lined up on the right."""

    heading: str
    show: Callable[[Row], str]
    is_number: bool = True


def _share(part: float, whole: float) -> float:
    if whole:
        return part / whole
    return float("nan") if part == 0 else float("inf") if part > 0 else float("-inf")


def _status(row: Row) -> str:
    return "-" if row.host.offline else "*" if row.state.fails else " "


def _free_memory(row: Row) -> int:
    return row.state.now.memory_free if row.has_ratio else row.host.memory_reported


def _free_disk(row: Row) -> float:
    host, now = row.host, row.state.now
    if host.exclusive:
        return _share(now.spindles_free, host.spindles) if host.spindles else 1.0
    return _share(now.disk_free, host.disk) if host.disk else 1.0


def _available(row: Row) -> int:
    return max(0, row.state.now.memory_free - row.state.reserved)


def _peers(row: Row) -> str:
    ordered = sorted(row.state.peers.items(), key=lambda peer: -peer[1])
    return f"[{','.join(f'({host},{size // MIB})' for host, size in ordered)}]"


def _numbers(numbers: Iterable[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"


def _mib(show: Callable[[Row], int]) -> Callable[[Row], str]:
    return lambda row: f"{show(row) // MIB:5d}"


COLUMNS: Final[dict[str, Column]] = {
    "idx": Column("Index", lambda row: f"{row.host.number:4d}"),
    "name": Column("Name", lambda row: row.alias, is_number=False),
    "fqdn": Column("Name", lambda row: row.host.name, is_number=False),
    "status": Column("F", _status, is_number=False),
    "tmem": Column("t_mem", lambda row: fixed(row.host.memory / MIB, 0).rjust(5)),
    "nmem": Column("n_mem", _mib(lambda row: row.host.memory_node)),
    "xmem": Column("x_mem", _mib(lambda row: row.missing)),
    "fmem": Column("f_mem", _mib(_free_memory)),
    "umem": Column("u_mem", _mib(lambda row: row.state.now.memory_free)),
    "imem": Column("i_mem", _mib(lambda row: row.used)),
    "rmem": Column("r_mem", _mib(lambda row: row.state.reserved)),
    "amem": Column("a_mem", _mib(_available)),
    "tdsk": Column("t_dsk", lambda row: fixed(row.host.disk / _GIB, 0).rjust(5)),
    "fdsk": Column("f_dsk", lambda row: f"{row.state.now.disk_free // _GIB:5d}"),
    "tcpu": Column("pcpu", lambda row: fixed(row.host.cpu / 1000, 0).rjust(4)),
    "ucpu": Column("vcpu", lambda row: f"{row.state.now.cpu // 1000:4d}"),
    "pcnt": Column("pcnt", lambda row: f"{len(row.state.primaries):3d}"),
    "scnt": Column("scnt", lambda row: f"{len(row.state.standbys):3d}"),
    "plist": Column("primaries", lambda row: _numbers(row.state.primaries)),
    "slist": Column("secondaries", lambda row: _numbers(row.state.standbys)),
    "pfmem": Column(
        "p_fmem", lambda row: fixed(_share(row.state.now.memory_free, row.host.memory_whole), 4).rjust(6)
    ),
    "pfdsk": Column("p_fdsk", lambda row: fixed(_free_disk(row), 4).rjust(6)),
    "rcpu": Column("r_cpu", lambda row: fixed(_share(row.state.now.cpu, row.host.cpu), 2).rjust(5)),
    "cload": Column("lCpu", lambda row: fixed(row.state.load.cpu, 3).rjust(5)),
    "mload": Column("lMem", lambda row: fixed(row.state.load.memory, 3).rjust(5)),
    "dload": Column("lDsk", lambda row: fixed(row.state.load.disk, 3).rjust(5)),
    "nload": Column("lNet", lambda row: fixed(row.state.load.net, 3).rjust(5)),
    "ptags": Column(
        "PrimaryTags",
        lambda row: ",".join(f"{tag}={count}" for tag, count in sorted(row.state.tags.items())),
        is_number=False,
    ),
    "peermap": Column("PeerMap", _peers, is_number=False),
    "spindle_count": Column("NodeSpindles", lambda row: str(row.host.spindles)),
    "hi_spindles": Column("MaxSpindles", lambda row: str(row.host.spindles_high)),
    "inst_spindles": Column("InstSpindles", lambda row: str(float(row.state.now.spindles))),
}
"""Every column of the table of nodes by the name that a user gives."""
_NOT_KNOWN: Final = Column(UNKNOWN, lambda _: UNKNOWN, is_number=False)


def lined_up(headings: Sequence[str], rows: Sequence[Sequence[str]], is_number: Sequence[bool]) -> list[str]:
    """Return the lines of a table, each column as wide as its widest cell."""
    every = [headings, *rows]
    widths = [max(len(row[column]) for row in every) for column in range(len(headings))]
    return [
        " "
        + " ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, is_number, strict=True)
        )
        for row in every
    ]


def node_table(fleet: Fleet, fields: Sequence[str] = ()) -> list[str]:
    """Return the table of the hosts that count; `fields` as -p takes them, () for the usual columns."""
    with_ratio = has_ratio(fleet)
    usual = [name for name in _USUAL if not (with_ratio and name == "umem")]
    if not fields:
        chosen: Sequence[str] = usual
    else:
        chosen = [*usual, *fields[1:]] if fields[0] == "+" else fields
    columns = [COLUMNS.get(name, _NOT_KNOWN) for name in chosen]
    rows = [[column.show(row) for column in columns] for row in rows_of(fleet, with_ratio=with_ratio)]
    return lined_up([each.heading for each in columns], rows, [each.is_number for each in columns])


def rows_of(fleet: Fleet, *, with_ratio: bool) -> list[Row]:
    """Return the hosts that count with what a table shows of them."""
    suffix = common_suffix(fleet.cluster)
    before: dict[str, int] = {}
    for instance in fleet.cluster.instances:
        if instance.uses_memory:
            before[instance.primary] = before.get(instance.primary, 0) + instance.memory_bytes
    rows = []
    for number in fleet.scope:
        host, state = fleet.hosts[number], fleet.states[number]
        own = [fleet.machines[each] for each in state.primaries]
        used = sum(each.memory for each in own if each.uses_memory)
        missing = host.memory - host.memory_node - before.get(host.name, 0) - host.memory_reported
        rows.append(Row(host, state, host.name.removesuffix(suffix), with_ratio, used, missing))
    return rows


def has_ratio(fleet: Fleet) -> bool:
    """Whether a memory ratio is stated for one of the hosts that count."""
    groups = {fleet.hosts[number].group for number in fleet.scope}
    return any(memory_ratio_of(fleet.cluster, group, fleet.view) is not None for group in groups)


def instance_table(fleet: Fleet) -> list[str]:
    """Return the table of the machines that count."""
    rows = []
    for number in fleet.subjects:
        machine, place = fleet.machines[number], fleet.places[number]
        instance = machine.instance
        standby = "" if place.standby == NOWHERE else fleet.hosts[place.standby].name
        rows.append(
            [
                "R" if instance.status in RUNNING else " ",
                instance.name,
                fleet.hosts[place.primary].name,
                standby,
                "Y" if instance.auto_balance else "N",
                f"{machine.cpu // 1000:3d}",
                f"{machine.memory // MIB:5d}",
                f"{machine.disk // _GIB:5d}",
                *(fixed(load, 3).rjust(5) for load in machine.load),
            ]
        )
    return lined_up(_INSTANCE_HEADINGS, rows, [False] * 5 + [True] * 7)


def score_table(fleet: Fleet, indent: str = "  ") -> list[str]:
    """Return the terms of the score of the hosts that count, each with its weight; none if none is online."""
    hosts = [fleet.hosts[number] for number in fleet.scope]
    values = values_of(hosts, [fleet.states[number] for number in fleet.scope])
    rows = [
        [term.name, fixed(value, 8), f"x{term.weight:.2f}"] for term, value in zip(TERMS, values, strict=True)
    ]
    if all(host.offline for host in hosts):
        rows = []
    return [f"{indent}{line}" for line in lined_up(["Field", "Value", "Weight"], rows, [False, True, True])]


def common_suffix(cluster: GanetiCluster) -> str:
    """Return the longest domain that all names of nodes and instances end with, its dot included."""
    names = [*(node.name for node in cluster.nodes), *(each.name for each in cluster.instances)]
    first = names[0] if names else ""
    for at, letter in enumerate(first):
        if letter == "." and all(name.endswith(first[at:]) for name in names):
            return first[at:]
    return ""
