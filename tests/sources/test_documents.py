"""Documents of every origin: decoded into records, or refused with file, document, path and place."""

import gzip
import io
import json
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.sources.documents import JsonDocument, YamlDocument, documents_of, read_documents
from ullage.sources.limits import Limits


class Container(msgspec.Struct):
    name: str
    requests: dict[str, str | int] = {}
    weight: float = 0


class Version:
    def __init__(self, text):
        if not text.startswith("v"):
            raise InputError(f'"{text}" is no version', remedy="write v1")
        self.text = text


class Pod(msgspec.Struct):
    kind: str
    version: Version | None = None
    modes: dict[str, Literal["a", "b"]] = {}
    ports: dict[int, str] = {}
    labels: dict[str, str] = {}
    containers: list[Container] = []
    nested: dict[str, dict[str, Container]] = {}
    items: list["Pod"] = []


def read_version(_, value):
    return Version(value)


POD = msgspec.json.Decoder(Pod, dec_hook=read_version)
LENIENT = msgspec.json.Decoder(Pod, strict=False, dec_hook=read_version)
ANY = msgspec.json.Decoder()


def decoded(data, name="f", decoder=POD, **options):
    return [document.decode(decoder) for document in documents_of(data, name, **options)]


def refusal(data, name="f", decoder=POD, **options):
    with pytest.raises(InputError) as caught:
        decoded(data, name, decoder, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("f.json", b'{"kind": "A"}', JsonDocument),
        ("f.yaml", b'{"kind": "A"}', JsonDocument),
        ("f", b'\xef\xbb\xbf\n{"kind": "A"}', JsonDocument),
        ("f.json", b"kind: A", YamlDocument),
        ("f.json", b"{kind: A}", YamlDocument),
        ("f.yaml", b'{"kind": A}', YamlDocument),
        ("f.YML", b'{"kind": "A"}\n---\n', YamlDocument),
        ("f", b"\xef\xbb\xbfkind: A", YamlDocument),
    ],
)
def test_json_and_yaml_are_told_apart_by_content_and_both_give_records(name, data, kind):
    [document] = documents_of(data, name)
    assert type(document) is kind
    assert document.decode(POD) == Pod("A")


def test_documents_one_after_the_other_are_decoded_in_order():
    expected = [Pod("A"), Pod("B"), Pod("C")]
    assert decoded(b'{"kind": "A"}{"kind": "B"}\n\n{"kind": "C"}\n') == expected
    assert decoded(b"kind: A\n---\nkind: B\n---\n---\nkind: C\n") == expected
    assert decoded(bytearray(b'{"kind": "A"} {"kind": "B"} {"kind": "C"}')) == expected
    assert decoded(bytearray(b"kind: A\n--- {kind: B}\n--- {kind: C}")) == expected


def test_a_document_can_be_decoded_more_than_once_or_not_at_all():
    data = b'{"kind": "A"} {"kind": "B"} {"kind": "C"}'
    assert [document.index for document in documents_of(data, "f")] == [0, 1, 2]
    for document in documents_of(data, "f"):
        assert document.decode(ANY) == msgspec.to_builtins(document.decode(msgspec.json.Decoder(dict)))


def test_one_value_is_known_to_be_the_whole_file_once_it_is_decoded():
    data = b' {"kind": "A"} '
    [document] = documents_of(data, "f")
    document.decode(POD)
    assert document.known_end == len(data)


@pytest.mark.parametrize(
    "data",
    [b'{"kind": "A", "version": "v1", "ports": {"80": "web"}}', b"kind: A\nversion: v1\nports: {80: web}"],
)
def test_json_and_yaml_follow_the_decoders_rules(data):
    [pod] = decoded(data)
    assert pod.version.text == "v1"
    assert pod.ports == {80: "web"}


def test_a_quantity_keeps_its_digits():
    text = (
        b"kind: A\ncontainers: [{name: a, requests: {cpu: 0.10, memory: 1e3, time: 12:30:45}, weight: 2.5}]"
    )
    [pod] = decoded(text, decoder=LENIENT)
    assert pod.containers == [Container("a", {"cpu": "0.10", "memory": "1e3", "time": "12:30:45"}, 2.5)]
    [pod] = decoded(b'{"kind": "A", "n": 2.50}', decoder=msgspec.json.Decoder(float_hook=str))
    assert pod["n"] == "2.50"


CUT_OFF = "the JSON ends inside a value; was the dump cut off? run kubectl again"

REFUSALS = {
    "JSON of a wrong type": (
        b'{"kind": "List", "items": [{"kind": "A"}, {"kind": "A", "containers": [{"name": 7}]}]}',
        "f: items[1].containers[0].name: expected text, found a number; put it in quotes",
    ),
    "JSON of a wrong type in a mapping": (
        b'{"kind": "A", "labels": {"a": "x", "n.io/b": 5, "c": 6}}',
        'f: labels["n.io/b"]: expected text, found a number; put it in quotes',
    ),
    "JSON of a wrong type in mappings in a list": (
        b'{"kind":"", "items": [{"kind":"", "nested": {"x": {"y": {"name": ""}}, "z": {"w": {"name": 1}}}}]}',
        "f: items[0].nested.z.w.name: expected text, found a number; put it in quotes",
    ),
    "JSON without a field in a mapping": (
        b'{"kind": "A", "nested": {"x": {"y": {"name": "n"}, "z": {}}}}',
        'f: nested.x.z: the field "name" is missing; add it',
    ),
    "JSON of a wrong type in a later document": (
        b'{"kind": "A"}\n{"kind": "A"}\n{"kind": "A", "labels": []}',
        "f: document 3: labels: expected a mapping, found a list; write a mapping",
    ),
    "YAML of a wrong type": (
        b"kind: List\nitems:\n- kind: A\n  containers:\n  - name: a\n  - name: 7\n",
        "f:6:11: items[0].containers[1].name: expected text, found a number; put it in quotes",
    ),
    "YAML of a wrong type in a mapping": (
        b"kind: A\nlabels:\n  a: x\n  n.io/b: yes\n",
        'f:4:11: labels["n.io/b"]: expected text, found a boolean; put it in quotes',
    ),
    "YAML of a wrong type in a later document": (
        b"kind: A\n---\n\n---\nkind: 5\n",
        "f:5:7: document 3: kind: expected text, found a number; put it in quotes",
    ),
    "YAML of a wrong type behind an alias": (
        b"kind: A\nlabels: &l {a: 5}\nnested: {x: *l}",
        "f:2:16: labels.a: expected text, found a number; put it in quotes",
    ),
    "JSON that a hook refuses": (
        b'{"kind": "A"} {"kind": "A", "version": "1"}',
        'f: document 2: version: "1" is no version; write v1',
    ),
    "YAML that a hook refuses": (
        b"kind: A\nversion: '1'\n",
        'f:2:10: version: "1" is no version; write v1',
    ),
    "JSON of a value that is not allowed": (
        b'{"kind": "A", "modes": {"x": "a", "y": "c"}}',
        "f: modes.y: 'c' is not one of the allowed values; use one of a, b",
    ),
    "YAML that is one text": (b"hello", "f:1:1: expected a mapping, found text; write a mapping"),
    "a dump cut off": (
        b'{"kind": "List", "items": [\n{"kind": "A"},\n{"kin',
        f"f: truncated at byte 48 (line 3): {CUT_OFF}",
    ),
    "a dump cut off in its second value": (
        b'{"kind": "A"}\n{"kind": "B"',
        f"f: truncated at byte 26 (line 2): {CUT_OFF}",
    ),
    "malformed JSON": (
        b'{"kind": "A",\n "labels": {"a" "b"}}',
        "f:2:17: malformed JSON: expected ':'; correct it, or run kubectl again",
    ),
    "a hundred thousand brackets in an unknown field": (
        b'{"kind": "A", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        "f:1:119: nested deeper than 100 levels; flatten it",
    ),
    "a lone surrogate": (
        b'{"kind": "\\udc00", "labels": {}}',
        "f:1:17: malformed JSON: invalid utf-16 surrogate pair; correct it, or run kubectl again",
    ),
    "Latin-1": (b'{"kind": "caf\xe9"}', "f:1:14: byte 13 (0xe9) is not UTF-8; save the file as UTF-8"),
    "UTF-16": (
        "kind: A".encode("utf-16"),
        "f: the text is UTF-16; save it as UTF-8; PowerShell: -Encoding utf8",
    ),
}


@pytest.mark.parametrize(("data", "message"), REFUSALS.values(), ids=REFUSALS)
def test_a_bad_document_is_refused_in_one_line(data, message):
    assert refusal(data) == message


def test_a_mapping_too_large_to_look_into_is_named_as_a_whole():
    data = b'{"kind": "A", "labels": {"a": "x", "b": 5}}'
    assert refusal(data, limits=Limits(strict_bytes_max=10)) == (
        "f: labels: expected text, found a number; put it in quotes"
    )


def test_a_source_names_places_in_its_own_errors():
    [json_document] = documents_of(b'{"a": {"b.c": [1]}}', "f")
    [yaml_document] = documents_of(b"a:\n  b.c: [1]", "f")
    for path in ('a["b.c"][0]', ("a", "b.c", 0)):
        assert str(json_document.error("bad", path=path, remedy="mend it")) == 'f: a["b.c"][0]: bad; mend it'
        assert (
            str(yaml_document.error("bad", path=path, remedy="mend it")) == 'f:2:9: a["b.c"][0]: bad; mend it'
        )
    assert str(json_document.error("bad")) == "f: bad"


def test_keys_given_twice_are_refused_in_the_document_that_has_them():
    first, second = documents_of(b'{"a": 1}\n{"b": 1, "b": 2}', "f")
    first.reject_duplicate_keys()
    with pytest.raises(
        InputError, match=r'^f:2:10: key "b" is given twice \(first at 2:2\); keep one of them$'
    ):
        second.reject_duplicate_keys()
    [document] = documents_of(b"a: 1", "f")
    document.reject_duplicate_keys()


def test_a_folder_is_read_file_by_file(tmp_path):
    (tmp_path / "a.json").write_bytes(b'{"kind": "A"} {"kind": "B"}')
    (tmp_path / "b.yaml").write_bytes(b"# nothing\n")
    (tmp_path / "c.yaml.gz").write_bytes(gzip.compress(b"kind: C\n---\nkind: D"))
    found = [
        (document.source, document.index, document.decode(POD).kind)
        for document in read_documents(str(tmp_path))
    ]
    assert found == [
        (f"{tmp_path}/a.json", 0, "A"),
        (f"{tmp_path}/a.json", 1, "B"),
        (f"{tmp_path}/c.yaml.gz", 0, "C"),
        (f"{tmp_path}/c.yaml.gz", 1, "D"),
    ]


@pytest.mark.parametrize("data", [b"", b" \n", b"# nothing", b"---\n"])
def test_an_input_without_a_document_is_refused(data):
    with pytest.raises(InputError) as caught:
        list(read_documents("-", stdin=io.BytesIO(data)))
    assert str(caught.value) == (
        "standard input: empty: no document; expected JSON or YAML; was the dump cut off? run kubectl again"
    )


def test_more_documents_than_the_limit_are_refused(tmp_path):
    (tmp_path / "a.json").write_bytes(b"{} {}")
    (tmp_path / "b.yaml").write_bytes(b"a: 1")
    assert len(list(read_documents(str(tmp_path), limits=Limits(documents_max=3)))) == 3
    with pytest.raises(InputError) as caught:
        list(read_documents(str(tmp_path), limits=Limits(documents_max=2)))
    assert str(caught.value) == (
        f"{tmp_path}/b.yaml: more than 2 documents; read fewer at a time, or put the objects into one List"
    )


SHORT_TEXT = st.text('ab é€😀"\\\n\t:#', max_size=3)
OBJECTS = st.dictionaries(SHORT_TEXT, st.integers(-5, 5) | SHORT_TEXT, min_size=1, max_size=3)


@given(st.lists(OBJECTS, min_size=1, max_size=3))
def test_the_same_values_come_from_json_and_from_yaml(values):
    texts = [json.dumps(value, ensure_ascii=False) for value in values]
    assert decoded("\n".join(texts).encode(), decoder=ANY) == values
    as_yaml = "\n---\n".join(texts).encode()
    assert [type(document) for document in documents_of(b"---\n" + as_yaml, "f")] == [YamlDocument] * len(
        values
    )
    assert decoded(b"---\n" + as_yaml, decoder=ANY) == values


@given(st.binary(max_size=60) | st.text("{}[]\":,-&*!|>?\n\t #%@`'<ab01.e+~", max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(data):
    try:
        documents = list(documents_of(data, "f"))
        for document in documents:
            document.decode(ANY)
            document.reject_duplicate_keys()
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - most inputs raise nothing
