"""The commands that make moves, as a shell script: in sets of jobs that may run at once.

The sets are formed from the last move backwards, so the first set may be smaller than it could be.
"""

from collections.abc import Sequence
from typing import Final

from ullage.engine.balance.candidates import Step
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.search import jobsets
from ullage.service.htools.loading import write_file
from ullage.service.htools.options import Options
from ullage.service.htools.printed import Page
from ullage.service.htools.tables import RUNNING, common_suffix

CHECK: Final = "  check"
SCRIPT: Final = """#!/bin/sh

# Auto-generated script for executing cluster rebalancing

# To stop, touch the file /tmp/stop-htools

set -e

check() {
  if [ -f /tmp/stop-htools ]; then
    echo 'Stop requested, exiting'
    exit 0
  fi
}

"""
"""What a file of commands begins with: `check` ends it between two jobs where a user asks for that."""


def show_commands(page: Page, options: Options, title: str, lines: Sequence[str]) -> None:
    """Print commands or write them to a file, as asked for; what is printed cannot be stopped halfway."""
    if options.print_commands is None:
        return
    if options.print_commands != "-":
        write_file(options.print_commands, SCRIPT + "".join(f"{line}\n" for line in lines))
        page.say(f"The commands have been written to file '{options.print_commands}'")
        return
    page.say("", title, *(f"  {line}" for line in lines if line != CHECK))


def command_lines(
    fleet: Fleet, steps: Sequence[Step], *, first_only: bool = False, full_names: bool = False
) -> list[str]:
    """Return the lines that make moves; `full_names` keeps the common domain of instances."""
    suffix = common_suffix(fleet.cluster)
    sets = [found[::-1] for found in jobsets(reversed(steps))][::-1]
    lines = []
    for number, found in enumerate(sets[:1] if first_only else sets, 1):
        lines += ["", f"echo jobset {number}, {len(found)} jobs"]
        for job, step in enumerate(found, 1):
            name = fleet.machines[step.machine].name
            commands = _commands(fleet, step, name if full_names else name.removesuffix(suffix), suffix)
            lines += [f"  echo job {number}/{job}", CHECK]
            lines += [f"  gnt-instance {command}" for command in commands]
    return lines


def _commands(fleet: Fleet, step: Step, name: str, suffix: str) -> list[str]:
    """Return the commands of one move, without the program that they are given to."""
    how = "migrate" if fleet.machines[step.machine].instance.status in RUNNING else "failover"
    target = fleet.hosts[step.move.target].name.removesuffix(suffix)
    move, copy = f"{how} -f {name}", f"replace-disks -n {target} {name}"
    return {
        "f": [move],
        "fa": [f"{how} -f -n {target} {name}"],
        "r": [copy],
        "rf": [copy, move],
        "frf": [move, copy, move],
        "fr": [move, copy],
    }[step.move.kind]
