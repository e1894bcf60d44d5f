"""The pages of `inspect`: one host in full, or several side by side."""

from collections.abc import Sequence
from typing import Final

from ullage.engine.capacity.bounds import figures_of
from ullage.model.cluster import Node
from ullage.model.quantity import readable_bytes, readable_count
from ullage.model.resources import Resources, ResourceTypes
from ullage.model.settings import rules_for
from ullage.render import view
from ullage.service.words import fact_table, nothing_cell, plural, several
from ullage.sources.host.facts import DiskFacts, HostFacts, LvmFacts, Problem
from ullage.sources.host.ssh import HostAnswer
from ullage.sources.policies import load_policy

NOT_READ: Final = "unknown: see the problems below"
MEMORY: Final = "memory"


def host_page(facts: HostFacts, save: str = "") -> view.Page:
    """Return everything about one host."""
    blocks: list[view.Block] = [
        fact_table("Host", _host_facts(facts)),
        _memory_table(facts),
        *_zos_sum(facts),
    ]
    main = 1
    if facts.disks:
        main = len(blocks)
        blocks.append(_disk_table(facts.disks))
    if facts.lvm is not None and facts.lvm.volume_groups:
        blocks.append(_volume_group_table(facts.lvm))
    if facts.gpus:
        blocks.append(_gpu_table(facts))
    if facts.problems:
        blocks.append(view.Findings("Problems", tuple(_finding(each) for each in facts.problems)))
    return view.Page(
        title=f"Host {facts.hostname or 'without a name'}",
        verdict=view.Verdict(f"{_summary(facts)}{_problem_count(facts)}"),
        blocks=tuple(blocks),
        next_command=f"ullage status -c {save}" if save else "ullage inspect --save hosts",
        about=f"collected at {facts.collected_at:%Y-%m-%d %H:%M:%S} UTC",
        main=main,
    )


def hosts_page(answers: Sequence[HostAnswer], save: str = "") -> view.Page:
    """Return several hosts side by side, those that did not answer first."""
    reached = [each.facts for each in answers if each.facts is not None]
    failed = tuple(
        view.Finding("error", each.host, each.problem.reason, each.problem.remedy)
        for each in answers
        if each.problem is not None
    )
    blocks: list[view.Block] = [view.Findings("Did not answer", failed)] if failed else []
    columns = (
        view.Column("host", priority=9),
        view.Column("cpus", "right", priority=8),
        view.Column("memory", "right", priority=8),
        view.Column("in use", "right", priority=7),
        view.Column("drives", "right", priority=6),
        view.Column("offering", "right", priority=5),
        view.Column("problems", "right", priority=4),
    )
    rows = tuple(_host_row(each) for each in reached)
    blocks.append(view.Table("Hosts", columns, rows, "offering: drives that are clean and not the system's"))
    return view.Page(
        title="Hosts",
        verdict=view.Verdict(
            f"{len(reached)} of {plural(len(answers), 'host')} answered", "no" if failed else "yes"
        ),
        blocks=tuple(blocks),
        next_command=f"ullage status -c {save}" if save else "ullage inspect --save hosts --ssh HOST",
        main=len(blocks) - 1,
    )


def _host_row(facts: HostFacts) -> tuple[view.Cell, ...]:
    memory, disks = facts.memory, facts.disks
    actual = memory.memory_actual_bytes if memory else None
    share = view.Share(actual, memory.memory_total_bytes) if memory and actual is not None else None
    return (
        view.Cell(facts.hostname or "no name"),
        view.Cell(str(facts.cpu.logical_cores)) if facts.cpu else nothing_cell(),
        _bytes(memory.memory_total_bytes if memory else None),
        nothing_cell() if actual is None else view.Cell(readable_bytes(actual), share, value=str(actual)),
        nothing_cell() if disks is None else view.Cell(str(len(disks))),
        nothing_cell() if disks is None else view.Cell(str(sum(_offers(each) for each in disks))),
        view.Cell(str(len(facts.problems)), tone="warn" if facts.problems else "muted"),
    )


def _summary(facts: HostFacts) -> str:
    parts = [f"host {facts.hostname or 'without a name'}"]
    if facts.cpu is not None:
        parts.append(plural(facts.cpu.logical_cores, "CPU"))
    if facts.memory is not None:
        parts.append(f"{readable_bytes(facts.memory.memory_total_bytes)} of memory")
    if facts.disks is not None:
        offering = sum(_offers(disk) for disk in facts.disks)
        parts.append(f"{plural(len(facts.disks), 'drive')}, {offering} of them free to use")
    return f"{parts[0]}: {', '.join(parts[1:])}" if parts[1:] else f"{parts[0]}: nothing could be read"


def _problem_count(facts: HostFacts) -> str:
    return f"; {plural(len(facts.problems), 'thing')} could not be read" if facts.problems else ""


def _finding(problem: Problem) -> view.Finding:
    return view.Finding("warning", problem.probe, problem.reason, problem.remedy)


def _host_facts(facts: HostFacts) -> list[tuple[str, str]]:
    shown = [
        ("kernel", facts.kernel or NOT_READ),
        ("architecture", facts.architecture or NOT_READ),
        ("runs in", "bare metal" if facts.virtualisation == "none" else facts.virtualisation),
    ]
    if facts.cpu is None:
        shown.append(("CPUs", NOT_READ))
    else:
        sockets = f", {plural(facts.cpu.sockets, 'socket')}" if facts.cpu.sockets else ""
        cores = f", {plural(facts.cpu.physical_cores, 'core')}" if facts.cpu.physical_cores else ""
        shown.append(("CPUs", f"{facts.cpu.logical_cores}{cores}{sockets}"))
        shown.append(("CPU model", facts.cpu.model or NOT_READ))
        loads = (facts.cpu.load_one_minute_milli, facts.cpu.load_five_minutes_milli)
        if None not in loads:
            shown.append(("load", ", ".join(_thousandths(each or 0) for each in loads)))
    if facts.cgroup is not None:
        limit, quota = facts.cgroup.memory_limit_bytes, facts.cgroup.cpu_quota_milli
        memory = "no memory limit" if limit is None else f"memory at most {readable_bytes(limit)}"
        cpu = "no CPU quota" if quota is None else f"CPU at most {readable_count(quota, 3)}"
        shown.append(("control group", f"{facts.cgroup.version}: {memory}, {cpu}"))
    if facts.mounts:
        names = [f"{each.mount_point} {readable_bytes(each.available_bytes)}" for each in facts.mounts]
        shown.append(("room on file systems", several(names, 6)))
    return shown


def _memory_table(facts: HostFacts) -> view.Table:
    """Return memory as each system reports it."""
    rows = []
    if facts.memory is not None:
        memory = facts.memory
        rows.append(("kernel and ZOS", memory.memory_total_bytes, memory.memory_actual_bytes,
                     memory.memory_available_bytes, "in use is total - available"))  # fmt: skip
        rows.append(("swap", memory.swap_total_bytes, memory.swap_total_bytes - memory.swap_free_bytes,
                     memory.swap_free_bytes, ""))  # fmt: skip
    if facts.ganeti is not None:
        ganeti = facts.ganeti
        rows.append(("Ganeti", ganeti.memory_total_bytes, ganeti.memory_dom0_bytes, ganeti.memory_free_bytes,
                     f"from {ganeti.origin}; in use is what the node itself takes"))  # fmt: skip
    cells = tuple(
        (view.Cell(name), _bytes(total), _bytes(used), _bytes(free), view.Cell(note, tone="muted"))
        for name, total, used, free, note in rows
    )
    columns = (
        view.Column("memory as seen by", priority=9, key="view"),
        view.Column("total", "right", priority=8),
        view.Column("in use", "right", priority=7),
        view.Column("free", "right", priority=8),
        view.Column("note", priority=1),
    )
    return view.Table("Memory", columns, cells)


def _zos_sum(facts: HostFacts) -> list[view.Block]:
    """Return what ZOS would still admit here."""
    memory = facts.memory
    if memory is None or memory.memory_actual_bytes is None:
        return []
    types = ResourceTypes()
    node = Node(
        facts.hostname or "host",
        Resources({MEMORY: memory.memory_total_bytes}),
        actual=Resources({MEMORY: memory.memory_actual_bytes}),
    )
    policy = load_policy("zos", types)
    figures = figures_of(node, rules_for(policy, types))[MEMORY]
    rule = policy.layers[-1].cluster.get("memory-reserve", "")
    lines = (
        view.Term("", "capacity", readable_bytes(figures.bounds.capacity)),
        view.Term("-", "reserve", readable_bytes(figures.bounds.reserve), rule),
        view.Term("=", "limit", readable_bytes(figures.bounds.limit or 0)),
        view.Term("-", "committed", readable_bytes(figures.committed), "in use beyond the reserve"),
    )
    free = view.Term("=", "free", readable_bytes(figures.free or 0), "what ZOS would still admit")
    return [view.Terms("Memory by ZOS' rule", lines, free)]


def _disk_table(disks: Sequence[DiskFacts]) -> view.Table:
    columns = (
        view.Column("drive", priority=9),
        view.Column("class", priority=8),
        view.Column("size", "right", priority=8),
        view.Column("use", priority=7),
        view.Column("model", priority=3),
        view.Column("note", priority=1),
    )
    rows = tuple(
        (
            view.Cell(disk.name),
            view.Cell(disk.drive_class or "unknown", tone="plain" if disk.drive_class else "warn"),
            _bytes(disk.size_bytes),
            view.Cell(_use(disk), tone="ok" if _offers(disk) else "plain"),
            view.Cell(disk.model) if disk.model else nothing_cell(),
            view.Cell(disk.note or "", tone="muted"),
        )
        for disk in disks
    )
    return view.Table(
        "Drives", columns, rows, "free: clean, and neither the system's, read-only nor removable"
    )


def _offers(disk: DiskFacts) -> bool:
    return disk.clean and not (disk.system or disk.read_only or disk.removable)


def _use(disk: DiskFacts) -> str:
    if _offers(disk):
        return "free"
    words = [
        word
        for word, holds in (
            ("system", disk.system),
            ("read-only", disk.read_only),
            ("removable", disk.removable),
            ("in use", not disk.clean and not disk.system),
        )
        if holds
    ]
    return ", ".join(words)


def _volume_group_table(lvm: LvmFacts) -> view.Table:
    columns = (
        view.Column("volume group", priority=9),
        view.Column("size", "right", priority=8),
        view.Column("free", "right", priority=8),
        view.Column("extent", "right", priority=4),
        view.Column("volumes", "right", priority=5),
        view.Column("on", priority=3),
    )
    rows = tuple(
        (
            view.Cell(each.name),
            _bytes(each.size_bytes),
            view.Cell(
                readable_bytes(each.free_bytes),
                view.Share(each.free_bytes, each.size_bytes) if each.size_bytes else None,
                value=str(each.free_bytes),
            ),
            _bytes(each.extent_size_bytes),
            view.Cell(str(len(each.logical_volumes))),
            view.Cell(several([volume.name for volume in each.physical_volumes], 4)),
        )
        for each in lvm.volume_groups
    )
    return view.Table("Volume groups", columns, rows)


def _gpu_table(facts: HostFacts) -> view.Table:
    columns = (
        view.Column("gpu", priority=9),
        view.Column("vendor", priority=6),
        view.Column("model", priority=8),
        view.Column("memory", "right", priority=7),
        view.Column("note", priority=1),
    )
    rows = tuple(
        (
            view.Cell(each.index or each.pci_address or "-"),
            view.Cell(each.vendor),
            view.Cell(each.model or "unknown", tone="plain" if each.model else "warn"),
            _bytes(each.memory_total_bytes),
            view.Cell(each.note or "", tone="muted"),
        )
        for each in facts.gpus or ()
    )
    return view.Table("GPUs", columns, rows)


def _thousandths(milli: int) -> str:
    return f"{milli // 1000}.{milli % 1000 // 10:02d}"


def _bytes(amount: int | None) -> view.Cell:
    return nothing_cell() if amount is None else view.Cell(readable_bytes(amount), value=str(amount))
