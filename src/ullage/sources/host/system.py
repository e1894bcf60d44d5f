"""Which system this is: names, architecture, and a hint about what it runs in.

No single file tells a container, a Xen domain and a virtual machine apart, and the environment of process 1,
which would, is private. The hint is the first sign found, from the inside out: container, Xen, KVM, other.
"""

import re

from ullage.model.errors import InputError
from ullage.sources.host.facts import Virtualisation
from ullage.sources.host.machine import AbsentError, Machine, UnavailableError
from ullage.sources.host.mounts import MOUNTS, Mount, parse_mountinfo

HOSTNAME = "/proc/sys/kernel/hostname"
KERNEL = "/proc/sys/kernel/osrelease"
ARCHITECTURE_COMMAND = ("uname", "-m")
XEN_CAPABILITIES = "/proc/xen/capabilities"
HYPERVISOR_TYPE = "/sys/hypervisor/type"
CLOCK_SOURCES = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
VENDOR = "/sys/class/dmi/id/sys_vendor"
SYSTEMD_CONTAINER = "/run/systemd/container"
IMAGE_MARKS = ("/.dockerenv", "/run/.containerenv")
FIRST_PROCESS_CGROUP = "/proc/1/cgroup"
CPU_INFORMATION = "/proc/cpuinfo"

FILES = (
    HOSTNAME,
    KERNEL,
    XEN_CAPABILITIES,
    HYPERVISOR_TYPE,
    CLOCK_SOURCES,
    VENDOR,
    SYSTEMD_CONTAINER,
    *IMAGE_MARKS,
    FIRST_PROCESS_CGROUP,
    MOUNTS,
    CPU_INFORMATION,
)
COMMANDS = (ARCHITECTURE_COMMAND,)

_CONTAINER_GROUP = re.compile(r"/(docker|kubepods|libpod|lxc|containerd|crio|garden)\b")
_CONTAINER_ROOT = re.compile(r"(containerd|/docker/|/containers/storage/|/overlay2/)")
_KVM_VENDORS = ("QEMU", "KVM")
_OTHER_VENDORS = ("VMware", "innotek", "Parallels", "BHYVE")


def read_line(machine: Machine, path: str) -> str:
    """Return the one line a file holds; an empty one is as good as none."""
    line = machine.read_text(path).strip()
    if not line:
        raise UnavailableError("is empty", where=path)
    return line[:1024]


def read_architecture(machine: Machine) -> str:
    """Return the machine's architecture in the kernel's words, such as x86_64."""
    return machine.run(ARCHITECTURE_COMMAND).strip()[:64]


def is_xen_control_domain(machine: Machine) -> bool:
    """Tell whether this system is the domain that runs the others."""
    return "control_d" in _text(machine, XEN_CAPABILITIES)


def detect_virtualisation(machine: Machine) -> Virtualisation:
    """Return what this system seems to run in."""
    if _in_container(machine):
        return "container"
    if _text(machine, HYPERVISOR_TYPE).strip() == "xen" or _text(machine, XEN_CAPABILITIES):
        return "xen"
    vendor = _text(machine, VENDOR).strip()
    if "kvm-clock" in _text(machine, CLOCK_SOURCES).split() or vendor.startswith(_KVM_VENDORS):
        return "kvm"
    if vendor.startswith(_OTHER_VENDORS) or _has_hypervisor_flag(_text(machine, CPU_INFORMATION)):
        return "other"
    return "none"


def _in_container(machine: Machine) -> bool:
    if _exists(machine, SYSTEMD_CONTAINER):
        return True
    if _CONTAINER_GROUP.search(_text(machine, FIRST_PROCESS_CGROUP)):
        return True
    root = _root_mount(_text(machine, MOUNTS))
    if root is not None and any(_CONTAINER_ROOT.search(option) for option in root.super_options):
        return True
    # A virtual machine may be booted from an image's files: the mark is left, the disk is its own.
    own_disk = root is not None and root.root == "/" and root.source.startswith("/dev/")
    return not own_disk and any(_exists(machine, mark) for mark in IMAGE_MARKS)


def _root_mount(text: str) -> Mount | None:
    """Return what is mounted at / last, so that it is what the system sees."""
    try:
        return next((mount for mount in reversed(parse_mountinfo(text)) if mount.point == "/"), None)
    except InputError:
        return None


def _exists(machine: Machine, path: str) -> bool:
    try:
        machine.read_text(path)
    except AbsentError:
        return False
    except UnavailableError:
        return True
    return True


def _has_hypervisor_flag(cpu_information: str) -> bool:
    for line in cpu_information.split("\n"):
        if line.startswith("flags"):
            return "hypervisor" in line.split()
    return False


def _text(machine: Machine, path: str) -> str:
    """Return a file's content, or nothing: a hint does without files that cannot be read."""
    try:
        return machine.read_text(path)
    except UnavailableError:
        return ""
