"""Which node a series of a node is about: exporters know their address, and clusters know nodes by name.

A label `node` says it; else the host's own name (`node_uname_info`), the address of the node
(`kube_node_info`), and what stands before the port. Where the snapshot has one of these, that is it, also
where one of both names has its domain behind it. Node exporters run on other hosts too: where the cluster or
its kubelets say which nodes there were, what is none of these is left out.
"""

from typing import Final

from ullage.model.cluster import Snapshot
from ullage.sources.usage.prometheus_answers import Labels, ask_range
from ullage.sources.usage.prometheus_parts import MOMENTS, Window
from ullage.sources.usage.prometheus_queries import ALL, KUBELETS, NODE_INFO, UNAME
from ullage.sources.usage.prometheus_server import Asked, TooMuchError

NODES_MAX: Final = 1_000_000


class NodeNames:
    """The names of nodes by what series say of them."""

    def __init__(
        self, server: Asked, names: frozenset[str], window: Window, snapshot: Snapshot | None
    ) -> None:
        self._by_instance: dict[str, str] = {}
        self._by_address: dict[str, str] = {}
        known = [node.name for node in snapshot.nodes] if snapshot is not None else []
        self._known = {name.partition(".")[0]: name for name in reversed(known)} | {
            name: name for name in known
        }
        if UNAME in names:
            for labels in _seen(server, f"max by (instance, nodename) ({UNAME}{ALL})", window):
                self._by_instance[labels.instance] = labels.nodename
        if NODE_INFO in names:
            for labels in _seen(server, f"max by (node, internal_ip) ({NODE_INFO}{ALL})", window):
                self._by_address[labels.internal_ip] = labels.node
        self._told = frozenset(self._by_address.values())
        metric, query = KUBELETS
        if known and metric in names:
            self._told |= {name for labels in _seen(server, query, window) for name in self._said(labels)}

    def of(self, labels: Labels) -> str:
        """Return the name of a node; empty where nothing tells it, or it is none of the cluster."""
        said = self._said(labels)
        for name in said:
            known = self._known.get(name) or self._known.get(name.partition(".")[0])
            if known:
                return known
        is_other = bool(self._known and self._told) and self._told.isdisjoint(said)
        return "" if is_other or not said else said[0]

    def _said(self, labels: Labels) -> list[str]:
        """Return all that a node may be called, what goes before others first."""
        host = labels.instance.rpartition(":")[0] or labels.instance
        host = host.removeprefix("[").removesuffix("]")
        said = (
            labels.node,
            self._by_instance.get(labels.instance, ""),
            self._by_address.get(host, ""),
            labels.kubernetes_io_hostname,
            host,
        )
        return list(filter(None, said))


def _seen(server: Asked, query: str, window: Window) -> list[Labels]:
    """Return the labels of what was there at some moment of the window, the latest last."""
    first, last, step, _ = window
    coarse = max(step, (last - first) // MOMENTS // step * step)
    try:
        found = ask_range(server, query, first, last, coarse)
    except TooMuchError:
        return []
    if not len(found.numbers):
        return []
    ends: dict[int, float] = dict(zip(found.numbers.tolist(), found.seconds.tolist(), strict=True))
    return [found.labels[number] for number in sorted(ends, key=lambda each: (ends[each], each))]
