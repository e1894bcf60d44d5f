import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import strategies
from ullage.model.cluster import Node, Quota, Workload
from ullage.model.errors import InputError
from ullage.sources.own_records import DOCUMENTS, KINDS
from ullage.sources.own_text import delta_text, snapshot_text
from ullage.sources.schema import schema


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def wire_names(record):
    return [*record.__struct_encode_fields__]


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_names_every_field_of_its_document(kind):
    found = schema(kind)
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert list(found["properties"]) == wire_names(DOCUMENTS[kind])
    assert found["properties"]["kind"] == {"const": kind}
    assert found["properties"]["apiVersion"] == {"const": "ullage.dev/v1"}
    assert found["required"] == ["apiVersion", "kind"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_reference_leads_somewhere_and_every_part_is_used(kind):
    found = schema(kind)
    assert {reference.removeprefix("#/$defs/") for reference in references(found)} == set(found["$defs"])
    json.dumps(found)


def test_records_of_a_document_are_described_in_full():
    parts = schema("Delta")["$defs"]
    for record in (Node, Workload, Quota):
        assert list(parts[record.__name__]["properties"]) == wire_names(record)
        assert parts[record.__name__]["description"]
    assert parts["Node"]["required"] == ["name"]
    assert parts["Node"]["properties"]["state"]["enum"] == ["cordoned", "offline", "ready"]
    assert parts["Node"]["properties"]["state"]["default"] == "ready"
    assert parts["Node"]["properties"]["capacity"] == {"$ref": "#/$defs/Resources"}
    assert parts["Node"]["properties"]["reserve"] == {
        "anyOf": [{"$ref": "#/$defs/Resources"}, {"type": "null"}]
    }
    assert parts["Node"]["properties"]["labels"] == {
        "type": "object",
        "additionalProperties": {"type": "string"},
    }
    assert parts["Node"]["properties"]["taints"] == {"type": "array", "items": {"$ref": "#/$defs/Taint"}}
    assert parts["Workload"]["properties"]["priority"] == {"type": "integer", "default": 0}
    assert parts["Workload"]["properties"]["terminating"] == {"type": "boolean", "default": False}


def test_unknown_fields_are_allowed_because_newer_versions_add_some():
    found = schema("Snapshot")
    assert "additionalProperties" not in found
    assert "additionalProperties" not in found["$defs"]["Workload"]


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match="kind 'Pod' is unknown; use one of Snapshot, Delta"):
        schema("Pod")


def documents_as_written():
    """Random documents of each kind as our own writer gives them."""
    return st.one_of(
        strategies.snapshots().map(lambda each: ("Snapshot", snapshot_text(each, "json"))),
        strategies.deltas().map(lambda each: ("Delta", delta_text(each, "json"))),
    )


@given(documents_as_written())
def test_what_we_write_keeps_to_the_schema(document):
    kind, text = document
    jsonschema.Draft202012Validator(schema(kind)).validate(json.loads(text))


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_a_schema(kind):
    jsonschema.Draft202012Validator.check_schema(schema(kind))


@pytest.mark.parametrize(
    "wrong",
    [
        {"nodes": [{}]},
        {"nodes": [{"name": 1}]},
        {"nodes": [{"name": "n1", "state": "tired"}]},
        {"nodes": [{"name": "n1", "capacity": ["cpu"]}]},
        {"revision": "one"},
    ],
)
def test_what_we_refuse_does_not_keep_to_the_schema(wrong):
    document = {"apiVersion": "ullage.dev/v1", "kind": "Snapshot", **wrong}
    assert not jsonschema.Draft202012Validator(schema("Snapshot")).is_valid(document)


def test_the_example_of_a_catalog_is_valid_by_its_schema():
    path = Path(__file__).resolve().parents[2] / "examples" / "catalog.yaml"
    found = schema("Catalog")
    assert found["required"] == ["apiVersion", "kind", "items"]
    jsonschema.validate(yaml.safe_load(path.read_text(encoding="utf-8")), found)


def test_a_quota_is_described_as_the_object_that_it_is():
    found = schema("Quota")
    assert found["required"] == ["apiVersion", "kind", "metadata"]
    spec = found["$defs"]["QuotaSpec"]["properties"]
    assert set(spec) == set(wire_names(Quota)) - {"name", "kind", "statedUsed", "stopped"}
    text = """
apiVersion: ullage.dev/v1
kind: Quota
metadata: {name: research}
spec: {namespaces: [ml], min: {cpu: 4}, parent: company, weight: 1.5, lendingLimit: {cpu: 500m}}
"""
    jsonschema.validate(yaml.safe_load(text), found)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text.replace("[ml]", "ml")), found)


def test_a_trace_is_described_with_its_times():
    found = schema("Trace")
    assert found["required"] == ["apiVersion", "kind"]
    entry = found["$defs"]["TraceEntry"]["properties"]
    assert {"startSeconds", "durationSeconds", "leavesSeconds", "atomic", "gang", "requests"} <= set(entry)
    text = """
apiVersion: ullage.dev/v1
kind: Trace
workloads:
- {name: a, requests: {cpu: 4}, replicas: 2, atomic: true, startSeconds: 60, durationSeconds: 90}
"""
    jsonschema.validate(yaml.safe_load(text), found)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text.replace("60", "soon")), found)
