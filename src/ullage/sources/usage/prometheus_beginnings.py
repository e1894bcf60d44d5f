"""Which counters of a Prometheus began while it looked, and so began at 0.

The kernel counts from 0 for every network that is made for a pod. Where a counter was not there, and then is,
all that it shows has passed since the scrape before. The hard thing is not to take for new what is only seen
for the first time: whatever a target shows as it is scraped for the first time may be of any age (the server
began then, its history is cut there, a node came to be scraped); where it says when these were started, that
decides. So may a counter be of any age that was scraped without its id before.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.metering_counters import CounterName
from ullage.sources.usage.prometheus_answers import Labels, Series, ask_at
from ullage.sources.usage.prometheus_parts import quoted
from ullage.sources.usage.prometheus_queries import CLUSTER
from ullage.sources.usage.prometheus_server import Asked, TooMuchError

LOOK_BACK_SECONDS: Final = 3600
"""What was there so long before a window did not begin in it: single series are missing now and then."""
SCRAPE_SECONDS_MAX: Final = 60
"""How far apart scrapes are taken to be where nothing was scraped twice."""
SCRAPES_MISSED: Final = 2
"""So many scrapes of its target a counter was not in, at least, if it began later."""
Interface = tuple[str, str, str]
"""A namespace, a pod and an interface of it."""
Target = tuple[str, str]
"""A job and an instance."""
TARGETS_ASKED_MAX: Final = 1000
STARTED: Final = "container_start_time_seconds"


class Began(NamedTuple):
    """A counter that began at 0: not before a moment, and with this first reading."""

    name: CounterName
    not_before_seconds: int
    first: Reading


class _First(NamedTuple):
    """The first that was seen of a counter."""

    labels: Labels
    reading: Reading


class Beginnings:
    """What was seen first of every counter and of every target; it is shown all answers in order of time."""

    def __init__(self, first_seconds: int) -> None:
        self._first_seconds = first_seconds
        self._counters: dict[CounterName, _First] = {}
        self._targets: dict[Target, float] = {}
        self._apart: dict[Target, float] = {}
        self._without_id: dict[Interface, float] = {}

    def see(self, series: Series) -> None:
        """Note when targets and series without an id were first seen, and how far apart scrapes are."""
        starts = np.searchsorted(series.numbers, np.arange(len(series.labels) + 1)).tolist()
        for labels, (start, end) in zip(series.labels, pairwise(starts), strict=True):
            if start == end:
                continue
            first, target = float(series.seconds[start]), target_of(labels)
            self._targets[target] = min(first, self._targets.get(target, first))
            if not labels.id:
                place = interface_of(labels)
                self._without_id[place] = min(first, self._without_id.get(place, first))
            if end - start > 1:
                apart = float(series.seconds[start + 1]) - first
                self._apart[target] = min(apart, self._apart.get(target, apart))

    def see_counter(self, name: CounterName, labels: Labels, readings: Sequence[Reading]) -> None:
        """Note the first reading of a counter."""
        if readings:
            self._counters.setdefault(name, _First(labels, readings[0]))

    def found(self, server: Asked) -> Iterator[Began]:
        """Yield the counters that began; the server may know when those of new targets were started."""
        doubted: dict[Target, list[CounterName]] = {}
        for name, (labels, first) in sorted(self._counters.items()):
            target = target_of(labels)
            if not first.value or first.seconds < self._first_seconds or self._had_no_id(labels, first):
                continue
            if self._targets[target] <= first.seconds - self._missed_seconds(target):
                apart = self._apart.get(target, SCRAPE_SECONDS_MAX)
                yield Began(name, int(first.seconds - max(1, apart)), first)
            elif labels.id:
                doubted.setdefault(target, []).append(name)
        for target, names in islice(sorted(doubted.items()), TARGETS_ASKED_MAX):
            started = self._started(server, target)
            for name in names:
                labels, first = self._counters[name]
                if self._first_seconds <= started.get(labels.id, -1) < first.seconds:
                    yield Began(name, int(started[labels.id]), first)

    def _missed_seconds(self, target: Target) -> float:
        """Return for how long a target does not show a counter, at least, that was not there yet."""
        return max(SCRAPES_MISSED * self._apart.get(target, 0), SCRAPE_SECONDS_MAX)

    def _had_no_id(self, labels: Labels, first: Reading) -> bool:
        """Return whether the interface of a counter was scraped without an id before."""
        missed_since = first.seconds - self._missed_seconds(target_of(labels))
        return bool(labels.id) and self._without_id.get(interface_of(labels), first.seconds) <= missed_since

    def _started(self, server: Asked, target: Target) -> dict[str, float]:
        """Return when those were started, by their ids, that were there as a target was first scraped."""
        job, instance = map(quoted, target)
        seconds = int(2 * self._missed_seconds(target))
        text = (
            f'max_over_time({STARTED}{{id!="",job="{job}",instance="{instance}"{CLUSTER}}}[{seconds + 1}s])'
        )
        try:
            series = ask_at(server, text, int(self._targets[target]) + seconds)
        except TooMuchError:
            return {}
        ids = [series.labels[number].id for number in series.numbers]
        return dict(zip(ids, series.values.tolist(), strict=True))


def target_of(labels: Labels) -> Target:
    """Return by what series were scraped, and where."""
    return labels.job, labels.instance


def interface_of(labels: Labels) -> Interface:
    """Return what a series counts for, whatever its id is."""
    return labels.namespace, labels.pod, labels.interface
