"""`ullage schema`."""

import json

import pytest
import yaml

from ullage.service.schema import schema_kinds


def test_the_kinds_are_listed(ask, matches_golden):
    result = ask("schema")
    assert result.code == 0
    matches_golden("schema.txt", result.out)


@pytest.mark.parametrize("kind", schema_kinds())
def test_a_schema_is_json_unless_something_else_is_asked_for(ask, kind):
    found = json.loads(ask("schema", kind).out)
    assert found["$schema"].startswith("https://json-schema.org/")
    assert yaml.safe_load(ask("schema", kind, "-o", "yaml").out) == found
    assert ask("schema", kind.lower()).out == ask("schema", kind).out
    assert ask("schema", kind, "-o", "table").out.startswith(f"{kind} has ")


def test_an_unknown_kind_is_one_line(ask):
    result = ask("schema", "Snapshto")
    assert (result.code, result.out) == (1, "")
    assert "kind 'Snapshto' is unknown" in result.err
    assert ", ".join(schema_kinds()) in result.err
