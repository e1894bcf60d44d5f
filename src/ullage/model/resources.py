"""Resource types, their names and the maps of amounts that everything else adds up.

A name is either one of the built-in short ones (`cpu`, the same as `kubernetes.io/cpu`) or qualified by a
domain (`example.com/licences`). The hard part is identity: `cpu` and `kubernetes.io/cpu` are one type, so
every name is made canonical at the door and only canonical names exist inside.
"""

import re
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from ullage.model import quantity
from ullage.model.errors import InputError

RESERVED_DOMAIN: Final = "kubernetes.io"
ALIASES: Final = MappingProxyType({"disk-space": "storage-space"})
GPU_MEMORY: Final = "nos.nebuly.com/gpu-memory"
GPU_MILLI: Final = "ullage.dev/gpu-milli"
SSD_SPACE: Final = "ullage.dev/ssd-space"
HDD_SPACE: Final = "ullage.dev/hdd-space"
ADDRESSES: Final = "ullage.dev/public-addresses"
HUGEPAGES_PREFIX: Final = "hugepages-"
ATTACHABLE_PREFIX: Final = "attachable-volumes-"

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_SUBDOMAIN_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_UNIT: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


class ResourceType(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What is known of a resource type; `quantization` is in the type's internal steps."""

    name: str
    units: str = ""
    internal_scale_exponent: int = 0
    is_compressible: bool = False
    default_request: str | None = None
    quantization: int = 1

    @property
    def is_bytes(self) -> bool:
        """Whether amounts are printed with binary suffixes."""
        return self.units in {"byte", "bytes"} and not self.internal_scale_exponent

    def parse(self, text: str) -> int:
        """Return a quantity in this type's internal steps, rounded up."""
        return quantity.parse_amount(text, self.internal_scale_exponent)

    def print(self, amount: int) -> str:
        """Return the canonical text of an amount: the same amount always prints the same."""
        if self.is_bytes:
            return quantity.print_bytes(amount)
        if self.internal_scale_exponent:
            return quantity.print_scaled(amount, self.internal_scale_exponent)
        return quantity.print_decimal(amount)

    def readable(self, amount: int) -> str:
        """Return an amount for people, rounded to two decimals of a fitting unit."""
        if self.is_bytes:
            return quantity.readable_bytes(amount)
        return quantity.readable_count(amount, self.internal_scale_exponent)

    def default_amount(self) -> int:
        """Return what a workload asks for when it names neither request nor limit."""
        return 0 if self.default_request is None else self.parse(self.default_request)

    def quantized(self, amount: int) -> int:
        """Return a request rounded up to the smallest step that can be handed out."""
        step = self.quantization
        return -(-amount // step) * step


def _built_in() -> dict[str, ResourceType]:
    second = "second"
    types = (
        ResourceType("cpu", f"kcu-{second} per {second}", 3, is_compressible=True),
        ResourceType("memory", "byte"),
        ResourceType("ephemeral-storage", "byte"),
        ResourceType("pods", "pod"),
        ResourceType("storage-space", "byte"),
        ResourceType("storage-time", f"{second} per {second}", 3, is_compressible=True),
        ResourceType("storage-iops", f"operation per {second}", is_compressible=True),
        ResourceType("network-bandwidth", f"byte per {second}", is_compressible=True),
        ResourceType("network-iops", f"operation per {second}", is_compressible=True),
        ResourceType(GPU_MEMORY, "gigabyte"),
        ResourceType(GPU_MILLI, "milligpu"),
        ResourceType(SSD_SPACE, "byte"),
        ResourceType(HDD_SPACE, "byte"),
        ResourceType(ADDRESSES, "address"),
    )
    return {each.name: each for each in types}


BUILT_IN: Final = MappingProxyType(_built_in())


def canonical_name(name: str) -> str:
    """Return the one spelling of a resource name, or say which rule the name breaks."""
    if name in BUILT_IN:
        return name
    domain, slash, rest = name.rpartition("/")
    if slash and domain == RESERVED_DOMAIN:
        return _built_in_name(rest, name)
    if not slash:
        return _built_in_name(name, name)
    if "/" in domain:
        raise _bad_name(name, "has more than one '/'", "write DOMAIN/NAME")
    _check_subdomain(domain, name)
    _check_local_name(rest, name)
    return name


def _built_in_name(short: str, name: str) -> str:
    short = ALIASES.get(short, short)
    if short in BUILT_IN:
        return short
    _check_local_name(short, name)
    if short.startswith(HUGEPAGES_PREFIX):
        _hugepage_bytes(short)
        return short
    if short.startswith(ATTACHABLE_PREFIX):
        return short
    if short == name:
        raise _bad_name(
            name, "is not built in and names no domain", f"qualify it, for example example.com/{short}"
        )
    raise _bad_name(
        name, f"is not a type of the reserved domain {RESERVED_DOMAIN}", "use a domain of your own"
    )


def _check_local_name(short: str, name: str) -> None:
    if not short:
        raise _bad_name(name, "is empty after the '/'" if "/" in name else "is empty", "give it a name")
    if len(short) > 63:
        raise _bad_name(name, f"has {len(short)} characters after the '/'", "use at most 63")
    if not _NAME.fullmatch(short):
        raise _bad_name(
            name,
            f"part {short!r} may hold only letters, digits, '.', '_' and '-', and starts and ends with "
            "a letter or digit",
            "rename it",
        )


def _check_subdomain(domain: str, name: str) -> None:
    if not domain:
        raise _bad_name(name, "has nothing before the '/'", "write DOMAIN/NAME")
    if len(domain) > 253:
        raise _bad_name(name, f"has a domain of {len(domain)} characters", "use at most 253")
    for label in domain.split("."):
        if len(label) > 63 or not _SUBDOMAIN_LABEL.fullmatch(label):
            raise _bad_name(
                name,
                f"domain {domain!r} is not an RFC 1123 subdomain (part {label!r})",
                "use lower-case letters, digits and '-' between dots, at most 63 each",
            )


def _bad_name(name: str, problem: str, remedy: str) -> InputError:
    shown = name if len(name) <= 80 else name[:77] + "…"
    return InputError(f"resource name {shown!r} {problem}", remedy=remedy)


def _hugepage_bytes(short: str) -> int:
    try:
        size = quantity.parse_amount(short.removeprefix(HUGEPAGES_PREFIX))
    except InputError as error:
        raise error.at(short) from None
    if size <= 0:
        raise _bad_name(short, "has no page size", "write it as hugepages-2Mi")
    return size


def check_units(units: str) -> str:
    """Return units if they follow `unit* [per unit+]`, else say where they do not."""
    words = units.split()
    pers = [position for position, word in enumerate(words) if word == "per"]
    if len(pers) > 1 or (pers and pers[0] == len(words) - 1):
        raise InputError(
            f"units {units!r}: one 'per', with a unit behind it", remedy="write 'byte per second'"
        )
    for word in words:
        if not _UNIT.fullmatch(word):
            raise InputError(f"units {units!r}: {word!r} is no unit", remedy="use words such as 'byte'")
    return units


class ResourceTypes:
    """The registry: built-in types, those that users add, and a plain default for every other name."""

    __slots__ = ("_types",)

    def __init__(self, added: Iterable[ResourceType] = ()) -> None:
        types = dict(BUILT_IN)
        for each in added:
            checked = _checked_type(each)
            if types.get(checked.name, checked) != checked:
                raise InputError(f"resource type {checked.name} is defined twice", remedy="keep one")
            types[checked.name] = checked
        self._types: Mapping[str, ResourceType] = MappingProxyType(types)

    def __getitem__(self, name: str) -> ResourceType:
        """Return the type of a canonical name; one without metadata is counted, whole and incompressible."""
        found = self._types.get(name)
        if found is not None:
            return found
        if name.startswith(HUGEPAGES_PREFIX):
            return ResourceType(name, "byte", quantization=_hugepage_bytes(name))
        return ResourceType(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResourceTypes) and self._types == other._types

    def __hash__(self) -> int:
        return hash(self.added())

    def known(self) -> tuple[ResourceType, ...]:
        """Return every type with metadata, by name."""
        return tuple(self._types[name] for name in sorted(self._types))

    def added(self) -> tuple[ResourceType, ...]:
        """Return the types that users registered, by name."""
        return tuple(each for each in self.known() if each.name not in BUILT_IN)

    def parse(self, pairs: Mapping[str, object] | Iterable[tuple[str, object]]) -> "Resources":
        """Return a map of quantities as written (`{"cpu": "2.5"}`) with canonical names and exact amounts."""
        items = pairs.items() if isinstance(pairs, Mapping) else pairs
        amounts: dict[str, int] = {}
        for name, text in items:
            canonical = canonical_name(name)
            if canonical in amounts:
                raise InputError(f"resource {canonical} is named twice", remedy="keep one of the spellings")
            try:
                amounts[canonical] = self[canonical].parse(_quantity_text(text))
            except InputError as error:
                raise error.at(name) from None
        return Resources(amounts)

    def print(self, resources: "Resources") -> dict[str, str]:
        """Return canonical quantity strings by name."""
        return {name: self[name].print(amount) for name, amount in resources.items()}


def _quantity_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{value!r} is no quantity", remedy="write a number or text such as 40Mi")
    if isinstance(value, int) and abs(value) > quantity.INT64_MAX:
        # Python refuses to write out integers of thousands of digits, which some readers let through.
        raise InputError(
            f"an integer of {value.bit_length()} bits does not fit", remedy="use at most 63 bits"
        )
    return repr(value)


def _checked_type(given: ResourceType) -> ResourceType:
    name = canonical_name(given.name)
    checked = msgspec.structs.replace(given, name=name)
    built_in = BUILT_IN.get(name)
    if checked != built_in and (built_in is not None or "/" not in name):
        raise InputError(
            f"resource type {name} is built in", remedy="give your own type a domain of your own"
        )
    check_units(given.units)
    if not 0 <= given.internal_scale_exponent <= quantity.NANO_EXPONENT:
        raise InputError(
            f"resource type {name}: internalScaleExponent {given.internal_scale_exponent}",
            remedy=f"use 0 to {quantity.NANO_EXPONENT}",
        )
    if not 1 <= given.quantization <= quantity.INT64_MAX:
        raise InputError(f"resource type {name}: quantization {given.quantization}", remedy="use 1 or more")
    try:
        default_amount = checked.default_amount()
    except InputError as error:
        raise error.at(f"resource type {name}: defaultRequest") from None
    if default_amount < 0:
        raise InputError(f"resource type {name}: defaultRequest is negative", remedy="use 0 or more")
    return checked


class Resources(Mapping[str, int]):
    """An immutable map from canonical resource name to amount, always in order of names."""

    __slots__ = ("_amounts", "_hash")

    def __init__(self, amounts: Mapping[str, int] | Iterable[tuple[str, int]] = ()) -> None:
        given = dict(amounts)
        for name, amount in given.items():
            if not -quantity.INT64_MAX <= amount <= quantity.INT64_MAX:
                raise InputError(f"{name}: {amount} does not fit 64 bits", remedy="use a smaller amount")
        self._amounts = {name: given[name] for name in sorted(given)}
        self._hash = hash(tuple(self._amounts.items()))

    def __getitem__(self, name: str) -> int:
        return self._amounts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    def __contains__(self, name: object) -> bool:
        return name in self._amounts

    def items(self) -> ItemsView[str, int]:
        """Return names with amounts, in order of names, as the dictionary itself gives them: much quicker."""
        return self._amounts.items()

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resources) and self._amounts == other._amounts

    def __repr__(self) -> str:
        return f"Resources({self._amounts!r})"

    def of(self, name: str) -> int:
        """Return the amount of a resource, 0 where it is not named."""
        return self._amounts.get(name, 0)

    def __add__(self, other: "Resources") -> "Resources":
        """Return the sum; a resource named on either side is named in it."""
        return self._combine(other, int.__add__)

    def __sub__(self, other: "Resources") -> "Resources":
        """Return the difference, which may be negative."""
        return self._combine(other, int.__sub__)

    def __mul__(self, times: int) -> "Resources":
        """Return every amount this many times."""
        return Resources({name: amount * times for name, amount in self._amounts.items()})

    def larger(self, other: "Resources") -> "Resources":
        """Return the larger amount of each resource; one that a side does not name is that side's 0."""
        return self._combine(other, max)

    def at_least_zero(self) -> "Resources":
        """Return the same map with negative amounts as 0."""
        return Resources({name: max(0, amount) for name, amount in self._amounts.items()})

    def only(self, names: Iterable[str]) -> "Resources":
        """Return the named part of the map."""
        wanted = set(names)
        return Resources({name: amount for name, amount in self._amounts.items() if name in wanted})

    def without_zeros(self) -> "Resources":
        """Return the map without resources of which there is nothing."""
        return Resources({name: amount for name, amount in self._amounts.items() if amount})

    def _combine(self, other: "Resources", rule: Callable[[int, int], int]) -> "Resources":
        if not isinstance(other, Resources):
            return NotImplemented
        return Resources({name: rule(self.of(name), other.of(name)) for name in {*self, *other}})


class Amount:
    """One amount with the name of its resource, so that it can be compared, added up and printed anywhere."""

    __slots__ = ("resource", "value")

    def __init__(self, resource: str, value: int) -> None:
        self.resource = resource
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and (self.resource, self.value) == (other.resource, other.value)

    def __hash__(self) -> int:
        return hash((self.resource, self.value))

    def __repr__(self) -> str:
        return f"Amount({self.resource!r}, {self.value})"


NOTHING: Final = Resources()
