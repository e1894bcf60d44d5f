import pytest

from ullage.model.errors import InputError
from ullage.sources.host.mounts import parse_mountinfo, real_mounts


def test_only_real_file_systems_are_listed_each_device_once(facts_of):
    mounts = facts_of("kvm-host").mounts
    assert [(mount.mount_point, mount.source) for mount in mounts] == [
        ("/", "/dev/md1"),
        ("/boot/efi", "/dev/nvme0n1p1"),
        ("/srv/my disk", "/dev/sda"),
        ("/tank", "tank"),
    ]


def test_used_is_what_is_not_free_and_available_is_what_users_get(facts_of):
    root = facts_of("kvm-host").mounts[0]
    assert root.size_bytes == 5_000_000 * 4096
    assert root.used_bytes == 3_000_000 * 4096
    assert root.available_bytes == 1_750_000 * 4096


def test_a_mount_is_read_only_by_its_own_options_or_its_file_system(facts_of):
    assert [mount.read_only for mount in facts_of("virtual-machine").mounts] == [False, True]
    frozen = facts_of("virtual-machine", ("/dev/sda1 rw,errors", "/dev/sda1 ro,errors"))
    assert [mount.read_only for mount in frozen.mounts] == [True, True]


def test_a_mount_that_cannot_be_asked_is_noted_and_left_out(facts_of):
    facts = facts_of("kvm-host", ("@size /tank", "@size /elsewhere"))
    assert "/tank" not in [mount.mount_point for mount in facts.mounts]
    assert [(problem.probe, problem.reason) for problem in facts.problems] == [
        ("mounts", "/tank: its size was not recorded")
    ]


def test_sizes_beyond_63_bits_are_a_problem(facts_of):
    facts = facts_of("hybrid", ("|4096 1000000 500000 450000", f"|4096 {2**60} 1 1"))
    assert facts.mounts == ()
    assert any(problem.probe == "mounts" and "out of range" in problem.reason for problem in facts.problems)


@pytest.mark.parametrize(
    ("kind", "source", "kept"),
    [
        ("ext4", "/dev/sda1", True),
        ("fuseblk", "/dev/sdb1", True),
        ("zfs", "tank/data", True),
        ("tmpfs", "tmpfs", False),
        ("nfs4", "filer:/export", False),
        ("overlay", "overlay", False),
        ("squashfs", "/dev/loop3", False),
        ("fuse.portal", "/dev/fuse", False),
    ],
)
def test_which_file_systems_are_real(kind, source, kept):
    line = f"28 1 8:1 / /x rw,relatime shared:1 master:2 - {kind} {source} rw"
    assert bool(real_mounts(parse_mountinfo(line))) is kept


def test_the_whole_file_system_is_preferred_to_a_part_then_the_shortest_path():
    lines = "\n".join(
        f"28 1 8:1 {root} {point} rw - ext4 /dev/sda1 rw"
        for root, point in [("/a", "/x"), ("/", "/longer/path"), ("/", "/path"), ("/b", "/y")]
    )
    assert [mount.point for mount in real_mounts(parse_mountinfo(lines))] == ["/path"]


def test_escapes_of_the_kernel_are_undone():
    (mount,) = parse_mountinfo(r"28 1 8:1 / /a\040b\134c\011d rw - ext4 /dev/x\040y rw")
    assert (mount.point, mount.source) == ("/a b\\c\td", "/dev/x y")


@pytest.mark.parametrize(
    "line", ["", "28 1 8:1 / /", "28 1 8:1 / / rw ext4 /dev/sda1 rw", "28 1 8:1 / / rw - ext4"]
)
def test_lines_of_another_form_are_refused(line):
    with pytest.raises(InputError, match="mountinfo"):
        parse_mountinfo(line + "\n")
