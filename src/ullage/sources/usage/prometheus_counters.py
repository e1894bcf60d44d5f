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
    Interface,
    interface_of,
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
    """Which series of some pods count; it is shown all of them, in order of time."""

    def __init__(self, unit: str, shared: frozenset[tuple[str, str]]) -> None:
        self._unit = unit
        self._shared = shared
        self._with_id: set[Interface] = set()
        self._last: dict[CounterName, int] = {}

    def chosen(self, series: Series) -> Iterator[tuple[CounterName, Labels, list[Reading]]]:
        """Yield the counters of an answer, what its first reading is labelled with, and the readings."""
        for name, numbers in sorted(self._series_of(series.labels).items()):
            by_label = [(series.labels[number], _readings(series, number)) for number in numbers]
            first, readings = by_label[0]
            for labels, more in by_label[1:]:
                joined = _joined(readings, more, self._last.get(name))
                first = labels if joined[:1] != readings[:1] else first
                readings = joined
            if readings:
                self._last[name] = readings[-1].seconds
                yield name, first, readings

    def _series_of(self, labels: Sequence[Labels]) -> dict[CounterName, list[int]]:
        """Return which series each counter has, the one that counts before those that fill its gaps.

        Series without an id count where none with an id was seen: else they show the same once more.
        """
        meant = [number for number, each in enumerate(labels) if self._is_meant(each)]
        self._with_id.update(interface_of(labels[number]) for number in meant if labels[number].id)
        found: dict[CounterName, list[int]] = {}
        for number in sorted(meant, key=lambda number: target_of(labels[number])):
            each = labels[number]
            if each.id or interface_of(each) not in self._with_id:
                parts = (self._unit, each.pod, each.interface, each.id.strip("/"))
                name = CounterName(each.namespace, "/".join(filter(None, parts)))
                found.setdefault(name, []).append(number)
        return found

    def _is_meant(self, labels: Labels) -> bool:
        is_pod = not subject_problem(f"pod/{labels.namespace}/{labels.pod}")
        return is_pod and (labels.namespace, labels.pod) not in self._shared


def _joined(readings: list[Reading], others: list[Reading], last_seconds: int | None) -> list[Reading]:
    """Return readings of one series, and those of another one that are apart from all of them.

    They are apart from the last reading before as well, whose series that was.
    """
    taken = [*(() if last_seconds is None else (last_seconds,)), *(each.seconds for each in readings)]
    more = []
    for each in others:
        place = bisect_left(taken, each.seconds)
        around = taken[max(place - 1, 0) : place + 1]
        if all(abs(each.seconds - seconds) > APART_SECONDS for seconds in around):
            more.append(each)
    return sorted((*readings, *more), key=lambda each: each.seconds) if more else readings


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
