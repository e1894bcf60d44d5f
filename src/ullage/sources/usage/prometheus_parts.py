"""A reading of a cluster in parts that are small enough: some namespaces or pods, some time.

How many series a namespace has is asked first, at a few moments of the window; namespaces are then asked
together as long as they are few enough, one that has too many is asked by names of pods, hundreds at a time,
and the window is cut so that no answer has too many samples. Where a server still finds it too much, the
part is halved: its names, then its time.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from ullage.model.errors import InputError
from ullage.sources.places import shown
from ullage.sources.usage.prometheus_answers import Series, ask_at, ask_range, ask_values
from ullage.sources.usage.prometheus_queries import COUNTERS, NODES, Query, with_matchers
from ullage.sources.usage.prometheus_server import Asked, TooMuchError

SERIES_PER_QUERY: Final = 2000
SAMPLES_PER_QUERY: Final = 500_000
"""Of which an answer is 15 MB of text."""
POINTS_PER_QUERY: Final = 10_000
"""A Prometheus gives 11 000 at most."""
PODS_PER_QUERY: Final = 300
MATCHER_CHARACTERS_MAX: Final = 16_000
NAMES_MAX: Final = 1_000_000
MOMENTS: Final = 24
"""At how many moments of a window series are counted."""
HALVINGS_MAX: Final = 40
STEP_SECONDS: Final = 300
STEP_SECONDS_MIN: Final = 5
WINDOW_DAYS: Final = 14
POINTS_MAX: Final = 1_000_000
LIMITS: Final = "raise its limits (--query.max-samples, --query.timeout)"
_DAY_SECONDS: Final = 86_400
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": _DAY_SECONDS, "w": 7 * _DAY_SECONDS}
_DURATION: Final = re.compile(r"([0-9]{1,9})([smhdw])")


class Window(NamedTuple):
    """From when to when, how far apart the points are, and which series are meant, as `LABEL=VALUE`."""

    first_seconds: int
    last_seconds: int
    step_seconds: int = STEP_SECONDS
    matches: tuple[str, ...] = ()

    def aligned(self) -> "Window":
        """Return a window whose points are those of every other one; an InputError where it has none."""
        step = self.step_seconds
        if not STEP_SECONDS_MIN <= step <= _DAY_SECONDS:
            raise InputError(
                f"a step of {step} s", remedy=f"use {STEP_SECONDS_MIN} to {_DAY_SECONDS} seconds"
            )
        first, last = -(-self.first_seconds // step) * step, self.last_seconds // step * step
        if first > last or first < 0 or (last - first) // step >= POINTS_MAX:
            raise InputError(
                f"a window of {self.last_seconds - self.first_seconds} s in steps of {step} s",
                remedy=f"use one of 1 to {POINTS_MAX} points",
            )
        return self._replace(first_seconds=first, last_seconds=last)


class Part(NamedTuple):
    """Some names of a label, within what another matcher means; without names, everything."""

    label: str = ""
    names: tuple[str, ...] = ()
    within: str = ""
    series: int = 0

    @property
    def matchers(self) -> str:
        """How it is written in an expression."""
        if not self.names:
            return self.within
        if len(self.names) == 1:
            own = f'{self.label}="{quoted(self.names[0])}"'
        else:
            own = f'{self.label}=~"{"|".join(quoted(re.escape(name)) for name in self.names)}"'
        return f"{own},{self.within}" if self.within else own


def window_of(said: str, now_seconds: int) -> Window:
    """Return the window of `window=14d&step=5m`; what is not said is two weeks in steps of five minutes.

    `match=LABEL=VALUE` says which series are meant, and may come more than once.
    """
    asked = {"window": WINDOW_DAYS * _DAY_SECONDS, "step": STEP_SECONDS}
    matches: list[str] = []
    for each in filter(None, said.split("&")):
        name, _, text = each.partition("=")
        if name == "match":
            matches.append(unquote(text))
            continue
        matched = _DURATION.fullmatch(text)
        if name not in asked or matched is None:
            raise InputError(f"{shown(each)!r} says nothing of a window", remedy="write ?window=14d&step=5m")
        asked[name] = int(matched[1]) * _UNITS[matched[2]]
    first_seconds = max(0, now_seconds - asked["window"])
    return Window(first_seconds, now_seconds, asked["step"], tuple(matches))


def parts_of(server: Asked, query: Query, window: Window) -> list[Part]:
    """Return what to ask for one by one."""
    counts = _counts(server, query, window)
    total = sum(counts.values())
    if total <= SERIES_PER_QUERY or query.what == NODES:
        return [Part(series=total)]
    matcher = with_matchers(query.counted, "")
    for name in _values(server, "namespace", matcher, window):
        counts.setdefault(name, 1)
    found: list[Part] = []
    waiting: list[str] = []
    for name, series in sorted(counts.items()):
        if series > SERIES_PER_QUERY:
            found += _by_pods(server, query, window, name, series)
            continue
        if sum(counts[each] for each in waiting) + series > SERIES_PER_QUERY or _is_long([*waiting, name]):
            found.append(_of_namespaces(waiting, counts))
            waiting = []
        waiting.append(name)
    return [*found, _of_namespaces(waiting, counts)] if waiting else found


def answers(server: Asked, query: Query, part: Part, window: Window) -> Iterator[Series]:
    """Yield what an expression comes to for a part, in order of time; halved where that is too much."""
    step = window.step_seconds
    points = max(1, min(SAMPLES_PER_QUERY // max(1, part.series), POINTS_PER_QUERY))
    for first in range(window.first_seconds, window.last_seconds + 1, points * step):
        last = min(first + (points - 1) * step, window.last_seconds)
        yield from _asked(server, query, part, Window(first, last, step), HALVINGS_MAX)


def _asked(server: Asked, query: Query, part: Part, window: Window, left: int) -> Iterator[Series]:
    first, last, step, _ = window
    halves: tuple[tuple[Part, Window], ...] = ()
    try:
        text = query.text(part.matchers, step)
        if query.what == COUNTERS:  # as they are kept, and not on the grid; one step earlier, to join on
            yield ask_at(server, f"{text}[{last - first + step}s]", last)
        else:
            yield ask_range(server, text, first, last, step)
    except TooMuchError as error:
        halves = _halves(part, window) if left else ()
        if not halves:
            raise InputError(
                f"it refuses even {query.resource} of one moment: {error}",
                where=server.name,
                remedy=LIMITS,
            ) from None
    for half, time in halves:
        yield from _asked(server, query, half, time, left - 1)


def _halves(part: Part, window: Window) -> tuple[tuple[Part, Window], ...]:
    """Return two that are one together; none where that is one name at one moment."""
    first, last, step, _ = window
    if len(part.names) > 1:
        middle = len(part.names) // 2
        return tuple(
            (part._replace(names=names), window) for names in (part.names[:middle], part.names[middle:])
        )
    points = (last - first) // step + 1
    if points > 1:
        cut = first + points // 2 * step
        return ((part, Window(first, cut - step, step)), (part, Window(cut, last, step)))
    return ()


def _counts(server: Asked, query: Query, window: Window) -> dict[str, int]:
    """Return how many series there are at once by namespace, or of all nodes under an empty name."""
    counted = with_matchers(query.counted, "")
    text = f"count by (namespace) ({counted})"
    if query.what == NODES:
        text = f"count (count by (instance, node) ({counted}))"
    first, last, step, _ = window
    coarse = max(step, (last - first) // MOMENTS // step * step)
    try:
        found = ask_range(server, text, first, last, coarse)
    except TooMuchError:
        try:
            found = ask_range(server, text, last, last, step)
        except TooMuchError as error:
            raise InputError(
                f"it cannot count its series: {error}", where=server.name, remedy=LIMITS
            ) from None
    counts: dict[str, int] = {}
    for number, value in zip(found.numbers.tolist(), found.values.tolist(), strict=True):
        name = found.labels[number].namespace
        counts[name] = max(counts.get(name, 0), int(value))
    return counts


def _by_pods(server: Asked, query: Query, window: Window, namespace: str, series: int) -> Iterator[Part]:
    """Yield the pods of a namespace, hundreds at a time."""
    within = f'namespace="{quoted(namespace)}"'
    names = _values(server, "pod", with_matchers(query.counted, within), window)
    each = max(1, -(-series // max(1, len(names))))
    waiting: list[str] = []
    for name in names:
        if len(waiting) >= PODS_PER_QUERY or _is_long([*waiting, name]):
            yield Part("pod", tuple(waiting), within, each * len(waiting))
            waiting = []
        waiting.append(name)
    if waiting:
        yield Part("pod", tuple(waiting), within, each * len(waiting))


def _values(server: Asked, label: str, matcher: str, window: Window) -> list[str]:
    try:
        names = ask_values(server, label, matcher, window.first_seconds, window.last_seconds)
    except TooMuchError as error:
        raise InputError(
            f"it cannot list the values of {label}: {error}", where=server.name, remedy=LIMITS
        ) from None
    if len(names) > NAMES_MAX:
        raise InputError(f"more than {NAMES_MAX} values of {label}", where=server.name, remedy="ask for less")
    return names


def _of_namespaces(names: Sequence[str], counts: dict[str, int]) -> Part:
    return Part("namespace", tuple(names), series=sum(counts[name] for name in names))


def _is_long(names: Sequence[str]) -> bool:
    return sum(map(len, names)) + len(names) > MATCHER_CHARACTERS_MAX


def quoted(text: str) -> str:
    """Return a text as it stands between quotes in an expression."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
