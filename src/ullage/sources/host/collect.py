"""One machine's facts: every probe in turn, each failure noted and none fatal."""

from datetime import UTC, datetime

import msgspec

from ullage.model.errors import InputError
from ullage.sources.host.cgroup import read_cgroup
from ullage.sources.host.cpu import read_cpu
from ullage.sources.host.disks import read_block_devices, unknown_overrides, whole_disks
from ullage.sources.host.facts import ClassOverrides, DiskFacts, HostFacts, LvmFacts, Virtualisation
from ullage.sources.host.ganeti import read_ganeti
from ullage.sources.host.gpus import read_gpus
from ullage.sources.host.lvm import read_lvm
from ullage.sources.host.machine import LocalMachine, Machine
from ullage.sources.host.memory import read_memory
from ullage.sources.host.mounts import read_mounts
from ullage.sources.host.pressure import read_pressure
from ullage.sources.host.problems import ProblemLog
from ullage.sources.host.system import (
    HOSTNAME,
    KERNEL,
    detect_virtualisation,
    is_xen_control_domain,
    read_architecture,
    read_line,
)


def collect(
    collected_at: datetime,
    *,
    machine: Machine | None = None,
    class_overrides: ClassOverrides | None = None,
) -> HostFacts:
    """Return the facts of this machine, or of the one given, as of an aware time that the caller read.

    `class_overrides` come from disks.parse_class_overrides; one that names no disk here becomes a problem.
    """
    if collected_at.tzinfo is None:
        raise InputError("the time of collection has no time zone", remedy="pass an aware datetime")
    asked: Machine = LocalMachine() if machine is None else machine
    log = ProblemLog()
    virtualisation = detect_virtualisation(asked)
    control_domain = is_xen_control_domain(asked)
    cpu = log.attempt("cpu", lambda: read_cpu(asked, log))
    lvm = log.attempt("lvm", lambda: read_lvm(asked))
    facts = HostFacts(
        collected_at=collected_at.astimezone(UTC),
        hostname=log.attempt("hostname", lambda: read_line(asked, HOSTNAME)),
        kernel=log.attempt("kernel", lambda: read_line(asked, KERNEL)),
        architecture=log.attempt("architecture", lambda: read_architecture(asked)),
        virtualisation=virtualisation,
        xen_control_domain=control_domain,
        cpu=cpu,
        memory=log.attempt("memory", lambda: read_memory(asked, log)),
        ganeti=log.attempt(
            "ganeti",
            lambda: read_ganeti(
                asked,
                log,
                xen_control_domain=control_domain,
                logical_cores=cpu.logical_cores if cpu else None,
            ),
        ),
        pressure=log.attempt("pressure", lambda: read_pressure(asked, log)),
        cgroup=log.attempt("cgroup", lambda: read_cgroup(asked, log)),
        disks=log.attempt(
            "disks",
            lambda: _read_disks(
                asked,
                log,
                virtualisation="none" if control_domain else virtualisation,
                lvm=lvm,
                overrides=class_overrides or {},
            ),
        ),
        mounts=log.attempt("mounts", lambda: read_mounts(asked, log)),
        lvm=lvm,
        gpus=log.attempt("gpus", lambda: read_gpus(asked, log)),
    )
    return msgspec.structs.replace(facts, problems=log.problems())


def _read_disks(
    machine: Machine,
    log: ProblemLog,
    *,
    virtualisation: Virtualisation,
    lvm: LvmFacts | None,
    overrides: ClassOverrides,
) -> tuple[DiskFacts, ...]:
    """Return the drives; what LVM knows makes a physical volume unclean that lsblk saw nothing on."""
    disks = whole_disks(
        read_block_devices(machine),
        virtualisation=virtualisation,
        physical_volumes=_physical_volume_names(lvm),
        overrides=overrides,
    )
    for device in unknown_overrides(disks, overrides):
        remedy = "name a disk of this host"
        log.note("disks", InputError(f"--class {device}={overrides[device]} names no disk", remedy=remedy))
    return disks


def _physical_volume_names(lvm: LvmFacts | None) -> frozenset[str]:
    if lvm is None:
        return frozenset()
    in_groups = (volume.name for group in lvm.volume_groups for volume in group.physical_volumes)
    return frozenset((*in_groups, *(volume.name for volume in lvm.unassigned_physical_volumes)))
