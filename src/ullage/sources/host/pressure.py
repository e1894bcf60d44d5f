"""Pressure stall information: the share of time in which work waited for cpu, memory or io."""

import re

from ullage.model.errors import InputError
from ullage.sources.host.facts import Pressure, PressureFacts, PressureShare
from ullage.sources.host.machine import AbsentError, Machine, UnavailableError
from ullage.sources.host.problems import ProblemLog
from ullage.sources.host.reading import decimal_parts, lines_of, shown, whole_number

FILES = ("/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io")
_LINE = re.compile(r"(some|full) avg10=(\S+) avg60=(\S+) avg300=(\S+) total=([0-9]+)")


def read_pressure(machine: Machine, log: ProblemLog) -> PressureFacts:
    """Return what the kernel knows; a kernel without pressure information is one problem, not three."""
    found: list[Pressure | None] = []
    absent = 0
    for path in FILES:
        try:
            found.append(parse_pressure(machine.read_text(path), where=path))
        except AbsentError:
            absent += 1
            found.append(None)
        except InputError as error:
            # Where the kernel was booted with psi=0 the files exist and reading them fails.
            log.note("pressure", error)
            found.append(None)
    if absent == len(FILES):
        raise UnavailableError(
            "does not exist",
            where="/proc/pressure",
            remedy="use a kernel of 4.20 or later with CONFIG_PSI, booted with psi=1",
        )
    cpu, memory, io = found
    return PressureFacts(cpu=cpu, memory=memory, io=io)


def parse_pressure(text: str, *, where: str) -> Pressure:
    """Return the some and full lines of one file of /proc/pressure."""
    shares: dict[str, PressureShare] = {}
    for line in lines_of(text, where=where, lines_max=16):
        matched = _LINE.fullmatch(line)
        if matched is None:
            raise InputError(f"{shown(line)} is not pressure information", where=where)
        averages = [decimal_parts(matched[part], where=where, digits=2) for part in (2, 3, 4)]
        shares[matched[1]] = PressureShare(
            avg10_basis_points=averages[0],
            avg60_basis_points=averages[1],
            avg300_basis_points=averages[2],
            total_microseconds=whole_number(matched[5], where=where),
        )
    if "some" not in shares:
        raise InputError("has no line some", where=where)
    return Pressure(some=shares["some"], full=shares.get("full"))
