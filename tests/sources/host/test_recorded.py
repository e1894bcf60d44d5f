import pytest

from ullage.model.errors import InputError
from ullage.sources.host.machine import CONTENT_BYTES_MAX, AbsentError, UnavailableError
from ullage.sources.host.recorded import HEADER, parse_bundle


def recorded(*lines):
    return parse_bundle("\n".join((HEADER, *lines, "@end", "")).encode())


def test_content_comes_back_byte_for_byte():
    machine = recorded(
        "@file /a", "|one", "||two", "|@file /x", "|@end", "|", "@file /b", "|no end", "@file /c", "|"
    )
    assert machine.read_text("/a") == "one\n|two\n@file /x\n@end\n"
    assert machine.read_text("/b") == "no end"
    assert machine.read_text("/c") == ""
    with pytest.raises(AbsentError):
        machine.read_text("/x")


def test_a_file_without_content_lines_exists_and_could_not_be_read():
    with pytest.raises(UnavailableError, match="permission denied") as caught:
        recorded("@file /a").read_text("/a")
    assert not isinstance(caught.value, AbsentError)


def test_folders_list_what_lies_below_them():
    machine = recorded("@dir /empty", "@dir /d", "@file /d/b/c", "|", "@file /d/a", "|", "@file /dd/x", "|")
    assert machine.list_dir("/d") == ("a", "b")
    assert machine.list_dir("/empty") == ()
    with pytest.raises(AbsentError):
        machine.list_dir("/e")


def test_commands_answer_with_output_complaints_and_status():
    machine = recorded(
        "@command a -b", "|out", "|", "!careful", "!", "!status 0", "@command c", "|", "!why", "!status 2"
    )
    assert machine.run(("a", "-b")) == "out\n"
    with pytest.raises(UnavailableError, match="c: ended with status 2: why"):
        machine.run(("c",))
    with pytest.raises(AbsentError, match="lsblk: command not found; install util-linux"):
        machine.run(("lsblk",))


def test_sizes_are_found_by_the_real_name_of_the_mount_point():
    size = recorded(r"@size /my\040disk", "|4096 3 2 1").file_system_size("/my disk")
    assert (size.block_bytes, size.total_blocks, size.free_blocks, size.available_blocks) == (4096, 3, 2, 1)
    with pytest.raises(AbsentError):
        recorded().file_system_size("/")


def test_a_banner_before_the_recording_is_skipped(bundle):
    assert not bundle("bare-tools").startswith(HEADER.encode())
    assert parse_bundle(bundle("bare-tools")).read_text("/proc/sys/kernel/hostname") == "bare\n"


def test_content_cut_off_at_the_bound_is_not_taken_for_the_whole():
    machine = recorded(
        "@file /a", "|" + "x" * CONTENT_BYTES_MAX, "@command b", "|" + "x" * CONTENT_BYTES_MAX, "!status 0"
    )
    for ask in (lambda: machine.read_text("/a"), lambda: machine.run(("b",))):
        with pytest.raises(UnavailableError, match="bytes or more"):
            ask()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["@file /a", "naked"], "line 3 'naked' has no mark"),
        (["|stray"], "has no mark"),
        (["@what /a"], "unknown tag 'what'"),
        (["@command a", "|"], "command 'a' has no status"),
        (["@command a", "|", "!status x"], "command 'a' has no status"),
        (["@size /", "|1 2 3"], "is not four numbers"),
        (["@size /", "|1 2 3 x"], "'x' is not a whole number"),
        (["@dir /"] * 70_000, "more than 65536 items"),
    ],
)
def test_recordings_of_another_form_are_refused(lines, said):
    with pytest.raises(InputError, match=said):
        recorded(*lines)


@pytest.mark.parametrize(
    ("data", "said"), [(b"", "no line"), (HEADER.encode() + b"\n@file /a\n|x", "cut off")]
)
def test_incomplete_recordings_are_refused(data, said):
    with pytest.raises(InputError, match=said):
        parse_bundle(data)
