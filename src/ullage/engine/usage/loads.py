"""How much memory each workload really uses, for balancing by load.

What counts of a workload or a node is the mean of its daily peaks over the last week in which it was
observed. What a node uses above its reserve and above its known workloads is used by those of which nothing
is known, in proportion to what they were promised; where all are known, by nobody, and it stays on the node.
Where a node was not observed either, they are taken to use what they were promised.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.columns import Columns
from ullage.engine.usage.book import Book, Stream
from ullage.engine.usage.homes import pod_subject
from ullage.engine.usage.levels import MISSING
from ullage.model.cluster import Snapshot, Workload

MEMORY: Final = "memory"
DAYS: Final = 7


class MemoryInUse(NamedTuple):
    """Bytes that are used by workloads and beside them on nodes, and how many of each were observed."""

    workloads: Mapping[str, int]
    beyond: Mapping[str, int]
    observed_workloads: int
    observed_nodes: int


def memory_in_use(snapshot: Snapshot, book: Book | None) -> MemoryInUse:
    """Return what is used; without a book, by what the source says of nodes."""
    columns = Columns(snapshot)
    column = columns.resource_index.get(MEMORY)
    there: dict[str, list[Workload]] = {node.name: [] for node in columns.nodes}
    for workload in snapshot.workloads:
        if workload.holds_capacity and workload.node in there:
            there[workload.node].append(workload)
    found: dict[str, int] = {}
    beyond: dict[str, int] = {}
    seen = nodes = 0
    for row, node in enumerate(columns.nodes):
        whole = None if book is None else _level(book, f"node/{node.name}")
        if whole is None and node.actual is not None and MEMORY in node.actual:
            whole = node.actual[MEMORY]
        reserve = 0 if column is None else int(columns.reserve[row, column])
        known: dict[str, int] = {} if book is None else _known(book, there[node.name])
        seen += len(known)
        nodes += 1 if whole is not None else 0
        unknown = {
            each.key: columns.taken(each).of(MEMORY) for each in there[node.name] if each.key not in known
        }
        rest = None if whole is None else max(0, whole - reserve - sum(known.values()))
        found |= known | _shared(unknown, rest)
        beyond[node.name] = 0 if rest is None or any(unknown.values()) else rest
    return MemoryInUse(found, beyond, seen, nodes)


def _known(book: Book, workloads: Sequence[Workload]) -> dict[str, int]:
    levels = ((each.key, _level(book, pod_subject(each))) for each in workloads)
    return {key: level for key, level in levels if level is not None}


def _shared(promises: Mapping[str, int], used: int | None) -> dict[str, int]:
    """Return what is used in proportion to promises; what is not known is all of them."""
    whole = sum(promises.values())
    if used is None or not whole:
        return dict(promises)
    return {key: promised * used // whole for key, promised in promises.items()}


def _level(book: Book, subject: str) -> int | None:
    """Return the mean of the daily peaks of the last week, None where nothing was observed."""
    stream = Stream(subject, MEMORY)
    peaks = [int(book.slots(stream, day, 1).max()) for day in book.days(stream)[-DAYS:]]
    seen = [each for each in peaks if each != MISSING]
    return sum(seen) // len(seen) if seen else None
