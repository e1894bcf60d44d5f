"""Whether what was observed is of this cluster at all: who is asked about another one finds nothing wrong.

Only nodes, pods and containers tell: all else is made of them, or named alike in every cluster.
"""

from typing import Final

from ullage.engine.columns import Columns
from ullage.engine.usage.book import Book
from ullage.engine.usage.homes import NO_NAMESPACE
from ullage.model.usage import kind_of
from ullage.model.verdict import Finding

KINDS: Final = frozenset(("node", "pod", "container"))


def stranger_findings(columns: Columns, book: Book) -> list[Finding]:
    """Return that nothing which was observed can be judged by, where that is so."""
    streams = book.streams()
    if not any(book.figures(stream).points for stream in streams):
        message = "nothing usable was observed: all points were dropped, so use was not judged"
        return [Finding("usage-none", "warning", "cluster", message, "see that the source has values")]
    if any(_is_here(columns, stream.subject) for stream in streams):
        return []
    message = "nothing that was observed is of a node or a pod of this cluster, so use was not judged"
    return [Finding("usage-none", "warning", "cluster", message, "name the --usage of this cluster")]


def _is_here(columns: Columns, subject: str) -> bool:
    kind, _, name = subject.partition("/")
    if kind_of(subject) not in KINDS:
        return False
    if kind == "node":
        return name in columns.node_index
    key = name.rpartition("/")[0] if kind == "container" else name
    return key.removeprefix(f"{NO_NAMESPACE}/") in columns.snapshot.workloads
