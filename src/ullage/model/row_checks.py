"""What single names and sizes of any row must satisfy."""

import re
from typing import Final

from ullage.model.errors import InputError
from ullage.model.quantity import INT64_MAX

NAME_LENGTH_MAX: Final = 253
NAME: Final = re.compile(rf"[^\x00-\x1f\x7f-\x9f]{{1,{NAME_LENGTH_MAX}}}")


def check_name(name: str, where: str, field: str = "name") -> None:
    """Raise where a name is empty, too long, or holds a control character."""
    if not name:
        raise InputError(f"the {field} is empty", where=where, remedy="give it a name")
    if len(name) > NAME_LENGTH_MAX:
        raise InputError(
            f"the {field} {name[:20]!r}… has {len(name)} characters",
            where=where,
            remedy=f"use at most {NAME_LENGTH_MAX}",
        )
    if not NAME.fullmatch(name):
        raise InputError(f"the {field} {name!r} holds a control character", where=where, remedy="remove it")


def check_size(size: int, where: str, field: str, most: int = INT64_MAX) -> None:
    """Raise where a size is negative, or larger than the most it can be."""
    if abs(size) > INT64_MAX:
        raise too_large(where, field)
    if size < 0:
        raise InputError(f"{field} is {size}", where=where, remedy="use 0 or more")
    if size > most:
        raise InputError(
            f"{field} {size} is above its size {most}", where=where, remedy=f"use at most {most}"
        )


def too_large(where: str, field: str) -> InputError:
    """Return the error for a number beyond 64 bits."""
    # The number itself is not shown: it may have thousands of digits.
    return InputError(f"{field} does not fit 64 bits", where=where, remedy="use a smaller number")
