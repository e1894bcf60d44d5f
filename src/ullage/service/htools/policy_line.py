"""The policy of a cluster on one line, as Ganeti's tools show it to those who ask for much detail."""

from typing import Final

from ullage.model.ganeti import MIB, InstancePolicy, Size
from ullage.sources.ganeti.text_writer import shown_decimal

_TEMPLATES: Final = {
    "diskless": "DTDiskless",
    "file": "DTFile",
    "sharedfile": "DTSharedFile",
    "plain": "DTPlain",
    "blockdev": "DTBlock",
    "drbd": "DTDrbd8",
    "rbd": "DTRbd",
    "ext": "DTExt",
    "gluster": "DTGluster",
}


def policy_line(policy: InstancePolicy, *, with_ratio: bool) -> str:
    """Return a policy as text; the memory ratio only where one is in force, 1.0 where none is stated."""
    bounds = ",".join(
        f"MinMaxISpecs {{minMaxISpecsMinSpec = {_size(low)}, minMaxISpecsMaxSpec = {_size(high)}}}"
        for low, high in policy.bounds
    )
    parts = [
        f"iPolicyMinMaxISpecs = [{bounds}]",
        f"iPolicyStdSpec = {_size(policy.standard)}",
        f"iPolicyDiskTemplates = [{','.join(_TEMPLATES[each] for each in policy.templates)}]",
        f"iPolicyVcpuRatio = {shown_decimal(policy.cpu_ratio)}",
        f"iPolicySpindleRatio = {shown_decimal(policy.spindle_ratio)}",
    ]
    if with_ratio:
        ratio = "1.0" if policy.memory_ratio is None else shown_decimal(policy.memory_ratio)
        parts.append(f"iPolicyMemoryRatio = {ratio}")
    return f"IPolicy {{{', '.join(parts)}}}"


def _size(size: Size) -> str:
    return (
        f"ISpec {{iSpecMemorySize = {size.memory_bytes // MIB}, iSpecCpuCount = {size.cpus}, "
        f"iSpecDiskSize = {size.disk_bytes // MIB}, iSpecDiskCount = {size.disks}, "
        f"iSpecNicCount = {size.nics}, iSpecSpindleUse = {size.spindle_use}}}"
    )
