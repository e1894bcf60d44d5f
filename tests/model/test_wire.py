"""Records as plain maps and back: quantities and fractions are exact text, errors name their path."""

import json
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.cluster import Container, Device, Node, Quota, Taint, Workload
from ullage.model.errors import InputError
from ullage.model.resources import Amount, Resources, ResourceType, ResourceTypes
from ullage.model.wire import (
    API_VERSION,
    decode_hook,
    encode_hook,
    from_builtins,
    to_builtins,
)

TYPES = ResourceTypes([ResourceType("example.com/x", "", 3)])
NO_MAP = "expected a map of resources; write {cpu: 2, memory: 40Mi}"
NO_QUANTITY = "cpu: None is no quantity; write a number or text such as 40Mi"
NO_NUMBER = "'True' is no number; write a decimal such as 1.5 or a fraction such as 4/3"
NODE = Node(
    "n1",
    Resources({"cpu": 2500, "memory": 40 << 20, "example.com/x": 1500}),
    reserve=Resources({"memory": 1 << 20}),
    taints=(Taint("gpu"),),
    cpu_conversion_factor=Fraction(4, 3),
    devices=(Device("0", model="A100"),),
)
NODE_MAP = {
    "name": "n1",
    "capacity": {"cpu": "2500m", "example.com/x": "1500m", "memory": "40Mi"},
    "reserve": {"memory": "1Mi"},
    "taints": [{"key": "gpu"}],
    "cpuConversionFactor": "4/3",
    "devices": [{"id": "0", "model": "A100"}],
}


def test_the_version_of_our_documents():
    assert API_VERSION == "ullage.dev/v1"


def test_a_record_is_written_in_canonical_text_and_read_back_the_same():
    assert json.loads(json.dumps(to_builtins(NODE, TYPES))) == NODE_MAP
    assert from_builtins(NODE_MAP, Node, TYPES) == NODE
    as_json = msgspec.json.encode(NODE, enc_hook=encode_hook(TYPES))
    assert msgspec.json.decode(as_json) == NODE_MAP
    assert msgspec.json.decode(as_json, type=Node, dec_hook=decode_hook(TYPES)) == NODE


def test_what_people_write_is_read_into_the_same_record():
    written = {
        **NODE_MAP,
        "capacity": {"kubernetes.io/cpu": 2.5, "example.com/x": "1.5", "memory": 40 << 20},
        "cpuConversionFactor": "4/3",
        "unknown": 1,
    }
    assert from_builtins(written, Node, TYPES) == NODE


@pytest.mark.parametrize(
    ("written", "factor"),
    [("1.5", Fraction(3, 2)), (1.5, Fraction(3, 2)), (2, Fraction(2)), (0.1, Fraction(1, 10))],
)
def test_a_fraction_is_read_from_text_or_number_exactly(written, factor):
    node = from_builtins({"name": "n", "cpuConversionFactor": written}, Node, TYPES)
    assert node.cpu_conversion_factor == factor


def test_the_registry_decides_how_amounts_are_written():
    plain = ResourceTypes()
    assert to_builtins(Resources({"example.com/x": 1500}), TYPES) == {"example.com/x": "1500m"}
    assert to_builtins(Resources({"example.com/x": 1500}), plain) == {"example.com/x": "1500"}
    assert to_builtins(Amount("example.com/x", 2000), TYPES) == "2"
    assert to_builtins(Amount("memory", 1 << 30), plain) == "1Gi"
    assert to_builtins(Fraction(1, 4), plain) == "0.25"


def test_keys_of_maps_are_written_as_text():
    assert to_builtins({1: Amount("pods", 3)}, TYPES) == {"1": "3"}


AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "pods", "example.com/x", "hugepages-2Mi"]), st.integers(0, 10**15)
).map(Resources)


@given(AMOUNTS, AMOUNTS, st.builds(Fraction, st.integers(0, 10**6), st.integers(1, 10**6)))
def test_every_record_reads_back_as_it_was(requests, limits, weight):
    workload = Workload("w", "ns", requests=requests, containers=(Container("c", "init", requests, limits),))
    assert from_builtins(to_builtins(workload, TYPES), Workload, TYPES) == workload
    quota = Quota("q", min=requests, max=limits, weight=weight, lending_limit=limits)
    assert from_builtins(to_builtins(quota, TYPES), Quota, TYPES) == quota


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"name": "n", "capacity": ["cpu"]}, f"{NO_MAP} - at `$.capacity`"),
        ({"name": "n", "capacity": {1: "2"}}, f"{NO_MAP} - at `$.capacity`"),
        ({"name": "n", "capacity": {"cpu": 1, 2: 3}}, f"{NO_MAP} - at `$.capacity`"),
        ({"name": "n", "reserve": {"cpu": None}}, f"{NO_QUANTITY} - at `$.reserve`"),
        ({"name": "n", "cpuConversionFactor": True}, f"{NO_NUMBER} - at `$.cpuConversionFactor`"),
        ({"capacity": {}}, "Object missing required field `name`"),
        ({"name": "n", "state": "gone"}, "Invalid enum value 'gone' - at `$.state`"),
    ],
)
def test_wrong_data_is_reported_with_its_path(data, problem):
    with pytest.raises(msgspec.ValidationError) as refused:
        from_builtins(data, Node, TYPES)
    assert str(refused.value) == problem


def test_a_class_that_is_not_ours_is_a_bug_and_named():
    with pytest.raises(NotImplementedError, match=r"^object$"):
        encode_hook(TYPES)(object())
    with pytest.raises(NotImplementedError, match=r"^complex$"):
        decode_hook(TYPES)(complex, "1j")
    with pytest.raises(InputError, match=r"^expected a map of resources; "):
        decode_hook(TYPES)(Resources, None)


def test_what_equals_a_default_is_left_out_wherever_it_was_read():
    words = {"name": "n", "group": "default", "capacity": {}, "cpuConversionFactor": "1", "devices": []}
    words["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    read = from_builtins(words, Node, ResourceTypes())
    made = Node("n", taints=(Taint("k"),))
    assert read == made
    told = to_builtins(read, ResourceTypes())
    assert told == to_builtins(made, ResourceTypes()) == {"name": "n", "taints": ({"key": "k"},)}
