"""Whole disks from lsblk, each with its class: HDD, SSD or NVME.

The hard thing is the class. An NVMe transport tells; otherwise the rotational flag must do, and on a virtual
disk that flag is whatever the hypervisor left there. Such disks carry a note, and the user's override wins.
Old releases of lsblk print numbers as strings and know one mount point per device: both forms are read.
"""

import re
from collections.abc import Iterable, Iterator

import msgspec

from ullage.model.errors import InputError
from ullage.sources.host.facts import Amount, ClassOverrides, DiskFacts, DriveClass, Virtualisation
from ullage.sources.host.machine import AbsentError, Machine, UnavailableError
from ullage.sources.host.reading import TEXT_CHARACTERS_MAX, shown

_COLUMNS = "NAME,KNAME,TYPE,SIZE,ROTA,MODEL,SERIAL,WWN,TRAN,{},FSTYPE,PKNAME,RO,RM"
LSBLK = ("lsblk", "--json", "-b", "-o", _COLUMNS.format("MOUNTPOINTS"))
LSBLK_BEFORE_2_37 = ("lsblk", "--json", "-b", "-o", _COLUMNS.format("MOUNTPOINT"))
COMMANDS = (LSBLK, LSBLK_BEFORE_2_37)
DEVICES_MAX = 65536
OVERRIDES_MAX = 4096
CLASSES: dict[str, DriveClass] = {"HDD": "HDD", "SSD": "SSD", "NVME": "NVME"}
_NOT_DRIVES = re.compile(r"(zram|ram|zd|drbd|nbd|rbd|fd|sr|loop|mtdblock)[0-9]")
_VIRTUAL_NAME = re.compile(r"x?vd[a-z]")
_VIRTUAL_MODEL = re.compile(
    r"QEMU|VBOX|VMware|Virtual|Msft|PersistentDisk|Elastic Block Store|Nutanix", re.IGNORECASE
)
_SYSTEM_MOUNT = re.compile(r"/|/boot(/.*)?|\[SWAP\]")


class BlockDevice(msgspec.Struct, frozen=True):
    """One device of lsblk's tree as it stands there."""

    name: str
    kname: str
    type: str
    size: Amount | None = None
    rota: bool | None = None
    model: str | None = None
    serial: str | None = None
    wwn: str | None = None
    tran: str | None = None
    mountpoints: tuple[str | None, ...] = ()
    mountpoint: str | None = None
    fstype: str | None = None
    ro: bool = False
    rm: bool = False
    children: tuple["BlockDevice", ...] = ()


class _Report(msgspec.Struct):
    blockdevices: tuple[BlockDevice, ...]


def read_block_devices(machine: Machine) -> tuple[BlockDevice, ...]:
    """Ask lsblk; releases before 2.37 refuse the first question and are asked the older one."""
    try:
        text = machine.run(LSBLK)
    except AbsentError:
        raise
    except UnavailableError as error:
        try:
            text = machine.run(LSBLK_BEFORE_2_37)
        except UnavailableError:
            raise error from None
    return parse_lsblk(text)


def parse_lsblk(text: str) -> tuple[BlockDevice, ...]:
    """Return lsblk's devices as a tree."""
    if len(text) > TEXT_CHARACTERS_MAX:
        raise InputError(f"{len(text)} characters, more than {TEXT_CHARACTERS_MAX}", where="lsblk")
    try:
        devices = msgspec.json.decode(text, type=_Report, strict=False).blockdevices
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InputError(f"unusable report: {error}", where="lsblk") from error
    if sum(1 for device in devices for _ in _descend(device)) > DEVICES_MAX:
        raise InputError(f"more than {DEVICES_MAX} devices", where="lsblk")
    return devices


def parse_class_overrides(arguments: Iterable[str]) -> dict[str, DriveClass]:
    """Return the classes set by arguments such as vda=SSD or /dev/vda=SSD, by device name."""
    overrides: dict[str, DriveClass] = {}
    for argument in arguments:
        device, equals, word = argument.partition("=")
        name = device.removeprefix("/dev/")
        drive_class = CLASSES.get(word.upper())
        if not equals or not name or drive_class is None:
            raise InputError(
                f"{shown(argument)} does not set the class of a disk",
                where="--class",
                remedy="write DEVICE=HDD, DEVICE=SSD or DEVICE=NVME, e.g. vda=SSD",
            )
        if overrides.get(name, drive_class) != drive_class:
            raise InputError(f"{name} is given two classes", where="--class", remedy="give one per disk")
        overrides[name] = drive_class
        if len(overrides) > OVERRIDES_MAX:
            raise InputError(f"more than {OVERRIDES_MAX} disks", where="--class", remedy="give fewer")
    return overrides


def whole_disks(
    devices: tuple[BlockDevice, ...],
    *,
    virtualisation: Virtualisation,
    physical_volumes: frozenset[str],
    overrides: ClassOverrides,
) -> tuple[DiskFacts, ...]:
    """Return the drives among lsblk's devices by name; `physical_volumes` are LVM's device paths."""
    drives = {
        device.kname: device
        for device in devices
        if device.type == "disk" and device.size and not _NOT_DRIVES.match(device.kname)
    }
    guest = virtualisation in ("kvm", "xen", "other")
    return tuple(
        _disk(drives[name], guest=guest, physical_volumes=physical_volumes, overrides=overrides)
        for name in sorted(drives)
    )


def unknown_overrides(disks: tuple[DiskFacts, ...], overrides: ClassOverrides) -> tuple[str, ...]:
    """Return the devices that an override names and this machine does not have."""
    known = {name for disk in disks for name in (disk.name, disk.kernel_name)}
    return tuple(sorted(set(overrides) - known))


def _disk(
    device: BlockDevice, *, guest: bool, physical_volumes: frozenset[str], overrides: ClassOverrides
) -> DiskFacts:
    whole = tuple(_descend(device))
    mount_points = sorted({point for part in whole for point in _mount_points(part)})
    file_systems = sorted({part.fstype for part in whole if part.fstype})
    model = _word(device.model)
    unnamed = guest and model is None
    virtual = bool(_VIRTUAL_NAME.match(device.kname) or _VIRTUAL_MODEL.search(model or "") or unnamed)
    facts = DiskFacts(
        name=device.name,
        kernel_name=device.kname,
        size_bytes=device.size or 0,
        rotational=device.rota,
        model=model,
        serial=_word(device.serial),
        wwn=_word(device.wwn),
        transport=_word(device.tran),
        removable=device.rm,
        read_only=device.ro,
        virtual=virtual,
        system="swap" in file_systems or any(_SYSTEM_MOUNT.fullmatch(point) for point in mount_points),
        clean=not (len(whole) > 1 or file_systems or mount_points)
        and physical_volumes.isdisjoint({f"/dev/{device.name}", f"/dev/{device.kname}"}),
        children=tuple(sorted({part.kname for part in whole[1:]})),
        file_systems=tuple(file_systems),
        mount_points=tuple(mount_points),
    )
    return _with_class(facts, overrides)


def _with_class(disk: DiskFacts, overrides: ClassOverrides) -> DiskFacts:
    override = overrides.get(disk.kernel_name, overrides.get(disk.name))
    if override is not None:
        return msgspec.structs.replace(disk, drive_class=override, class_source="override")
    advice = f"set the class with --class {disk.kernel_name}=SSD (or HDD, NVME)"
    if disk.transport == "nvme" or disk.kernel_name.startswith("nvme"):
        note = f"virtual disk: NVMe is only how it is attached; {advice}" if disk.virtual else None
        return msgspec.structs.replace(disk, drive_class="NVME", class_source="transport", note=note)
    if disk.rotational is None:
        return msgspec.structs.replace(disk, note=f"class unknown: no rotational flag; {advice}")
    note = f"virtual disk: its rotational flag may be wrong; {advice}" if disk.virtual else None
    word: DriveClass = "HDD" if disk.rotational else "SSD"
    return msgspec.structs.replace(disk, drive_class=word, class_source="rotational", note=note)


def _descend(device: BlockDevice) -> Iterator[BlockDevice]:
    """Yield a device and everything on it; lsblk's report is as deep as its parser allowed."""
    stack = [device]
    while stack:
        part = stack.pop()
        yield part
        stack.extend(reversed(part.children))


def _mount_points(device: BlockDevice) -> list[str]:
    return [point for point in (*device.mountpoints, device.mountpoint) if point]


def _word(text: str | None) -> str | None:
    """Return a text without padding; udev pads models, and an empty one is none."""
    return (text or "").strip() or None
