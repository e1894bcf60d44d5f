"""The records of an `inspect` document: one HostFacts per machine, camelCase on the wire.

The hard thing is honesty about what is not known. None means "not known" (an entry of `problems` says
why and what would help) or "there is none" where the field says so; it never means zero. Sizes are exact
integers in fields that end in their unit. Unknown fields are ignored on reading, so documents of a newer
minor version can be read.

For whoever turns HostFacts into a node:
- Under ZOS' rule capacity is `memory.memory_total_bytes` and actual use is `memory.memory_actual_bytes`.
- Under Ganeti's rule use `ganeti`, which on Xen speaks of the whole machine; `memory` and `cpu` there
  speak of the control domain only (`xen_control_domain` is true).
- In a container `memory` and `cpu` are those of the machine outside; the bounds that hold for this process
  are `cgroup.memory_limit_bytes` and `cgroup.cpu_quota_milli`, and may be larger than the machine.
- A disk offers space only if it is `clean` and neither `system`, `read_only` nor `removable`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

import msgspec

from ullage.model.errors import InputError

API_VERSION = "ullage.dev/v1"
KIND = "HostFacts"
DOCUMENT_BYTES_MAX = 64 * 1024 * 1024

Amount = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
DriveClass = Literal["HDD", "SSD", "NVME"]
ClassOverrides = Mapping[str, DriveClass]
Virtualisation = Literal["none", "kvm", "xen", "container", "other"]


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What all records here have in common: immutable, built by name, camelCase on the wire."""


class Problem(Record, frozen=True, kw_only=True):
    """A probe that failed: which one, why, and what the user can do about it (may be empty)."""

    probe: str
    reason: str
    remedy: str = ""


class CpuFacts(Record, frozen=True, kw_only=True):
    """Processors the kernel has online; loads are thousandths (0.52 is 520)."""

    logical_cores: Amount
    physical_cores: Amount | None = None
    sockets: Amount | None = None
    model: str | None = None
    load_one_minute_milli: Amount | None = None
    load_five_minutes_milli: Amount | None = None
    load_fifteen_minutes_milli: Amount | None = None


class HugePages(Record, frozen=True, kw_only=True):
    """One pool of huge pages; its memory (total_pages * page_size_bytes) is part of memory_total_bytes."""

    page_size_bytes: Amount
    total_pages: Amount
    free_pages: Amount
    reserved_pages: Amount
    surplus_pages: Amount


class MemoryFacts(Record, frozen=True, kw_only=True):
    """Memory as the kernel and ZOS see it: actual = total - available, never below 0.

    Available and actual are None on kernels before 3.14, which do not report MemAvailable.
    """

    memory_total_bytes: Amount
    memory_available_bytes: Amount | None = None
    memory_actual_bytes: Amount | None = None
    swap_total_bytes: Amount
    swap_free_bytes: Amount
    huge_pages: tuple[HugePages, ...] = ()


class GanetiFacts(Record, frozen=True, kw_only=True):
    """The machine as Ganeti's node report has it; `origin` says where the numbers were read.

    From meminfo: free = MemFree + Buffers + Cached, dom0 = Active (which includes the active memory of
    guest processes, so a policy's own reserve is the better number). From xl or xm: the hypervisor's total
    and free, dom0 from the Domain-0 line, and the processors of the machine rather than of the domain.
    """

    origin: Literal["meminfo", "xl", "xm"]
    memory_total_bytes: Amount
    memory_free_bytes: Amount
    memory_dom0_bytes: Amount | None = None
    logical_cores: Amount | None = None


class PressureShare(Record, frozen=True, kw_only=True):
    """Share of time in which tasks stalled, in hundredths of a per cent, and the stalled time since boot."""

    avg10_basis_points: Amount
    avg60_basis_points: Amount
    avg300_basis_points: Amount
    total_microseconds: Amount


class Pressure(Record, frozen=True, kw_only=True):
    """`some`: at least one task stalled; `full`: all did (None for cpu on kernels before 5.13)."""

    some: PressureShare
    full: PressureShare | None = None


class PressureFacts(Record, frozen=True, kw_only=True):
    """Pressure stall information per resource; None where the kernel has none for that resource."""

    cpu: Pressure | None = None
    memory: Pressure | None = None
    io: Pressure | None = None


class CgroupFacts(Record, frozen=True, kw_only=True):
    """The control group of the collecting process: the tightest bound on the way up to its root.

    `path` is that of the memory controller. A None limit or quota means that none is set.
    """

    version: Literal["v1", "v2", "hybrid", "none"]
    path: str | None = None
    memory_limit_bytes: Amount | None = None
    cpu_quota_milli: Amount | None = None


class DiskFacts(Record, frozen=True, kw_only=True):
    """One whole disk (no partitions, no loop or memory devices).

    `class_source` says what the class rests on; `virtual` disks report a rotational flag that the hypervisor
    made up, and `note` then says how to override it. `system`: holds /, /boot or swap. `clean`: no
    partitions or other holders, no file system, not mounted, not an LVM physical volume.
    """

    name: str
    kernel_name: str
    size_bytes: Amount
    rotational: bool | None = None
    model: str | None = None
    serial: str | None = None
    wwn: str | None = None
    transport: str | None = None
    removable: bool = False
    read_only: bool = False
    drive_class: DriveClass | None = None
    class_source: Literal["rotational", "transport", "override"] | None = None
    virtual: bool = False
    note: str | None = None
    system: bool = False
    clean: bool = False
    children: tuple[str, ...] = ()
    file_systems: tuple[str, ...] = ()
    mount_points: tuple[str, ...] = ()


class MountFacts(Record, frozen=True, kw_only=True):
    """A mounted file system on a real device, once per device; `available` is what ordinary users get."""

    source: str
    mount_point: str
    file_system: str
    size_bytes: Amount
    used_bytes: Amount
    available_bytes: Amount
    read_only: bool = False


class PhysicalVolume(Record, frozen=True, kw_only=True):
    """An LVM physical volume; `allocatable` false or `missing` true: its free extents cannot be used."""

    name: str
    uuid: str
    size_bytes: Amount
    free_bytes: Amount
    total_extents: Amount
    used_extents: Amount
    allocatable: bool = True
    missing: bool = False


class LogicalVolume(Record, frozen=True, kw_only=True):
    """An LVM logical volume; one in a thin `pool` has a virtual size and takes no extents of its own."""

    name: str
    uuid: str
    size_bytes: Amount
    layout: tuple[str, ...] = ()
    pool: str | None = None
    origin: str | None = None
    attributes: str = ""


class VolumeGroup(Record, frozen=True, kw_only=True):
    """An LVM volume group; size and free are whole extents. `attributes` are those that vgs prints."""

    name: str
    uuid: str
    size_bytes: Amount
    free_bytes: Amount
    extent_size_bytes: Amount
    total_extents: Amount
    free_extents: Amount
    physical_volumes: tuple[PhysicalVolume, ...] = ()
    logical_volumes: tuple[LogicalVolume, ...] = ()
    attributes: str = ""


class LvmFacts(Record, frozen=True, kw_only=True):
    """All volume groups by name, and the physical volumes that belong to none."""

    volume_groups: tuple[VolumeGroup, ...] = ()
    unassigned_physical_volumes: tuple[PhysicalVolume, ...] = ()


class GpuFacts(Record, frozen=True, kw_only=True):
    """One GPU. From PCI alone the model is not known: `note` says so and names the PCI identifiers."""

    vendor: Literal["nvidia", "amd"]
    origin: Literal["nvidia-smi", "pci"]
    index: str | None = None
    uuid: str | None = None
    model: str | None = None
    memory_total_bytes: Amount | None = None
    pci_address: str | None = None
    note: str | None = None


class HostFacts(Record, frozen=True, kw_only=True, tag_field="kind", tag=KIND):
    """Everything one machine told; a part that is None was not readable, see `problems`.

    `virtualisation` is a hint about what the system runs in: a container, a Xen domain (also the control
    domain), a KVM or other virtual machine, or none.
    """

    api_version: Literal["ullage.dev/v1"] = "ullage.dev/v1"
    collected_at: Annotated[datetime, msgspec.Meta(tz=True)]
    hostname: str | None = None
    kernel: str | None = None
    architecture: str | None = None
    virtualisation: Virtualisation = "none"
    xen_control_domain: bool = False
    cpu: CpuFacts | None = None
    memory: MemoryFacts | None = None
    ganeti: GanetiFacts | None = None
    pressure: PressureFacts | None = None
    cgroup: CgroupFacts | None = None
    disks: tuple[DiskFacts, ...] | None = None
    mounts: tuple[MountFacts, ...] | None = None
    lvm: LvmFacts | None = None
    gpus: tuple[GpuFacts, ...] | None = None
    problems: tuple[Problem, ...] = ()


class _Header(msgspec.Struct, rename="camel"):
    kind: str | None = None
    api_version: str | None = None


def encode_host_facts(facts: HostFacts) -> bytes:
    """Return the document as compact JSON; every field is present, unknown ones as null."""
    return msgspec.json.encode(facts)


def decode_host_facts(data: bytes) -> HostFacts:
    """Read one `inspect` document; anything else is an InputError that names the field."""
    if len(data) > DOCUMENT_BYTES_MAX:
        raise InputError(
            f"host document of {len(data)} bytes is larger than {DOCUMENT_BYTES_MAX}",
            remedy="give one `ullage inspect -o json` document per file",
        )
    remedy = "give a document written by `ullage inspect -o json`"
    try:
        header = msgspec.json.decode(data, type=_Header)
        if header.kind != KIND:
            raise InputError(f"kind is {header.kind!r}, not {KIND!r}", where="kind", remedy=remedy)
        if header.api_version != API_VERSION:
            what = f"apiVersion is {header.api_version!r}, not {API_VERSION!r}"
            raise InputError(what, where="apiVersion", remedy=remedy)
        return msgspec.json.decode(data, type=HostFacts)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not a host document: {error}", remedy=remedy) from error
