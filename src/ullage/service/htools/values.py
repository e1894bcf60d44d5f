"""Values of options: numbers, sizes and lists as the tools of Ganeti read them; a bare size is MiB."""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final, NamedTuple

from ullage.model.errors import InputError

_NUMBER: Final = re.compile(r"\s*-?[0-9]{1,30}(\.[0-9]{1,30})?(e[-+]?[0-9]{1,3})?\s*", re.IGNORECASE)
_ENDLESS: Final = re.compile(r"\s*-?Infinity\s*")
NUMBER_MAX: Final = 1_000_000.0
"""Numbers further from zero, endless ones too, mean no more than this: nothing that is measured is larger."""
_WHOLE: Final = re.compile(r"\s*-?[0-9]{1,18}\s*")
DISK_TEMPLATES: Final = (
    "diskless", "file", "sharedfile", "plain", "blockdev", "drbd", "rbd", "ext", "gluster",
)  # fmt: skip


class Asked(NamedTuple):
    """The size of an instance that a user asks about."""

    memory_bytes: int
    disk_bytes: int
    cpus: int
    spindles: int = 1


def number(what: str) -> Callable[[str], float]:
    """Return a reader of a number, which may be `Infinity` as Haskell writes it."""

    def read(text: str) -> float:
        if not _NUMBER.fullmatch(text) and not _ENDLESS.fullmatch(text):
            raise InputError(f"{what}: cannot parse string '{text}'")
        return min(max(float(text), -NUMBER_MAX), NUMBER_MAX)

    return read


def whole(what: str) -> Callable[[str], int]:
    """Return a reader of a whole number."""

    def read(text: str) -> int:
        if not _WHOLE.fullmatch(text):
            raise InputError(f"{what}: cannot parse string '{text}'")
        return int(text)

    return read


def unsigned(what: str, complaint: str, floor: int | None = None) -> Callable[[str], float]:
    """Return a reader of a whole number from `floor` on, or of a number above 0 where there is no floor."""

    def read(text: str) -> float:
        found = number(what)(text) if floor is None else whole(what)(text)
        if found < 0 or (floor is None and found == 0):
            raise InputError(complaint)
        return found

    return read


def ratio(text: str) -> Fraction:
    """Read how far memory may be over-committed."""
    if not _NUMBER.fullmatch(text) or Fraction(text) <= 0:
        raise InputError(f"memory-ratio: cannot parse string '{text}', expected a number above 0")
    return Fraction(text)


def names(text: str) -> tuple[str, ...]:
    """Read a list with commas; nothing is an empty list."""
    return tuple(text.split(",")) if text else ()


def node_fields(text: str) -> tuple[str, ...]:
    """Read the columns of a table; + in front of them adds them to the usual ones."""
    return ("+", *names(text[1:])) if text.startswith("+") else names(text)


def yes_or_no(text: str) -> bool:
    """Read a choice."""
    if text not in {"yes", "no"}:
        raise InputError(f"Invalid choice '{text}', pass one of 'yes' or 'no'")
    return text == "yes"


def disk_template(text: str) -> str:
    """Read the name of a disk template."""
    if text not in DISK_TEMPLATES:
        raise InputError(
            f"Invalid value for disk template: '{text}', pass one of {', '.join(DISK_TEMPLATES)}"
        )
    return text


def priority(text: str) -> str:
    """Read the priority of jobs."""
    if text not in {"low", "normal", "high"}:
        raise InputError(f"Unknown priority '{text}'")
    return text


def size(kind: str) -> Callable[[str], Asked]:
    """Return a reader of the size of an instance: disk,ram,cpu[,spindles]."""

    def read(text: str) -> Asked:
        parts = names(text)
        if len(parts) not in {3, 4}:
            raise InputError(f"Invalid {kind} specification: '{text}', expected disk,ram,cpu")
        from ullage.sources.ganeti.simulated import parse_size

        sizes = []
        for what, part in (("disk", parts[0]), ("memory", parts[1])):
            try:
                sizes.append(parse_size(part))
            except InputError as error:
                raise error.at(f"{kind} specs {what}") from None
        spindles = whole(f"{kind} specs spindles")(parts[3]) if len(parts) == 4 else 1
        return Asked(sizes[1], sizes[0], whole(f"{kind} specs cpus")(parts[2]), spindles)

    return read
