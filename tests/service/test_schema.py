"""Schemas of our documents."""

import pytest

from ullage.model.errors import InputError
from ullage.service.schema import list_schemas, schema, schema_kinds


@pytest.mark.parametrize("kind", schema_kinds())
def test_every_kind_has_a_schema_that_is_a_document(kind):
    answer = schema(kind)
    assert answer.is_document
    assert answer.data()["$schema"]
    assert answer.page().main_table.rows


def test_a_kind_may_be_written_small():
    assert schema("workloadset").data() == schema("WorkloadSet").data()


def test_fields_say_what_they_hold():
    fields = {row[0].text: row for row in schema("Snapshot").page().main_table.rows}
    assert fields["kind"][1].text == "yes"
    assert fields["nodes"][2].text.startswith("list of ")
    assert fields["revision"][2].text == "integer"


def test_the_list_names_each_with_a_line():
    assert list(list_schemas().data()["kinds"]) == list(schema_kinds())
    assert all(schema_kinds().values())


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match="kind 'Cluster' is unknown"):
        schema("Cluster")
