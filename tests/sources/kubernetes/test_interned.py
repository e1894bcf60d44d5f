"""Values that are made once for every text."""

import msgspec
import pytest
from msgspec import Raw

from ullage.sources.kubernetes.faults import Fault
from ullage.sources.kubernetes.interned import Interned, reader


def test_a_text_is_read_once():
    seen = []
    interned = Interned(lambda text: seen.append(text) or [text])
    first, second, other = interned(Raw(b"1")), interned(Raw(b"1")), interned(Raw(b"2"))
    assert first is second
    assert other == [b"2"]
    assert seen == [b"1", b"2"]


def test_nothing_of_the_buffer_is_kept():
    data = bytearray(b'{"a": 1}')
    parts = msgspec.json.decode(data, type=dict[str, Raw])
    interned = Interned(lambda text: text)
    interned(parts["a"])
    del parts
    data.append(0)  # a bytearray that somebody still looks into cannot grow


def test_a_wrong_type_is_a_fault_with_its_path():
    read = reader(msgspec.json.Decoder(list[dict[str, int]]))
    assert read(b'[{"a": 1}]') == [{"a": 1}]
    with pytest.raises(Fault) as caught:
        read(b'[{"a": 1}, {"b": 2, "c": "x"}]')
    assert caught.value.path == (1, "c")
