from datetime import UTC

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from ullage.model.errors import InputError
from ullage.sources.host.facts import HostFacts, decode_host_facts, encode_host_facts

UNITS = ("bytes", "milli", "cores", "sockets", "pages", "extents", "basis_points", "microseconds")


def strategy_of(info):
    """Return a strategy for anything the type can hold."""
    match info:
        case inspect.StructType():
            return st.builds(info.cls, **{field.name: strategy_of(field.type) for field in info.fields})
        case inspect.UnionType():
            return st.one_of(*(strategy_of(part) for part in info.types))
        case inspect.VarTupleType():
            return st.lists(strategy_of(info.item_type), max_size=2).map(tuple)
        case inspect.LiteralType():
            return st.sampled_from(info.values)
        case inspect.IntType():
            return st.integers(info.ge, info.le)
        case inspect.DateTimeType():
            return st.datetimes(timezones=st.just(UTC))
        case inspect.StrType():
            return st.text(st.characters(codec="utf-8"), max_size=8)
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
    raise AssertionError(info)


def integer_fields(info, name):
    match info:
        case inspect.StructType():
            for field in info.fields:
                yield from integer_fields(field.type, field.name)
        case inspect.UnionType():
            for part in info.types:
                yield from integer_fields(part, name)
        case inspect.VarTupleType():
            yield from integer_fields(info.item_type, name)
        case inspect.IntType() | inspect.FloatType():
            yield name


@settings(deadline=None, max_examples=30)
@given(strategy_of(inspect.type_info(HostFacts)))
def test_a_document_reads_back_as_it_was_written(facts):
    assert decode_host_facts(encode_host_facts(facts)) == facts


def test_a_recorded_machine_survives_the_round_trip(facts_of, machine_name):
    facts = facts_of(machine_name)
    assert decode_host_facts(encode_host_facts(facts)) == facts


def test_numbers_stand_only_in_fields_that_end_in_a_unit():
    names = set(integer_fields(inspect.type_info(HostFacts), ""))
    assert len(names) > 20
    assert [name for name in names if not name.endswith(UNITS)] == []


def test_the_wire_speaks_camel_case_with_kind_and_version_first(facts_of):
    data = encode_host_facts(facts_of("kvm-host"))
    assert data.startswith(
        b'{"kind":"HostFacts","apiVersion":"ullage.dev/v1","collectedAt":"2025-03-01T12:00:00Z"'
    )
    assert b'"memoryTotalBytes":67108864000,' in data
    assert b"_" not in b"".join(key.encode() for key in keys_of(msgspec.json.decode(data)))


def keys_of(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


def test_unknown_fields_are_ignored_and_missing_optional_ones_are_unknown():
    facts = decode_host_facts(
        b'{"kind":"HostFacts","apiVersion":"ullage.dev/v1","collectedAt":"2025-03-01T12:00:00Z","future":{"x":1}}'
    )
    assert facts.memory is None
    assert facts.problems == ()


HEAD = b'{"kind":"HostFacts","apiVersion":"ullage.dev/v1","collectedAt":"2025-03-01T12:00:00Z"'


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a host document"),
        (b"[]", "not a host document"),
        (b"{}", "kind is None, not 'HostFacts'"),
        (b'{"kind":"Node","apiVersion":"ullage.dev/v1"}', "kind is 'Node'"),
        (b'{"kind":"HostFacts","apiVersion":"ullage.dev/v9"}', "apiVersion is 'ullage.dev/v9'"),
        (b'{"kind":"HostFacts","apiVersion":"ullage.dev/v1"}', "collectedAt"),
        (HEAD.replace(b"Z", b"") + b"}", "collectedAt"),
        (HEAD + b',"cpu":{"logicalCores":-1}}', "$.cpu.logicalCores"),
        (HEAD + b',"cpu":{"logicalCores":9223372036854775808}}', "$.cpu.logicalCores"),
        (HEAD + b',"disks":[{"name":1}]}', "$.disks[0].name"),
        (HEAD + b',"virtualisation":"magic"}', "$.virtualisation"),
        (HEAD + b',"hostname":"\xff"}', "not a host document"),
        (b"[" * 100_000, "not a host document"),
    ],
)
def test_a_wrong_document_is_refused_with_its_place(data, said):
    with pytest.raises(InputError) as caught:
        decode_host_facts(data)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_document_beyond_the_bound_is_refused_unread():
    with pytest.raises(InputError, match="larger than"):
        decode_host_facts(b" " * (64 * 1024 * 1024 + 1))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_garbage_is_bad_input_and_nothing_else(data):
    with pytest.raises(InputError):
        decode_host_facts(data)
