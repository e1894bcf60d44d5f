"""What Prometheus is shown of a server: the room of its clusters, their sources, ledgers, and its own work.

Amounts are in whole units (cores, bytes, devices), as the exposition format asks for. Everything is read when
somebody asks, from what is in memory: a scrape asks no worker and waits for nobody.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from ullage import __version__
from ullage.render.metrics import ByLabels, Metrics
from ullage.service.figures import ClusterFigures

if TYPE_CHECKING:
    from ullage.web.figures import Known
    from ullage.web.server import Server
    from ullage.web.traffic import Traffic

GROUPS_MAX: Final = 500
"""Groups of a cluster that are shown, by name."""
TERMS: Final = {
    "capacity": "What is there.",
    "reserve": "What is kept back for the system.",
    "allocatable": "Capacity without what is kept back for the system.",
    "limit": "What may be promised: allocatable times the ratio.",
    "committed": "What is promised.",
    "free": "What is not promised yet.",
    "spare": "What is kept free for the nodes that may be lost.",
    "ullage": "What can still be promised: free without spare.",
}
QUOTA_TERMS: Final = {
    "min": "What is guaranteed.",
    "max": "What it may have at most.",
    "used": "What its workloads have.",
    "borrowed": "What it has beyond min.",
    "lent": "What others have of its min.",
}
USAGE_TERMS: Final = {
    "used": "What is really used, by the last observations.",
    "requested": "What is promised, beside what is used.",
    "limit": "What there is for workloads, beside what is used.",
}
DRIVE_TERMS: Final = ("size", "used", "promised", "free", "closed")
Row = tuple[tuple[str, ...], float | None]


def metrics_of(server: "Server") -> Metrics:
    """Return all figures of a server."""
    metrics = Metrics()
    metrics.process()
    metrics.gauge("build_info", "Which program this is.", lambda: {(__version__,): 1.0}, ("version",))

    def known() -> "dict[str, Known]":
        return server.figures.all()

    _show_room(metrics, known)
    _show_counts(metrics, known)
    _show_sources(metrics, server)
    _show_usage(metrics, server)
    _show_traffic(metrics, server)
    return metrics


def _show_room(metrics: Metrics, known: "Callable[[], dict[str, Known]]") -> None:
    for term, text in TERMS.items():

        def in_all(figures: ClusterFigures, term: str = term) -> Iterator[Row]:
            for row in figures.total.resources:
                yield (row.resource,), getattr(row, term)

        def in_groups(figures: ClusterFigures, term: str = term) -> Iterator[Row]:
            for group in figures.groups[:GROUPS_MAX]:
                for row in group.resources:
                    yield (group.group, row.resource), getattr(row, term)

        metrics.gauge(f"cluster_{term}", text, _read(known, in_all), ("cluster", "resource"))
        metrics.gauge(f"group_{term}", text, _read(known, in_groups), ("cluster", "group", "resource"))
    for term, text in QUOTA_TERMS.items():

        def in_quotas(figures: ClusterFigures, term: str = term) -> Iterator[Row]:
            for row in figures.quotas:
                yield (row.quota, row.resource), getattr(row, term)

        metrics.gauge(f"quota_{term}", text, _read(known, in_quotas), ("cluster", "quota", "resource"))


def _show_counts(metrics: Metrics, known: "Callable[[], dict[str, Known]]") -> None:
    def counted(field: str) -> Callable[[ClusterFigures], Iterable[Row]]:
        return lambda figures: (((word,), float(count)) for word, count in getattr(figures, field).items())

    def devices(figures: ClusterFigures, field: str) -> Iterator[Row]:
        for row in figures.devices:
            yield (row.model, row.resource), float(getattr(row, field))

    def starts(figures: ClusterFigures) -> Iterator[Row]:
        for row in figures.devices:
            for size, count in row.starts.items():
                yield (row.model, row.resource, size), float(count)

    def drives(figures: ClusterFigures, field: str) -> Iterator[Row]:
        for row in figures.drives:
            yield (row.drive_class,), float(getattr(row, field))

    def drive_bytes(figures: ClusterFigures) -> Iterator[Row]:
        for row in figures.drives:
            for term in DRIVE_TERMS:
                yield (row.drive_class, term), float(getattr(row, f"{term}_bytes"))

    def show(name: str, text: str, rows: Callable[[ClusterFigures], Iterable[Row]], *labels: str) -> None:
        metrics.gauge(name, text, _read(known, rows), ("cluster", *labels))

    show("cluster_nodes", "Nodes by state.", counted("nodes"), "state")
    show("cluster_workloads", "Workloads by state; init ones wait.", counted("workloads"), "state")
    show("cluster_findings", "Findings by severity.", counted("findings"), "severity")
    of_model = ("model", "resource")
    show("devices", "Devices of a model.", lambda each: devices(each, "devices"), *of_model)
    show("devices_free", "Devices that are free.", lambda each: devices(each, "free"), *of_model)
    show("device_starts", "Workloads of so many devices that still start.", starts, *of_model, "size")
    show("drives", "Drives of a class.", lambda each: drives(each, "drives"), "class")
    show("drives_failing", "Drives that fail.", lambda each: drives(each, "failing"), "class")
    show("drive_bytes", "Bytes of drives, by what is with them.", drive_bytes, "class", "kind")


def _show_sources(metrics: Metrics, server: "Server") -> None:
    def states(read: Callable[[Any], float]) -> Callable[[], ByLabels]:
        return lambda: {(state.name,): float(read(state)) for state in server.pool.clusters()}

    def show(name: str, text: str, read: Callable[[], ByLabels]) -> None:
        metrics.gauge(name, text, read, ("cluster",))

    show("cluster_revision", "The revision that is answered from.", states(lambda each: each.revision))
    show(
        "cluster_read_timestamp_seconds",
        "When the source was last read.",
        states(lambda each: each.read_seconds),
    )
    show(
        "cluster_source_failing",
        "Whether the last reading failed.",
        states(lambda each: bool(each.failure)),
    )
    show("cluster_workers", "Processes that answer.", states(lambda each: each.workers))
    show("cluster_questions_waiting", "Questions that wait.", states(lambda each: each.waiting))
    show(
        "cluster_figures_timestamp_seconds",
        "When the figures were last counted.",
        lambda: {(name,): known.at_seconds for name, known in server.figures.all().items()},
    )
    show(
        "ledger_revision",
        "Steps of the ledger.",
        lambda: {(each.name,): float(server.ledgers.revision(each.name)) for each in server.pool.clusters()},
    )
    metrics.counter(
        "ledger_opened_again",
        "How often the process that keeps a ledger has ended by itself.",
        states(lambda each: server.ledgers.opened_again[each.name]),
        ("cluster",),
    )


def _show_usage(metrics: Metrics, server: "Server") -> None:
    def amounts(term: str) -> Callable[[], ByLabels]:
        return lambda: {
            (name, row.resource): float(getattr(row, term))
            for name, each in server.observers.all().items()
            for row in each.recorded.now
        }

    def states(read: Callable[[Any], float]) -> Callable[[], ByLabels]:
        return lambda: {(name,): float(read(each.state)) for name, each in server.observers.all().items()}

    def observing(read: Callable[[Any], float]) -> Callable[[], ByLabels]:
        return lambda: {
            (name,): float(read(each.state))
            for name, each in server.observers.all().items()
            if each.state.source
        }

    for term, text in USAGE_TERMS.items():
        metrics.gauge(f"usage_{term}", text, amounts(term), ("cluster", "resource"))
    metrics.gauge(
        "usage_observer_failing",
        "Whether the source of use could not be read.",
        observing(lambda each: bool(each.failure)),
        ("cluster",),
    )
    metrics.gauge(
        "usage_read_timestamp_seconds",
        "When the source of use was last read.",
        observing(lambda each: each.read_seconds),
        ("cluster",),
    )
    metrics.gauge(
        "usage_observation_timestamp_seconds",
        "The moment of the last observation.",
        states(lambda each: each.last_seconds),
        ("cluster",),
    )
    metrics.counter(
        "usage_points", "Observations that were recorded.", states(lambda each: each.points), ("cluster",)
    )


def _show_traffic(metrics: Metrics, server: "Server") -> None:
    traffic = server.traffic
    metrics.counter(
        "http_answers",
        "Answers.",
        lambda: {
            (method, path, str(status)): float(count)
            for (method, path, status), count in traffic.answers.items()
        },
        ("method", "path", "status"),
    )
    metrics.counter("http_seconds", "Time spent.", _seconds(traffic), ("method", "path"))
    metrics.gauge("http_at_once", "Requests that are being answered.", traffic.at_once.total)
    metrics.gauge("http_streams", "Streams that are open.", traffic.streams.total)
    metrics.gauge("events_listeners", "Listeners to events.", lambda: server.events.listeners)


def _read(
    known: "Callable[[], dict[str, Known]]", rows: Callable[[ClusterFigures], Iterable[Row]]
) -> Callable[[], ByLabels]:
    """Return what reads rows of all clusters; what has no value is left out."""

    def read() -> ByLabels:
        return {
            (name, *labels): value
            for name, each in known().items()
            for labels, value in rows(each.figures)
            if value is not None
        }

    return read


def _seconds(traffic: "Traffic") -> Callable[[], ByLabels]:
    return lambda: {(method, path): spent for (method, path), spent in traffic.seconds.items()}
