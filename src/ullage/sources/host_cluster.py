"""Hosts as nodes: one `inspect` document is a node, a folder of them a cluster.

The hard part is what is not known. A size that no probe could read is left out, never zero; what is missing
is said once in the snapshot's unknowns, so that every answer repeats it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from ullage.model.checks import check_snapshot, unique
from ullage.model.cluster import DEFAULT_GROUP, Device, Node, Snapshot
from ullage.model.errors import InputError
from ullage.model.quantity import print_bytes
from ullage.model.resources import HUGEPAGES_PREFIX, Resources
from ullage.sources.documents import Document, read_documents
from ullage.sources.host.facts import HostFacts
from ullage.sources.host_disks import host_disks
from ullage.sources.input_files import STANDARD_INPUT
from ullage.sources.limits import DEFAULT_LIMITS, Limits
from ullage.sources.places import one_line

PROFILE: Final = "zos"
ROOT: Final = "/"
GPU_RESOURCES: Final = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu"}
_DECODER: Final = msgspec.json.Decoder(HostFacts)


class HostsSource:
    """A file or a folder of `inspect` documents."""

    def __init__(self, path: str, *, limits: Limits = DEFAULT_LIMITS, stdin: BinaryIO | None = None) -> None:
        self._path = path
        self._limits = limits
        self._stdin = stdin

    @property
    def name(self) -> str:
        """The name of the file or folder."""
        return STANDARD_INPUT if self._path == "-" else one_line(Path(self._path).name or self._path)

    @property
    def profile(self) -> str:
        """Hosts are judged by ZOS' rule: what is really in use counts."""
        return PROFILE

    def read(self) -> Snapshot:
        """Return the hosts as a cluster."""
        documents = read_documents(self._path, limits=self._limits, stdin=self._stdin)
        return msgspec.structs.replace(hosts_snapshot(map(read_facts, documents)), name=self.name)


def read_facts(document: Document) -> tuple[str, HostFacts]:
    """Return one `inspect` document, and where it stands."""
    return document.where(), document.decode(_DECODER)


def hosts_snapshot(hosts: Iterable[tuple[str, HostFacts]]) -> Snapshot:
    """Return hosts, each with the place that it was read from, as one cluster."""
    nodes: dict[str, Node] = {}
    places: dict[str, str] = {}
    unknowns: list[str] = []
    for place, facts in hosts:
        try:
            node = host_node(facts)
        except InputError as error:
            raise error.at(place) from None
        if node.name in nodes:
            raise InputError(
                f"host {node.name} is there twice, also in {places[node.name]}",
                where=place,
                remedy="keep the newer document, or give the hosts different names",
            )
        nodes[node.name], places[node.name] = node, place
        unknowns += host_unknowns(facts)
    return check_snapshot(Snapshot(nodes=unique(nodes.values(), "node"), unknowns=tuple(unknowns)))


def host_node(facts: HostFacts, *, group: str = DEFAULT_GROUP, domain: str = "") -> Node:
    """Return one machine as a node; its reserve is left to the policy."""
    if not facts.hostname:
        raise InputError("the host has no name", remedy="set its hostname and run `ullage inspect` again")
    labels = {"kubernetes.io/hostname": facts.hostname}
    if facts.architecture:
        labels["kubernetes.io/arch"] = facts.architecture
    qualities = {"kernel": facts.kernel, "cpuModel": facts.cpu.model if facts.cpu else None}
    disks = host_disks(facts)
    return Node(
        facts.hostname,
        _capacity(facts),
        group=group,
        domain=domain,
        labels=labels,
        swap_bytes=facts.memory.swap_total_bytes if facts.memory else None,
        actual=_actual(facts),
        devices=tuple(_devices(facts)),
        drives=disks.drives,
        volume_groups=disks.volume_groups,
        placed_volumes=disks.placed_volumes,
        qualities={key: text for key, text in qualities.items() if text},
    )


def host_unknowns(facts: HostFacts) -> Iterator[str]:
    """Yield in words what the host could not tell, and what of it is not modelled."""
    name = facts.hostname or "host"
    for problem in facts.problems:
        yield f"{name}: {problem.probe}: {problem.reason}"
    for line in host_disks(facts).unknowns:
        yield f"{name}: {line}"
    if facts.virtualisation == "container":
        yield f"{name}: inspected in a container: sizes are those of the machine outside"


def _capacity(facts: HostFacts) -> Resources:
    amounts: dict[str, int] = {}
    # On Xen's control domain the kernel knows only its own share; the hypervisor knows the machine.
    machine = facts.ganeti if facts.xen_control_domain else None
    cores = machine.logical_cores if machine else facts.cpu.logical_cores if facts.cpu else None
    if cores is not None:
        amounts["cpu"] = cores * 1000
    if machine is not None:
        amounts["memory"] = machine.memory_total_bytes
    elif facts.memory is not None:
        amounts["memory"] = facts.memory.memory_total_bytes
    for pool in facts.memory.huge_pages if facts.memory else ():
        if pool.total_pages:
            name = f"{HUGEPAGES_PREFIX}{print_bytes(pool.page_size_bytes)}"
            amounts[name] = pool.total_pages * pool.page_size_bytes
    for mount in facts.mounts or ():
        if mount.mount_point == ROOT:
            amounts["ephemeral-storage"] = mount.size_bytes
    for gpu in facts.gpus or ():
        resource = GPU_RESOURCES[gpu.vendor]
        amounts[resource] = amounts.get(resource, 0) + 1
    return Resources(amounts)


def _actual(facts: HostFacts) -> Resources | None:
    """Return what is really in use, as far as it is known."""
    amounts: dict[str, int] = {}
    if facts.xen_control_domain:
        if facts.ganeti is not None:
            used = facts.ganeti.memory_total_bytes - facts.ganeti.memory_free_bytes
            amounts["memory"] = max(0, used)
    elif facts.memory is not None and facts.memory.memory_actual_bytes is not None:
        amounts["memory"] = facts.memory.memory_actual_bytes
    for mount in facts.mounts or ():
        if mount.mount_point == ROOT:
            amounts["ephemeral-storage"] = mount.used_bytes
    return Resources(amounts) if amounts else None


def _devices(facts: HostFacts) -> Iterator[Device]:
    for position, gpu in enumerate(facts.gpus or ()):
        identity = gpu.uuid or gpu.pci_address or gpu.index or str(position)
        yield Device(identity, GPU_RESOURCES[gpu.vendor], gpu.model or "", gpu.memory_total_bytes or 0)
