"""Resource maps as Kubernetes writes them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from sources.kubernetes.kube import TYPES, amounts
from ullage.model.resources import NOTHING
from ullage.sources.kubernetes.amounts import Amounts, Requirements
from ullage.sources.kubernetes.faults import Fault


def raw(text):
    return Raw(text.encode())


# Each row: a map as it is written, and its amounts.
MAPS = {
    "text": ('{"cpu": "1500m", "memory": "1Gi"}', amounts(cpu="1500m", memory="1Gi")),
    "numbers": ('{"cpu": 2, "memory": 1024}', amounts(cpu="2", memory="1Ki")),
    "a decimal is exact": ('{"cpu": 0.1}', amounts(cpu="100m")),
    "a decimal that no float holds is exact": (
        '{"memory": 9007199254740993}',
        amounts(memory="9007199254740993"),
    ),
    "an exponent": ('{"memory": 129e6}', amounts(memory="129M")),
    "a qualified spelling": ('{"kubernetes.io/cpu": "1"}', amounts(cpu="1")),
    "null": ("null", NOTHING),
    "nothing": ("{}", NOTHING),
}


@pytest.mark.parametrize("case", MAPS)
def test_maps(case):
    text, expected = MAPS[case]
    assert Amounts(TYPES).resources(raw(text)) == expected


def test_names_of_the_reserved_domain_are_left_out_of_clusters_only():
    text = '{"cpu": "1", "kubernetes.io/batch-cpu": "5"}'
    reader = Amounts(TYPES, of_cluster=True)
    assert reader.resources(raw(text)) == amounts(cpu="1")
    assert reader.names_left_out == {"kubernetes.io/batch-cpu"}
    with pytest.raises(Fault) as caught:
        Amounts(TYPES).resources(raw(text))
    assert caught.value.path == ("kubernetes.io/batch-cpu",)


def test_amounts_of_a_bound_may_be_negative():
    reader = Amounts(TYPES)
    assert reader.bound(raw('{"cpu": "-1", "memory": "1Gi"}')) == amounts(cpu="-1", memory="1Gi")
    assert reader.bound(raw("null")) == NOTHING
    with pytest.raises(Fault, match="negative"):
        reader.resources(raw('{"cpu": "-1", "memory": "1Gi"}'))


def test_equal_maps_are_one_object():
    reader = Amounts(TYPES)
    first, second = (reader.resources(raw('{"cpu": "1"}')) for _ in range(2))
    assert first is second


def test_requests_and_limits():
    text = '{"requests": {"cpu": "1"}, "limits": null, "claims": [{"name": "gpu"}]}'
    assert Amounts(TYPES).requirements(raw(text)) == Requirements(amounts(cpu="1"), NOTHING)
    assert Amounts(TYPES).requirements(raw("null")) == Requirements(NOTHING, NOTHING)


@pytest.mark.parametrize("amount", ["500m", "0.5", "1500m", "1.000000001"])
@pytest.mark.parametrize("part", ["requests", "limits"])
def test_parts_of_extended_resources_are_refused_but_in_clusters(part, amount):
    text = raw(json.dumps({part: {"nvidia.com/gpu": amount}}))
    with pytest.raises(Fault, match="no whole number") as found:
        Amounts(TYPES).requirements(text)
    assert found.value.path == (part, "nvidia.com/gpu")
    assert Amounts(TYPES, of_cluster=True).requirements(text) is not None


@pytest.mark.parametrize(
    "entries",
    [{"nvidia.com/gpu": "2"}, {"nvidia.com/gpu": "2000m"}, {"nvidia.com/gpu": "1k"}, {"cpu": "500m"}],
    ids=str,
)
def test_whole_extended_resources_and_parts_of_others_are_read(entries):
    text = raw(json.dumps({"requests": entries}))
    assert Amounts(TYPES).requirements(text).requests == Amounts(TYPES).resources(raw(json.dumps(entries)))


def test_storage_is_read_from_a_claims_map():
    reader = Amounts(TYPES)
    assert reader.storage_bytes(raw('{"storage": "1Gi"}')) == 1 << 30
    assert reader.storage_bytes(raw("{}")) == reader.storage_bytes(raw("null")) == 0


def test_a_fault_has_the_path_of_its_quantity_every_time():
    reader = Amounts(TYPES)
    for _ in range(2):
        with pytest.raises(Fault) as caught:
            reader.requirements(raw('{"limits": {"cpu": "1", "memory": "1x"}}'))
        assert caught.value.path == ("limits", "memory")


NAMES = st.sampled_from(["cpu", "memory", "pods", "example.com/a"])


@given(st.dictionaries(NAMES, st.integers(0, 2**40)))
def test_what_is_printed_is_read_back(given_amounts):
    resources = TYPES.parse({name: str(amount) for name, amount in given_amounts.items()})
    text = json.dumps(TYPES.print(resources))
    assert Amounts(TYPES).resources(raw(text)) == resources
