"""A Prometheus that runs in a cluster, found by how it is usually labelled, and asked through the API server.

Whoever may read the cluster needs no other address, tunnel or password: the API server hands requests on to
a Service (`services/proxy`). Candidates are tried in a fixed order, the one that sees most first: what joins
several (Thanos, VictoriaMetrics, Mimir) before a single Prometheus.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from ullage.engine.usage.book import Samples
from ullage.model.cluster import Snapshot
from ullage.sources.given import refuse_others
from ullage.sources.kubernetes.kubeconfig import Access
from ullage.sources.kubernetes.live_server import FORBIDDEN, OK, ApiServer
from ullage.sources.kubernetes.wire import Wire
from ullage.sources.places import one_line
from ullage.sources.usage.prometheus import observe
from ullage.sources.usage.prometheus_counters import Scraped, counters_of
from ullage.sources.usage.prometheus_parts import Window
from ullage.sources.usage.prometheus_server import Reply

SERVICES_MAX: Final = 500
TRIED_MAX: Final = 20
_INSTEAD: Final = "name it: prometheus:http://HOST:PORT"
_PORT_NAMES: Final = ("web", "http-web", "http", "http-query", "server", "api")
_NAME: Final = "app.kubernetes.io/name"
_PART: Final = "app.kubernetes.io/component"
_NO_PORTS: Final = frozenset(("grpc", "reloader-web", "http-metrics"))


class Known(NamedTuple):
    """How a kind of server is labelled, and below which path it speaks as a Prometheus."""

    labels: Mapping[str, str]
    path: str = ""


KNOWN: Final = (
    Known({_NAME: "thanos", _PART: "query-frontend"}),
    Known({_NAME: "thanos", _PART: "query"}),
    Known({_NAME: "thanos-query"}),
    Known({"app": "thanos-query"}),
    Known({"app": "thanos-querier"}),
    Known({_NAME: "mimir", _PART: "query-frontend"}, "/prometheus"),
    Known({_NAME: "vmselect"}, "/select/0/prometheus"),
    Known({_NAME: "vmsingle"}),
    Known({_NAME: "victoria-metrics-single"}),
    Known({"app": "kube-prometheus-stack-prometheus"}),
    Known({"app": "rancher-monitoring-prometheus"}),
    Known({"app": "prometheus-operator-prometheus"}),
    Known({_NAME: "prometheus", _PART: "prometheus"}),
    Known({_NAME: "prometheus", _PART: "server"}),
    Known({"app": "prometheus", "component": "server"}),
    Known({"app": "prometheus-server"}),
    Known({_NAME: "prometheus"}),
    Known({"app": "prometheus"}),
    Known({"operated-prometheus": "true"}),
)
"""In the order in which they are tried."""


class _Metadata(Wire):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] | None = None


class _Port(Wire):
    port: int = 0
    name: str = ""


class _Spec(Wire):
    ports: list[_Port] | None = None


class _Service(Wire):
    metadata: _Metadata
    spec: _Spec | None = None


class _Services(Wire):
    items: list[_Service] | None = None


class ProxiedServer:
    """A Service of a cluster, asked through the API server."""

    def __init__(self, server: ApiServer, namespace: str, service: str, path: str = "") -> None:
        self._server = server
        self._base = (
            f"/api/v1/namespaces/{quote(namespace, safe='')}/services/{quote(service, safe=':')}/proxy{path}"
        )
        self.name = f"{server.name}: service {one_line(namespace)}/{one_line(service)}"

    def ask(self, path: str, query: Mapping[str, str]) -> Reply:
        """Return the answer to a query."""
        reply = self._server.get(f"{self._base}{path}", dict(query))
        return Reply(reply.status, reply.data)


def read_discovered(
    access: Access, window: Window, snapshot: Snapshot | None = None, *, as_user: str = ""
) -> Iterator[Samples]:
    """Yield what the Prometheus of a cluster has, wherever it runs there; an InputError where none does."""
    with _discovered(access, as_user) as server:
        yield from observe(server, window, snapshot)


def read_discovered_counters(access: Access, window: Window, *, as_user: str = "") -> Iterator[Scraped]:
    """Yield readings of the counters of pods from the Prometheus of a cluster; refused where none runs."""
    with _discovered(access, as_user) as server:
        yield from counters_of(server, window)


@contextmanager
def _discovered(access: Access, as_user: str) -> Iterator[ProxiedServer]:
    refuse_others("prometheus")
    server = ApiServer(access, as_user=as_user)
    try:
        yield discover_prometheus(server)
    finally:
        server.close()


def discover_prometheus(server: ApiServer) -> ProxiedServer:
    """Return the first server that answers, in the order of KNOWN; an InputError where none does."""
    tried: list[str] = []
    for place, (known, service) in enumerate(_candidates(server)):
        if place >= TRIED_MAX:
            break
        found = ProxiedServer(server, service.metadata.namespace, _port(service), known.path)
        reply = server.get(f"{found._base}/api/v1/query", {"query": "vector(1)"})  # noqa: SLF001 - our own class
        if reply.status == OK and b'"success"' in reply.data:
            return found
        if reply.status == FORBIDDEN:
            raise server.error(
                f"not permitted: get services/proxy in {one_line(service.metadata.namespace)}",
                f"ask for a role with the verb get on it, or {_INSTEAD}",
            )
        tried.append(f"{service.metadata.namespace}/{service.metadata.name} ({reply.status})")
    if tried:
        raise server.error(f"no Prometheus answers: tried {one_line(', '.join(tried))}", _INSTEAD)
    raise server.error("no Service looks like a Prometheus", _INSTEAD)


def _candidates(server: ApiServer) -> list[tuple[Known, _Service]]:
    """Return the services that are labelled as one of KNOWN, in its order, then by name."""
    found: dict[tuple[str, str], _Service] = {}
    for label in sorted({label for known in KNOWN for label in known.labels} - {_PART, "component"}):
        values = sorted({known.labels[label] for known in KNOWN if label in known.labels})
        for service in _services(server, f"{label} in ({','.join(values)})"):
            found[service.metadata.namespace, service.metadata.name] = service
    ranked = []
    for key, service in found.items():
        labels = service.metadata.labels or {}
        for rank, known in enumerate(KNOWN):
            if known.labels.items() <= labels.items() and _ports(service):
                ranked.append((rank, key))
                break
    return [(KNOWN[rank], found[key]) for rank, key in sorted(ranked)]


def _services(server: ApiServer, selector: str) -> list[_Service]:
    reply = server.get("/api/v1/services", {"labelSelector": selector, "limit": str(SERVICES_MAX)})
    if reply.status == FORBIDDEN:
        raise server.error(
            "not permitted: list services", f"ask for a role with get and list on them, or {_INSTEAD}"
        )
    if reply.status != OK:
        raise server.error(f"services: {reply.reason()}", _INSTEAD)
    try:
        return msgspec.json.decode(reply.data, type=_Services).items or []
    except (msgspec.DecodeError, RecursionError):
        raise server.error("services: the answer is no list", _INSTEAD) from None


def _ports(service: _Service) -> list[_Port]:
    ports = (service.spec.ports if service.spec else None) or []
    return [each for each in ports if each.name not in _NO_PORTS]


def _port(service: _Service) -> str:
    """Return a service with its port as the proxy wants it: `https:NAME:PORT` where that speaks TLS."""
    ports = _ports(service)
    best = min(ports, key=lambda each: _PORT_NAMES.index(each.name) if each.name in _PORT_NAMES else 99)
    scheme = "https:" if best.name.startswith("https") or best.port == 443 else ""
    return f"{scheme}{service.metadata.name}:{best.port}"
