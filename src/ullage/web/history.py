"""How full clusters were: a sample now and then, kept for years, and the plans that were committed meanwhile.

The hard thing is to keep it small: the older samples are, the fewer of them are kept. What is left of some
minutes, an hour or a day is the last one in it.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.web.state import State, read_only

DAY_SECONDS: Final = 86_400
TIERS: Final = ((0, 30), (DAY_SECONDS, 900), (30 * DAY_SECONDS, 3600), (365 * DAY_SECONDS, DAY_SECONDS))
"""From which age on one sample is kept of so many seconds."""
AGE_SECONDS_MAX: Final = 10 * 365 * DAY_SECONDS
THINNED_AFTER: Final = 50
"""Samples after which the old ones are looked through."""
MARKS_MAX: Final = 1000
TERMS: Final = ("capacity", "reserve", "allocatable", "limit", "committed", "free", "spare", "ullage")
"""What is kept of each resource."""


class Sample(msgspec.Struct, rename="camel"):
    """How full a cluster is at a moment; `resources` has the terms of each, in whole units (cores, bytes)."""

    revision: int = 0
    ledger_revision: int = 0
    nodes: int = 0
    workloads: int = 0
    waiting: int = 0
    resources: dict[str, dict[str, float]] = {}


class Mark(msgspec.Struct, rename="camel", frozen=True):
    """A plan that was committed."""

    at_seconds: int
    plan: str
    who: str
    text: str


class Span(NamedTuple):
    """What is asked about: from when until when, and at most how many moments of it."""

    from_seconds: int
    until_seconds: int
    points_max: int


class Past(NamedTuple):
    """What was: the samples of a span with their times, and what was committed in it."""

    times: list[int]
    samples: list[Sample]
    marks: list[Mark]


def write_mark(connection: sqlite3.Connection, cluster: str, mark: Mark) -> None:
    """Keep what was committed, in a transaction that is open."""
    connection.execute(
        "INSERT INTO marks (cluster, at_seconds, plan, who, text) VALUES (?, ?, ?, ?, ?)",
        (cluster, mark.at_seconds, mark.plan, mark.who, mark.text),
    )


class History:
    """The samples of all clusters of a server."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._added = 0

    async def add(self, cluster: str, at_seconds: int, sample: Sample) -> None:
        """Keep a sample; of two at the same moment the later counts."""
        self._added += 1
        thins = self._added % THINNED_AFTER == 1
        text = _ENCODER.encode(sample).decode()

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO samples VALUES (?, ?, ?)", (cluster, at_seconds, text))
            if thins:
                thin(connection, at_seconds)

        await self._state.run(write)

    async def mark(
        self, cluster: str, mark: Mark, also: Callable[[sqlite3.Connection], None] | None = None
    ) -> None:
        """Keep what was committed, and what else is to be written in the same transaction."""

        def write(connection: sqlite3.Connection) -> None:
            if also is not None:
                also(connection)
            write_mark(connection, cluster, mark)

        await self._state.run(write)

    async def past(self, cluster: str, span: Span) -> Past:
        """Return what was, without holding up the loop."""
        return await asyncio.to_thread(self._past, cluster, span)

    def _past(self, cluster: str, span: Span) -> Past:
        asked = (cluster, span.from_seconds, span.until_seconds)
        with contextlib.closing(read_only(self._state.path)) as connection:
            connection.execute("BEGIN")
            every = connection.execute(
                "SELECT at_seconds FROM samples WHERE cluster = ? AND at_seconds BETWEEN ? AND ? "
                "ORDER BY at_seconds",
                asked,
            )
            times = chosen([at for (at,) in every], span)
            found = connection.execute(
                "SELECT sample FROM samples WHERE cluster = ? AND at_seconds IN "
                "(SELECT value FROM json_each(?)) ORDER BY at_seconds",
                (cluster, msgspec.json.encode(times).decode()),
            )
            samples = [_SAMPLE.decode(text) for (text,) in found]
            marks = connection.execute(
                "SELECT at_seconds, plan, who, text FROM marks WHERE cluster = ? AND at_seconds "
                "BETWEEN ? AND ? ORDER BY number DESC LIMIT ?",
                (*asked, MARKS_MAX),
            ).fetchall()
        return Past(times, samples, [Mark(*row) for row in reversed(marks)])


def chosen(times: Sequence[int], span: Span) -> list[int]:
    """Return at most so many moments of a span: of each part of it the last one."""
    step = max(1, -(-(span.until_seconds - span.from_seconds + 1) // span.points_max))
    last = {(at - span.from_seconds) // step: at for at in times}
    return list(last.values())


def thin(connection: sqlite3.Connection, now_seconds: int) -> None:
    """Remove what is too much for its age."""
    connection.execute("DELETE FROM samples WHERE at_seconds < ?", (now_seconds - AGE_SECONDS_MAX,))
    connection.execute("DELETE FROM marks WHERE at_seconds < ?", (now_seconds - AGE_SECONDS_MAX,))
    for from_seconds, until_seconds, step in _parts(now_seconds):
        connection.execute(
            "DELETE FROM samples WHERE at_seconds >= ?1 AND at_seconds < ?2 AND EXISTS ("
            "SELECT 1 FROM samples AS later WHERE later.cluster = samples.cluster "
            "AND later.at_seconds > samples.at_seconds "
            "AND later.at_seconds < min(?2, (samples.at_seconds / ?3 + 1) * ?3))",
            (from_seconds, until_seconds, step),
        )


def _parts(now_seconds: int) -> Iterator[tuple[int, int, int]]:
    """Yield each part of the past and of how many seconds one sample is kept in it."""
    ends: Iterable[int] = (age for age, _ in TIERS[1:])
    for (age, step), older in zip(TIERS, (*ends, AGE_SECONDS_MAX), strict=True):
        yield now_seconds - older, now_seconds - age, step


_ENCODER: Final = msgspec.json.Encoder()
_SAMPLE: Final = msgspec.json.Decoder(Sample)
