import pytest

from ullage.model.errors import InputError
from ullage.sources.host.lvm import assemble, parse_lvs, parse_pvs, parse_vgs

GROUP = (
    '{"vg_name":"%s","vg_uuid":"u","vg_size":"8","vg_free":"4",'
    '"vg_extent_size":"4","vg_extent_count":"2","vg_free_count":"%s"}'
)
VOLUME = (
    '{"pv_name":"/dev/sda","vg_name":"%s","pv_uuid":"u","pv_size":"8","pv_free":"4",'
    '"pv_pe_count":"2","pv_pe_alloc_count":"%s","pv_attr":"a--"}'
)
LOGICAL = (
    '{"lv_name":"x","vg_name":"%s","lv_uuid":"u","lv_size":"4","lv_attr":"-wi-a-----",'
    '"lv_layout":"linear","pool_lv":"","origin":""}'
)


def report(kind, *rows):
    return f'{{"report":[{{"{kind}":[{",".join(rows)}]}}]}}'


def test_groups_come_by_name_with_whole_extents(facts_of):
    data, system = facts_of("lvm-two-groups").lvm.volume_groups
    assert (data.name, system.name) == ("data", "system")
    assert (system.total_extents, system.free_extents, system.extent_size_bytes) == (25599, 15359, 4194304)
    assert system.size_bytes == system.total_extents * system.extent_size_bytes
    assert system.free_bytes == system.free_extents * system.extent_size_bytes


def test_physical_volumes_belong_to_their_group_and_say_what_cannot_be_used(facts_of):
    lvm = facts_of("lvm-two-groups").lvm
    data, system = lvm.volume_groups
    assert [(pv.name, pv.allocatable, pv.missing) for pv in data.physical_volumes] == [
        ("/dev/sdb", False, False),
        ("[unknown]", True, True),
    ]
    assert [(pv.name, pv.used_extents) for pv in system.physical_volumes] == [("/dev/sda1", 10240)]
    assert [pv.name for pv in lvm.unassigned_physical_volumes] == ["/dev/sdc"]


def test_logical_volumes_say_their_pool_and_layout(facts_of):
    root, thin, machine = facts_of("lvm-two-groups").lvm.volume_groups[1].logical_volumes
    assert (root.name, root.layout, root.pool, root.origin) == ("root", ("linear",), None, None)
    assert (thin.name, thin.layout) == ("thin", ("thin", "pool"))
    assert (machine.pool, machine.origin, machine.size_bytes) == ("thin", "base", 85899345920)


def test_a_host_with_lvm_and_no_group_is_told_apart_from_one_without_lvm(facts_of):
    assert facts_of("kvm-host").lvm.volume_groups == ()
    facts = facts_of("bare-tools")
    assert facts.lvm is None
    assert any(problem.probe == "lvm" and "lvm2" in problem.remedy for problem in facts.problems)


def test_a_failing_command_leaves_no_half_answer_and_says_to_be_root(facts_of):
    denied = "|\n!  /run/lock/lvm/P_global:aux: open failed: Permission denied\n!status 5\n@command lvs"
    facts = facts_of("kvm-host", ("|\n!\n!status 0\n@command lvs", denied))
    assert facts.lvm is None
    (problem,) = facts.problems
    assert problem.reason.startswith("pvs: ended with status 5: /run/lock/lvm")
    assert problem.remedy == "run as root"


def test_numbers_may_be_strings_or_numbers():
    rows = parse_vgs(report("vg", (GROUP % ("a", 1)).replace('"8"', "8")))
    assert rows[0].vg_size == 8


@pytest.mark.parametrize(
    ("groups", "physical", "logical", "said"),
    [
        ([("a", 1), ("a", 1)], [], [], "group 'a' appears twice"),
        ([("a", 3)], [], [], "more free than total"),
        ([("a", 1)], [("b", 1)], [], "'/dev/sda' is in no known group"),
        ([("a", 1)], [("a", 3)], [], "more used than total"),
        ([("a", 1)], [], ["b"], "'x' is in group 'b', which vgs lacks"),
    ],
)
def test_reports_that_contradict_each_other_are_refused(groups, physical, logical, said):
    with pytest.raises(InputError, match=said):
        assemble(
            parse_vgs(report("vg", *(GROUP % group for group in groups))),
            parse_pvs(report("pv", *(VOLUME % volume for volume in physical))),
            parse_lvs(report("lv", *(LOGICAL % group for group in logical))),
        )


@pytest.mark.parametrize("size", ["-1", "1.5", "8B", "9223372036854775808", ""])
def test_sizes_of_another_form_are_refused(size):
    with pytest.raises(InputError, match=r"vgs: unusable report.*vg_size"):
        parse_vgs(report("vg", (GROUP % ("a", 1)).replace('"vg_size":"8"', f'"vg_size":"{size}"')))
