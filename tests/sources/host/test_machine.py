import os

import pytest

from ullage.sources.host.machine import (
    CONTENT_BYTES_MAX,
    AbsentError,
    LocalMachine,
    UnavailableError,
    output_of,
)
from ullage.sources.host.process import Completed


def program(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture(name="tools")
def fixture_tools(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def test_absent_and_unreadable_are_told_apart(tmp_path):
    machine = LocalMachine()
    with pytest.raises(AbsentError, match="does not exist"):
        machine.read_text(str(tmp_path / "gone"))
    with pytest.raises(AbsentError):
        machine.read_text(str(tmp_path / "gone" / "further"))
    with pytest.raises(AbsentError):
        machine.list_dir(str(tmp_path / "gone"))
    with pytest.raises(AbsentError):
        machine.file_system_size(str(tmp_path / "gone"))
    with pytest.raises(AbsentError, match="command not found"):
        machine.run(("ullage-has-no-such-program",))
    for ask in (machine.read_text, machine.file_system_size):
        with pytest.raises(UnavailableError) as caught:
            ask("/a\0b")
        assert not isinstance(caught.value, AbsentError)
    with pytest.raises(UnavailableError, match="directory"):
        machine.read_text(str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_one_may_not_read_says_to_be_root(tmp_path):
    path = tmp_path / "secret"
    path.touch(0o000)
    with pytest.raises(UnavailableError, match="permission denied; run as root"):
        LocalMachine().read_text(str(path))


def test_content_is_bounded_and_bytes_that_are_no_text_are_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"a\xffb\n")
    assert LocalMachine().read_text(str(path)) == "a\ufffdb\n"
    path.write_bytes(b"x" * CONTENT_BYTES_MAX)
    assert len(LocalMachine().read_text(str(path))) == CONTENT_BYTES_MAX
    path.write_bytes(b"x" * (CONTENT_BYTES_MAX + 1))
    with pytest.raises(UnavailableError, match="more than 16777216 bytes"):
        LocalMachine().read_text(str(path))


def test_files_of_proc_sys_can_be_read():
    assert LocalMachine().read_text("/proc/sys/kernel/osrelease").strip() == os.uname().release


def test_names_are_sorted(tmp_path):
    for name in ("b", "a", "c"):
        (tmp_path / name).touch()
    assert LocalMachine().list_dir(str(tmp_path)) == ("a", "b", "c")


def test_sizes_are_those_of_statvfs(tmp_path):
    size, expected = LocalMachine().file_system_size(str(tmp_path)), os.statvfs(tmp_path)
    assert (size.block_bytes, size.total_blocks) == (expected.f_frsize, expected.f_blocks)


def test_commands_speak_the_plain_language_and_lvm_does_not_complain_about_files(tools):
    program(tools, "probe", 'echo "$LC_ALL $LVM_SUPPRESS_FD_WARNINGS $*"')
    assert LocalMachine().run(("probe", "a b", "$HOME")) == "C 1 a b $HOME\n"


def test_system_folders_are_searched_even_if_the_path_lacks_them(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert LocalMachine().run(("uname", "-m")).strip() == os.uname().machine


def test_a_failing_command_tells_the_last_thing_it_said(tools):
    program(tools, "probe", "echo first >&2; echo last word >&2; exit 7")
    with pytest.raises(UnavailableError, match=r"^probe: ended with status 7: last word$"):
        LocalMachine().run(("probe",))


def test_a_command_that_prints_too_much_is_a_failure_of_its_own(tools):
    program(tools, "probe", "yes")
    with pytest.raises(UnavailableError, match=r"^probe: more than 16777216 bytes of output$"):
        LocalMachine().run(("probe",))


@pytest.mark.parametrize(
    ("completed", "said"),
    [
        (Completed(1, "on stdout\n", ""), "lsblk: ended with status 1: on stdout"),
        (Completed(1, "", ""), "lsblk: ended with status 1"),
        (Completed(124, "", ""), "lsblk: no answer within 10 s"),
        (Completed(5, "", "open failed: Permission denied\n"), "Permission denied; run as root"),
    ],
)
def test_failures_are_one_clear_line(completed, said):
    with pytest.raises(UnavailableError) as caught:
        output_of(("lsblk",), completed)
    assert str(caught.value).endswith(said)
