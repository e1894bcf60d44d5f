"""What each kind of workload consumes, in the seed's units.

CU is vCPU, MU memory bytes, NU network bytes (metered, never known up front), SU SSD bytes, HU HDD bytes,
and public addresses are counted. A kind that is not in the table consumes what it asks for.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from ullage.model.quantity import print_bytes
from ullage.model.resources import ADDRESSES, HDD_SPACE, NOTHING, SSD_SPACE, Resources
from ullage.model.settings import Rules

GIBIBYTE: Final = 1 << 30
UNIT_RESOURCES: Final = MappingProxyType(
    {"CU": "cpu", "MU": "memory", "SU": SSD_SPACE, "HU": HDD_SPACE, "addresses": ADDRESSES}
)
MACHINE: Final = "zmachine"
_SMALL_MACHINE: Final = 8 * GIBIBYTE


def root_bytes(cpus: int, memory_bytes: int, rules: Rules) -> int:
    """Return the least root disk of a virtual machine: small while CPUs times memory is under 8 GiB."""
    if cpus * memory_bytes // _SMALL_MACHINE == 0:
        return rules.machine_root_small_bytes
    return rules.machine_root_large_bytes


def _machine(asked: Resources, rules: Rules) -> Resources:
    cpus = asked.of("cpu") // 1000
    root = max(asked.of(SSD_SPACE), root_bytes(cpus, asked.of("memory"), rules))
    return Resources({**asked, SSD_SPACE: root})


def _ssd(asked: Resources, _: Rules) -> Resources:
    return asked.only({SSD_SPACE})


def _hdd(asked: Resources, _: Rules) -> Resources:
    return asked.only({HDD_SPACE})


def _file_system(asked: Resources, _: Rules) -> Resources:
    return Resources({"cpu": 1000, "memory": GIBIBYTE, SSD_SPACE: asked.of(SSD_SPACE)})


def _address(asked: Resources, _: Rules) -> Resources:
    return asked.only({ADDRESSES})


def _address_v4(asked: Resources, _: Rules) -> Resources:
    return Resources({ADDRESSES: max(1, asked.of(ADDRESSES))})


def _nothing(_: Resources, __: Rules) -> Resources:
    return NOTHING


CONSUMPTION: Final = MappingProxyType[str, Callable[[Resources, Rules], Resources]](
    {
        MACHINE: _machine,
        "zmount": _ssd,
        "volume": _ssd,
        "zdb": _hdd,
        "qsfs": _file_system,
        "ip": _address,
        "ipv4": _address_v4,
        "network": _nothing,
        "zlogs": _nothing,
        "gateway": _nothing,
    }
)


def consumption(kind: str, asked: Resources, rules: Rules) -> Resources:
    """Return what a workload of a kind takes from its node for what it asks for."""
    rule = CONSUMPTION.get(kind)
    return asked if rule is None else rule(asked, rules)


def refused_by_kind(kind: str, asked: Resources, rules: Rules) -> str:
    """Return why a kind of workload may not be this small, nothing where it may."""
    asked_bytes = asked.of("memory")
    if kind == MACHINE and asked_bytes < rules.machine_memory_bytes:
        least = print_bytes(rules.machine_memory_bytes)
        return f"a machine needs at least {least} of memory (asked {print_bytes(asked_bytes)})"
    return ""
