"""A small client of the Kubernetes API for tests, on the standard library alone.

Tests of our live source must not prepare and judge with that same source, so this one shares no code with it.
The hard thing is speed: a new TLS connection per request would take most of the time of thousands of creates,
so connections are kept open and handed from call to call, and from thread to thread.
"""

import http.client
import json
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlsplit

THREADS = 16
REQUEST_SECONDS_MAX = 60
PATCH_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


class ApiError(Exception):
    """The API server refused: `status` is the HTTP status, the text is the server's own message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Client:
    """The API as one user sees it. Paths are the API's own: `/api/v1/nodes`, with a query if need be."""

    def __init__(self, server: str, token: str, authority_file: str) -> None:
        self._address = urlsplit(server).netloc
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._context = ssl.create_default_context(cafile=authority_file)
        self._idle: list[http.client.HTTPSConnection] = []
        self._resources: dict[str, dict[str, tuple[str, bool]]] = {}

    def get(self, path: str) -> Any:
        return self.request("GET", path)

    def items(self, path: str) -> list[dict[str, Any]]:
        """Return what a list holds, in the order of the API: by namespace and name."""
        found: list[dict[str, Any]] = self.get(path)["items"]
        return found

    def create(self, document: Mapping[str, Any]) -> Any:
        """Create one object; without a namespace it goes to `default`. Return it as the server stored it."""
        return self.request("POST", self.collection(document), document)

    def delete(self, path: str, *, grace_seconds: int = 0) -> Any:
        """Delete an object, or a whole collection if the path names one."""
        return self.request("DELETE", path, {"gracePeriodSeconds": grace_seconds})

    def patch(self, path: str, change: Any, kind: str = "merge") -> Any:
        """Change an object; `kind` is merge, strategic or json. A status is at its own path, `…/status`."""
        return self.request("PATCH", path, change, PATCH_TYPES[kind])

    def collection(self, document: Mapping[str, Any]) -> str:
        """Return the path of the list that holds such an object."""
        version, kind = document["apiVersion"], document["kind"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if version not in self._resources:
            self._resources[version] = {
                entry["kind"]: (entry["name"], entry["namespaced"])
                for entry in self.get(base)["resources"]
                if "/" not in entry["name"]
            }
        name, namespaced = self._resources[version][kind]
        if not namespaced:
            return f"{base}/{name}"
        return f"{base}/namespaces/{document.get('metadata', {}).get('namespace', 'default')}/{name}"

    def path(self, document: Mapping[str, Any]) -> str:
        """Return the path of one object."""
        return f"{self.collection(document)}/{quote(document['metadata']['name'], safe='')}"

    def request(self, method: str, path: str, body: Any = None, content: str = "application/json") -> Any:
        """Ask once and return the answer, decoded if it is JSON; raise ApiError if refused."""
        data = None if body is None else json.dumps(body).encode()
        status, kind, answer = self._exchange(method, path, data, {**self._headers, "Content-Type": content})
        decoded = json.loads(answer) if kind.startswith("application/json") else answer.decode()
        if status >= 400:
            message = decoded.get("message") if isinstance(decoded, dict) else decoded
            raise ApiError(status, f"{method} {path}: {message}")
        return decoded

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _exchange(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, str, bytes]:
        """Use an idle connection first: one that the server has closed meanwhile costs a second try."""
        with suppress(IndexError):
            idle = self._idle.pop()
            with suppress(ConnectionError, ssl.SSLEOFError):
                return self._ask(idle, method, path, data, headers)
        fresh = http.client.HTTPSConnection(self._address, context=self._context, timeout=REQUEST_SECONDS_MAX)
        return self._ask(fresh, method, path, data, headers)

    def _ask(
        self,
        connection: http.client.HTTPSConnection,
        method: str,
        path: str,
        data: bytes | None,
        headers: Mapping[str, str],
    ) -> tuple[int, str, bytes]:
        try:
            connection.request(method, path, body=data, headers=dict(headers))
            answer = connection.getresponse()
            content = answer.read()
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return answer.status, answer.headers.get("Content-Type", ""), content

    def each(self, work: Callable[[Any], Any], subjects: Iterable[Any], threads: int = THREADS) -> list[Any]:
        """Do one thing to many subjects, several at a time; the answers come in the order of the subjects."""
        waiting: Sequence[Any] = list(subjects)
        if not waiting:
            return []
        with ThreadPoolExecutor(min(threads, len(waiting))) as pool:
            return list(pool.map(work, waiting))
