"""Ganeti's text format as its tools write it with -S: every optional field, so that files can be compared.

The hard thing is numbers with decimals: ratios are written with an exponent where they are very small or
large, the speed of processors only where it would be too long, and both with the fewest digits that mean the
same. What a node has in all is written to the last byte, so that a file which is read and saved stays the
same cluster.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from ullage.model.ganeti import MIB, GanetiCluster, GanetiGroup, GanetiNode, Instance, InstancePolicy, Size
from ullage.sources.ganeti.text_fields import NUMBER_CHARACTERS_MAX

EXPONENT_LOW: Final = 0.1
EXPONENT_HIGH: Final = 10**7


def write_text(cluster: GanetiCluster, *, complete: bool = True) -> str:
    """Return a cluster as text; `complete` writes the built-in policy for groups that state none.

    Without `complete` reading the text gives back the same cluster, if it came from such a text.
    """
    sections = (
        _lines(_group(each) for each in cluster.groups),
        _lines(_node(each) for each in cluster.nodes),
        _lines(_instance(each) for each in cluster.instances),
        _lines(cluster.tags),
        _lines(_policies(cluster, complete=complete)),
    )
    return "\n".join(sections)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{each}\n" for each in lines)


def _group(group: GanetiGroup) -> str:
    tags, networks = ",".join(group.tags), ",".join(group.networks)
    return f"{group.name}|{group.uuid}|{group.allocation}|{tags}|{networks}"


def _node(node: GanetiNode) -> str:
    flag = "Y" if node.offline else "M" if node.master else "N"
    memory = (
        f"{_exactly(node.memory_bytes, MIB)}|{node.memory_node_bytes // MIB}|{_mib(node.memory_free_bytes)}"
    )
    disk = f"{_exactly(node.disk_bytes, MIB)}|{_mib(node.disk_free_bytes)}"
    storage = f"{node.spindles}|{','.join(node.tags)}|{_flag(node.exclusive_storage)}|{node.spindles_free}"
    cpu = f"{node.cpu_node_milli // 1000}|{_speed(node.cpu_speed)}"
    return f"{node.name}|{memory}|{disk}|{_exactly(node.cpu_milli, 1000)}|{flag}|{node.group}|{storage}|{cpu}"


def _instance(instance: Instance) -> str:
    spindles = instance.spindles_total
    memory, disk = _mib(instance.memory_bytes), _mib(instance.disk_total_bytes)
    sizes = f"{memory}|{disk}|{_nearest(instance.cpu_milli, 1000)}"
    place = f"{instance.primary}|{instance.secondary}|{instance.template}|{','.join(instance.tags)}"
    return (
        f"{instance.name}|{sizes}|{instance.status}|{_flag(instance.auto_balance)}|{place}|"
        f"{instance.spindle_use}|{'-' if spindles is None else spindles}|{_flag(instance.forthcoming)}"
    )


def _policies(cluster: GanetiCluster, *, complete: bool) -> Iterable[str]:
    yield _policy("", cluster.policy)
    for group in cluster.groups:
        if complete or group.policy is not None:
            yield _policy(group.name, group.policy or InstancePolicy())


def _policy(owner: str, policy: InstancePolicy) -> str:
    bounds = ";".join(f"{_size(low)};{_size(high)}" for low, high in policy.bounds)
    ratios = f"{shown_decimal(policy.cpu_ratio)}|{shown_decimal(policy.spindle_ratio)}"
    stated = "" if policy.memory_ratio is None else f"|{shown_decimal(policy.memory_ratio)}"
    return f"{owner}|{_size(policy.standard)}|{bounds}|{','.join(policy.templates)}|{ratios}{stated}"


def _size(size: Size) -> str:
    sizes = f"{_mib(size.memory_bytes)},{size.cpus},{_mib(size.disk_bytes)}"
    return f"{sizes},{size.disks},{size.nics},{size.spindle_use}"


def _mib(size_bytes: int) -> int:
    """Return whole MiB, towards zero: what is free of a node with less than nothing is negative."""
    return size_bytes // MIB if size_bytes >= 0 else -(-size_bytes // MIB)


def _speed(value: Fraction) -> str:
    """Return a speed without an exponent, if that can be read back."""
    plain = plain_decimal(value)
    return plain if len(plain) <= NUMBER_CHARACTERS_MAX else shown_decimal(value)


def _exactly(amount: int, unit: int) -> str:
    """Return an amount in a unit, with all its decimals where it is no whole number of them."""
    whole, rest = divmod(amount, unit)
    digits = ""
    while rest:
        digit, rest = divmod(rest * 10, unit)
        digits += str(digit)
    return f"{whole}.{digits}" if digits else str(whole)


def _nearest(amount: int, unit: int) -> int:
    return (2 * amount + unit) // (2 * unit)


def _flag(value: bool) -> str:
    return "Y" if value else "N"


def plain_decimal(value: Fraction) -> str:
    """Return the shortest decimal of a number, without an exponent: 1.0, 0.001."""
    digits, point, sign = _digits(value)
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    padded = digits.ljust(point, "0")
    return f"{sign}{padded[:point]}.{padded[point:] or '0'}"


def shown_decimal(value: Fraction) -> str:
    """Return the shortest decimal of a number, with an exponent where it is small or large: 4.0, 1.0e-2."""
    if not value or EXPONENT_LOW <= abs(float(value)) < EXPONENT_HIGH:
        return plain_decimal(value)
    digits, point, sign = _digits(value)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}e{point - 1}"


def _digits(value: Fraction) -> tuple[str, int, str]:
    """Return the shortest digits of a number, how many of them stand before the point, and its sign."""
    mantissa, _, exponent = repr(float(abs(value))).partition("e")
    whole, _, decimals = mantissa.partition(".")
    digits = f"{whole}{decimals}"
    stripped = digits.lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(digits) - len(stripped))
    if not stripped:
        return "0", 1, ""
    return stripped.rstrip("0"), point, "-" if value < 0 else ""
