"""What helps where local disks are in the way: the largest smaller volume, and the smallest drive."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import batch, cluster, node, volume, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.storage.edits import with_drives
from ullage.model.delta import Delta, apply
from ullage.model.drives import Drive

GIB = 1 << 30
MIB = 1 << 20


def server(name, *sizes_gib, cpu="8"):
    drives = tuple(Drive(f"{name}-{i}", "HDD", gib * GIB) for i, gib in enumerate(sizes_gib))
    return node(name, cpu=cpu).with_(drives=drives)


def asks(*amounts, storage_class="HDDLVG", cpu="1"):
    volumes = tuple(
        volume(f"v{i}", amount, storage_class=storage_class, inline=True) for i, amount in enumerate(amounts)
    )
    return waiting("web/new", cpu=cpu, volumes=volumes)


def remedies(snapshot, workload, replicas=1):
    (outcome,) = fit(Columns(snapshot), [batch(replicas, workload)]).outcomes
    return {each.kind: each for each in outcome.refusal.remedies}


def test_the_largest_volume_that_fits_is_named_to_the_mebibyte():
    found = remedies(cluster(server("n1", 10)), asks("12Gi"))["volume"]
    assert (found.volume, found.size_bytes) == ("new-v0", 10 * GIB - 4 * MIB)
    assert found.text == "ask for 10236Mi (10Gi) at most for volume new-v0: it then fits"


def test_the_smallest_drive_that_would_do_is_named_with_its_node():
    snapshot = cluster(server("full", 2, cpu="500m"), server("n1", 10))
    found = remedies(snapshot, asks("12Gi"))["drive"]
    assert (found.nodes, found.drive_class) == (("n1",), "HDD")
    # A group of 12 GiB needs one more extent for its metadata.
    assert found.size_bytes == 12 * GIB + 4 * MIB


def test_a_whole_drive_needs_no_room_for_metadata():
    found = remedies(cluster(server("n1", 10)), asks("12Gi", storage_class="HDD"))
    assert found["drive"].size_bytes == 12 * GIB
    assert found["volume"].size_bytes == 10 * GIB


def test_replicas_count_all_of_them():
    found = remedies(cluster(server("n1", 9)), asks("4Gi"), replicas=4)
    assert found["drive"].size_bytes == 8 * GIB + 4 * MIB
    assert found["volume"].size_bytes // MIB * 4 <= 9 * 1024
    assert found["replicas"].replicas == 2


def test_where_cpu_is_in_the_way_too_no_disk_helps():
    found = remedies(cluster(server("n1", 2, cpu="500m")), asks("4Gi"))
    assert not {"volume", "drive"} & set(found)


def test_the_group_of_the_system_gets_no_drive():
    assert "drive" not in remedies(cluster(server("n1", 2)), asks("4Gi", storage_class="SYSLVG"))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=3),
    st.lists(st.integers(1, 14), min_size=1, max_size=2),
    st.booleans(),
)
def test_what_is_said_to_help_helps_and_a_little_less_does_not(drives, sizes, whole):
    snapshot = cluster(server("n1", *drives))
    workload = asks(*(f"{gib}Gi" for gib in sizes), storage_class="HDD" if whole else "HDDLVG")
    answer = fit(Columns(snapshot), [batch(1, workload)])
    if answer.fits:
        return
    for remedy in answer.outcomes[0].refusal.remedies:
        if remedy.kind == "drive":
            assert _fits_with_drive(snapshot, workload, remedy.size_bytes)
            assert not _fits_with_drive(snapshot, workload, remedy.size_bytes - 4 * MIB)
        if remedy.kind == "volume":
            assert _fits_with_size(snapshot, workload, remedy, remedy.size_bytes)
            assert not _fits_with_size(snapshot, workload, remedy, remedy.size_bytes + MIB)


def _fits_with_drive(snapshot, workload, size_bytes):
    edited = apply(snapshot, Delta(nodes=(with_drives(snapshot.nodes["n1"], "HDD", size_bytes),)))
    return fit(Columns(edited), [batch(1, workload)]).fits


def _fits_with_size(snapshot, workload, remedy, size_bytes):
    volumes = tuple(
        msgspec.structs.replace(each, size_bytes=size_bytes) if f"new-{each.name}" == remedy.volume else each
        for each in workload.volumes
    )
    return fit(Columns(snapshot), [batch(1, msgspec.structs.replace(workload, volumes=volumes))]).fits
