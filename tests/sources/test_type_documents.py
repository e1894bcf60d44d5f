import json

import pytest

from sources.kubernetes.kube import dumped, node, thing
from ullage.model.errors import InputError
from ullage.model.resources import ResourceTypes
from ullage.sources.input_files import InputFile
from ullage.sources.limits import DEFAULT_LIMITS
from ullage.sources.type_documents import types_of_file


def test_a_type_object_counts_wherever_it_stands_in_its_dump():
    one = thing("ullage.dev/v1", "ResourceType", spec={"name": "example.com/x", "internalScaleExponent": 3})
    holder = node("n1", {"cpu": "1", "example.com/x": "2"})
    for items in ((one, holder), (holder, one)):
        assert dumped(*items).nodes["n1"].capacity["example.com/x"] == 2000


def listed(*specs: dict) -> InputFile:
    items = [
        {
            "apiVersion": "ullage.dev/v1",
            "kind": "ResourceType",
            "metadata": {"name": f"t{number}"},
            "spec": spec,
        }
        for number, spec in enumerate(specs)
    ]
    return InputFile("f", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode())


def test_objects_that_are_wrong_are_left_out_and_named_where_somebody_listens():
    wrong = listed(
        {"name": "cpu", "internalScaleExponent": 0},
        {"name": "example.com/x", "internalScaleExponent": 3},
        {"name": "example.com/x"},
        {"name": "example.com/y", "quantization": "much"},
    )
    lines: list[str] = []
    found = types_of_file(wrong, ResourceTypes(), DEFAULT_LIMITS, lines.append)
    assert [each.name for each in found.added()] == ["example.com/x"]
    assert [line.removeprefix("not used: ResourceType ") for line in lines] == [
        "t0: spec: resource type cpu is built in; give your own type a domain of your own",
        "t2: spec: resource type example.com/x is defined twice; keep one",
        "t3: spec.quantization: expected a whole number, found text; write a whole number",
    ]
    with pytest.raises(InputError, match=r"items\[0\]\.spec: resource type cpu is built in"):
        types_of_file(wrong, ResourceTypes(), DEFAULT_LIMITS)
