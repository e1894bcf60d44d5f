"""Files, folders and standard input as bytes, each within its limits."""

import errno
import gzip
import io
import os
import threading

import pytest

from ullage.model.errors import InputError
from ullage.sources.input_files import InputFile, read_files, require_utf8
from ullage.sources.limits import DEFAULT_LIMITS, Limits

SMALL = Limits(file_bytes_max=100, files_max=3, entries_max=6, folder_depth_max=2)


def names_and_data(path, limits=DEFAULT_LIMITS, **options):
    return [(file.name, bytes(file.data)) for file in read_files(str(path), limits, **options)]


def refusal(path, limits=SMALL, **options):
    with pytest.raises(InputError) as caught:
        names_and_data(path, limits, **options)
    return str(caught.value)


def test_a_file_is_read_whole(tmp_path):
    file = tmp_path / "dump.txt"
    file.write_bytes(b"x" * 100)
    assert names_and_data(file, SMALL) == [(str(file), b"x" * 100)]


def test_standard_input_is_a_dash():
    assert names_and_data("-", stdin=io.BytesIO(b"a: 1")) == [("standard input", b"a: 1")]


def test_gzip_is_told_by_its_first_bytes(tmp_path):
    file = tmp_path / "dump.json"
    file.write_bytes(gzip.compress(b"{}"))
    assert names_and_data(file) == [(str(file), b"{}")]
    assert names_and_data("-", stdin=io.BytesIO(gzip.compress(b"{}"))) == [("standard input", b"{}")]


def test_gzip_of_several_members_and_padding_is_read_to_its_end():
    data = gzip.compress(b"a" * 3_000_000) + gzip.compress(b"b") + b"\0" * 40
    assert names_and_data("-", stdin=io.BytesIO(data)) == [("standard input", b"a" * 3_000_000 + b"b")]


class OneByteAtATime(io.RawIOBase):
    def __init__(self, data):
        self.rest = data

    def read(self, _=-1):
        first, self.rest = self.rest[:1], self.rest[1:]
        return first


@pytest.mark.parametrize("content", [b"", b"x", b'{"a": 1}'])
def test_a_slow_pipe_is_read_to_its_end(content):
    assert names_and_data("-", stdin=OneByteAtATime(content)) == [("standard input", content)]
    packed = gzip.compress(content)
    assert names_and_data("-", stdin=OneByteAtATime(packed)) == [("standard input", content)]


def test_a_named_pipe_is_read_as_a_stream(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"a: 1",))
    writer.start()
    assert names_and_data(pipe) == [(str(pipe), b"a: 1")]
    writer.join()


def test_a_folder_gives_its_json_and_yaml_files_by_name(tmp_path):
    for name in (
        "b.json",
        "a.yaml",
        "sub/c.YML",
        "sub/deep/d.json.gz",
        "notes.md",
        ".hidden.json",
        ".git/x.json",
    ):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(b"{}") if name.endswith("gz") else name.encode())
    (tmp_path / "linked.json").symlink_to(tmp_path / "b.json")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.json")
    found = [name.removeprefix(f"{tmp_path}/") for name, _ in names_and_data(tmp_path)]
    assert found == ["a.yaml", "b.json", "linked.json", "sub/c.YML", "sub/deep/d.json.gz"]


def test_a_folder_without_such_files_is_refused(tmp_path):
    (tmp_path / "notes.md").touch()
    assert (
        refusal(tmp_path) == f"{tmp_path}: no .json, .yaml or .yml file in this folder; name another folder"
    )


def test_a_folder_of_too_many_files_is_refused(tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.json").touch()
    assert len(names_and_data(tmp_path, SMALL)) == 3
    (tmp_path / "3.json").touch()
    assert refusal(tmp_path) == f"{tmp_path}: more than 3 files in this folder; name a smaller folder"


def test_a_folder_of_too_many_names_is_refused(tmp_path):
    (tmp_path / "a.json").touch()
    for number in range(5):
        (tmp_path / f"{number}.md").touch()
    assert len(names_and_data(tmp_path, SMALL)) == 1
    (tmp_path / ".hidden").touch()
    assert refusal(tmp_path) == f"{tmp_path}: more than 6 names in this folder; name a smaller folder"


def test_folders_too_deep_are_refused(tmp_path):
    (tmp_path / "1/2").mkdir(parents=True)
    (tmp_path / "1/2/a.json").touch()
    assert len(names_and_data(tmp_path, SMALL)) == 1
    (tmp_path / "1/2/3").mkdir()
    assert refusal(tmp_path) == (
        f"{tmp_path}/1/2/3: more than 2 folders inside each other; name a folder nearer to the files"
    )


TOO_LARGE = "more than 100 bytes of text; dump fewer namespaces or kinds at a time"


def test_what_is_too_large_is_refused_wherever_it_comes_from(tmp_path):
    file = tmp_path / "a.json"
    file.write_bytes(b"x" * 101)
    assert refusal(file) == f"{file}: {TOO_LARGE}"
    assert refusal("-", stdin=io.BytesIO(b"x" * 101)) == f"standard input: {TOO_LARGE}"
    assert refusal("/proc/self/status") == f"/proc/self/status: {TOO_LARGE}"
    assert refusal("/dev/zero") == "/dev/zero: is a device; name a file, or use - for standard input"


def test_a_gzip_bomb_is_stopped_at_the_limit():
    bomb = gzip.compress(b"\0" * 10_000_000)
    limits = Limits(file_bytes_max=5_000_000)
    message = "standard input: more than 5000000 bytes of text; dump fewer namespaces or kinds at a time"
    assert refusal("-", limits, stdin=io.BytesIO(bomb)) == message


def test_gzip_without_content_ends_at_the_limit_too():
    class Endless(io.RawIOBase):
        def read(self, _=-1):
            return gzip.compress(b"")

    assert refusal("-", stdin=Endless()) == f"standard input: {TOO_LARGE}"


def test_damaged_gzip_is_refused():
    packed = gzip.compress(b"some text that is long enough")
    assert refusal("-", stdin=io.BytesIO(packed[:-9])) == (
        "standard input: the gzip data is cut off; copy or compress the file again"
    )
    assert refusal("-", stdin=io.BytesIO(packed[:12] + b"\xff\xff" + packed[14:])) == (
        "standard input: damaged gzip data; compress the file again"
    )


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    assert refusal(tmp_path / "no\nsuch") == (
        f"{tmp_path}/no\\nsuch: cannot be read: no such file or directory; "
        "check the path, or use - for standard input"
    )
    name = "x" * 300
    assert refusal(name) == f"{name}: cannot be read: file name too long"
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert refusal(tmp_path / "loop") == f"{tmp_path}/loop: cannot be read: too many levels of symbolic links"
    with pytest.raises(InputError, match=r"^a\\x00b: a path holds a NUL character; correct it$"):
        names_and_data("a\0b")


def test_standard_input_that_cannot_be_read_is_refused(monkeypatch):
    class HungUp(io.RawIOBase):
        def read(self, _=-1):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    assert refusal("-", stdin=HungUp()) == "standard input: cannot be read: input/output error"
    monkeypatch.setattr("sys.stdin", None)
    assert refusal("-") == "standard input: closed; name a file, or pipe a dump in"


TEXTS = {
    "UTF-16": (b"\xff\xfea\0", "f: the text is UTF-16; save it as UTF-8; PowerShell: -Encoding utf8"),
    "UTF-16, the other way round": (
        b"\xfe\xff\0a",
        "f: the text is UTF-16; save it as UTF-8; PowerShell: -Encoding utf8",
    ),
    "Latin-1": (b"a: 1\nb: caf\xe9 x", "f:2:7: byte 11 (0xe9) is not UTF-8; save the file as UTF-8"),
    "cut inside a character": (
        b"\xc3\xa4\xe2\x82",
        "f:1:2: byte 2 (0xe2) is not UTF-8; save the file as UTF-8",
    ),
    "a surrogate": (b"\xed\xa0\x80", "f:1:1: byte 0 (0xed) is not UTF-8; save the file as UTF-8"),
    "far into the text": (
        b"\n" + b"a" * ((1 << 20) - 2) + b"\xe2\x82!",
        "f:2:1048575: byte 1048575 (0xe2) is not UTF-8; save the file as UTF-8",
    ),
}


@pytest.mark.parametrize(("data", "message"), TEXTS.values(), ids=TEXTS)
def test_text_that_is_not_utf8_is_refused(data, message):
    with pytest.raises(InputError) as caught:
        require_utf8(InputFile("f", data))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    ["", "a", "\ufeffa", "é" * 2, "a" + "€" * 700_000],
    ids=["empty", "ASCII", "with a mark", "short", "characters across chunks"],
)
def test_utf8_is_accepted(text):
    require_utf8(InputFile("f", text.encode()))
