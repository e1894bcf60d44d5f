"""Resource maps as Kubernetes writes them (`{"cpu": "500m"}`) to exact amounts, each text read once.

The hard thing: a cluster of 150 000 pods has a few hundred different resource maps. The JSON text of a map is
the key under which its value is kept, so equal maps are one object and most are never parsed at all.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from ullage.model.errors import InputError, TooLargeError
from ullage.model.quantity import INT64_MAX, parse_nano
from ullage.model.resources import (
    HUGEPAGES_PREFIX,
    NOTHING,
    RESERVED_DOMAIN,
    Resources,
    ResourceTypes,
    canonical_name,
)
from ullage.sources.kubernetes.faults import Fault, wrong_type
from ullage.sources.kubernetes.wire import NULL, Wire
from ullage.sources.places import shown

STORAGE: Final = "storage"
STORAGE_SPACE: Final = "storage-space"
NANO: Final = 10**9
ASKED_MAX: Final = 1 << 50
"""What a pod of a cluster counts with at most: more than a machine has, and thousands of it add up."""
_MAP: Final = msgspec.json.Decoder(dict[str, Raw] | None)
_QUANTITY: Final = msgspec.json.Decoder(str | int | float)


class Requirements(NamedTuple):
    """Requests and limits as they are written, without defaults."""

    requests: Resources
    limits: Resources


class _RequirementsWire(Wire):
    requests: Raw = NULL
    limits: Raw = NULL


_REQUIREMENTS: Final = msgspec.json.Decoder(_RequirementsWire | None)


class Amounts:
    """The reader of resource maps; it remembers every map and every quantity that it has seen.

    In a cluster that exists, names of the reserved domain that are not built in are left out and remembered:
    Kubernetes takes them, and some schedulers use them (kubernetes.io/batch-cpu). Elsewhere they are errors.
    Parts of an extended resource are errors too, as the API server refuses them; what it stored is taken.
    It also stores amounts beyond all measure, which anybody can write: those count as the most there is, as
    a pod that were not counted at all would have its room given away again.
    """

    def __init__(self, types: ResourceTypes, *, of_cluster: bool = False) -> None:
        self._types = types
        self._of_cluster = of_cluster
        self._maps: dict[bytes, Resources] = {}
        self._requirements: dict[bytes, Requirements] = {}
        self._quantities: dict[tuple[str, bytes], int] = {}
        self.names_left_out: set[str] = set()
        self.names_cut: set[str] = set()

    def resources(self, raw: Raw) -> Resources:
        """The amounts of a map; null is an empty one."""
        text = bytes(raw)
        found = self._maps.get(text)
        if found is None:
            found = self._maps[text] = self._read_map(text)
        return found

    def offered(self, raw: Raw) -> Resources:
        """The amounts of a map that somebody has: nobody has amounts beyond all measure."""
        found = self.resources(raw)
        if INT64_MAX in found.values():
            for name, text in _decoded_map(bytes(raw)).items():
                canonical = self._canonical(name)
                if canonical is not None:
                    _parsed(name, bytes(text), self._types[canonical].parse)
        return found

    def asked(self, raw: Raw) -> Resources:
        """The amounts of a map that somebody asks for, each at most ASKED_MAX in a cluster."""
        return self.cut(self.resources(raw))

    def cut(self, asked: Resources) -> Resources:
        """Return what is asked for as it counts; in a cluster that is at most ASKED_MAX of each."""
        over = [name for name, amount in asked.items() if amount > ASKED_MAX] if self._of_cluster else ()
        if not over:
            return asked
        self.names_cut.update(over)
        return Resources({name: min(amount, ASKED_MAX) for name, amount in asked.items()})

    def bound(self, raw: Raw) -> Resources:
        """The amounts of a map in which some may be negative, which API servers take in custom objects."""
        return self._read_map(bytes(raw), negative=True)

    def requirements(self, raw: Raw) -> Requirements:
        """The requests and limits of a container or pod."""
        text = bytes(raw)
        found = self._requirements.get(text)
        if found is None:
            found = self._requirements[text] = self._read_requirements(text)
        return found

    def storage_bytes(self, raw: Raw) -> int:
        """The amount of `storage` in the map of a claim, 0 where it is not named."""
        text = bytes(raw)
        entries = _decoded_map(text)
        return self._quantity(STORAGE_SPACE, STORAGE, bytes(entries[STORAGE])) if STORAGE in entries else 0

    def one_size_bytes(self, raw: Raw, name: str) -> int | None:
        """The bytes that the field of a name holds; None where it is null."""
        return None if raw == NULL else self._quantity(STORAGE_SPACE, name, bytes(raw))

    def with_storage(self, raw: Raw) -> Resources:
        """The amounts of a map that may bound the `storage` of claims as well."""
        entries = _decoded_map(bytes(raw))
        if STORAGE not in entries:
            return self.resources(raw)
        space = self._quantity(STORAGE_SPACE, STORAGE, bytes(entries.pop(STORAGE)))
        return self.resources(Raw(msgspec.json.encode(entries))) + Resources({STORAGE_SPACE: space})

    def ratios(self, raw: Raw) -> dict[str, int]:
        """The plain numbers of a map by resource, in billionths."""
        found = {}
        for name, text in _decoded_map(bytes(raw)).items():
            canonical = STORAGE_SPACE if name == STORAGE else self._canonical(name)
            if canonical is not None:
                found[canonical] = _nano(name, bytes(text))
        return found

    def quantities(self, raw: Raw, *path: str) -> dict[str, str]:
        """The quantities of a map as they are written, under names of any kind."""
        try:
            entries = _decoded_map(bytes(raw))
            for name, text in entries.items():
                _nano(name, bytes(text))
        except Fault as fault:
            raise fault.under(*path) from None
        return {name: _quantity_text(bytes(text)) for name, text in entries.items()}

    def _read_requirements(self, text: bytes) -> Requirements:
        try:
            wire = _REQUIREMENTS.decode(text)
        except msgspec.ValidationError as error:
            raise wrong_type(error, text) from None
        if wire is None:
            return Requirements(NOTHING, NOTHING)
        parts: list[Resources] = []
        for name, raw in (("requests", wire.requests), ("limits", wire.limits)):
            try:
                parts.append(self.asked(raw))
                if not self._of_cluster:
                    _check_whole(_decoded_map(bytes(raw)))
            except Fault as fault:
                raise fault.under(name) from None
        return Requirements(*parts)

    def _read_map(self, text: bytes, *, negative: bool = False) -> Resources:
        amounts: dict[str, int] = {}
        for name, raw in _decoded_map(text).items():
            canonical = self._canonical(name)
            if canonical is None:
                continue
            if canonical in amounts and self._of_cluster and not negative:
                amounts[canonical] = max(amounts[canonical], self._quantity(canonical, name, bytes(raw)))
            elif canonical in amounts:
                error = InputError(f"resource {canonical} is named twice", remedy="keep one of the spellings")
                raise Fault(error, (name,))
            elif negative:
                parse = self._types[canonical].parse
                amounts[canonical] = _parsed(name, bytes(raw), parse, negative=True)
            else:
                amounts[canonical] = self._quantity(canonical, name, bytes(raw))
        return Resources(amounts) if amounts else NOTHING

    def _canonical(self, name: str) -> str | None:
        """The one spelling of a name; None for one that is left out."""
        try:
            return canonical_name(name)
        except InputError as error:
            if self._of_cluster and name.startswith((f"{RESERVED_DOMAIN}/", HUGEPAGES_PREFIX)):
                self.names_left_out.add(name)
                return None
            raise Fault(error, (name,)) from None

    def _quantity(self, canonical: str, name: str, text: bytes) -> int:
        key = (canonical, text)
        amount = self._quantities.get(key)
        if amount is None:
            amount = self._quantities[key] = self._parsed(name, text, self._types[canonical].parse)
        return amount

    def _parsed(self, name: str, text: bytes, parse: Callable[[str], int]) -> int:
        try:
            return _parsed(name, text, parse)
        except Fault as fault:
            if not self._of_cluster or not isinstance(fault.error, TooLargeError):
                raise
            return INT64_MAX


def _check_whole(entries: Mapping[str, Raw]) -> None:
    """Raise a Fault where part of an extended resource is asked for: those are counted whole."""
    for name, raw in entries.items():
        is_extended = "/" in name and f"{RESERVED_DOMAIN}/" not in name
        if is_extended and _nano(name, bytes(raw)) % NANO:
            what = f"{shown(_quantity_text(bytes(raw)))} of {name} is no whole number"
            raise Fault(InputError(what, remedy="ask for 1 or more: Kubernetes refuses parts"), (name,))


def _nano(name: str, text: bytes) -> int:
    return _parsed(name, text, parse_nano)


def _parsed(name: str, text: bytes, parse: Callable[[str], int], *, negative: bool = False) -> int:
    """The amount that stands under a name; raises a Fault."""
    try:
        amount = parse(_quantity_text(text))
    except msgspec.ValidationError:
        what = f"{shown(text.decode())} is no quantity"
        raise Fault(InputError(what, remedy="write a number or text such as 40Mi"), (name,)) from None
    except InputError as error:
        raise Fault(error, (name,)) from None
    if amount < 0 and not negative:
        raise Fault(InputError(f"{name} is negative", remedy="use 0 or more"), (name,))
    return amount


def _decoded_map(text: bytes) -> dict[str, Raw]:
    try:
        return _MAP.decode(text) or {}
    except msgspec.ValidationError as error:
        raise wrong_type(error, text) from None


def _quantity_text(text: bytes) -> str:
    """A quantity as it was written: text, or the digits of a number, which no float has rounded."""
    value = _QUANTITY.decode(text)
    return value if isinstance(value, str) else text.decode().strip()
