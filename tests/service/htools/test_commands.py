"""Commands: what each move is for Ganeti, and which moves may run at once."""

import pytest

from ullage.engine.balance.candidates import Step
from ullage.engine.balance.fleet import Fleet
from ullage.engine.balance.moves import Move, MoveKind, Place, place_after
from ullage.model.ganeti import GanetiCluster, GanetiGroup, GanetiNode, Instance, Status
from ullage.service.htools.commands import CHECK, command_lines

NODES = tuple(GanetiNode(f"{name}.example.org", "one") for name in "abcdef")


def fleet_of(status: Status = "running") -> Fleet:
    nodes = [node.name for node in NODES]
    instances = (
        Instance("vm.example.org", 0, (), 1000, nodes[0], nodes[1], status),
        Instance("other.example.org", 0, (), 1000, nodes[2], nodes[3]),
    )
    return Fleet(GanetiCluster((GanetiGroup("default", "one"),), NODES, instances))


def step(kind: MoveKind, target: int, machine: int = 0, before: Place | None = None) -> Step:
    move = Move(kind, target)
    place = before or Place(2 * machine, 2 * machine + 1)
    return Step(machine, move, place_after(place, move), 0.0, place)


@pytest.mark.parametrize(
    ("kind", "commands"),
    [
        ("f", ["migrate -f vm"]),
        ("fa", ["migrate -f -n f vm"]),
        ("r", ["replace-disks -n f vm"]),
        ("rf", ["replace-disks -n f vm", "migrate -f vm"]),
        ("frf", ["migrate -f vm", "replace-disks -n f vm", "migrate -f vm"]),
        ("fr", ["migrate -f vm", "replace-disks -n f vm"]),
    ],
)
def test_each_move_is_made_of_migrations_and_copies(kind: MoveKind, commands: list[str]) -> None:
    expected = [
        "",
        "echo jobset 1, 1 jobs",
        "  echo job 1/1",
        CHECK,
        *(f"  gnt-instance {c}" for c in commands),
    ]
    assert command_lines(fleet_of(), [step(kind, 5)]) == expected


@pytest.mark.parametrize(
    ("status", "command"),
    [("ERROR_up", "migrate"), ("ADMIN_down", "failover"), ("ADMIN_offline", "failover")],
)
def test_what_does_not_run_fails_over(status: Status, command: str) -> None:
    assert command_lines(fleet_of(status), [step("f", -1)])[-1] == f"  gnt-instance {command} -f vm"


def test_names_of_instances_may_be_kept_whole() -> None:
    assert command_lines(fleet_of(), [step("r", 5)], full_names=True)[-1].endswith("-n f vm.example.org")


def jobs(steps: list[Step], *, first_only: bool = False) -> list[str]:
    """Return for each move its set, its place there and the new node."""
    lines = command_lines(fleet_of(), steps, first_only=first_only)
    places = [line.split()[-1] for line in lines if line.startswith("  echo job ")]
    targets = [line.split()[3] for line in lines if "replace-disks" in line]
    return [f"{place} {target}" for place, target in zip(places, targets, strict=True)]


def test_sets_of_jobs_are_formed_from_the_last_move_backwards() -> None:
    first, second = step("r", 4), step("r", 5, machine=1)
    third = step("r", 1, before=Place(0, 4))
    assert jobs([first, second]) == ["1/1 e", "1/2 f"]
    assert jobs([first, second, third]) == ["1/1 e", "2/1 f", "2/2 b"]
    assert jobs([first, second, third], first_only=True) == ["1/1 e"]
    assert jobs([]) == []
