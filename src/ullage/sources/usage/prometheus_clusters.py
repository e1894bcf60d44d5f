"""One cluster of a Prometheus that may hold several (Thanos, Mimir, VictoriaMetrics), by a label.

Pods and nodes of two clusters may have the same names, and nothing else tells them apart. So whoever asks
says which cluster is meant (`?match=cluster=blue`), and that stands in every selector of every query. The
hard thing is who does not say it: where series of what we read differ in a label that usually names a
cluster, also where only some have it, nothing is read at all.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ullage.model.errors import InputError
from ullage.sources.places import one_line, shown
from ullage.sources.usage.prometheus_answers import ask_values
from ullage.sources.usage.prometheus_parts import Window, quoted
from ullage.sources.usage.prometheus_queries import CLUSTER, SEEN_ALWAYS
from ullage.sources.usage.prometheus_server import Asked, Reply, TooMuchError

LABELS: Final = ("cluster", "cluster_name", "k8s_cluster", "k8s_cluster_name", "kubernetes_cluster")
"""How clusters are told apart; by another label only who says so."""
SHOWN_MAX: Final = 5
_REMEDY: Final = "say which is meant: prometheus:URL?match=LABEL=VALUE"
_MATCH: Final = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)=(~?)(.*)")


class OneCluster:
    """A server of which some series are meant: every query has a mark where their matchers belong."""

    def __init__(self, server: Asked, matchers: Sequence[str]) -> None:
        self._server = server
        self._matchers = "".join(f",{each}" for each in matchers)
        self.name = server.name

    def ask(self, path: str, query: Mapping[str, str]) -> Reply:
        """Return the answer to a query."""
        marked = {name: text.replace(CLUSTER, self._matchers) for name, text in query.items()}
        return self._server.ask(path, marked)


def meant_of(server: Asked, window: Window) -> OneCluster:
    """Return what a window says of a server."""
    said = map(_matcher, window.matches)
    return OneCluster(server, [f'{label}{operator}"{quoted(value)}"' for label, operator, value in said])


def require_one(server: OneCluster, window: Window) -> None:
    """Raise an InputError where a server holds several clusters, and the window does not say which."""
    said = {label for label, _, _ in map(_matcher, window.matches)}
    for label in LABELS:
        if label not in said:
            _require_one(server, label, window)


def _matcher(said: str) -> tuple[str, str, str]:
    """Return label, operator and value of `LABEL=VALUE` or `LABEL=~EXPRESSION`."""
    found = _MATCH.fullmatch(said)
    if found is None:
        raise InputError(f"{shown(said)!r} says nothing of a label", remedy="write ?match=cluster=blue")
    return found[1], f"={found[2]}", found[3]


def _require_one(server: OneCluster, label: str, window: Window) -> None:
    names = f'__name__=~"{"|".join(SEEN_ALWAYS)}"{CLUSTER}'
    times = window.first_seconds, window.last_seconds
    try:
        found = ask_values(server, label, f"{{{names}}}", *times)
        if len(found) == 1:
            having = set(ask_values(server, "__name__", f'{{{names},{label}!=""}}', *times))
            found += ["none"] * bool(
                having & {*ask_values(server, "__name__", f'{{{names},{label}=""}}', *times)}
            )
    except TooMuchError as error:
        raise InputError(
            f"it cannot say which clusters it has: {error}", where=server.name, remedy=_REMEDY
        ) from None
    if len(found) > 1:
        more = ", …" if len(found) > SHOWN_MAX else ""
        which = one_line(", ".join(found[:SHOWN_MAX]))
        raise InputError(
            f"it holds {len(found)} clusters, by the label {label}: {which}{more}",
            where=server.name,
            remedy=_REMEDY.replace("LABEL=VALUE", f"{label}={one_line(found[0])}"),
        )
