"""A cluster for one test after the other: each finds it as it was when it was installed.

Starting a plane and installing on it takes five seconds of a processor, coming back to that moment a tenth of
one. Where a plane does not come back, because a test has left it without one of its parts or somebody goes on
writing, the next test has a new one.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Generic, Self, TypeVar

from kube_cluster import KubeCluster
from plane.rewinding import Moment

Cluster = TypeVar("Cluster", bound=KubeCluster)


class ClusterAnew(Generic[Cluster]):
    """A cluster that is made and started when it is needed; use it as a context."""

    def __init__(self, make: Callable[[], Cluster]) -> None:
        self._make = make
        self._stack = contextlib.ExitStack()
        self._kept: tuple[Cluster, Moment] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextlib.contextmanager
    def as_installed(self) -> Iterator[Cluster]:
        """Give a cluster to one test."""
        if self._kept is None:
            started = self._stack.enter_context(self._make())
            self._kept = started, started.plane.moment()
        cluster, installed = self._kept
        try:
            yield cluster
        finally:
            cluster.stop_processes()
            if not _came_back(installed):
                self._stack.close()
                self._kept = None


def _came_back(installed: Moment) -> bool:
    try:
        return installed.come_back()
    except OSError:  # etcd does not answer
        return False
