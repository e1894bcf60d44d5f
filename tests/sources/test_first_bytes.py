"""The first bytes of an input are looked at, and nothing of it is lost."""

import gzip
import io

import pytest

from ullage.sources.first_bytes import HEAD_BYTES, head_of_file, head_of_stream

LONG = bytes(range(256)) * 1024


@pytest.mark.parametrize(
    "data", [b"", b"short", LONG, gzip.compress(b"packed", mtime=0), gzip.compress(LONG, mtime=0)]
)
def test_a_stream_is_whole_after_a_look_at_it(data):
    head, stream = head_of_stream(io.BytesIO(data))
    plain = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    assert plain.startswith(head)
    assert bool(head) == bool(data)
    assert len(head) <= HEAD_BYTES
    assert stream.read() == data


@pytest.mark.parametrize(
    ("data", "head"), [(LONG, LONG[:HEAD_BYTES]), (gzip.compress(b"x", mtime=0), b"x"), (b"", b"")]
)
def test_the_first_bytes_of_a_file_are_unpacked(tmp_path, data, head):
    path = tmp_path / "file"
    path.write_bytes(data)
    assert head_of_file(str(path)) == head


def test_what_cannot_be_read_or_unpacked_has_none(tmp_path):
    assert head_of_file(str(tmp_path / "none")) == b""
    assert head_of_file(str(tmp_path)) == b""
    (tmp_path / "damaged").write_bytes(b"\x1f\x8b damaged")
    assert head_of_file(str(tmp_path / "damaged")) == b""
