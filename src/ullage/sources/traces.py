"""Traces: workloads with the second at which each comes and how long it would run.

As a document of kind Trace, whose workloads are those of a WorkloadSet with `startSeconds`, `durationSeconds`
and `leavesSeconds`; or as a table with the columns name, namespace, start, duration, cpu, memory, gpu,
priority, replicas, gang and any qualified resource. Where no duration is given a workload runs on. The column
gang says whether replicas are one, or names the gang of all rows that come together under that name.

The pods of the openb trace are read too. It has no namespaces: the class of service (`qos`) stands for one. A
pod ran from being scheduled, or where it never was from being created, to its deletion.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ullage.engine.quota.events import Arrival
from ullage.engine.requests import with_defaults
from ullage.model.cluster import Workload
from ullage.model.errors import InputError
from ullage.model.resources import NOTHING, Resources, ResourceTypes
from ullage.sources import openb
from ullage.sources.csv_rows import Line, read_header, read_lines
from ullage.sources.documents import Document, documents_of
from ullage.sources.given import given, is_there
from ullage.sources.input_files import InputFile, folder_files, read_files
from ullage.sources.json_text import looks_like_json
from ullage.sources.limits import DEFAULT_LIMITS
from ullage.sources.own_format import is_own
from ullage.sources.own_format import read_header as read_document_header
from ullage.sources.own_hooks import reading_hook
from ullage.sources.own_records import TraceDocument, TraceEntry, TypesHeader
from ullage.sources.own_workloads import batch_of
from ullage.sources.places import one_line

KIND: Final = "Trace"
GPU: Final = "nvidia.com/gpu"
AMOUNTS: Final = ("cpu", "memory", "ephemeral-storage", "pods", "gpu")
COLUMNS: Final = frozenset(
    {"name", "namespace", "start", "duration", "priority", "replicas", "gang", *AMOUNTS}
)
SNAPSHOTS_MAX: Final = 1000
WORKLOADS_MAX: Final = 200_000
REPLICAS_MAX: Final = 100_000
SECONDS_MAX: Final = 1 << 40
TRUE: Final = frozenset({"true", "yes", "1"})
FALSE: Final = frozenset({"", "false", "no", "0"})
BY_QOS: Final = "namespaces of the openb trace, which has none: its classes of service stand for them"


class Trace(NamedTuple):
    """Who comes when, and what the trace does not say."""

    arrivals: tuple[Arrival, ...]
    notes: tuple[str, ...] = ()


def trace_of(path: str, types: ResourceTypes) -> Trace | None:
    """Return the trace that a file is; None where it is something else, as a snapshot."""
    if path == "-" or not is_there(path) or (given(path) is None and not Path(path).is_file()):
        return None
    (file,) = read_files(path, DEFAULT_LIMITS)
    if not looks_like_json(file.data) and _is_table(file):
        return _table(file, types)
    if KIND.encode() not in file.data[: 1 << 16]:
        return None
    documents = [each for each in documents_of(file.data, file.name) if _is_trace(each)]
    if not documents:
        return None
    if len(documents) > 1:
        raise InputError(f"{len(documents)} traces", where=file.name, remedy="keep one in a file")
    return Trace(_checked(_entries(documents[0], types), file.name))


def record_files(paths: Iterable[str]) -> list[str]:
    """Return the files of a record in order: those of a folder by name, others as they were given."""
    found: list[str] = []
    for path in paths:
        found += folder_files(path, DEFAULT_LIMITS) if Path(path).is_dir() else [path]
    if len(found) > SNAPSHOTS_MAX:
        raise InputError(f"{len(found)} snapshots", remedy=f"use at most {SNAPSHOTS_MAX}")
    return found


def _is_trace(document: Document) -> bool:
    header = read_document_header(document)
    return is_own(header) and header.kind == KIND


def _is_table(file: InputFile) -> bool:
    try:
        columns = set(read_header(file.data, file.name))
    except InputError:
        return False
    return columns >= openb.POD_COLUMNS or columns >= {"name", "start"}


def _entries(document: Document, types: ResourceTypes) -> Iterator[Arrival]:
    document.reject_duplicate_keys()
    own = document.decode(msgspec.json.Decoder(TypesHeader, dec_hook=reading_hook(types))).resource_types
    both = ResourceTypes({each.name: each for each in (*types.added(), *own.added())}.values())
    read = document.decode(msgspec.json.Decoder(TraceDocument, dec_hook=reading_hook(both)))
    for position, entry in enumerate(read.workloads):
        try:
            batch = batch_of(entry, both)
            _check_times(entry)
            arrival = Arrival(
                batch.workload,
                entry.start_seconds,
                entry.duration_seconds,
                leaves_seconds=entry.leaves_seconds,
            )
            yield from _replicas(arrival, batch.replicas, gang=batch.atomic)
        except InputError as error:
            raise error.at(document.where(("workloads", position))) from None


def _check_times(entry: TraceEntry) -> None:
    times = (entry.start_seconds, entry.duration_seconds, entry.leaves_seconds)
    if any(time is not None and not 0 <= time <= SECONDS_MAX for time in times):
        raise InputError("a time is negative or too large", remedy=f"use 0 to {SECONDS_MAX} seconds")
    if entry.leaves_seconds is not None and entry.leaves_seconds < entry.start_seconds:
        raise InputError("it leaves before it comes", remedy="use a later leavesSeconds")


def _table(file: InputFile, types: ResourceTypes) -> Trace:
    columns = set(read_header(file.data, file.name))
    lines = read_lines(file.data, file.name)
    if columns >= openb.POD_COLUMNS:
        return Trace(_checked(map(_openb, lines), file.name), (BY_QOS,))
    for column in sorted(columns - COLUMNS):
        if "/" not in column:
            known = ", ".join(sorted(COLUMNS))
            raise InputError(
                f"column {one_line(column)[:40]!r} is unknown",
                where=f"{file.name}:1",
                remedy=f"known are {known} and qualified resource names",
            )
    return Trace(_checked((each for line in lines for each in _row(line, types)), file.name))


def _row(line: Line, types: ResourceTypes) -> Iterator[Arrival]:
    requests = _amounts(line, types)
    workload = Workload(
        line.required("name"),
        line.text("namespace"),
        state="init",
        requests=with_defaults(requests, NOTHING, types),
        priority=_signed(line, "priority"),
    )
    gang = line.text("gang")
    if gang.lower() not in TRUE | FALSE:
        workload = msgspec.structs.replace(workload, gang=gang)
    duration = _seconds(line, "duration") if line.text("duration") else None
    yield from _replicas(
        Arrival(workload, _seconds(line, "start"), duration),
        line.whole("replicas", 1),
        gang=gang.lower() in TRUE,
    )


def _openb(line: Line) -> Arrival:
    workload = openb.read_pod(line)
    created, deleted = _seconds(line, "creation_time"), _seconds(line, "deletion_time")
    scheduled = _seconds(line, "scheduled_time") if line.text("scheduled_time") else created
    duration = max(0, deleted - scheduled) if line.text("deletion_time") else None
    return Arrival(msgspec.structs.replace(workload, namespace=line.text("qos").lower()), created, duration)


def _replicas(arrival: Arrival, replicas: int, *, gang: bool) -> Iterator[Arrival]:
    """Yield a gang as one arrival, other replicas each with a number behind its name."""
    if replicas > REPLICAS_MAX:
        raise InputError(f"{replicas} replicas", remedy=f"use at most {REPLICAS_MAX}")
    if replicas == 1 or gang:
        if replicas:
            yield arrival._replace(replicas=replicas)
        return
    for number in range(replicas):
        named = msgspec.structs.replace(arrival.workload, name=f"{arrival.workload.name}-{number}")
        yield arrival._replace(workload=named)


def _checked(arrivals: Iterable[Arrival], source: str) -> tuple[Arrival, ...]:
    """Return arrivals that are not too many and have each a name of its own."""
    found: dict[str, Arrival] = {}
    for arrival in arrivals:
        if arrival.key in found:
            raise InputError(
                f"workload {one_line(arrival.key)} comes twice", where=source, remedy="give each its own name"
            )
        if len(found) == WORKLOADS_MAX:
            raise InputError(f"more than {WORKLOADS_MAX} workloads", where=source, remedy="cut the trace")
        found[arrival.key] = arrival
    if not found:
        raise InputError("no workload comes", where=source, remedy="give the trace some workloads")
    return tuple(found.values())


def _amounts(line: Line, types: ResourceTypes) -> Resources:
    found: dict[str, int] = {}
    for column in line.fields:
        text = line.text(column)
        if not text or (column not in AMOUNTS and "/" not in column):
            continue
        try:
            parsed = types.parse({GPU if column == "gpu" else column: text})
        except InputError as error:
            raise line.error(column, error.what, error.remedy) from None
        if min(parsed.values()) < 0:
            raise line.error(column, f"{text} is negative", "use 0 or more")
        found |= dict(parsed)
    return Resources(found)


def _seconds(line: Line, column: str) -> int:
    seconds = line.whole(column)
    if seconds > SECONDS_MAX:
        raise line.error(column, f"{seconds} seconds", f"use at most {SECONDS_MAX}")
    return seconds


def _signed(line: Line, column: str) -> int:
    text = line.text(column)
    if not text.startswith("-"):
        return line.whole(column)
    return -Line(line.source, line.number, {column: text[1:]}).whole(column)
