"""Counters of a Prometheus as they were scraped, for metering: what pods received and sent.

Ranges are taken as they are kept, not on a grid: between two points of a grid a counter may begin again, and
what it had counted until then would be lost. The hard thing is not to count twice: of a container that is
scraped by two jobs one series counts, also where one of them drops the label `id`, and that of the other job
only while the first shows nothing; a pod that shares the network of its node has none of its own. A pod that
was made anew has another `id`, and may be scraped while the old one still is: they are two counters.
"""

import os
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np

from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.metering_counters import CounterName
from ullage.model.usage import USAGE
from ullage.sources.given import refuse_others
from ullage.sources.usage.csv_samples import subject_problem
from ullage.sources.usage.prometheus import names_there
from ullage.sources.usage.prometheus_answers import Labels, Series, ask_range
from ullage.sources.usage.prometheus_beginnings import (
    LOOK_BACK_SECONDS,
    Beginnings,
    target_of,
)
from ullage.sources.usage.prometheus_clusters import meant_of, require_one
from ullage.sources.usage.prometheus_parts import MOMENTS, Window, answers, parts_of, window_of
from ullage.sources.usage.prometheus_queries import CLUSTER, COUNTERS, Query
from ullage.sources.usage.prometheus_server import (
    Asked,
    PrometheusOptions,
    PrometheusServer,
    TooMuchError,
    options_of,
)

SCRAPE_SECONDS: Final = 15
"""How often counters are taken to be scraped, to know how much to ask for at once."""
APART_SECONDS: Final = 120
"""Jobs may show a counter as it was a while ago: so near a reading of one, those of others do not count."""
LONG_AGO: Final = -(2**62)
VALUE_MAX: Final = 2**62
UNITS: Final = {
    "network-received": "container_network_receive_bytes_total",
    "network-sent": "container_network_transmit_bytes_total",
}
"""What is counted, and the name of its counters."""
_MEANT: Final = f'{{pod!="",interface!="lo"{CLUSTER}@}}'
_SHARED: Final = f'max by (namespace, pod) (kube_pod_info{{host_network="true"{CLUSTER}}})'


class Scraped(NamedTuple):
    """Readings of a counter; or the first one of a counter that began at 0, and since when."""

    name: CounterName
    readings: list[Reading]
    began_seconds: int | None = None


def read_counters(
    url: str, window: Window | None = None, options: PrometheusOptions | None = None
) -> Iterator[Scraped]:
    """Yield readings of the counters of pods, each as `UNIT/POD/INTERFACE/ID` of its namespace.

    A counter comes again with later readings; its id is that of the group which the kernel counts for. At
    last those come again that began at 0 meanwhile, with the first reading of each.
    """
    refuse_others("prometheus")
    address, _, said = url.partition("?")
    server = PrometheusServer(address, options_of(os.environ) if options is None else options)
    try:
        yield from counters_of(server, window or window_of(said, int(time.time())))
    finally:
        server.close()


def counters_of(server: Asked, window: Window) -> Iterator[Scraped]:
    """Yield what a server has, however it is reached."""
    window = window._replace(step_seconds=SCRAPE_SECONDS).aligned()
    server = meant_of(server, window)
    require_one(server, window)
    first_seconds = window.first_seconds - SCRAPE_SECONDS
    window = window._replace(first_seconds=max(0, window.first_seconds - LOOK_BACK_SECONDS))
    beginnings = Beginnings(first_seconds)
    there = names_there(server, (*UNITS.values(), "kube_pod_info"), window)
    shared = _shared(server, window) if "kube_pod_info" in there else frozenset()
    for unit, metric in UNITS.items():
        if metric not in there:
            continue
        query = Query(COUNTERS, unit, USAGE, (metric,), metric + _MEANT, metric + _MEANT)
        for part in parts_of(server, query, window):
            chooser = _Chooser(unit, shared)
            for series in answers(server, query, part, window):
                beginnings.see(series)
                for name, labels, readings in chooser.chosen(series):
                    beginnings.see_counter(name, labels, readings)
                    meant = [each for each in readings if each.seconds >= first_seconds]
                    if meant:
                        yield Scraped(name, meant)
    for name, began_seconds, first in beginnings.found(server):
        yield Scraped(name, [first], began_seconds)


class _Chooser:
    """Which readings of some pods count; it is shown all of them, in order of time."""

    def __init__(self, unit: str, shared: frozenset[tuple[str, str]]) -> None:
        self._unit = unit
        self._shared = shared
        self._last: dict[CounterName, int] = {}
        self._last_with_id: dict[CounterName, int] = {}
        """When each was read last, and each family with an id."""

    def chosen(self, series: Series) -> Iterator[tuple[CounterName, Labels, list[Reading]]]:
        """Yield the counters of an answer, what its first reading is labelled with, and the readings.

        Series without an id show the same once more where there are some with one: next to readings of these
        they do not count.
        """
        families: dict[CounterName, list[CounterName]] = {}
        by_name = self._series_of(series.labels)
        for name in sorted(by_name):
            families.setdefault(name.family, []).append(name)
        for family, names in families.items():
            found: list[tuple[CounterName, Labels, list[Reading]]] = []
            for name in sorted(names, reverse=True):  # those with an id before the one without
                labels, readings = self._readings_of(series, name, by_name[name])
                if name == family:
                    seconds = sorted(each.seconds for _, _, others in found for each in others)
                    readings = _apart(readings, [self._last_with_id.get(family, LONG_AGO), *seconds])
                if readings:
                    found.append((name, labels, readings))
            for name, _, readings in found:
                self._last[name] = last = readings[-1].seconds
                if name != family:
                    self._last_with_id[family] = max(last, self._last_with_id.get(family, last))
            yield from _in_order(found) if found and found[-1][0] == family else sorted(found)

    def _readings_of(
        self, series: Series, name: CounterName, numbers: Sequence[int]
    ) -> tuple[Labels, list[Reading]]:
        first, readings = series.labels[numbers[0]], _readings(series, numbers[0])
        for number in numbers[1:]:
            taken = [self._last.get(name, LONG_AGO), *(each.seconds for each in readings)]
            more = _apart(_readings(series, number), taken)
            if more and (not readings or more[0].seconds < readings[0].seconds):
                first = series.labels[number]
            readings = sorted((*readings, *more), key=lambda each: each.seconds) if more else readings
        return first, readings

    def _series_of(self, labels: Sequence[Labels]) -> dict[CounterName, list[int]]:
        """Return which series each counter has, the one that counts before those that fill its gaps."""
        meant = [number for number, each in enumerate(labels) if self._is_meant(each)]
        found: dict[CounterName, list[int]] = {}
        for number in sorted(meant, key=lambda number: target_of(labels[number])):
            each = labels[number]
            parts = (self._unit, each.pod, each.interface, each.id.strip("/"))
            name = CounterName(each.namespace, "/".join(filter(None, parts)))
            found.setdefault(name, []).append(number)
        return found

    def _is_meant(self, labels: Labels) -> bool:
        is_pod = not subject_problem(f"pod/{labels.namespace}/{labels.pod}")
        return is_pod and (labels.namespace, labels.pod) not in self._shared


def _apart(readings: list[Reading], taken: list[int]) -> list[Reading]:
    """Return the readings that are apart from all that are taken, at moments in order."""
    found = []
    for each in readings:
        place = bisect_left(taken, each.seconds)
        around = taken[max(place - 1, 0) : place + 1]
        if all(abs(each.seconds - seconds) > APART_SECONDS for seconds in around):
            found.append(each)
    return found


def _in_order(
    found: Sequence[tuple[CounterName, Labels, list[Reading]]],
) -> Iterator[tuple[CounterName, Labels, list[Reading]]]:
    """Yield readings of several counters in pieces, such that none is older than one of another before it."""
    every = sorted(
        (each.seconds, name, place) for place, (name, _, readings) in enumerate(found) for each in readings
    )
    taken = [0] * len(found)
    for place, piece in groupby(every, key=lambda each: each[2]):
        name, labels, readings = found[place]
        begin = taken[place]
        taken[place] += sum(1 for _ in piece)
        yield name, labels, readings[begin : taken[place]]


def _readings(series: Series, number: int) -> list[Reading]:
    first, end = np.searchsorted(series.numbers, (number, number + 1))
    values = series.values[first:end]
    good = (values >= 0) & (values < VALUE_MAX)
    moments = series.seconds[first:end][good].tolist()
    return [
        Reading(int(seconds), int(value))
        for seconds, value in zip(moments, values[good].tolist(), strict=True)
    ]


def _shared(server: Asked, window: Window) -> frozenset[tuple[str, str]]:
    """Return the pods that share the network of their node: what they show is the node's."""
    first, last, step, _ = window
    coarse = max(step, (last - first) // MOMENTS // step * step)
    try:
        found = ask_range(server, _SHARED, first, last, coarse)
    except TooMuchError:
        return frozenset()
    return frozenset((each.namespace, each.pod) for each in found.labels)
