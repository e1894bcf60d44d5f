"""What holds for the definitions of all kinds."""

import re

import pytest

from ullage.kube.install.definitions import Column, Names, definition
from ullage.kube.install.foreign_kinds import foreign_definitions
from ullage.kube.install.own_kinds import own_definitions

EVERY = [*own_definitions(), *foreign_definitions()]
WITHOUT_TEXT = {"metadata"}


def schema_of(document):
    (version,) = document["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def undescribed(schema, path=()):
    """Yield the path of every field that no text explains."""
    for name, field in schema.get("properties", {}).items():
        if "description" not in field and name not in WITHOUT_TEXT:
            yield (*path, name)
        yield from undescribed(field, (*path, name))
    for inner in ("items", "additionalProperties"):
        if inner in schema:
            yield from undescribed(schema[inner], (*path, inner))


def field_at(schema, path):
    """Return the schema of a field that a column shows; conditions are chosen by their type."""
    for name in re.split(r"(?<!\\)\.", path.removeprefix(".").split("[")[0]):
        if name == "metadata":
            return {}
        schema = schema["properties"][name] if "properties" in schema else schema["additionalProperties"]
    return schema


@pytest.mark.parametrize("document", EVERY, ids=lambda document: document["metadata"]["name"])
def test_every_field_of_a_kind_is_explained(document):
    schema = schema_of(document)
    assert schema["description"]
    assert not list(undescribed(schema))


@pytest.mark.parametrize("document", EVERY, ids=lambda document: document["metadata"]["name"])
def test_a_column_shows_a_field_that_there_is(document):
    (version,) = document["spec"]["versions"]
    columns = version["additionalPrinterColumns"]
    assert columns[-1]["name"] == "Age"
    kept = document["spec"]["group"].startswith("csi-baremetal")
    for column in columns:
        if not kept:
            assert field_at(schema_of(document), column["jsonPath"]) is not None
        assert column["description"]


def test_a_definition_is_called_after_its_plural_and_group():
    made = definition(Names("example.com", "Thing", "things", ("th",), "all"), {"type": "object"})
    assert made["metadata"]["name"] == "things.example.com"
    assert made["spec"]["names"] == {
        "kind": "Thing",
        "listKind": "ThingList",
        "plural": "things",
        "singular": "thing",
        "shortNames": ["th"],
        "categories": ["all"],
    }
    assert made["spec"]["scope"] == "Cluster"
    assert made["spec"]["versions"][0]["subresources"] == {"status": {}}


def test_a_kind_may_live_in_namespaces_and_have_no_status():
    wide = Column("A", "string", ".spec.a", "An a.", 1)
    made = definition(
        Names("example.com", "Thing", "things"), {}, (wide,), namespaced=True, version="v2", has_status=False
    )
    assert made["spec"]["scope"] == "Namespaced"
    (version,) = made["spec"]["versions"]
    assert version["name"] == "v2"
    assert "subresources" not in version
    assert version["additionalPrinterColumns"][0]["priority"] == 1
    assert "priority" not in version["additionalPrinterColumns"][1]
