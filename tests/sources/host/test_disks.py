import pytest

from ullage.model.errors import InputError
from ullage.sources.host.disks import parse_class_overrides, parse_lsblk


def disks_of(facts):
    return {disk.kernel_name: disk for disk in facts.disks}


def test_only_whole_drives_are_listed_by_name(facts_of):
    assert list(disks_of(facts_of("kvm-host"))) == ["nvme0n1", "sda", "sdb", "sdc"]


@pytest.mark.parametrize(
    ("disk", "drive_class", "source"),
    [("nvme0n1", "NVME", "transport"), ("sda", "HDD", "rotational"), ("sdb", "SSD", "rotational")],
)
def test_the_class_comes_from_transport_else_from_the_rotational_flag(facts_of, disk, drive_class, source):
    found = disks_of(facts_of("kvm-host"))[disk]
    assert (found.drive_class, found.class_source, found.virtual, found.note) == (
        drive_class,
        source,
        False,
        None,
    )


@pytest.mark.parametrize(
    ("disk", "virtual"),
    [("sda", True), ("vdb", True), ("sdc", True), ("sdd", False), ("nvme0n1", True)],
)
def test_virtual_disks_are_known_by_model_name_or_lack_of_a_model_in_a_guest(facts_of, disk, virtual):
    found = disks_of(facts_of("virtual-machine"))[disk]
    assert found.virtual is virtual
    assert (found.note is not None) is virtual
    assert not virtual or f"--class {disk}=SSD" in found.note


def test_a_disk_without_a_model_on_a_xen_control_domain_is_real(facts_of):
    assert not disks_of(facts_of("xen-xl"))["sda"].virtual


def test_an_override_wins_and_needs_no_note(facts_of):
    overrides = parse_class_overrides(["/dev/vdb=ssd", "nvme0n1=HDD"])
    disks = disks_of(facts_of("virtual-machine", class_overrides=overrides))
    assert (disks["vdb"].drive_class, disks["vdb"].class_source, disks["vdb"].note) == (
        "SSD",
        "override",
        None,
    )
    assert (disks["nvme0n1"].drive_class, disks["nvme0n1"].class_source) == ("HDD", "override")
    assert disks["sda"].class_source == "rotational"


def test_an_override_of_a_disk_that_is_not_there_is_a_problem(facts_of):
    facts = facts_of("kvm-host", class_overrides=parse_class_overrides(["sdz=SSD"]))
    assert [problem.reason for problem in facts.problems] == ["--class sdz=SSD names no disk"]


def test_a_disk_that_says_nothing_about_rotation_has_no_class_but_a_note(facts_of):
    disk = disks_of(
        facts_of("kvm-host", ('"size":960197124096,"rota":false', '"size":960197124096,"rota":null'))
    )["sdb"]
    assert (disk.drive_class, disk.class_source) == (None, None)
    assert "--class sdb=SSD" in disk.note


@pytest.mark.parametrize(
    ("machine", "disk", "system", "clean"),
    [
        ("kvm-host", "nvme0n1", True, False),
        ("kvm-host", "sda", False, False),
        ("kvm-host", "sdb", False, True),
        ("kvm-host", "sdc", False, True),
        ("virtual-machine", "sda", True, False),
        ("virtual-machine", "vdb", False, False),
        ("lvm-two-groups", "sda", True, False),
        ("lvm-two-groups", "sdd", False, True),
    ],
)
def test_a_system_disk_holds_root_boot_or_swap_and_a_clean_one_nothing(
    facts_of, machine, disk, system, clean
):
    found = disks_of(facts_of(machine))[disk]
    assert (found.system, found.clean) == (system, clean)


@pytest.mark.parametrize("held", ['"mountpoints":["/boot"]', '"mountpoints":["[SWAP]"]', '"fstype":"swap"'])
def test_boot_and_swap_alone_make_a_system_disk(facts_of, held):
    key = held.partition(":")[0]
    serial = '"serial":"S45N","wwn":"0x5002538e","tran":"sata","mountpoints":[null],"fstype":null'
    old = '"mountpoints":[null]' if key == '"mountpoints"' else '"fstype":null'
    found = disks_of(facts_of("kvm-host", (serial, serial.replace(old, held))))["sdb"]
    assert (found.system, found.clean) == (True, False)


@pytest.mark.parametrize("disk", ["sdb", "sdc"])
def test_a_physical_volume_that_lsblk_does_not_see_is_not_clean(facts_of, disk):
    assert not disks_of(facts_of("lvm-two-groups"))[disk].clean


def test_what_is_on_a_disk_is_listed_to_its_last_layer(facts_of):
    disk = disks_of(facts_of("kvm-host"))["nvme0n1"]
    assert disk.children == ("md1", "nvme0n1p1", "nvme0n1p2")
    assert disk.mount_points == ("/", "/boot/efi")
    assert disk.file_systems == ("ext4", "linux_raid_member", "vfat")


def test_padding_goes_and_removable_stays_marked(facts_of):
    disks = disks_of(facts_of("kvm-host"))
    assert disks["sda"].model == "ST2000NM0008"
    assert (disks["sdc"].removable, disks["sda"].removable) == (True, False)


def test_old_lsblk_is_asked_the_older_question_and_its_strings_are_read(facts_of):
    facts = facts_of("hybrid")
    disks = disks_of(facts)
    assert (disks["sda"].drive_class, disks["sdb"].drive_class) == ("SSD", "HDD")
    assert (disks["sda"].size_bytes, disks["sda"].system) == (256060514304, True)
    assert "disks" not in [problem.probe for problem in facts.problems]


def test_when_both_questions_fail_the_first_complaint_is_told(facts_of):
    facts = facts_of("hybrid", ("MOUNTPOINT,FSTYPE", "MOUNT,FSTYPE"))
    assert facts.disks is None
    (problem,) = [problem for problem in facts.problems if problem.probe == "disks"]
    assert "status 1: lsblk: unknown column" in problem.reason


def test_without_lsblk_the_disks_are_unknown_not_absent(facts_of):
    facts = facts_of("bare-tools")
    assert facts.disks is None
    assert ("disks", "lsblk: command not found", "install util-linux") in [
        (problem.probe, problem.reason, problem.remedy) for problem in facts.problems
    ]


@pytest.mark.parametrize("argument", ["", "vda", "=SSD", "vda=", "vda=tape", "/dev/=SSD"])
def test_overrides_of_another_form_are_refused(argument):
    with pytest.raises(InputError, match=r"--class.*DEVICE=SSD"):
        parse_class_overrides([argument])


def test_one_disk_cannot_have_two_classes():
    assert parse_class_overrides(["a=SSD", "/dev/a=SSD"]) == {"a": "SSD"}
    with pytest.raises(InputError, match="a is given two classes"):
        parse_class_overrides(["a=SSD", "/dev/a=HDD"])


@pytest.mark.parametrize("text", ["", "{}", '{"blockdevices":[{"name":"a"}]}', '{"blockdevices":{}}'])
def test_other_reports_are_refused(text):
    with pytest.raises(InputError, match="lsblk: unusable report"):
        parse_lsblk(text)


def test_sizes_are_never_negative():
    with pytest.raises(InputError, match="size"):
        parse_lsblk('{"blockdevices":[{"name":"a","kname":"a","type":"disk","size":-1}]}')
