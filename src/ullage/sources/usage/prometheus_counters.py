"""Counters of a Prometheus as they were scraped, for metering: what pods received and sent.

Ranges are taken as they are kept, not on a grid: between two points of a grid a counter may begin again, and
what it had counted until then would be lost. The hard thing is not to count twice: of a container that is
scraped by two jobs one series counts, and a pod that shares the network of its node has none of its own.
"""

import os
import time
from collections.abc import Iterator
from typing import Final

import numpy as np

from ullage.engine.capacity.metering import Reading
from ullage.engine.usage.metering_counters import CounterName
from ullage.model.usage import USAGE
from ullage.sources.given import refuse_others
from ullage.sources.usage.csv_samples import subject_problem
from ullage.sources.usage.prometheus import names_there
from ullage.sources.usage.prometheus_answers import Labels, Series, ask_range
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


def read_counters(
    url: str, window: Window | None = None, options: PrometheusOptions | None = None
) -> Iterator[tuple[CounterName, list[Reading]]]:
    """Yield readings of the counters of pods, each as `UNIT/POD/INTERFACE` of its namespace.

    A counter comes again with later readings. Its epoch is that of the group which the kernel counts for.
    """
    refuse_others("prometheus")
    address, _, said = url.partition("?")
    server = PrometheusServer(address, options_of(os.environ) if options is None else options)
    try:
        yield from counters_of(server, window or window_of(said, int(time.time())))
    finally:
        server.close()


def counters_of(server: Asked, window: Window) -> Iterator[tuple[CounterName, list[Reading]]]:
    """Yield what a server has, however it is reached."""
    window = window._replace(step_seconds=SCRAPE_SECONDS).aligned()
    there = names_there(server, (*UNITS.values(), "kube_pod_info"), window)
    shared = _shared(server, window) if "kube_pod_info" in there else frozenset()
    for unit, name in UNITS.items():
        if name not in there:
            continue
        query = Query(COUNTERS, unit, USAGE, (name,), name + _MEANT, name + _MEANT)
        for part in parts_of(server, query, window):
            for series in answers(server, query, part, window):
                yield from _readings(unit, series, shared)


def _readings(
    unit: str, series: Series, shared: frozenset[tuple[str, str]]
) -> Iterator[tuple[CounterName, list[Reading]]]:
    chosen: dict[tuple[str, str, str, str], int] = {}
    order = sorted(range(len(series.labels)), key=lambda each: _scraper(series.labels[each]))
    for number in order:
        labels = series.labels[number]
        is_pod = not subject_problem(f"pod/{labels.namespace}/{labels.pod}")
        if is_pod and (labels.namespace, labels.pod) not in shared:
            chosen.setdefault((labels.namespace, labels.pod, labels.interface, labels.id), number)
    starts = np.searchsorted(series.numbers, np.arange(len(series.labels) + 1))
    for (namespace, pod, interface, epoch), number in sorted(chosen.items()):
        part = slice(starts[number], starts[number + 1])
        values = series.values[part]
        good = (values >= 0) & (values < VALUE_MAX)
        readings = [
            Reading(int(seconds), int(value), epoch)
            for seconds, value in zip(series.seconds[part][good].tolist(), values[good].tolist(), strict=True)
        ]
        yield CounterName(namespace, f"{unit}/{pod}/{interface}"), readings


def _scraper(labels: Labels) -> tuple[str, str]:
    return labels.job, labels.instance


def _shared(server: Asked, window: Window) -> frozenset[tuple[str, str]]:
    """Return the pods that share the network of their node: what they show is the node's."""
    first, last, step = window
    coarse = max(step, (last - first) // MOMENTS // step * step)
    try:
        found = ask_range(server, _SHARED, first, last, coarse)
    except TooMuchError:
        return frozenset()
    return frozenset((each.namespace, each.pod) for each in found.labels)
