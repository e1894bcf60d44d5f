"""What comes with a question, taken apart: a policy, resource types, a catalog, a trace, and workloads.

On a command line each is a file of its own. Sent in one piece they are told apart by their kind: documents of
JSON one after the other, or of YAML with `---` between them. The hard thing is that complaints name lines: so
a part is the whole text in which everything else is blank.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from ullage.model.errors import InputError

WORKLOADS: Final = "-"
"""The rest, which is what `-f -` reads: workloads, and what comes with them."""
POLICY: Final = "policy"
TYPES: Final = "types"
CATALOG: Final = "catalog"
TRACE: Final = "trace"
QUOTAS: Final = "quotas"
PRICES: Final = "prices"
COUNTERS: Final = "counters"
"""Readings of counters, as a table."""
CLUSTER: Final = "other"
"""Another cluster, to be compared with."""
PART_OF_KIND: Final[Mapping[str, str]] = MappingProxyType(
    {"Policy": POLICY, "ResourceTypes": TYPES, "Catalog": CATALOG, "Trace": TRACE, "PriceList": PRICES}
)
_OWN: Final = "ullage.dev/"
_MARK: Final = re.compile(rb"^---(?=\s|$)", re.MULTILINE)
_NAMES_ONE: Final = re.compile(rb"""["']?kind["']?\s*:\s*["']?(?:%s)\b""" % "|".join(PART_OF_KIND).encode())
_CELL: Final = rb'"?[\w][\w./ -]*"?'
_TABLE: Final = re.compile(
    rb"(?:---[^\S\n]*\n)?\s*(?:\xef\xbb\xbf)?((?:%s,)+(?:%s)?[^\S\n]*(?:\n|\Z))" % (_CELL, _CELL)
)
"""The first line of a table, which is no document: names of columns between commas."""
_INK: Final = re.compile(rb"[^\r\n]")
DOCUMENTS_MAX: Final = 1000


def parts_of(body: bytes, takes: Collection[str]) -> dict[str, bytes]:
    """Return the parts of a body by name; what a question does not take is refused.

    What no kind tells apart is the rest, under the last name that the question takes.
    """
    if not body.strip():
        return {}
    rest = list(takes)[-1]
    if not _NAMES_ONE.search(body) and QUOTAS not in takes:
        return {rest: body}
    tables = next((name for name in (COUNTERS, TRACE) if name in takes), "")
    places: dict[str, list[tuple[int, int]]] = {}
    for start, end in _documents(body):
        table = _TABLE.match(body, start, end) if tables else None
        if table is not None:
            places.setdefault(tables, []).append((table.start(1), end))
            continue
        name = _part(body[start:end], takes) or rest
        if name not in takes:
            kind = next(kind for kind, part in PART_OF_KIND.items() if part == name)
            raise InputError(f"a {kind} has no part in this question", remedy="leave it out")
        places.setdefault(name, []).append((start, end))
    return {name: _only(body, spans) for name, spans in places.items()}


def _documents(body: bytes) -> Iterator[tuple[int, int]]:
    """Yield where documents begin and end."""
    from ullage.sources.json_text import looks_like_json, value_end, value_start

    count = 0
    if looks_like_json(body):
        start = value_start(body, 0)
        while start < len(body):
            end = value_end(body, start, "standard input")
            count = _counted(count)
            yield start, end
            start = end
        return
    marks = [each.start() for each in _MARK.finditer(body)]
    bounds = [*([] if marks[:1] == [0] else [0]), *marks, len(body)]
    for start, end in pairwise(bounds):
        if body[start:end].strip(b"- \t\r\n"):
            count = _counted(count)
            yield start, end


def _counted(count: int) -> int:
    if count >= DOCUMENTS_MAX:
        raise InputError(f"more than {DOCUMENTS_MAX} documents", remedy="put the objects into one List")
    return count + 1


def _part(document: bytes, takes: Collection[str]) -> str:
    """Return the part that a document is by its kind; nothing where its kind does not say.

    Quotas are a part where they may be other than the cluster's own; elsewhere they come with workloads.
    """
    from ullage.sources.documents import documents_of
    from ullage.sources.own_format import is_own, read_header
    from ullage.sources.quota_documents import is_quota_document

    for each in documents_of(document, "standard input"):
        if QUOTAS in takes and is_quota_document(each):
            return QUOTAS
        header = read_header(each)
        return PART_OF_KIND.get(header.kind or "", "") if is_own(header) else ""
    return ""


def _only(body: bytes, spans: list[tuple[int, int]]) -> bytes:
    """Return a text of which only some places are there; lines and columns are as they were."""
    found, last = [], 0
    for start, end in spans:
        found += [_INK.sub(b" ", body[last:start]), body[start:end]]
        last = end
    return b"".join((*found, _INK.sub(b" ", body[last:])))
