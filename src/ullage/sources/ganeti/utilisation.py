"""How much instances use: lines `instance cpu memory disk net`, in any unit that is the same for all."""

from math import isfinite
from typing import Final

from ullage.engine.balance.facts import Load
from ullage.model.errors import InputError
from ullage.sources.ganeti.text_fields import NUMBER_CHARACTERS_MAX, quoted

LINES_MAX: Final = 1_000_000
NAMES: Final = ("cpu", "memory", "disk", "net")
LOAD_MAX: Final = 1e12


def read_utilisation(content: str, name: str = "") -> dict[str, Load]:
    """Return the load of each instance that is named; the last line of an instance holds."""
    lines = content.splitlines()
    if len(lines) > LINES_MAX:
        raise InputError(f"there are {len(lines)} lines", where=name, remedy=f"the most is {LINES_MAX}")
    place = f"{name} line " if name else "line "
    loads: dict[str, Load] = {}
    for number, line in enumerate(lines, 1):
        texts = line.split()
        if texts:
            loads[texts[0]] = _load(texts[1:], f"{place}{number}")
    return loads


def _load(texts: list[str], where: str) -> Load:
    if len(texts) != len(NAMES):
        raise InputError(
            f"there are {len(texts)} numbers after the name",
            where=where,
            remedy=f"write instance {' '.join(NAMES)}",
        )
    values = []
    for field, text in zip(NAMES, texts, strict=True):
        try:
            value = float(text) if len(text) <= NUMBER_CHARACTERS_MAX and "_" not in text else None
        except ValueError:
            value = None
        if value is None or not isfinite(value) or not 0 <= value <= LOAD_MAX:
            raise InputError(
                f"{quoted(text)} is no load",
                where=f"{where}, field {field}",
                remedy="write a number of at least 0, such as 0.85",
            )
        values.append(value)
    return Load(*values)
