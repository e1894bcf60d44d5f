"""Groups written out in full, as hail does where no group is left to move an instance to."""

from collections.abc import Iterable
from typing import Final

from ullage.model.ganeti import MIB, AllocationPolicy, DiskTemplate, GanetiCluster, InstancePolicy, Size
from ullage.sources.ganeti.text_writer import shown_decimal

_ALLOCATION: Final[dict[AllocationPolicy, str]] = {
    "preferred": "AllocPreferred",
    "last_resort": "AllocLastResort",
    "unallocable": "AllocUnallocable",
}
_TEMPLATES: Final[dict[DiskTemplate, str]] = {
    "diskless": "DTDiskless", "file": "DTFile", "sharedfile": "DTSharedFile", "plain": "DTPlain",
    "blockdev": "DTBlock", "drbd": "DTDrbd8", "rbd": "DTRbd", "ext": "DTExt", "gluster": "DTGluster",
}  # fmt: skip


def group_dump(cluster: GanetiCluster, number: int) -> str:
    """Return all that is known of a group."""
    group = cluster.groups[number]
    return _record(
        "Group",
        name=_quoted(group.name),
        uuid=_quoted(group.uuid),
        idx=str(number),
        allocPolicy=_ALLOCATION[group.allocation],
        networks=_listed(_quoted(each) for each in group.networks),
        iPolicy=_policy(group.policy or InstancePolicy()),
        allTags=_listed(_quoted(each) for each in group.tags),
    )


def _policy(policy: InstancePolicy) -> str:
    bounds = [
        _record("MinMaxISpecs", minMaxISpecsMinSpec=_size(low), minMaxISpecsMaxSpec=_size(high))
        for low, high in policy.bounds
    ]
    return _record(
        "IPolicy",
        iPolicyMinMaxISpecs=_listed(bounds),
        iPolicyStdSpec=_size(policy.standard),
        iPolicyDiskTemplates=_listed(_TEMPLATES[each] for each in policy.templates),
        iPolicyVcpuRatio=shown_decimal(policy.cpu_ratio),
        iPolicySpindleRatio=shown_decimal(policy.spindle_ratio),
    )


def _size(size: Size) -> str:
    return _record(
        "ISpec",
        iSpecMemorySize=str(size.memory_bytes // MIB),
        iSpecCpuCount=str(size.cpus),
        iSpecDiskSize=str(size.disk_bytes // MIB),
        iSpecDiskCount=str(size.disks),
        iSpecNicCount=str(size.nics),
        iSpecSpindleUse=str(size.spindle_use),
    )


def _record(kind: str, **fields: str) -> str:
    return f"{kind} {{{', '.join(f'{name} = {value}' for name, value in fields.items())}}}"


def _listed(values: Iterable[str]) -> str:
    return f"[{','.join(values)}]"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
