"""Clusters as CSV: a table of nodes and a table of workloads, told apart by their columns.

Nodes:     name, cpu, memory, ephemeral-storage, pods, gpu, model, group, domain, state, and any column whose
           name is a qualified resource (`example.com/licences`)
Workloads: name, namespace, cpu, memory, ephemeral-storage, gpu, node, state, replicas, priority, owner,
           memory-limit, cpu-limit, and qualified resources

Only `name` must be there. A table is one of workloads if it has a column that only workloads have, else one
of nodes; a file called nodes.csv or workloads.csv is what it is called. Amounts are quantities (`500m`,
`16Gi`). The columns of the openb trace are read too.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, get_args

from ullage.engine.requests import with_defaults
from ullage.model.checks import check_snapshot, unique
from ullage.model.cluster import DEFAULT_GROUP, Device, Node, NodeState, Snapshot, Workload, WorkloadState
from ullage.model.errors import InputError
from ullage.model.resources import NOTHING, Resources, ResourceTypes
from ullage.sources import openb
from ullage.sources.csv_rows import Line, read_header, read_lines
from ullage.sources.input_files import InputFile
from ullage.sources.places import one_line

GPU: Final = "nvidia.com/gpu"
PROFILE: Final = "kubernetes"
AMOUNTS: Final = ("cpu", "memory", "ephemeral-storage", "pods")
WORKLOADS_ONLY: Final = frozenset(
    {"namespace", "node", "replicas", "priority", "owner", "memory-limit", "cpu-limit"}
)
GPUS_MAX: Final = 1024
REPLICAS_MAX: Final = 1_000_000
_TYPES: Final = ResourceTypes()


class CsvSource:
    """The CSV files of one cluster, read already."""

    def __init__(self, name: str, files: Iterable[InputFile]) -> None:
        self._name = name
        self._files = tuple(files)

    @property
    def name(self) -> str:
        """The name of the file or folder."""
        return self._name

    @property
    def profile(self) -> str:
        """The built-in policy that a plain table means."""
        return PROFILE

    def read(self) -> Snapshot:
        """Return the cluster that the tables describe together."""
        return csv_snapshot(self._files, self._name)


def is_table(file: InputFile) -> bool:
    """Whether a file is a table that this source reads, by the names of its columns."""
    try:
        columns = set(read_header(file.data, file.name))
    except InputError:
        return False
    return columns >= openb.NODE_COLUMNS or ("name" in columns and len(columns) > 1)


def csv_snapshot(files: Iterable[InputFile], name: str = "") -> Snapshot:
    """Return the cluster of all tables of nodes and of workloads."""
    nodes: list[Node] = []
    workloads: list[Workload] = []
    unknowns: tuple[str, ...] = ()
    for file in files:
        columns = set(read_header(file.data, file.name))
        if columns >= openb.NODE_COLUMNS:
            nodes += map(openb.read_node, read_lines(file.data, file.name))
        elif columns >= openb.POD_COLUMNS:
            workloads += map(openb.read_pod, read_lines(file.data, file.name))
            unknowns = (openb.UNPLACED,)
        elif _is_workloads(columns, file.name):
            _check_columns(file, columns, workloads=True)
            workloads += _workloads(read_lines(file.data, file.name))
        else:
            _check_columns(file, columns, workloads=False)
            nodes += map(_node, read_lines(file.data, file.name))
    try:
        snapshot = Snapshot(
            name=name,
            nodes=unique(nodes, "node"),
            workloads=unique(workloads, "workload"),
            unknowns=unknowns,
        )
        return check_snapshot(snapshot)
    except InputError as error:
        raise error.at(name) if name else error from None


def _is_workloads(columns: set[str], source: str) -> bool:
    stem = Path(source).stem.lower()
    if stem in {"nodes", "workloads"}:
        return stem == "workloads"
    return bool(columns & WORKLOADS_ONLY)


def _check_columns(file: InputFile, columns: set[str], *, workloads: bool) -> None:
    """Refuse a table without names, and a column that would be passed over in silence."""
    known = {"name", "gpu", "state", *AMOUNTS}
    known |= WORKLOADS_ONLY if workloads else {"model", "group", "domain"}
    if "name" not in columns:
        raise InputError("no column 'name'", where=f"{file.name}:1", remedy=f"name it; {_known(known)}")
    for column in sorted(columns - known):
        if "/" not in column:
            raise InputError(
                f"column {one_line(column)[:40]!r} is unknown", where=f"{file.name}:1", remedy=_known(known)
            )


def _known(columns: set[str]) -> str:
    return f"known are {', '.join(sorted(columns))} and qualified resource names"


def _node(line: Line) -> Node:
    name = line.required("name")
    gpus = line.whole("gpu")
    if gpus > GPUS_MAX:
        raise line.error("gpu", f"{gpus} GPUs in one node", f"use at most {GPUS_MAX}")
    model = line.text("model")
    state: NodeState = _one_of(line, get_args(NodeState), "ready")
    return Node(
        name,
        _amounts(line),
        group=line.text("group", DEFAULT_GROUP),
        domain=line.text("domain"),
        state=state,
        labels={openb.MODEL_LABEL: model} if model else {},
        devices=tuple(Device(f"{name}-gpu{number}", GPU, model) for number in range(gpus)),
    )


def _workloads(lines: Iterable[Line]) -> Iterator[Workload]:
    for line in lines:
        name, node = line.required("name"), line.text("node")
        replicas = line.whole("replicas", 1)
        if replicas > REPLICAS_MAX:
            raise line.error("replicas", f"{replicas} replicas", f"use at most {REPLICAS_MAX}")
        if replicas > 1 and node:
            raise line.error("replicas", f"{replicas} replicas on one node", "give each its own line")
        limits = _limits(line)
        state: WorkloadState = _one_of(line, get_args(WorkloadState), "ok" if node else "init")
        workload = Workload(
            name,
            line.text("namespace"),
            node=node,
            state=state,
            requests=with_defaults(_amounts(line), limits, _TYPES),
            limits=limits,
            priority=_priority(line),
            owner=line.text("owner"),
        )
        yield from _replicas(workload, replicas)


def _replicas(workload: Workload, replicas: int) -> Iterator[Workload]:
    if replicas == 1:
        yield workload
        return
    for number in range(replicas):
        yield Workload(
            f"{workload.name}-{number}",
            workload.namespace,
            state=workload.state,
            requests=workload.requests,
            limits=workload.limits,
            priority=workload.priority,
            owner=workload.owner or workload.name,
        )


def _amounts(line: Line) -> Resources:
    """Return the amounts of a line: the short columns, `gpu`, and every qualified resource."""
    found: dict[str, int] = {}
    for column in line.fields:
        text = line.text(column)
        if text and (column in AMOUNTS or column == "gpu" or "/" in column):
            found |= _amount(line, column, GPU if column == "gpu" else column, text)
    return Resources(found)


def _limits(line: Line) -> Resources:
    found: dict[str, int] = {}
    for resource in ("cpu", "memory"):
        text = line.text(f"{resource}-limit")
        if text:
            found |= _amount(line, f"{resource}-limit", resource, text)
    return Resources(found) if found else NOTHING


def _amount(line: Line, column: str, resource: str, text: str) -> dict[str, int]:
    try:
        parsed = dict(_TYPES.parse({resource: text}))
    except InputError as error:
        raise line.error(column, error.what, error.remedy) from None
    if min(parsed.values()) < 0:
        raise line.error(column, f"{text} is negative", "use 0 or more")
    return parsed


def _priority(line: Line) -> int:
    text = line.text("priority")
    if not text.startswith("-"):
        return line.whole("priority")
    return -Line(line.source, line.number, {"priority": text[1:]}).whole("priority")


def _one_of(line: Line, words: tuple[str, ...], default: str) -> Any:
    state = line.text("state", default)
    if state not in words:
        raise line.error("state", f"{one_line(state)[:40]!r} is no state", f"use {', '.join(words)}")
    return state
