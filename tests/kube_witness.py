"""A witness of all that happens to the pods of a test cluster: every state is checked, not only the last.

It watches the API server itself, beside any proxy, from a thread of its own, and goes on where it was when a
watch has ended. The hard thing is to miss nothing: every event counts; where an API server has started anew
and does not know what was before, all is listed, and whoever is no longer there is counted as gone.
"""

import http.client
import json
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Self
from urllib.parse import urlsplit

from plane.plane import Plane

AGAIN_SECONDS = 0.05
READ_SECONDS_MAX = 5
MILLI = 1000

Limits = Mapping[str, int]
"""The most cpu, in thousandths, of a namespace or a node."""


class Witness:
    """Looks at all pods; a context, at whose end whatever was wrong at any moment is told."""

    def __init__(self, plane: Plane, *, nodes: Limits, namespaces: Limits) -> None:
        self._plane = plane
        self._nodes = dict(nodes)
        self._namespaces = dict(namespaces)
        self._pods: dict[str, dict[str, Any]] = {}
        self._revision = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="witness")
        self.wrong: list[str] = []
        self.gone: list[str] = []
        self.bound: list[tuple[str, str]] = []
        """Pods and their nodes in the order in which they were bound."""

    def __enter__(self) -> Self:
        self._list()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        assert not self.wrong, self.wrong[:10]

    def wait(self, holds: Callable[[], bool], what: str, seconds: float) -> None:
        """Return as soon as something holds of what was seen."""
        began = time.monotonic()
        while not holds():
            assert not self.wrong, self.wrong[:10]
            assert time.monotonic() - began < seconds, f"not so after {seconds} s: {what}"
            time.sleep(AGAIN_SECONDS)

    @property
    def pods(self) -> dict[str, dict[str, Any]]:
        """All pods as they are now."""
        return dict(self._pods)

    def free_milli(self) -> dict[str, int]:
        """Return the cpu that is left on each node."""
        used = self._used(lambda pod: pod["spec"]["nodeName"])
        return {name: room - used[name] for name, room in self._nodes.items()}

    def used_milli(self, namespace: str) -> int:
        """Return the cpu that the pods of a namespace use."""
        return self._used(lambda pod: pod["metadata"]["namespace"])[namespace]

    def _used(self, by: Callable[[dict[str, Any]], str]) -> Counter[str]:
        used: Counter[str] = Counter()
        for pod in self._pods.copy().values():
            if pod["spec"].get("nodeName") and pod["status"].get("phase") not in {"Succeeded", "Failed"}:
                used[by(pod)] += cpu_milli(pod)
        return used

    # In the thread

    def _run(self) -> None:
        while not self._stopped.is_set():
            with suppress(OSError, http.client.HTTPException):
                if not self._revision:
                    self._list()
                self._watch()
            time.sleep(AGAIN_SECONDS)

    def _list(self) -> None:
        listed = self._plane.get("/api/v1/pods")
        found = {key_of(each): each for each in listed["items"]}
        for key in self._pods.keys() - found.keys():
            del self._pods[key]
            self.gone.append(key)
        for each in found.values():
            self._put(each)
        self._revision = listed["metadata"]["resourceVersion"]
        self._check()

    def _watch(self) -> None:
        where = urlsplit(self._plane.server)
        context = ssl.create_default_context(cafile=str(self._plane.folder / "apiserver.crt"))
        connection = http.client.HTTPSConnection(where.netloc, context=context, timeout=READ_SECONDS_MAX)
        try:
            target = f"/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion={self._revision}"
            connection.request("GET", target, headers={"Authorization": f"Bearer {self._plane.token()}"})
            answer = connection.getresponse()
            while not self._stopped.is_set() and answer.status == http.client.OK:
                line = answer.readline()
                if not line.endswith(b"\n"):
                    return
                self._take(json.loads(line))
        finally:
            connection.close()

    def _take(self, event: Mapping[str, Any]) -> None:
        pod = event["object"]
        if event["type"] == "ERROR":
            self._revision = ""
            return
        self._revision = pod["metadata"]["resourceVersion"]
        if event["type"] == "BOOKMARK":
            return
        if event["type"] == "DELETED":
            self._pods.pop(key_of(pod), None)
            self.gone.append(key_of(pod))
        else:
            self._put(pod)
        self._check()

    def _put(self, pod: dict[str, Any]) -> None:
        key, node = key_of(pod), pod["spec"].get("nodeName", "")
        before = self._pods.get(key)
        same = before is not None and before["metadata"]["uid"] == pod["metadata"]["uid"]
        known = before["spec"].get("nodeName", "") if before is not None and same else ""
        if known and node != known:
            self.wrong.append(f"{key} was on {known} and is on {node}")
        if node and not known:
            self.bound.append((key, node))
        self._pods[key] = pod

    def _check(self) -> None:
        """Look whether anything is beyond what it may be at this moment."""
        for name, left in self.free_milli().items():
            if left < 0:
                self.wrong.append(f"node {name} has {-left} more than it holds")
        for name, most in self._namespaces.items():
            used = self.used_milli(name)
            if used > most:
                self.wrong.append(f"namespace {name} uses {used} where {most} is the most")


def key_of(pod: Mapping[str, Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def cpu_milli(pod: Mapping[str, Any]) -> int:
    """Return the cpu that a pod asks for: as `100m`, or as whole cores."""
    asked = [each["resources"].get("requests", {}).get("cpu", "0") for each in pod["spec"]["containers"]]
    return sum(int(each[:-1]) if each.endswith("m") else int(each) * MILLI for each in asked)
