"""What each kind of workload consumes, in the seed's units.

CU is vCPU, MU memory bytes, NU network bytes (metered, never known up front), SU SSD bytes, HU HDD bytes,
and public addresses are counted. A kind that is not in the table consumes what it asks for.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from ullage.model.quantity import print_bytes
from ullage.model.resources import ADDRESSES, HDD_SPACE, SSD_SPACE, Resources
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
    return Resources({SSD_SPACE: root_bytes(asked.of("cpu") // 1000, asked.of("memory"), rules)})


def _file_system(_: Resources, __: Rules) -> Resources:
    return Resources({"cpu": 1000, "memory": GIBIBYTE})


def _address(_: Resources, __: Rules) -> Resources:
    return Resources({ADDRESSES: 1})


LEAST: Final = MappingProxyType[str, Callable[[Resources, Rules], Resources]](
    {MACHINE: _machine, "qsfs": _file_system, "ipv4": _address}
)
"""What a kind takes at the least; volumes, databases and networks take what they ask for."""


def consumption(kind: str, asked: Resources, rules: Rules) -> Resources:
    """Return what a workload takes from its node: never less than it asks for."""
    least = LEAST.get(kind)
    if least is None or rules.consumption == "asked":
        return asked
    return asked.larger(least(asked, rules))


def refused_by_kind(kind: str, asked: Resources, rules: Rules) -> str:
    """Return why a kind of workload may not be this small, nothing where it may."""
    asked_bytes = asked.of("memory")
    if kind == MACHINE and asked_bytes < rules.machine_memory_bytes:
        least = print_bytes(rules.machine_memory_bytes)
        return f"a machine needs at least {least} of memory (asked {print_bytes(asked_bytes)})"
    return ""
