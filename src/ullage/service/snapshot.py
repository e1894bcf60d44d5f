"""Clusters as files: saving one, looking at one, and comparing two."""

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.delta import TABLE_FACTS, Change, changes, difference
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.model.wire import to_builtins
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_as_it_is, read_whole

FORMS: Final = {".ullage": "compact", ".json": "json", ".yaml": "yaml", ".yml": "yaml"}
SEED_BYTES: Final = 16


class SavedReport(Record, frozen=True):
    """The answer to `ullage snapshot save`."""

    cluster: str
    revision: int
    file: str
    form: str
    redacted: bool
    rows: Mapping[str, int]


class FieldChange(Record, frozen=True):
    """One field of a row before and after; None where it was or is not there."""

    field: str
    before: str | None
    after: str | None


class RowChange(Record, frozen=True):
    """A row that was added, removed or changed."""

    table: str
    key: str
    change: str
    fields: tuple[FieldChange, ...]


class SnapshotDiff(Record, frozen=True):
    """The answer to `ullage snapshot diff`; names and revisions of the two do not count."""

    before: str
    after: str
    same: bool
    changes: tuple[RowChange, ...]


class SaveQuestion(NamedTuple):
    """Where to save, and whether names become pseudonyms; equal seeds give equal pseudonyms."""

    path: str
    redact: bool = False
    seed: str = ""


def save(asked: Asked, question: SaveQuestion) -> Answer:
    """Write a cluster to a file in the form that its ending names, and answer what it holds."""
    form = FORMS.get(Path(question.path).suffix.lower())
    if form is None:
        raise InputError(f"{question.path!r} has no known ending", remedy=f"use one of {', '.join(FORMS)}")
    if question.seed and not question.redact:
        raise InputError("--seed is given without --redact", remedy="add --redact")
    return save_of(read_as_it_is(asked), question, form)


def save_of(snapshot: Snapshot, question: SaveQuestion, form: str) -> Answer:
    """Write a cluster that was read already."""
    from ullage.service.snapshot_page import saved_page
    from ullage.sources.atomic_file import write_atomically
    from ullage.sources.own_text import snapshot_text
    from ullage.sources.snapshot_file import save_snapshot_file

    if question.redact:
        from ullage.sources.redact import redact

        snapshot = redact(snapshot, question.seed or secrets.token_hex(SEED_BYTES))
    if form == "compact":
        save_snapshot_file(question.path, snapshot)
    else:
        write_atomically(question.path, snapshot_text(snapshot, "json" if form == "json" else "yaml"))
    report = SavedReport(
        snapshot.name, snapshot.revision, question.path, form, question.redact, rows_of(snapshot)
    )
    return Answer(
        lambda: saved_page(report), lambda: versioned("SavedReport", report, snapshot.resource_types)
    )


def rows_of(snapshot: Snapshot) -> dict[str, int]:
    """Return how many rows each table holds, by the names that files give them."""
    return {facts.file_name: len(getattr(snapshot, name)) for name, facts in TABLE_FACTS.items()}


def show(asked: Asked) -> Answer:
    """Answer what a snapshot holds; as JSON or YAML it is the snapshot itself."""
    return show_of(read_as_it_is(asked), asked)


def show_of(snapshot: Snapshot, asked: Asked) -> Answer:
    """Answer what a snapshot that was read already holds."""
    from ullage.service.snapshot_page import snapshot_page

    def document() -> Any:
        from ullage.sources.own_text import snapshot_text

        return msgspec.json.decode(snapshot_text(snapshot, "json"))

    return Answer(lambda: snapshot_page(snapshot, asked), document)


def diff(before: str, after: str) -> Answer:
    """Answer how one cluster differs from another; yes means that they are the same."""
    if before == after == "-":
        raise InputError("standard input cannot be both", remedy="use a file for one of them")
    return diff_of(read_whole(Asked(before)), read_whole(Asked(after)), before, after)


def diff_of(old: Snapshot, new: Snapshot, before: str, after: str) -> Answer:
    """Answer how two clusters that were read already differ."""
    from ullage.service.snapshot_page import diff_page

    types = new.resource_types
    found = [*row_changes(old, new), *_other_changes(old, new)]
    report = SnapshotDiff(before, after, not found, tuple(found))
    return Answer(lambda: diff_page(report), lambda: versioned("SnapshotDiff", report, types), report.same)


def row_changes(old: Snapshot, new: Snapshot) -> list[RowChange]:
    """Return the rows in which two clusters differ."""
    types = old.resource_types, new.resource_types
    return [_row_change(change, *types) for change in changes(old, difference(old, new))]


def _row_change(change: Change, old_types: ResourceTypes, new_types: ResourceTypes) -> RowChange:
    table = TABLE_FACTS[change.table].file_name
    if change.before is None or change.after is None:
        return RowChange(table, change.key, "added" if change.before is None else "removed", ())
    before = flat(_fields(change.before, old_types))
    after = flat(_fields(change.after, new_types))
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    fields = tuple(FieldChange(name, before.get(name), after.get(name)) for name in names)
    return RowChange(table, change.key, "changed", fields)


def _fields(row: Any, types: ResourceTypes) -> dict[str, Any]:
    """Return every field of a row by its name in files, those at their default too."""
    names = zip(row.__struct_encode_fields__, row.__struct_fields__, strict=True)
    return {written: to_builtins(getattr(row, name), types) for written, name in names}


def _other_changes(old: Snapshot, new: Snapshot) -> list[RowChange]:
    """Return what differs beside the tables: policy, resource types, what is unknown, what Ganeti says."""
    found = []
    for name in ("policy", "unknowns", "tags", "instance_policy"):
        before, after = (to_builtins(getattr(each, name), each.resource_types) for each in (old, new))
        if before != after:
            old_fields, new_fields = flat({name: before}), flat({name: after})
            names = sorted(
                key for key in {*old_fields, *new_fields} if old_fields.get(key) != new_fields.get(key)
            )
            fields = tuple(FieldChange(key, old_fields.get(key), new_fields.get(key)) for key in names)
            found.append(RowChange("snapshot", name, "changed", fields))
    if old.resource_types != new.resource_types:
        named = {each.name for each in (*old.resource_types.added(), *new.resource_types.added())}
        differing = sorted(name for name in named if old.resource_types[name] != new.resource_types[name])
        fields = tuple(
            FieldChange(name, _leaf(old.resource_types[name]), _leaf(new.resource_types[name]))
            for name in differing
        )
        found.append(RowChange("snapshot", "resourceTypes", "changed", fields))
    return found


def _leaf(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def flat(value: Any, path: str = "") -> dict[str, str | None]:
    """Return the leaves of maps and lists by their path, `capacity.memory` or `drives.d1.health`.

    Parts of a list that have names of their own go by them, others by number. Leaves read as in JSON, texts
    without quotes; None is no text.
    """
    if isinstance(value, Mapping):
        pairs = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list | tuple):
        pairs = list(zip(_names(value), value, strict=True))
    else:
        return {path: value if value is None or isinstance(value, str) else _leaf(value)}
    found: dict[str, str | None] = {}
    for key, item in pairs:
        found.update(flat(item, f"{path}.{key}" if path else key))
    return found


def _names(parts: Sequence[Any]) -> list[str]:
    """Return what the parts of a list are called in paths."""
    for field in ("uuid", "name"):
        names = [str(part[field]) for part in parts if isinstance(part, Mapping) and part.get(field)]
        if len(set(names)) == len(parts):
            return names
    return [str(number) for number in range(len(parts))]
