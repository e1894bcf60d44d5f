"""What records of Ganeti in a snapshot must satisfy: sizes in 64 bits, and only free ones negative.

A node that promised more than it has reports less than nothing as free, so those sizes may be below zero.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from ullage.model.errors import InputError
from ullage.model.ganeti import GanetiGroup, GanetiNode, Instance, InstancePolicy, Size
from ullage.model.quantity import INT64_MAX

RATIO_MAX: Final = 1_000_000


def check_host(node: GanetiNode, where: str) -> None:
    """Raise where a node has a size that nothing can have."""
    sizes = (
        node.memory_bytes,
        node.memory_node_bytes,
        node.disk_bytes,
        node.cpu_milli,
        node.cpu_node_milli,
        node.spindles,
    )
    free = (node.memory_free_bytes, node.disk_free_bytes, node.spindles_free)
    _check_sizes(sizes, 0, f"{where}: host")
    _check_sizes(free, -INT64_MAX, f"{where}: host")
    if not 0 < node.cpu_speed <= RATIO_MAX:
        raise InputError(
            "the speed is out of range",
            where=f"{where}: host: cpuSpeed",
            remedy=f"use more than 0 and at most {RATIO_MAX}",
        )


def check_group(group: GanetiGroup, where: str) -> None:
    """Raise where the policy of a group has a size or a ratio that nothing can have."""
    if group.policy is not None:
        check_policy(group.policy, f"{where}: ganeti: policy")


def check_instance(instance: Instance, where: str) -> None:
    """Raise where an instance has a size that nothing can have."""
    spindles = (disk.spindles for disk in instance.disks if disk.spindles is not None)
    sizes = (
        instance.memory_bytes,
        instance.cpu_milli,
        instance.spindle_use,
        instance.disk_total_bytes,
        *(disk.size_bytes for disk in instance.disks),
        *spindles,
    )
    _check_sizes(sizes, 0, f"{where}: instance")


def check_policy(policy: InstancePolicy, where: str) -> None:
    """Raise where a policy has a size or a ratio that nothing can have."""
    sizes = (policy.standard, *(size for pair in policy.bounds for size in pair))
    _check_sizes((amount for size in sizes for amount in _amounts(size)), 0, where)
    ratios = (policy.cpu_ratio, policy.spindle_ratio, policy.memory_ratio)
    _check_ratios((ratio for ratio in ratios if ratio is not None), where)


def _amounts(size: Size) -> tuple[int, ...]:
    return (size.memory_bytes, size.cpus, size.disk_bytes, size.disks, size.nics, size.spindle_use)


def _check_sizes(sizes: Iterable[int], least: int, where: str) -> None:
    for size in sizes:
        if not least <= size <= INT64_MAX:
            raise InputError("a size is negative or does not fit 64 bits", where=where, remedy="correct it")


def _check_ratios(ratios: Iterable[Fraction], where: str) -> None:
    for ratio in ratios:
        if not 0 <= ratio <= RATIO_MAX:
            raise InputError("a ratio is out of range", where=where, remedy=f"use from 0 to {RATIO_MAX}")
