import os
import stat

import pytest

from ullage.model.errors import InputError
from ullage.sources.atomic_file import write_atomically


def test_a_file_is_written_and_replaced_whole(tmp_path):
    path = tmp_path / "a"
    write_atomically(str(path), b"one")
    write_atomically(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_only_its_owner_may_read_it(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"")
    path.chmod(0o644)
    write_atomically(str(path), b"secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_folder_that_is_not_there_is_named_with_a_remedy(tmp_path):
    with pytest.raises(InputError, match="cannot be written: no such file or directory; name a file in a"):
        write_atomically(str(tmp_path / "no" / "a"), b"")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        write_atomically(str(tmp_path), b"")


def test_what_fails_half_way_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="no space left on device"):
        write_atomically(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]
