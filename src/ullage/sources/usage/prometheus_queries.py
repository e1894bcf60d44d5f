"""What is asked of a Prometheus: expressions for containers, nodes and events, by the names of exporters.

One line each in a table, with the names that must be there for it; of several ways to know the same, the
first one that is there counts, of nodes for each node by itself. The hard thing is series that are there
twice: a container that was restarted leaves its old series for a while, and some clusters scrape kubelets by
two jobs. So of each container the largest counts, after the processors of a series were summed.

Memory is the working set: what cannot be dropped. Its peak (maxusage) is the largest working set between two
points; `container_memory_max_usage_bytes` is not that, since it counts files in the page cache too.
Of a node it is all that is not available, which is what cannot be discarded there.
"""

from typing import Final, NamedTuple

from ullage.model.usage import MAX_USAGE, OOM_KILLS, RESTARTS, USAGE

RATE_SECONDS_MIN: Final = 120
"""Over how long a rate is taken at least: two scrapes a minute apart must lie in it."""
CONTAINERS: Final = "containers"
NODES: Final = "nodes"
EVENTS: Final = "events"
CLUSTER: Final = "§"
"""Stands in each selector where the matchers of one cluster belong; no expression is asked with it."""
COUNTERS: Final = "counters"

_CPU: Final = "container_cpu_usage_seconds_total"
_WORKING_SET: Final = "container_memory_working_set_bytes"
_RESIDENT: Final = "container_memory_rss"
_NODE_CPU: Final = "node_cpu_seconds_total"
_TOTAL: Final = "node_memory_MemTotal_bytes"
_AVAILABLE: Final = "node_memory_MemAvailable_bytes"
_RESTARTS: Final = "kube_pod_container_status_restarts_total"
_REASON: Final = "kube_pod_container_status_last_terminated_reason"
_EVENTS: Final = "container_oom_events_total"
_BY_CONTAINER: Final = "max by (namespace, pod, container)"
_BY_NODE: Final = "max by (instance, node, kubernetes_io_hostname)"
_MEANT: Final = f'container!="",container!="POD",pod!=""{CLUSTER}'
_WORK: Final = f'mode!~"idle|iowait|steal"{CLUSTER}'
ALL: Final = f'{{job=~".*"{CLUSTER}}}'
"""Of a name, all series of the cluster."""
SEEN_ALWAYS: Final = (_CPU, _WORKING_SET, _NODE_CPU, _TOTAL)
"""What every cluster has, as far as it is observed."""


class Query(NamedTuple):
    """One expression: @ stands for more matchers, {step} and {rate} for seconds; values times `scale`.

    `counted` is what is counted to know how many series there are.
    """

    what: str
    resource: str
    measure: str
    needs: tuple[str, ...]
    expression: str
    counted: str
    scale: int = 1

    def text(self, matchers: str, step_seconds: int) -> str:
        """Return the expression for some pods or nodes."""
        rate = max(step_seconds, RATE_SECONDS_MIN)
        text = self.expression.replace("{step}", f"{step_seconds}s").replace("{rate}", f"{rate}s")
        return with_matchers(text, matchers)


def with_matchers(text: str, matchers: str) -> str:
    """Return an expression for what some matchers mean."""
    return text.replace("@", f",{matchers}" if matchers else "")


def _container(name: str) -> str:
    return f"{name}{{{_MEANT}@}}"


def _of_containers(resource: str, measure: str, name: str, inner: str, scale: int = 1) -> Query:
    expression = f"{_BY_CONTAINER} ({inner.replace('#', _container(name))})"
    return Query(CONTAINERS, resource, measure, (name,), expression, _container(name), scale)


def _root(name: str) -> str:
    return f'{name}{{id="/"{CLUSTER}}}'


_NODE_MEMORY: Final = f"{_TOTAL}{ALL} -"
_CHANGED: Final = f"({_container(_RESTARTS)} - {_container(_RESTARTS)} offset {{step}} > 0)"
_ENDED: Final = f'{_REASON}{{reason="OOMKilled",{_MEANT}@}} == 1'

QUERIES: Final = (
    (_of_containers("cpu", USAGE, _CPU, "sum without (cpu) (rate(#[{rate}]))", 1000),),
    (
        _of_containers("memory", USAGE, _WORKING_SET, "#"),
        _of_containers("memory", USAGE, _RESIDENT, "#"),
    ),
    (
        _of_containers("memory", MAX_USAGE, _WORKING_SET, "max_over_time(#[{step}])"),
        _of_containers("memory", MAX_USAGE, _RESIDENT, "max_over_time(#[{step}])"),
    ),
    (
        Query(
            NODES, "cpu", USAGE, (_NODE_CPU,),
            f"{_BY_NODE} (sum without (cpu, mode) (rate({_NODE_CPU}{{{_WORK}}}[{{rate}}])))",
            f'{_NODE_CPU}{{mode="idle"{CLUSTER}}}', 1000,
        ),
        Query(
            NODES, "cpu", USAGE, (_CPU,),
            f"{_BY_NODE} (sum without (cpu) (rate({_root(_CPU)}[{{rate}}])))", _root(_CPU), 1000,
        ),
    ),
    (
        Query(
            NODES, "memory", USAGE, (_TOTAL, _AVAILABLE),
            f"{_BY_NODE} ({_NODE_MEMORY} {_AVAILABLE}{ALL})", _TOTAL + ALL,
        ),
        Query(
            NODES, "memory", USAGE, (_WORKING_SET,),
            f"{_BY_NODE} ({_root(_WORKING_SET)})", _root(_WORKING_SET),
        ),
    ),
    (
        Query(
            NODES, "memory", MAX_USAGE, (_TOTAL, _AVAILABLE),
            f"{_BY_NODE} ({_NODE_MEMORY} min_over_time({_AVAILABLE}{ALL}[{{step}}]))",
            _TOTAL + ALL,
        ),
        Query(
            NODES, "memory", MAX_USAGE, (_WORKING_SET,),
            f"{_BY_NODE} (max_over_time({_root(_WORKING_SET)}[{{step}}]))", _root(_WORKING_SET),
        ),
    ),
    (Query(EVENTS, RESTARTS, USAGE, (_RESTARTS,), f"{_BY_CONTAINER} {_CHANGED}", _container(_RESTARTS)),),
    (
        Query(
            EVENTS, OOM_KILLS, USAGE, (_RESTARTS, _REASON),
            f"{_BY_CONTAINER} {_CHANGED} and {_BY_CONTAINER} ({_ENDED})", _container(_RESTARTS),
        ),
        Query(
            EVENTS, OOM_KILLS, USAGE, (_EVENTS,),
            f"{_BY_CONTAINER} ({_container(_EVENTS)} - {_container(_EVENTS)} offset {{step}} > 0)",
            _container(_EVENTS),
        ),
    ),
)  # fmt: skip
"""What is known in ways of which the first counts that is there, of nodes for each node by itself."""
KUBELETS: Final = (_WORKING_SET, f"{_BY_NODE} ({_root(_WORKING_SET)})")
"""What every kubelet tells of its node."""

UNAME: Final = "node_uname_info"
NODE_INFO: Final = "kube_node_info"
NAMES: Final = tuple(
    sorted({name for ways in QUERIES for way in ways for name in way.needs} | {UNAME, NODE_INFO})
)
"""All that is asked for, in order."""


def chosen(names: frozenset[str]) -> list[Query]:
    """Return what can be asked where these names are there: of nodes all ways, as nodes may differ."""
    found: list[Query] = []
    for ways in QUERIES:
        able = [way for way in ways if names.issuperset(way.needs)]
        found += able if ways[0].what == NODES else able[:1]
    return found
