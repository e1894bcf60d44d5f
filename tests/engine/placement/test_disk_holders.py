"""What is placed holds its disks, what is taken back gives them back, and what is kept takes no others."""

import msgspec

from builders import cluster, node, pod, volume, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.disk_holders import served_on
from ullage.engine.trial import Trial
from ullage.model.drives import Drive, PlacedVolume

GIB = 1 << 30
OWN = volume("data", "4Gi", storage_class="HDDLVG", inline=True)
ASKED = waiting("web/new", cpu="1", volumes=(OWN,))


def trial_of(*pods, **more):
    return Trial(Columns(cluster(node("n1", cpu="8").with_(**more).holding(*pods))))


def drives(*gibibytes):
    return tuple(Drive(f"d{place}", "HDD", each * GIB) for place, each in enumerate(gibibytes))


def test_what_is_placed_is_told_and_forgotten_when_it_is_taken_back():
    trial = trial_of(drives=drives(10))
    shape, mark = trial.shape_of(ASKED), trial.mark()
    before = trial.volumes.disks.of(0)
    trial.place(shape, 0, 2)
    assert [each.place for each in served_on(shape, 0, 2)] == ["d0", "d0"]
    trial.undo(mark)
    assert (served_on(shape, 0, 2), trial.volumes.disks.of(0)) == ([], before)


def test_what_is_kept_takes_nothing_and_has_what_goes_with_it_back():
    runs = msgspec.structs.replace(ASKED, name="old", state="ok", volumes=(OWN,))
    made = PlacedVolume("v", "d0", 4 * GIB, owner="web/old")
    trial = trial_of(runs, drives=drives(10), placed_volumes=(made,))
    shape = trial.shape_of(ASKED)
    before, mark = trial.volumes.disks.of(0), trial.mark()
    trial.evict(trial.columns.snapshot.workloads["web/old"])
    assert trial.volumes.disks.of(0) != before
    with trial.volumes.disks.keeping("web/old"):
        trial.place(shape, 0)
    assert (trial.volumes.disks.of(0), served_on(shape, 0, 1)) == (before, [])
    trial.undo(mark)
    assert trial.volumes.disks.of(0) == before


def test_where_there_are_no_disks_nothing_is_held():
    trial = trial_of(pod("web/old"), drives=drives(1))
    shape = trial.shape_of(ASKED)
    trial.place(shape, 0)
    assert (served_on(shape, 0, 1), trial.volumes.disks.of(0).holds) == ([], ())
