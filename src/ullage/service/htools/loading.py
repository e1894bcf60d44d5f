"""What a tool works on: the cluster from the source that the options name, and how to look at it.

Names on the command line may leave out what follows a dot. Files are read here and nowhere else in the tools.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ullage.engine.balance.facts import Load, View
from ullage.model.errors import InputError
from ullage.model.ganeti import MIB, GanetiCluster, GanetiNode
from ullage.service.htools.options import Options
from ullage.service.htools.printed import stop

FILE_BYTES_MAX: Final = 1 << 30
MISSING_MEMORY_BYTES: Final = 512 * MIB
MISSING_DISK_BYTES: Final = 1024 * MIB
_GIB: Final = 1 << 30
_KVM: Final = "kvm"


class Loaded(NamedTuple):
    """A cluster, how to look at it, and what to say on stderr about it (nothing, or whole lines)."""

    cluster: GanetiCluster
    view: View
    warnings: str


def load(options: Options) -> Loaded:
    """Return the cluster that the options name; whatever is wrong with it ends the tool."""
    if options.rapi and options.data_file is not None:
        stop("Only one of the rapi, luxi, and data files options should be given.")
    loads = {} if options.load_file is None else read_loads(options.load_file)
    try:
        cluster = _read(options)
        selected = _known_instances(cluster, options.select_instances, options.exclude_instances)
    except InputError as error:
        stop(f"failed to load data, aborting: {error}")
    cluster = with_node_memory(cluster, options.static_node_memory_bytes)
    view = View(
        memory_ratio=options.memory_ratio,
        exclusion_tags=tuple(f"{each}:" for each in options.exclusion_tags),
        loads=loads,
        ignores_load=options.ignore_dynu,
        offline=_offline(cluster, options.offline),
        disk_min=options.min_disk,
        cpu_ratio=options.max_cpu,
        selected=frozenset(selected[: len(options.select_instances)]),
        excluded=frozenset(selected[len(options.select_instances) :]),
    )
    return Loaded(cluster, view, warnings_about(cluster) if options.verbose else "")


def _read(options: Options) -> GanetiCluster:
    if options.rapi:
        from ullage.sources.ganeti.rapi import read_rapi

        return read_rapi(options.rapi)
    if options.simulate:
        from ullage.sources.ganeti.simulated import simulated

        return simulated(options.simulate[::-1])  # the last one given is the first group
    if options.data_file is not None:
        from ullage.sources.ganeti.text import read_text

        return read_text(read_file(options.data_file), options.data_file)
    if options.allocator_file is not None:
        from ullage.sources.ganeti.iallocator import read_message

        return read_message(read_file(options.allocator_file)).cluster
    raise InputError("No backend selected! Exiting.")


def read_file(name: str) -> str:
    """Return the text of a file, - for standard input; what cannot be read is an InputError."""
    try:
        with open(0 if name == "-" else name, encoding="utf-8", closefd=name != "-") as file:
            text = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise InputError(error.strerror or str(error), where=name) from None
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start} is not UTF-8", where=name) from None
    if len(text) > FILE_BYTES_MAX:
        raise InputError("is larger than 1 GiB", where=name)
    return text


def write_file(name: str, text: str) -> None:
    """Write a file that a tool was asked for."""
    try:
        with open(name, "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib would cost start-up time
            file.write(text)
    except OSError as error:
        stop(f"{os.fspath(name)}: {error.strerror or error}")


def read_loads(name: str) -> dict[str, Load]:
    """Return what instances use, from a file."""
    from ullage.sources.ganeti.utilisation import read_utilisation

    try:
        return read_utilisation(read_file(name), name)
    except InputError as error:
        stop(f"can't parse utilisation data: {error}")


def match(names: Iterable[str], asked: str) -> str | None:
    """Return the name that is meant: this one, or the only one that goes on after it with a dot."""
    found = []
    for name in names:
        if name == asked:
            return name
        if name.startswith(f"{asked}."):
            found.append(name)
    return found[0] if len(found) == 1 else None


def _known_instances(cluster: GanetiCluster, selected: Sequence[str], excluded: Sequence[str]) -> list[str]:
    names = [instance.name for instance in cluster.instances]
    asked = (*selected, *excluded)
    found = [match(names, each) for each in asked]
    unknown = [each for each, name in zip(asked, found, strict=True) if name is None]
    if unknown:
        listed = ",".join(f'"{each}"' for each in unknown)
        raise InputError(f"Unknown instance(s): [{listed}]")
    return [name for name in found if name is not None]


def _offline(cluster: GanetiCluster, asked: Sequence[str]) -> frozenset[str]:
    names = [node.name for node in cluster.nodes]
    return frozenset(name for each in asked if (name := match(names, each)) is not None)


def complaint_about_offline(options: Options, cluster: GanetiCluster) -> str:
    """Return what is wrong with the nodes that are to count as offline, empty where nothing is.

    Each tool says so when it comes to it, after what it has to say before.
    """
    names = [node.name for node in cluster.nodes]
    unknown = [each for each in reversed(options.offline) if match(names, each) is None]
    return f"wrong node name(s) set as offline: {','.join(unknown)}\n" if unknown else ""


def with_node_memory(cluster: GanetiCluster, memory_bytes: int) -> GanetiCluster:
    """Return a cluster whose KVM nodes need this much memory for themselves; 0 for what they report."""
    if memory_bytes <= 0 or all(node.hypervisor != _KVM for node in cluster.nodes):
        return cluster
    from msgspec.structs import replace

    nodes = tuple(
        replace(node, memory_node_bytes=memory_bytes) if node.hypervisor == _KVM else node
        for node in cluster.nodes
    )
    return replace(cluster, nodes=nodes)


def warnings_about(cluster: GanetiCluster) -> str:
    """Return a warning about nodes that report less memory or disk than their instances leave."""
    memory: dict[str, int] = {}
    disk: dict[str, int] = {}
    for instance in cluster.instances:
        if instance.uses_memory:
            memory[instance.primary] = memory.get(instance.primary, 0) + instance.memory_bytes
        if not instance.forthcoming:
            for name in (instance.primary, instance.secondary):
                disk[name] = disk.get(name, 0) + instance.disk_total_bytes
    lines = []
    for node in reversed(cluster.nodes):
        missing = _missing(node, memory.get(node.name, 0), disk.get(node.name, 0))
        if missing:
            lines.append(f"  - {missing}\n")
    return f"Warning: cluster has inconsistent data:\n{''.join(lines)}\n" if lines else ""


def _missing(node: GanetiNode, memory_used: int, disk_used: int) -> str:
    memory = node.memory_bytes - node.memory_node_bytes - memory_used - node.memory_free_bytes
    disk = node.disk_bytes - node.disk_free_bytes - disk_used
    if memory <= MISSING_MEMORY_BYTES and disk <= MISSING_DISK_BYTES:
        return ""
    return f"node {node.name} is missing {memory // MIB} MB ram and {disk // _GIB} GB disk"
