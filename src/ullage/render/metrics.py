"""Figures of a process for Prometheus: counted where things happen, read when somebody asks."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT: Final = "text/plain; version=0.0.4; charset=utf-8"
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

Labels = tuple[str, ...]
ByLabels = Mapping[Labels, float]
Read = Callable[[], float | ByLabels]


class _Read(Collector):
    """A figure that is read when it is asked for."""

    def __init__(self, make: Callable[[], Metric]) -> None:
        self._make = make

    def collect(self) -> Iterable[Metric]:
        """Return it as it is now."""
        return (self._make(),)

    def describe(self) -> Iterable[Metric]:
        """Return nothing: its names are known when it is read."""
        return ()


class Metrics:
    """All figures of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()

    def counter(self, name: str, text: str, read: Read, labels: Labels = ()) -> None:
        """Show something that only grows, perhaps by labels."""
        self._show(CounterMetricFamily, name, text, read, labels)

    def gauge(self, name: str, text: str, read: Read, labels: Labels = ()) -> None:
        """Show something that goes up and down, perhaps by labels."""
        self._show(GaugeMetricFamily, name, text, read, labels)

    def seconds(self, name: str, text: str) -> Histogram:
        """Show how long something takes."""
        return Histogram(f"ullage_{name}_seconds", text, registry=self._registry, buckets=SECONDS)

    def process(self) -> None:
        """Show what the process itself uses: time, memory, open files."""
        ProcessCollector(namespace="ullage", registry=self._registry)

    def exposition(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        return generate_latest(self._registry)

    def _show(
        self,
        kind: type[CounterMetricFamily | GaugeMetricFamily],
        name: str,
        text: str,
        read: Read,
        labels: Labels,
    ) -> None:
        def make() -> Metric:
            found = read()
            if not isinstance(found, Mapping):
                return kind(f"ullage_{name}", text, value=found)
            family = kind(f"ullage_{name}", text, labels=labels)
            for values, value in found.items():
                family.add_metric(values, value)
            return family

        self._registry.register(_Read(make))
