"""The sizes that a policy allows: asked about new machines only, never about those that move."""

from ullage.engine.balance.facts import Host, Machine
from ullage.engine.balance.state import Failure
from ullage.model.ganeti import Size


def size_failure(machine: Machine, host: Host) -> Failure | None:
    """Return why a policy does not allow a machine on a host, None where it does.

    One pair of bounds that it lies within is enough; the first pair names the failure.
    """
    first: Failure | None = None
    for low, high in host.policy.bounds:
        failure = _outside(machine, host, low, 1) or _outside(machine, host, high, -1)
        if failure is None:
            first = None
            break
        first = first or failure
    if first is None and machine.template not in host.policy.templates:
        return Failure("FailDisk", "template")
    return first


def _outside(machine: Machine, host: Host, bound: Size, sign: int) -> Failure | None:
    """Return in what a machine is on the wrong side of a bound: below it (1) or above (-1)."""
    instance = machine.instance
    missing = sign * (bound.memory_bytes - instance.memory_bytes)
    if missing > 0:
        return Failure("FailMem", "memory", missing)
    missing = max((sign * (bound.disk_bytes - disk.size_bytes) for disk in instance.disks), default=0)
    if missing > 0:
        return Failure("FailDisk", "disk", missing)
    missing = sign * (bound.cpus * 1000 - instance.cpu_milli)
    if missing > 0:
        return Failure("FailCPU", "cpu", missing)
    spindles = machine.spindles if host.exclusive else instance.spindle_use
    missing = 1 if spindles is None else sign * (bound.spindle_use - spindles)
    if missing > 0:
        return Failure("FailSpindles", "spindles", missing)
    missing = sign * (bound.disks - len(instance.disks))
    if missing > 0 and machine.template != "diskless":
        return Failure("FailDiskCount", "disks", missing)
    return None
