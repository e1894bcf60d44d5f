"""GPUs: NVIDIA's own answer where nvidia-smi gives one, else what the PCI bus shows.

The bus knows vendor and device numbers but no model names, so a GPU found only there says that its model is
not known and how to learn it. GPUs of AMD are always read from the bus; its driver tells their memory.
"""

import re
from typing import Literal

from ullage.model.errors import InputError
from ullage.sources.host.facts import GpuFacts
from ullage.sources.host.machine import AbsentError, Machine
from ullage.sources.host.problems import ProblemLog
from ullage.sources.host.reading import MIB, lines_of, shown, whole_number

NVIDIA_SMI = (
    "nvidia-smi",
    "--query-gpu=index,uuid,name,memory.total",
    "--format=csv,noheader,nounits",
)
COMMANDS = (NVIDIA_SMI,)
PCI_FOLDER = "/sys/bus/pci/devices"
PCI_FILES = ("class", "vendor", "device", "mem_info_vram_total")
GPUS_MAX = 1024
_VENDORS: dict[str, Literal["nvidia", "amd"]] = {"0x10de": "nvidia", "0x1002": "amd"}
_DISPLAY_CLASS = re.compile(r"0x(0300|0302|0380|1200)[0-9a-f]{2}")  # VGA, 3D, other display, accelerator
_DEVICE_NUMBER = re.compile(r"0x[0-9a-f]{1,4}")


def read_gpus(machine: Machine, log: ProblemLog) -> tuple[GpuFacts, ...]:
    """Return NVIDIA's GPUs from nvidia-smi or, if it does not answer, from the bus; AMD's from the bus."""
    on_bus = _read_pci(machine)
    nvidia_on_bus = tuple(gpu for gpu in on_bus if gpu.vendor == "nvidia")
    others = tuple(gpu for gpu in on_bus if gpu.vendor != "nvidia")
    try:
        return (*parse_nvidia_smi(machine.run(NVIDIA_SMI)), *others)
    except InputError as error:
        if nvidia_on_bus or not isinstance(error, AbsentError):
            log.note("gpus", error)
        return (*nvidia_on_bus, *others)


def parse_nvidia_smi(text: str) -> tuple[GpuFacts, ...]:
    """Return the GPUs of `index, uuid, name, memory in MiB` rows; a name may hold commas."""
    gpus = []
    for line in lines_of(text, where="nvidia-smi", lines_max=GPUS_MAX):
        if line.strip() in ("", "No devices were found"):
            continue
        fields = [field.strip() for field in line.split(",")]
        if len(fields) < 4 or not fields[0].isdigit():
            raise InputError(f"{shown(line)} is not a GPU", where="nvidia-smi")
        known = not fields[-1].startswith("[")  # [N/A], [Not Supported]: memory shared with the processor
        gpus.append(
            GpuFacts(
                vendor="nvidia",
                origin="nvidia-smi",
                index=fields[0],
                uuid=fields[1],
                model=", ".join(fields[2:-1]),
                memory_total_bytes=whole_number(fields[-1], where="nvidia-smi", unit=MIB) if known else None,
                note=None if known else "nvidia-smi does not tell the memory of this GPU",
            )
        )
    return tuple(gpus)


def _read_pci(machine: Machine) -> tuple[GpuFacts, ...]:
    try:
        addresses = machine.list_dir(PCI_FOLDER)
    except AbsentError:
        return ()  # a machine without a PCI bus
    gpus = []
    for address in addresses:
        folder = f"{PCI_FOLDER}/{address}"
        if _DISPLAY_CLASS.fullmatch(_line(machine, f"{folder}/class")) is None:
            continue
        vendor_number = _line(machine, f"{folder}/vendor")
        vendor = _VENDORS.get(vendor_number)
        if vendor is not None:
            gpus.append(_pci_gpu(machine, address, vendor, vendor_number))
    return tuple(gpus)


def _pci_gpu(
    machine: Machine, address: str, vendor: Literal["nvidia", "amd"], vendor_number: str
) -> GpuFacts:
    folder = f"{PCI_FOLDER}/{address}"
    device_number = _line(machine, f"{folder}/device")
    if _DEVICE_NUMBER.fullmatch(device_number) is None:
        raise InputError(f"{shown(device_number)} is not a PCI device number", where=folder)
    pair = f"{vendor_number.removeprefix('0x')}:{device_number.removeprefix('0x')}"
    try:
        memory_path = f"{folder}/mem_info_vram_total"
        memory_bytes = whole_number(_line(machine, memory_path), where=memory_path)
    except AbsentError:
        memory_bytes = None
    advice = (
        "install nvidia-smi to learn it" if vendor == "nvidia" else f"look it up with lspci -nn -d {pair}"
    )
    return GpuFacts(
        vendor=vendor,
        origin="pci",
        memory_total_bytes=memory_bytes,
        pci_address=address,
        note=f"model unknown, PCI device {pair}; {advice}",
    )


def _line(machine: Machine, path: str) -> str:
    return machine.read_text(path).strip()
