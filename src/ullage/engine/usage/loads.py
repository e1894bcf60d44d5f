"""How much memory each workload really uses, for balancing by load.

What counts of a workload or a node is the mean of its daily peaks over the last week in which it was
observed, with the peaks that the source noted between its looks. Those of workloads need not have met: where
their node noted its own, what they are above use counts, of each the same part, up to what the node shows.

What a node uses above its reserve and above its known workloads is used by those of which nothing is known,
in proportion to what they were promised; where all are known, by nobody, and it stays on the node. Where a
node was not observed either, they are taken to use what they were promised.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.columns import Columns
from ullage.engine.usage.book import Book, Stream
from ullage.engine.usage.homes import pod_subject
from ullage.engine.usage.levels import MISSING
from ullage.model.cluster import Snapshot, Workload
from ullage.model.usage import MAX_USAGE, USAGE

MEMORY: Final = "memory"
DAYS: Final = 7
MEASURED: Final = (USAGE, MAX_USAGE)
"""What was used at moments, and the most between them."""


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
        whole = None if book is None else _level(book, f"node/{node.name}", MEASURED)
        if whole is None and node.actual is not None and MEMORY in node.actual:
            whole = node.actual[MEMORY]
        reserve = 0 if column is None else int(columns.reserve[row, column])
        known: dict[str, int] = {}
        if book is not None:
            has_noted = whole is not None and bool(book.days(Stream(f"node/{node.name}", MEMORY, MAX_USAGE)))
            known = _known(book, there[node.name], max(0, (whole or 0) - reserve) if has_noted else None)
        seen += len(known)
        nodes += 1 if whole is not None else 0
        unknown = {
            each.key: columns.taken(each).of(MEMORY) for each in there[node.name] if each.key not in known
        }
        rest = None if whole is None else max(0, whole - reserve - sum(known.values()))
        found |= known | _shared(unknown, rest)
        beyond[node.name] = 0 if rest is None or any(unknown.values()) else rest
    return MemoryInUse(found, beyond, seen, nodes)


def _known(book: Book, workloads: Sequence[Workload], shown: int | None) -> dict[str, int]:
    """Return what workloads use; together, noted peaks raise it no further than what their node has shown."""
    used: dict[str, int] = {}
    noted: dict[str, int] = {}
    for each in workloads:
        most = _level(book, pod_subject(each), MEASURED)
        if most is not None:
            used[each.key] = min(most, _level(book, pod_subject(each), (USAGE,)) or 0)
            noted[each.key] = most - used[each.key]
    above = sum(noted.values())
    room = above if shown is None else min(above, max(0, shown - sum(used.values())))
    return {key: level + (noted[key] * room // above if above else 0) for key, level in used.items()}


def _shared(promises: Mapping[str, int], used: int | None) -> dict[str, int]:
    """Return what is used in proportion to promises; what is not known is all of them."""
    whole = sum(promises.values())
    if used is None or not whole:
        return dict(promises)
    return {key: promised * used // whole for key, promised in promises.items()}


def _level(book: Book, subject: str, measures: Sequence[str]) -> int | None:
    """Return the mean of the daily peaks of the last week, None where nothing was observed."""
    streams = [Stream(subject, MEMORY, each) for each in measures]
    days = sorted({day for stream in streams for day in book.days(stream)})[-DAYS:]
    peaks = [max(int(book.slots(stream, day, 1).max()) for stream in streams) for day in days]
    seen = [each for each in peaks if each != MISSING]
    return sum(seen) // len(seen) if seen else None
