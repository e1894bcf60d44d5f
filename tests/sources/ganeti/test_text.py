"""The text format: what each field means, and that a bad one is named with its line."""

from fractions import Fraction

import pytest

from ullage.model.errors import InputError
from ullage.model.ganeti import MIB, Disk, GanetiGroup, GanetiNode, Instance, InstancePolicy, Size
from ullage.sources.ganeti import text as text_source
from ullage.sources.ganeti.text import read_text

GROUP = "default|uuid-1|preferred|t:1,t:2|net-1"
NODE = "node1|65536|1024|60000|4194304|4000000|32|M|uuid-1|16|r:1|Y|12|2|1.5"
OTHER_NODE = "node2|65536|1024|-5|4194304|-6|32|N|uuid-1"
INSTANCE = "web|2048|20480|2|running|Y|node1|node2|drbd|a:1,b:2|3|4|Y"
OTHER_INSTANCE = "db|1024|10240|1|ADMIN_down|N|node2||plain|"
POLICY = "|128,1,1024,1,1,1|1,2,3,4,5,6;7,8,9,10,11,12|drbd,plain|4.0|32.0"
GROUP_POLICY = "default|128,1,1024,1,1,1|1,2,3,4,5,6;7,8,9,10,11,12;1,1,1,1,1,1;2,2,2,2,2,2||-1.0|32.0|1.25"
LINES = {
    "group": GROUP,
    "node": NODE,
    "other node": OTHER_NODE,
    "instance": INSTANCE,
    "other instance": OTHER_INSTANCE,
    "policy": POLICY,
    "group policy": GROUP_POLICY,
}
NUMBERS = {
    "group": 1,
    "node": 3,
    "other node": 4,
    "instance": 6,
    "other instance": 7,
    "policy": 12,
    "group policy": 13,
}


def written(**changed):
    lines = LINES | {name.replace("_", " "): line for name, line in changed.items()}
    sections = (
        [lines["group"]],
        [lines["node"], lines["other node"]],
        [lines["instance"], lines["other instance"]],
        ["tag-1", "tag-2"],
        [lines["policy"], lines["group policy"]],
    )
    return "\n\n".join("\n".join(each) for each in sections) + "\n"


def refusal(content):
    with pytest.raises(InputError) as raised:
        read_text(content, "data.txt")
    assert raised.value.remedy
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_every_field_of_every_section_is_read():
    cluster = read_text(written(), "data.txt")
    bound = (Size(MIB, 2, 3 * MIB, 4, 5, 6), Size(7 * MIB, 8, 9 * MIB, 10, 11, 12))
    small = Size(MIB, 1, MIB), Size(2 * MIB, 2, 2 * MIB, 2, 2, 2)
    assert cluster.policy == InstancePolicy(bounds=(bound,), templates=("drbd", "plain"))
    assert cluster.policy.memory_ratio is None
    policy = InstancePolicy(
        bounds=(bound, small), templates=(), cpu_ratio=Fraction(-1), memory_ratio=Fraction(5, 4)
    )
    assert cluster.groups == (
        GanetiGroup("default", "uuid-1", "preferred", ("t:1", "t:2"), ("net-1",), policy),
    )
    assert cluster.nodes == (
        GanetiNode(
            name="node1",
            group="uuid-1",
            memory_bytes=65536 * MIB,
            memory_node_bytes=1024 * MIB,
            memory_free_bytes=60000 * MIB,
            disk_bytes=4194304 * MIB,
            disk_free_bytes=4000000 * MIB,
            cpu_milli=32000,
            cpu_node_milli=2000,
            cpu_speed=Fraction(3, 2),
            master=True,
            spindles=16,
            spindles_free=12,
            exclusive_storage=True,
            tags=("r:1",),
        ),
        GanetiNode(
            name="node2",
            group="uuid-1",
            memory_bytes=65536 * MIB,
            memory_node_bytes=1024 * MIB,
            memory_free_bytes=-5 * MIB,
            disk_bytes=4194304 * MIB,
            disk_free_bytes=-6 * MIB,
            cpu_milli=32000,
        ),
    )
    assert cluster.instances == (
        Instance(
            name="web",
            memory_bytes=2048 * MIB,
            disks=(Disk(20480 * MIB, 4),),
            cpu_milli=2000,
            primary="node1",
            secondary="node2",
            tags=("a:1", "b:2"),
            spindle_use=3,
            forthcoming=True,
        ),
        Instance(
            name="db",
            memory_bytes=1024 * MIB,
            disks=(Disk(10240 * MIB),),
            cpu_milli=1000,
            primary="node2",
            status="ADMIN_down",
            auto_balance=False,
            template="plain",
        ),
    )
    assert cluster.tags == ("tag-1", "tag-2")


def test_policies_may_be_left_out_and_a_sixth_section_is_ignored():
    without = written().rsplit("\n\n", 1)[0] + "\n"
    assert read_text(without).policy == InstancePolicy()
    assert read_text(without).groups[0].policy is None
    assert read_text(f"{written()}\nwhatever | stands | here\n\n\n") == read_text(written())


def test_an_empty_section_is_two_blank_lines_in_a_row():
    cluster = read_text("\n\n\n\n")
    assert (cluster.groups, cluster.nodes, cluster.instances, cluster.tags) == ((), (), (), ())


@pytest.mark.parametrize(("content", "count"), [("", 0), ("a|b|preferred|\n", 1), ("\n", 2), ("\n\n", 3)])
def test_too_few_sections_are_refused(content, count):
    assert refusal(content).startswith(f"data.txt: the file has {count} of the sections groups, nodes, ")


def test_lines_may_end_as_windows_ends_them():
    assert read_text(written().replace("\n", "\r\n")) == read_text(written())


@pytest.mark.parametrize("field", range(1, 7))
def test_a_node_with_an_unknown_size_is_offline_with_nothing(field):
    parts = NODE.split("|")
    parts[field] = "?"
    node = read_text(written(node="|".join(parts))).nodes[0]
    assert node == GanetiNode("node1", "uuid-1", cpu_node_milli=0, offline=True, spindles=0)


@pytest.mark.parametrize(("flag", "offline", "master"), [("Y", True, False), ("M", False, True), ("x", 0, 0)])
def test_the_flag_of_a_node_says_whether_it_is_offline_or_the_master(flag, offline, master):
    node = read_text(written(other_node=OTHER_NODE.replace("|N|", f"|{flag}|"))).nodes[1]
    assert (node.offline, node.master) == (offline, master)


BAD_FIELDS = [
    ("group", 0, "name", "", "the name is empty"),
    ("group", 1, "uuid", "", "the name is empty"),
    ("group", 2, "alloc_policy", "p", "'p' is no allocation policy"),
    ("node", 0, "name", "", "the name is empty"),
    ("node", 1, "t_mem", "abc", "'abc' is no number; write MiB as digits"),
    ("node", 2, "n_mem", "-1", "'-1' is below zero; write MiB as digits"),
    ("node", 3, "f_mem", "1.5", "'1.5' is no number; write MiB as digits"),
    ("node", 4, "t_disk", "1e", "'1e' is no number; write MiB as digits"),
    ("node", 5, "f_disk", "", "'' is no number; write MiB as digits"),
    ("node", 6, "t_cpu", "many", "'many' is no number; write processors as digits"),
    ("node", 8, "group_uuid", "uuid-2", "there is no group 'uuid-2'"),
    ("node", 9, "spindles", "-1", "'-1' is below zero; write a whole number"),
    ("node", 11, "excl_storage", "yes", "'yes' is neither Y nor N"),
    ("node", 12, "free_spindles", "x", "'x' is no number; write a whole number"),
    ("node", 13, "node_cpus", "x", "'x' is no number; write processors as digits"),
    ("node", 14, "cpu_speed", "0", "'0' is not above zero"),
    ("instance", 0, "name", "", "the name is empty"),
    ("instance", 1, "mem", "2g", "'2g' is no number; write MiB as digits"),
    ("instance", 1, "mem", "-1", "'-1' is below zero; write MiB as digits"),
    ("instance", 2, "disk", "x", "'x' is no number; write MiB as digits"),
    ("instance", 3, "vcpus", "1.5", "'1.5' is no number; write processors as digits"),
    ("instance", 4, "status", "up", "'up' is no status; write one of running, "),
    ("instance", 5, "auto_bal", "", "'' is neither Y nor N"),
    ("instance", 6, "pnode", "node3", "there is no node 'node3'"),
    ("instance", 7, "snode", "node3", "there is no node 'node3'"),
    ("instance", 7, "snode", "node1", "'node1' is the primary node too"),
    ("instance", 8, "disk_template", "lvm", "'lvm' is no disk template; write one of diskless, "),
    ("instance", 10, "spindle_use", "x", "'x' is no number; write a whole number"),
    ("instance", 11, "spindles", "x", "'x' is no number; write a whole number"),
    ("instance", 12, "forthcoming", "x", "'x' is neither Y nor N"),
    ("group policy", 0, "owner", "other", "there is no group 'other'"),
    ("policy", 1, "stdspec", "1,2,3", "'1,2,3' has fewer than six numbers; write mem,cpus,disk,"),
    ("policy", 1, "stdspec", "1,2,x,4,5,6", "disk 'x' is no number; write MiB as digits"),
    ("policy", 2, "minmaxspecs", "1,1,1,1,1,1", "there are 1 sizes; write pairs"),
    ("policy", 2, "minmaxspecs", "1,1,1,1,1,1;1,1,1,x,1,1", "disk_count 'x' is no number"),
    ("policy", 3, "templates", "drbd,lvm", "'lvm' is no disk template"),
    ("policy", 4, "vcpu_ratio", "x", "'x' is no number"),
    ("policy", 4, "vcpu_ratio", "1000001", "'1000001' is too large"),
    ("policy", 5, "spindle_ratio", "-1", "'-1' is below zero"),
    ("group policy", 6, "memory_ratio", "-1", "'-1' is below zero"),
]


@pytest.mark.parametrize(("line", "number", "field", "bad", "said"), BAD_FIELDS)
def test_a_bad_field_is_named_with_its_line(line, number, field, bad, said):
    parts = LINES[line].split("|")
    parts[number] = bad
    message = refusal(written(**{line.replace(" ", "_"): "|".join(parts)}))
    assert message.startswith(f"data.txt line {NUMBERS[line]}, field {field}: {said}")


@pytest.mark.parametrize(
    ("line", "needed"), [("group", 4), ("node", 9), ("instance", 10), ("policy", 6), ("group policy", 6)]
)
def test_a_line_that_ends_too_early_is_refused_and_optional_fields_are_not_needed(line, needed):
    parts = LINES[line].split("|")
    name = line.replace(" ", "_")
    assert read_text(written(**{name: "|".join(parts[:needed])}))
    message = refusal(written(**{name: "|".join(parts[: needed - 1])}))
    assert message.startswith(f"data.txt line {NUMBERS[line]}: the line ends before field ")


def test_a_group_or_node_that_is_there_twice_is_refused():
    message = refusal(written(other_node=OTHER_NODE.replace("node2", "node1")))
    assert message.startswith("data.txt line 4, field name: 'node1' is there twice")
    groups = written().replace(GROUP, f"{GROUP}\n{GROUP.replace('default', 'more')}")
    assert refusal(groups).startswith("data.txt line 2, field uuid: 'uuid-1' is there twice")


def test_instances_of_one_name_are_kept_apart_as_saved_allocations_hold_them():
    twice = written(other_instance=OTHER_INSTANCE.replace("db", "web"))
    assert [each.name for each in read_text(twice).instances] == ["web", "web"]


def test_instances_of_one_name_are_refused_with_line_and_field_where_names_must_be_distinct():
    twice = written(other_instance=OTHER_INSTANCE.replace("db", "web"))
    with pytest.raises(InputError, match=r"^data.txt line 7, field name: 'web' is there twice; "):
        read_text(twice, "data.txt", distinct=True)
    assert len(read_text(written(), distinct=True).instances) == 2


@pytest.mark.parametrize("ratio", ["0", "0.9", "1.0e-2"])
def test_every_ratio_may_lie_between_0_and_1(ratio):
    read = read_text(written(policy=POLICY.replace("4.0|32.0", f"{ratio}|{ratio}|{ratio}"))).policy
    assert {read.cpu_ratio, read.spindle_ratio, read.memory_ratio} == {Fraction(ratio)}


def test_an_instance_that_is_not_mirrored_may_name_its_node_twice():
    line = "db|1024|10240|1|running|Y|node2|node2|rbd|"
    assert read_text(written(other_instance=line)).instances[1].secondary == "node2"


@pytest.mark.parametrize("control", ["\r", "\t", "\x1b", "\0"])
def test_a_control_character_is_refused_with_its_line(control):
    message = refusal(written().replace("tag-2", f"tag{control}2"))
    assert message.startswith(f"data.txt line 10: the control character {control!r}; ")


def test_the_last_policy_of_an_owner_holds():
    later = POLICY.replace("4.0", "2.5")
    assert read_text(f"{written()}{later}\n").policy.cpu_ratio == Fraction(5, 2)


def test_without_a_name_of_the_file_the_line_is_named():
    with pytest.raises(InputError, match=r"^line 3, field t_mem: "):
        read_text(written(node=NODE.replace("65536", "x")))


def test_sizes_of_files_and_sections_are_bounded(monkeypatch):
    monkeypatch.setattr(text_source, "NODES_MAX", 1)
    assert "there are too many nodes; the most is 1" in refusal(written())
    monkeypatch.setattr(text_source, "CHARACTERS_MAX", 5)
    assert "the file is too large; the most is 5 characters" in refusal(written())
