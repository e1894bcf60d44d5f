import hashlib
import struct
import zlib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod, quota
from strategies import snapshots
from ullage.model.errors import InputError
from ullage.sources import snapshot_file
from ullage.sources.own_text import snapshot_text
from ullage.sources.snapshot_file import (
    is_snapshot_bytes,
    read_snapshot_file,
    save_snapshot_file,
    snapshot_bytes,
    snapshot_of_bytes,
)
from ullage.sources.synthetic import Options, synthetic_snapshot

SMALL = cluster(node("n1", cpu=4, memory="8Gi").holding(pod("web/a", cpu=1)), name="small")
HEADER = struct.Struct(">8sH32s")
BLOCK = struct.Struct(">II")


@settings(max_examples=15)
@given(snapshots())
def test_a_snapshot_comes_back_exactly(snapshot):
    data = snapshot_bytes(snapshot)
    assert snapshot_of_bytes(data, "s") == snapshot
    assert is_snapshot_bytes(data)


def test_a_cluster_whose_quotas_are_wrong_comes_back_too():
    wrong = cluster(
        quota("a", {"cpu": "-2"}, {"cpu": "1"}, parent="gone", queues=("t/q",)), quota("b", parent="b")
    )
    assert snapshot_of_bytes(snapshot_bytes(wrong), "s") == wrong


def test_what_is_promised_comes_back_as_that():
    promised = cluster(node("n1", cpu=4).holding(pod("web/a", cpu=1, promised=True), pod("web/b", cpu=1)))
    found = snapshot_of_bytes(snapshot_bytes(promised), "s")
    assert [each.name for each in found.workloads if each.promised] == ["a"]


def test_the_same_snapshot_gives_the_same_bytes():
    one = cluster(node("n1").labelled({"a": "1", "b": "2"}))
    other = cluster(node("n1").labelled({"b": "2", "a": "1"}))
    assert snapshot_bytes(one) == snapshot_bytes(other)


def test_where_it_keeps_order_the_text_of_a_snapshot_comes_back_too():
    held = node("n1").labelled({"b": "2", "a": "1"}).holding(pod("web/a"))
    snapshot = cluster(held, quota("q", {"cpu": "1"}))
    read = snapshot_of_bytes(snapshot_bytes(snapshot, keeps_order=True), "wire")
    assert snapshot_text(read, "json") == snapshot_text(snapshot, "json")


def test_it_is_much_smaller_than_json():
    snapshot = synthetic_snapshot(Options(nodes=60))
    assert len(snapshot_bytes(snapshot)) * 20 < len(snapshot_text(snapshot, "json"))


def test_content_of_many_blocks_comes_back_exactly(monkeypatch):
    monkeypatch.setattr(snapshot_file, "BLOCK_BYTES", 100)
    data = snapshot_bytes(SMALL)
    assert BLOCK.unpack_from(data, HEADER.size)[1] == 100
    assert snapshot_of_bytes(data, "s") == SMALL


def test_a_file_from_before_there_were_more_tables_and_fields_is_read():
    size, _ = BLOCK.unpack_from(GOOD, HEADER.size)
    start = HEADER.size + BLOCK.size
    content = msgspec.msgpack.decode(zlib.decompress(GOOD[start : start + size]))
    content["tables"] = {name: content["tables"][name] for name in ("nodes", "workloads", "groups")}
    assert "preempts" not in content["tables"]["workloads"][1]
    assert snapshot_of_bytes(rebuilt(block(msgspec.msgpack.encode(content)) + END), "old") == SMALL


@pytest.mark.parametrize("form", ["compact", "yaml", "json"])
def test_a_file_is_read_by_its_content_and_not_by_its_name(tmp_path, form):
    path = tmp_path / "cluster.txt"
    if form == "compact":
        save_snapshot_file(str(path), SMALL)
    else:
        path.write_bytes(snapshot_text(SMALL, form))
    assert read_snapshot_file(str(path)) == SMALL


def rebuilt(blocks):
    return HEADER.pack(snapshot_file.MAGIC, 1, hashlib.sha256(blocks).digest()) + blocks


def block(content):
    packed = zlib.compress(content)
    return BLOCK.pack(len(packed), len(content)) + packed


GOOD = snapshot_bytes(SMALL)
END = BLOCK.pack(0, 0)
BAD = {
    "nothing": (b"", "not a compact snapshot"),
    "another file": (b"\x7fELF" + bytes(100), "not a compact snapshot"),
    "line ends changed": (GOOD.replace(b"\n", b"\r\n", 1), "not a compact snapshot"),
    "a newer version": (GOOD[:9] + b"\x02" + GOOD[10:], "of version 2, known is 1; use a newer ullage"),
    "a cut-off header": (GOOD[:20], "cut off at byte 20"),
    "a missing end": (GOOD[:-8], f"cut off at byte {len(GOOD) - 8}"),
    "a cut-off block": (GOOD[: len(GOOD) // 2], f"cut off at byte {len(GOOD) // 2}"),
    "more behind the end": (GOOD + b"x", "is damaged"),
    "no zlib data": (rebuilt(BLOCK.pack(4, 4) + b"abcd" + END), "is damaged"),
    "a block that is longer than it says": (
        rebuilt(BLOCK.pack(len(zlib.compress(b"abcdef")), 3) + zlib.compress(b"abcdef") + END),
        "is damaged",
    ),
    "a block that is shorter than it says": (
        rebuilt(BLOCK.pack(len(zlib.compress(b"a")), 3) + zlib.compress(b"a") + END),
        "is damaged",
    ),
    "a block without bound": (rebuilt(BLOCK.pack(4, 1 << 31) + b"abcd" + END), "is damaged"),
    "content that is no snapshot": (rebuilt(block(b"\xc1") + END), "not a valid snapshot"),
    "content of another shape": (
        rebuilt(block(msgspec.msgpack.encode({"name": 3})) + END),
        "not a valid snapshot",
    ),
    "nesting without end": (rebuilt(block(b"\x81\xa1x" + b"\x91" * 100_000) + END), "not a valid snapshot"),
}


@pytest.mark.parametrize(("data", "said"), BAD.values(), ids=BAD)
def test_a_bad_file_is_refused_by_name(data, said):
    with pytest.raises(InputError) as raised:
        snapshot_of_bytes(data, "old.ullage")
    assert str(raised.value).startswith("old.ullage: ")
    assert said in str(raised.value)


def test_content_far_larger_than_its_file_is_refused_before_it_is_unpacked():
    zeros = block(bytes(snapshot_file.BLOCK_BYTES))
    with pytest.raises(InputError, match="the content is larger than"):
        snapshot_of_bytes(rebuilt(zeros * 40 + END), "bomb")


@settings(max_examples=60)
@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_one_wrong_byte_is_always_noticed(position, change):
    data = bytearray(GOOD)
    data[position] ^= change
    with pytest.raises(InputError):
        snapshot_of_bytes(data, "s")


def test_rows_are_checked_as_those_of_every_source():
    stranger = msgspec.structs.replace(SMALL, nodes=cluster(node("other")).nodes)
    with pytest.raises(InputError, match="s: workload web/a: node 'n1' is none of the 1 nodes"):
        snapshot_of_bytes(snapshot_bytes(stranger), "s")


def test_a_folder_or_several_documents_are_no_snapshot_file(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        read_snapshot_file(str(tmp_path))
    path = tmp_path / "two.yaml"
    path.write_bytes(snapshot_text(SMALL) + b"---\n" + snapshot_text(SMALL))
    with pytest.raises(InputError, match="2 documents where one snapshot is expected"):
        read_snapshot_file(str(path))
