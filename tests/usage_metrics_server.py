"""A metrics server for the test control plane: a real API behind the API server, which hands requests on.

The hard thing is that an APIService names a Service, whose address no test has a network for. One of type
ExternalName is resolved to the name that it states, which here is localhost.
"""

import base64
import contextlib
import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from plane.certificate import self_signed
from plane.plane import Plane

GROUP = "metrics.k8s.io"
VERSION = f"{GROUP}/v1beta1"
NAME = "metrics-server"
NAMESPACE = "kube-system"
AT = "2026-01-01T00:00:00Z"
RESOURCES = [
    {"name": name, "singularName": "", "namespaced": name == "pods", "kind": kind, "verbs": ["get", "list"]}
    for name, kind in (("nodes", "NodeMetrics"), ("pods", "PodMetrics"))
]


def node_metrics(name: str, cpu: str, memory: str, at: str = AT) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "timestamp": at,
        "window": "20s",
        "usage": {"cpu": cpu, "memory": memory},
    }


def pod_metrics(namespace: str, name: str, *containers: tuple[str, str, str], at: str = AT) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "timestamp": at,
        "window": "20s",
        "containers": [
            {"name": each, "usage": {"cpu": cpu, "memory": memory}} for each, cpu, memory in containers
        ],
    }


class MetricsServer:
    """What it serves: nodes and pods, in pages of at most so many where it is told to."""

    def __init__(self, nodes: list[dict[str, Any]], pods: list[dict[str, Any]], page: int = 0) -> None:
        self.lists = {"nodes": nodes, "pods": pods}
        self.page = page
        self.asked: list[str] = []

    def answer(self, target: str) -> dict[str, Any] | None:
        """Return what stands at a path."""
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        words = parts.path.strip("/").split("/")
        if words[:3] == ["apis", GROUP, "v1beta1"] and len(words) == 3:
            return {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": VERSION,
                "resources": RESOURCES,
            }
        if words[-1] not in self.lists:
            return None
        items = self.lists[words[-1]]
        if "namespaces" in words:
            items = [each for each in items if each["metadata"]["namespace"] == words[-2]]
        begin = int(query.get("continue", 0))
        end = begin + self.page if self.page else len(items)
        kind = "NodeMetricsList" if words[-1] == "nodes" else "PodMetricsList"
        metadata = {"continue": str(end)} if end < len(items) else {}
        return {"kind": kind, "apiVersion": VERSION, "metadata": metadata, "items": items[begin:end]}

    @contextlib.contextmanager
    def on(self, plane: Plane, folder: Path) -> Iterator[None]:
        """Serve as a part of a control plane until the end."""
        certificate = folder / "metrics.pem"
        certificate.write_bytes(self_signed(f"{NAME}.{NAMESPACE}.svc"))
        with self._listening(certificate) as port, plane.scratch():
            plane.create_many(_objects(port, certificate))
            plane.wait_for(f"/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.{GROUP}", _is_available)
            yield

    @contextlib.contextmanager
    def _listening(self, certificate: Path) -> Iterator[int]:
        served = self

        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                served.asked.append(self.path)
                found = served.answer(self.path)
                text = json.dumps(found or {}).encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.daemon_threads = True  # the API server keeps its connections open
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def _objects(port: int, certificate: Path) -> list[dict[str, Any]]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"v1beta1.{GROUP}"},
            "spec": {
                "group": GROUP,
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "service": {"namespace": NAMESPACE, "name": NAME, "port": port},
                "caBundle": base64.b64encode(
                    certificate.read_bytes().partition(b"-----BEGIN PRIVATE")[0]
                ).decode(),
            },
        },
    ]


def _is_available(found: dict[str, Any]) -> bool:
    conditions = found.get("status", {}).get("conditions", ())
    return any(each["type"] == "Available" and each["status"] == "True" for each in conditions)
