"""The sources of observations that are named by a word: `prometheus:URL`, `prometheus`, `metrics`, `host`.

Whoever answers others looks at none of them: they would let others ask in our name, of whatever we reach.
"""

import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from ullage.engine.usage.book import Samples
from ullage.model.cluster import Snapshot
from ullage.model.errors import InputError
from ullage.sources.given import is_giving
from ullage.sources.places import shown

PROMETHEUS: Final = "prometheus"
METRICS: Final = "metrics"
HOST: Final = "host"
NAMED: Final = (f"{PROMETHEUS}:URL", PROMETHEUS, METRICS, HOST)


class Reached(NamedTuple):
    """How a live cluster is reached, and which of its namespaces is meant."""

    context: str = ""
    kubeconfig: str = ""
    as_user: str = ""
    namespace: str = ""


def is_named(source: str) -> bool:
    """Whether a source is one of these, and no file."""
    return source.partition(":")[0].partition("?")[0] == PROMETHEUS or source in {METRICS, HOST}


def read_named(source: str, reached: Reached, snapshot: Snapshot | None = None) -> Iterator[Samples]:
    """Yield what a source has that `is_named`; nothing is asked before the first is wanted.

    Without an address, the Prometheus is looked for in the cluster. A window may be said behind it:
    `prometheus?window=2d`, `prometheus:http://host:9090?window=14d&step=5m`.
    """
    if is_giving():
        raise InputError(
            "is not looked at for others", where=shown(source), remedy="record it: ullage usage observe"
        )
    if source == HOST:
        from ullage.sources.usage.host_samples import read_host

        yield from read_host(snapshot)
    elif source == METRICS:
        from ullage.sources.usage.metrics_api import read_metrics_api

        yield from read_metrics_api(
            reached.context, reached.kubeconfig, as_user=reached.as_user, namespace=reached.namespace
        )
    elif source.startswith(f"{PROMETHEUS}:"):
        from ullage.sources.usage.prometheus import read_prometheus

        yield from read_prometheus(source.removeprefix(f"{PROMETHEUS}:"), snapshot=snapshot)
    else:
        from ullage.sources.kubernetes.kubeconfig import find_access
        from ullage.sources.usage.prometheus_discovery import read_discovered
        from ullage.sources.usage.prometheus_parts import window_of

        window = window_of(source.partition("?")[2], int(time.time()))
        access = find_access(reached.context, reached.kubeconfig)
        yield from read_discovered(access, window, snapshot, as_user=reached.as_user)
