"""Groups written out in full, with every bound and ratio of their policy."""

from ganeti_builders import ganeti_cluster
from ullage.model.ganeti import GanetiGroup, InstancePolicy
from ullage.service.htools.group_dump import group_dump

SMALLEST = (
    "ISpec {iSpecMemorySize = 128, iSpecCpuCount = 1, iSpecDiskSize = 1024, iSpecDiskCount = 1, "
    "iSpecNicCount = 1, iSpecSpindleUse = 1}"
)
LARGEST = (
    "ISpec {iSpecMemorySize = 32768, iSpecCpuCount = 8, iSpecDiskSize = 1048576, iSpecDiskCount = 16, "
    "iSpecNicCount = 8, iSpecSpindleUse = 12}"
)


def test_all_of_a_group_is_written():
    policy = InstancePolicy(templates=("drbd", "ext"))
    group = GanetiGroup('the "g"', "u", "last_resort", ("t",), ("n", "m"), policy)
    bounds = f"[MinMaxISpecs {{minMaxISpecsMinSpec = {SMALLEST}, minMaxISpecsMaxSpec = {LARGEST}}}]"
    assert group_dump(ganeti_cluster([], groups=[group]), 0) == (
        'Group {name = "the \\"g\\"", uuid = "u", idx = 0, allocPolicy = AllocLastResort, '
        f'networks = ["n","m"], iPolicy = IPolicy {{iPolicyMinMaxISpecs = {bounds}, '
        f"iPolicyStdSpec = {SMALLEST}, "
        "iPolicyDiskTemplates = [DTDrbd8,DTExt], iPolicyVcpuRatio = 4.0, iPolicySpindleRatio = 32.0}, "
        'allTags = ["t"]}'
    )
