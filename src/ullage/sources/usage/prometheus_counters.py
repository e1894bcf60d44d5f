"""Counters of a Prometheus as they were scraped, for metering: what pods received and sent.

Ranges are taken as they are kept, not on a grid: between two points of a grid a counter may begin again, and
what it had counted until then would be lost. The hard thing is not to count twice: of a container that is
scraped by two jobs one series counts, also where one of them drops the label `id`, and a pod that shares the
network of its node has none of its own. A pod that was made anew has another `id`, and may be scraped while
the old one still is: they are two counters.
"""

import os
import time
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
from ullage.sources.usage.prometheus_parts import MOMENTS, Window, answers, parts_of, window_of
from ullage.sources.usage.prometheus_queries import COUNTERS, Query
from ullage.sources.usage.prometheus_server import (
    Asked,
    PrometheusOptions,
    PrometheusServer,
    TooMuchError,
    options_of,
)

SCRAPE_SECONDS: Final = 15
"""How often counters are taken to be scraped, to know how much to ask for at once."""
VALUE_MAX: Final = 2**62
UNITS: Final = {
    "network-received": "container_network_receive_bytes_total",
    "network-sent": "container_network_transmit_bytes_total",
}
"""What is counted, and the name of its counters."""
_MEANT: Final = '{pod!="",interface!="lo"@}'
_SHARED: Final = 'max by (namespace, pod) (kube_pod_info{host_network="true"})'


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
                for name, number in chooser.chosen(series.labels):
                    readings = _readings(series, number)
                    beginnings.see_counter(name, series.labels[number], readings)
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

    def chosen(self, labels: Sequence[Labels]) -> list[tuple[CounterName, int]]:
        """Return the counters of an answer, and which of its series each is.

        Series without an id count where none with an id was seen: else they show the same once more.
        """
        meant = [number for number, each in enumerate(labels) if self._is_meant(each)]
        self._with_id.update(interface_of(labels[number]) for number in meant if labels[number].id)
        found: dict[CounterName, int] = {}
        for number in sorted(meant, key=lambda number: target_of(labels[number])):
            each = labels[number]
            if each.id or interface_of(each) not in self._with_id:
                parts = (self._unit, each.pod, each.interface, each.id.strip("/"))
                found.setdefault(CounterName(each.namespace, "/".join(filter(None, parts))), number)
        return sorted(found.items())

    def _is_meant(self, labels: Labels) -> bool:
        is_pod = not subject_problem(f"pod/{labels.namespace}/{labels.pod}")
        return is_pod and (labels.namespace, labels.pod) not in self._shared


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
    first, last, step = window
    coarse = max(step, (last - first) // MOMENTS // step * step)
    try:
        found = ask_range(server, _SHARED, first, last, coarse)
    except TooMuchError:
        return frozenset()
    return frozenset((each.namespace, each.pod) for each in found.labels)
