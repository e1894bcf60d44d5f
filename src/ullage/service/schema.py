"""The JSON Schema of the documents that people write, and of those that `inspect` writes."""

from typing import Any

import msgspec

from ullage.model.errors import InputError
from ullage.render import view
from ullage.service.answer import Answer
from ullage.sources.host.facts import KIND as HOST_FACTS
from ullage.sources.host.facts import HostFacts
from ullage.sources.schema import DIALECT, WRITTEN
from ullage.sources.schema import schema as own_schema


def schema(kind: str) -> Answer:
    """Answer with the schema of one kind of document."""
    wanted = next((name for name in schema_kinds() if name.lower() == kind.lower()), kind)
    if wanted not in schema_kinds():
        raise InputError(f"kind {kind!r} is unknown", remedy=f"use one of {', '.join(schema_kinds())}")
    found = _host_facts() if wanted == HOST_FACTS else own_schema(wanted)
    return Answer(lambda: _schema_page(wanted, found), lambda: found, is_document=True)


def list_schemas() -> Answer:
    """Answer which kinds of document have a schema."""
    kinds = schema_kinds()
    return Answer(lambda: _list_page(kinds), lambda: {"kinds": list(kinds)})


def schema_kinds() -> dict[str, str]:
    """Return every kind of document with the first line of what it is."""
    records: dict[str, type] = {**WRITTEN, HOST_FACTS: HostFacts}
    return {kind: (record.__doc__ or "").splitlines()[0] for kind, record in records.items()}


def _host_facts() -> dict[str, Any]:
    return {"$schema": DIALECT, **msgspec.json.schema(HostFacts)}


def _list_page(kinds: dict[str, str]) -> view.Page:
    columns = (view.Column("kind", priority=9), view.Column("what it is", priority=8))
    rows = tuple((view.Cell(kind), view.Cell(line)) for kind, line in kinds.items())
    return view.Page(
        title="Schemas",
        verdict=view.Verdict(f"{len(kinds)} kinds of document have a schema"),
        blocks=(view.Table("Kinds", columns, rows),),
        next_command=f"ullage schema {next(iter(kinds))}",
    )


def _schema_page(kind: str, found: dict[str, Any]) -> view.Page:
    """Return the fields of a kind as a table, for people; the schema itself is the data."""
    fields = _top(found).get("properties", {})
    required = set(_top(found).get("required", ()))
    columns = (
        view.Column("field", priority=9),
        view.Column("required", priority=7),
        view.Column("type", priority=8),
    )
    rows = tuple(
        (view.Cell(name), view.Cell("yes" if name in required else "no"), view.Cell(_type(part)))
        for name, part in fields.items()
    )
    return view.Page(
        title=f"Schema of {kind}",
        verdict=view.Verdict(f"{kind} has {len(rows)} fields"),
        blocks=(view.Table("Fields", columns, rows),),
        next_command=f"ullage schema {kind} -o json",
    )


def _top(found: dict[str, Any]) -> dict[str, Any]:
    name = found.get("$ref", "").rpartition("/")[2]
    top: dict[str, Any] = found["$defs"][name] if name else found
    return top


def _type(part: dict[str, Any]) -> str:
    """Return in a few words what a field holds."""
    if "const" in part or "enum" in part:
        return " or ".join(repr(each) for each in part.get("enum", [part.get("const")]))
    if "$ref" in part:
        return str(part["$ref"]).rpartition("/")[2]
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(_type(each) for each in part["anyOf"]))
    if part.get("type") == "array":
        return f"list of {_type(part['items'])}" if isinstance(part.get("items"), dict) else "list"
    return str(part.get("type", "anything"))
