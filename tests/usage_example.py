"""The example of usage, made from tables: what the demo cluster really used in its first two weeks.

    python tests/usage_example.py     writes examples/usage.csv

Nodes follow the day and the week and grow slowly; of some workloads the pods are known. Everything is
integers and a small generator of our own, so that the file is the same wherever it is made.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

EXAMPLE: Final = Path(__file__).resolve().parent.parent / "examples" / "usage.csv"
START: Final = 1_767_225_600  # when the demo cluster started, a Thursday
DAYS: Final = 14
HOUR: Final = 3600
BY_HOUR: Final = (0, 0, 0, 0, 0, 1, 3, 6, 9, 10, 10, 9, 8, 9, 10, 10, 9, 8, 6, 4, 3, 2, 1, 0)
"""How busy the hours of a day are, of ten."""


class Used(NamedTuple):
    """A subject: what it uses at night, what a busy hour adds, growth by day in thousandths, and noise."""

    subject: str
    resource: str
    night: int
    day: int
    growth: int = 0
    noise: int = 0


MEMORY: Final = (
    *(Used(f"node/n{number}", "memory", *rest) for number, rest in enumerate((
        (30000, 7000, 9, 900), (33000, 7500, 8, 900), (52000, 8500, 4, 700), (28000, 7000, 10, 900),
        (32000, 7500, 9, 900), (26000, 6500, 9, 800), (29000, 7000, 10, 900), (31000, 6000, 8, 800),
    ), 1)),
    Used("node/s1", "memory", 44000, 1500, 6, 500),
    Used("node/g1", "memory", 150000, 30000, 3, 9000),
    Used("node/g2", "memory", 120000, 60000, 2, 9000),
    Used("node/g3", "memory", 48000, 14000, 5, 3000),
)  # fmt: skip
CPU: Final = (
    *(
        Used(f"node/n{number}", "cpu", 2600 + 150 * number, 5200 + 90 * number, 7, 900)
        for number in range(1, 9)
    ),
    Used("node/s1", "cpu", 2200, 900, 3, 400),
    Used("node/g1", "cpu", 18000, 9000, 0, 3000),
    Used("node/g2", "cpu", 2500, 9000, 0, 1500),
    Used("node/g3", "cpu", 6000, 8000, 4, 1500),
)
PODS: Final = (
    *(Used(f"pod/web/api-{number}", "memory", 3700 + 90 * number, 900, 2, 350) for number in range(8)),
    *(Used(f"pod/web/api-{number}", "cpu", 350, 900 + 40 * number, 2, 250) for number in range(8)),
    Used("pod/web/search-0", "memory", 8200, 700, 3, 400),
    Used("pod/web/search-0", "cpu", 500, 1400, 2, 300),
    Used("pod/platform/metrics-0", "memory", 16900, 1500, 9, 500),
    Used("pod/platform/metrics-0", "cpu", 900, 300, 4, 200),
    *(Used(f"pod/batch/etl-{number}", "memory", 1600, 300, 0, 700) for number in range(4)),
    *(Used(f"pod/batch/etl-{number}", "cpu", 1300, 0, 0, 180) for number in range(4)),
)
LEAKING: Final = "pod/web/api-5"
"""Its memory goes up by a third over its day, until it is started anew."""


def amount(used: Used, hour: int, noise: int) -> int:
    """What a subject uses in an hour since the start."""
    day = hour // 24
    weekend = day % 7 in (2, 3)
    busy = BY_HOUR[hour % 24] // (3 if weekend else 1)
    level = (used.night + used.day * busy // 10) * (1000 + used.growth * day) // 1000
    if used.subject == LEAKING and used.resource == "memory":
        level += level * (hour % 48) // 144 + 900
    return level + used.noise * noise // 1000


def rows() -> Iterator[str]:
    """Yield the lines of the file."""
    yield "subject,resource,time,value"
    state = 20_260_101
    for every, subjects in ((2, MEMORY), (4, CPU), (8, PODS)):
        for hour in range(0, DAYS * 24, every):
            for used in subjects:
                state = (state * 1_103_515_245 + 12_345) % (1 << 31)
                noise = (state >> 8) % 2001 - 1000
                unit = "Mi" if used.resource == "memory" else "m"
                value = f"{amount(used, hour, noise)}{unit}"
                if (state >> 4) % 997 == 0:
                    value = ""  # a scrape that failed
                yield f"{used.subject},{used.resource},{START + hour * HOUR},{value}"


def text() -> str:
    """The whole file."""
    return "\n".join(rows()) + "\n"


if __name__ == "__main__":
    EXAMPLE.write_text(text(), encoding="utf-8")
