"""How `disks list` reads."""

import pytest

from builders import cluster, node
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources
from ullage.service.disks_list import disks_list_of

GIB = 1 << 30


def test_failing_drives_and_reasons(small, asked, read):
    text = read(disks_list_of(small, asked))
    assert text.startswith("3 drives on 1 node; HDD 4Ti free, at most 4Ti for one volume; 1 drive failing\n")
    assert "BAD ✗" in text
    assert "Not simulated: the price of tea" in text
    assert text.splitlines()[-1] == "Next: ullage disks fragmentation -c small.json"


def grouped(health="GOOD", name="vg"):
    """A group, and a drive of this health that a volume has to itself."""
    group = VolumeGroup(name, "HDD", 10 * GIB, 4 * GIB, drives=("a",))
    volumes = (PlacedVolume("v", name, 6 * GIB, claim="web/c"), PlacedVolume("w", "z", GIB, owner="web/p"))
    made = node("n1").with_(
        drives=(Drive("z", "HDD", GIB, health, clean=False), Drive("a", "HDD", 10 * GIB, clean=False)),
        volume_groups=(group,),
        placed_volumes=volumes,
    )
    taken = Resources({VOLUME_SPACE: GIB})
    return cluster(
        made, LedgerEntry("r", "new", f"group/n1/{name}", "web/q", taken, "RESERVED", expires_seconds=77)
    )


def test_drives_stand_below_their_group_and_volumes_with_whom_they_serve(asked, read):
    text = read(disks_list_of(grouped(), asked), 120)
    first = [line.split()[:3] for line in text.splitlines() if line.startswith("n1 ")]
    assert first == [["n1", "vg", "HDDLVG"], ["n1", "└", "a"], ["n1", "z", "HDD"]]
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert "v 6Gi n1 vg claim web/c" in rows
    assert "w 1Gi n1 z web/p" in rows
    assert "r web/q new 1Gi n1 vg 1970-01-01T00:01:17Z" in rows


@pytest.mark.parametrize("name", ["vg", "a"])
@pytest.mark.parametrize(("health", "first"), [("GOOD", "a"), ("BAD", "z")])
def test_the_next_question_is_the_loss_of_a_drive_with_volumes_a_failing_one_first(
    asked, read, health, first, name
):
    text = read(disks_list_of(grouped(health, name), asked))
    assert text.splitlines()[-1] == f"Next: ullage check --lose drive/{first} -c small.json"


def test_many_disks_are_shortened_and_those_of_the_system_left_out(asked):
    drives = tuple(Drive(f"d{number:02}", "HDD", GIB, system=number == 0) for number in range(70))
    found = disks_list_of(cluster(node("n1").with_(drives=drives)), asked)
    whole, short = found.page().blocks[0], found.shortened().blocks[0]
    assert (len(whole.rows), len(short.rows)) == (70, 60)
    assert short.caption.endswith(
        "1 disk of the system not shown, -o wide shows all; the first 60 of 69, -o wide shows all"
    )
