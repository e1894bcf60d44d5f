"""A small cluster with known usage, as exporters tell it: cAdvisor, node exporter, kube-state-metrics.

`history` writes days of it as OpenMetrics text, which promtool makes blocks of; `Exporter` serves what it is
told to, with restarts (a counter that begins again) and gaps (a scrape that fails).
"""

import contextlib
import http.server
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

MINUTE = 60
MIB = 1 << 20
Value = Callable[[int], float | None]
"""What a series shows at a minute of the history; None where it shows nothing."""


class Metric(NamedTuple):
    """A series: its name, its labels, and what it shows."""

    name: str
    labels: Mapping[str, str]
    value: Value

    @property
    def text(self) -> str:
        inside = ",".join(f'{name}="{value}"' for name, value in sorted(self.labels.items()))
        return f"{self.name}{{{inside}}}"


def container(namespace: str, pod: str, name: str, identity: str = "1") -> dict[str, str]:
    return {
        "namespace": namespace, "pod": pod, "container": name,
        "id": f"/kubepods/{pod}/{name}/{identity}", "job": "kubelet", "instance": "10.0.0.1:10250",
    }  # fmt: skip


def cadvisor(
    namespace: str, pod: str, name: str, cpu: Value, memory: Value, *, identity: str = "1"
) -> list[Metric]:
    """What cAdvisor tells of a container: seconds of processors used so far, and bytes."""
    labels = container(namespace, pod, name, identity)
    return [
        Metric("container_cpu_usage_seconds_total", {**labels, "cpu": "total"}, cpu),
        Metric("container_memory_working_set_bytes", labels, memory),
        Metric("container_memory_max_usage_bytes", labels, lambda _: 1e12),
    ]


def node(
    instance: str, nodename: str, busy: float, available: Value, total: int = 1024 * MIB
) -> list[Metric]:
    """What a node exporter tells: `busy` processors of two are used."""
    labels = {"instance": instance, "job": "node"}
    return [
        *(
            Metric("node_cpu_seconds_total", {**labels, "cpu": cpu, "mode": mode}, share)
            for cpu in "01"
            for mode, share in (
                ("idle", lambda at: at * MINUTE * (1 - busy / 2)),
                ("user", lambda at: at * MINUTE * busy / 4),
                ("system", lambda at: at * MINUTE * busy / 4),
                ("iowait", lambda at: at * 7.0),
            )
        ),
        Metric("node_memory_MemTotal_bytes", labels, lambda _: total),
        Metric("node_memory_MemAvailable_bytes", labels, available),
        Metric("node_uname_info", {**labels, "nodename": nodename}, lambda _: 1),
    ]


def history(metrics: list[Metric], first_seconds: int, minutes: int) -> Iterator[str]:
    """Yield lines of OpenMetrics, each metric with all its samples together."""
    for name in sorted({each.name for each in metrics}):
        yield f"# TYPE {name} unknown\n"
        for each in metrics:
            if each.name != name:
                continue
            text = each.text
            for minute in range(minutes):
                value = each.value(minute)
                if value is not None:
                    yield f"{text} {value} {first_seconds + minute * MINUTE}\n"
    yield "# EOF\n"


class Exporter:
    """What is scraped: lines by series; None fails the scrape."""

    def __init__(self) -> None:
        self.lines: dict[str, float] | None = {}
        self.scrapes = 0

    @contextlib.contextmanager
    def serving(self) -> Iterator[int]:
        """Serve until the end, and give the port."""
        exporter = self

        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                lines = exporter.lines
                text = "".join(f"{name} {value}\n" for name, value in (lines or {}).items()).encode()
                self.send_response(503 if lines is None else 200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
                exporter.scrapes += 1

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
