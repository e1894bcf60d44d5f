"""Real LVM judges our arithmetic: what we say fits it makes, what we refuse it refuses, to the extent."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import msgspec
import pytest

from real_lvm import LvmAbsentError, RealLvm
from ullage.engine.storage.capacities import capacities_of
from ullage.engine.storage.extents import group_bytes, volume_bytes
from ullage.engine.storage.planning import plan
from ullage.model.cluster import Node
from ullage.model.disk_plan import DiskRequest
from ullage.model.drives import Drive, PlacedVolume, VolumeGroup
from ullage.sources.host.collect import collect
from ullage.sources.host.disks import read_block_devices, whole_disks
from ullage.sources.host.facts import DiskFacts, HostFacts
from ullage.sources.host.lvm import read_lvm
from ullage.sources.host.machine import LocalMachine
from ullage.sources.host_cluster import host_node, host_unknowns

pytestmark = pytest.mark.slow

MIB = 1 << 20
EXTENT = 4 * MIB
SECTOR = 512
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
STEPS = 25
# A drive that ends at the edge of an extent, a sector before and behind the place where the metadata decides.
ODD_SIZES = (
    64 * MIB, 64 * MIB - SECTOR, 65 * MIB - SECTOR, 65 * MIB, 65 * MIB + SECTOR, 67 * MIB + 12 * SECTOR,
    68 * MIB - SECTOR, 5 * MIB, 5 * MIB - SECTOR, 4 * MIB,
)  # fmt: skip


@pytest.fixture
def lvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RealLvm]:
    """LVM on loops of this test alone; `inspect` sees what the test's own commands see."""
    try:
        with RealLvm(tmp_path) as made:
            probe = made.attach(8 * MIB)
            made.detach(probe)
            for name, value in made.environment.items():
                monkeypatch.setenv(name, value)
            yield made
    except LvmAbsentError as absent:
        pytest.skip(str(absent))


def inspected(lvm: RealLvm) -> HostFacts:
    """This host as `inspect` reads it, with the loops as its disks, which are no drives otherwise."""
    loops = tuple(
        DiskFacts(name=name, kernel_name=name, size_bytes=0, drive_class="HDD")
        for name in (loop.removeprefix("/dev/") for loop in lvm.loops)
    )
    return HostFacts(collected_at=NOON, hostname="h1", disks=loops, mounts=(), lvm=read_lvm(LocalMachine()))


def read_group(lvm: RealLvm, name: str) -> VolumeGroup:
    (found,) = (group for group in host_node(inspected(lvm)).volume_groups if group.name == name)
    return found


def allows(node: Node, size_bytes: int) -> bool:
    request = DiskRequest("asked", "HDDLVG", size_bytes)
    return bool(plan("exact", capacities_of(node), (), [request], [node.name]).nodes)


def test_a_group_on_a_fresh_drive_is_as_large_as_we_say(lvm: RealLvm) -> None:
    for size_bytes in ODD_SIZES:
        loop = lvm.attach(size_bytes)
        group = read_group(lvm, lvm.group(loop))
        assert (group.size_bytes, group.free_bytes) == (group_bytes(size_bytes), group_bytes(size_bytes))
        assert group.drives == (loop.removeprefix("/dev/"),)
        assert lvm.create(group.name, "one", 1) == (group.size_bytes > 0)
        lvm.detach(loop)


@pytest.mark.parametrize("extent_bytes", [128 << 10, MIB, 8 * MIB, 32 * MIB])
def test_other_extents_are_counted_in_the_same_way(lvm: RealLvm, extent_bytes: int) -> None:
    size_bytes = 100 * MIB + 1400 * SECTOR
    name = lvm.group(lvm.attach(size_bytes), extent_bytes=extent_bytes)
    group = read_group(lvm, name)
    assert (group.extent_bytes, group.size_bytes) == (extent_bytes, group_bytes(size_bytes, extent_bytes))
    assert lvm.create(name, "odd", extent_bytes + SECTOR)
    taken = volume_bytes(extent_bytes + SECTOR, extent_bytes)
    assert read_group(lvm, name).free_bytes == group.size_bytes - taken


def near(free_bytes: int, chance: Random) -> int:
    """A size that is often at the edge of what is free: an extent, a sector, a byte more or less."""
    edges = (0, 1, -1, SECTOR, -SECTOR, EXTENT, -EXTENT, 1 - EXTENT)
    if chance.random() < 0.5:
        return max(1, free_bytes + chance.choice(edges))
    return chance.randint(1, max(1, free_bytes // 2))


def with_volume(node: Node, name: str, more_bytes: int) -> Node:
    """The node of our arithmetic after a volume has been made, made larger, or taken away."""
    (group,) = node.volume_groups
    sizes = {each.name: each.size_bytes for each in node.placed_volumes}
    sizes[name] = sizes.get(name, 0) + more_bytes
    return msgspec.structs.replace(
        node,
        volume_groups=(msgspec.structs.replace(group, free_bytes=group.free_bytes - more_bytes),),
        placed_volumes=tuple(PlacedVolume(key, group.name, size) for key, size in sizes.items() if size),
    )


@pytest.mark.parametrize("seed", range(3))
def test_what_we_say_fits_is_made_and_what_we_refuse_is_refused(lvm: RealLvm, seed: int) -> None:
    chance = Random(seed)  # noqa: S311 - a seeded draw, not a secret
    loops = [lvm.attach(chance.randrange(40 * MIB, 90 * MIB, SECTOR)) for _ in range(chance.randint(1, 3))]
    name = lvm.group(*loops)
    node = Node("h1", volume_groups=(read_group(lvm, name),))
    answers = set()
    for step in range(STEPS):
        free_bytes = node.volume_groups[0].free_bytes
        volumes = [each.name for each in node.placed_volumes]
        turn = chance.random()
        if turn < 0.55 or not volumes:
            asked = near(free_bytes, chance)
            fits = allows(node, asked)
            assert lvm.create(name, f"v{step}", asked) == fits, (seed, step, asked, free_bytes)
            answers.add(("create", fits))
            if fits:
                node = with_volume(node, f"v{step}", volume_bytes(asked))
        elif turn < 0.8:
            each = chance.choice(node.placed_volumes)
            more = near(free_bytes, chance)
            larger = volume_bytes(each.size_bytes + more) - each.size_bytes
            fits = larger <= free_bytes
            assert lvm.extend(name, each.name, each.size_bytes + more) == fits, (seed, step, more, free_bytes)
            answers.add(("extend", fits))
            if fits:
                node = with_volume(node, each.name, larger)
        else:
            each = chance.choice(node.placed_volumes)
            lvm.remove(name, each.name)
            node = with_volume(node, each.name, -each.size_bytes)
    assert {("create", True), ("create", False)} <= answers
    seen = host_node(inspected(lvm))
    assert seen.volume_groups == node.volume_groups
    assert {(each.name, each.size_bytes) for each in seen.placed_volumes} == {
        (f"{name}/{each.name}", each.size_bytes) for each in node.placed_volumes
    }


@pytest.mark.parametrize("seed", range(2))
def test_an_exact_plan_can_be_carried_out_to_the_letter(lvm: RealLvm, seed: int) -> None:
    chance = Random(seed)  # noqa: S311 - a seeded draw, not a secret
    sizes = {
        lvm.attach(size): size for size in (chance.randrange(30 * MIB, 80 * MIB, SECTOR) for _ in range(3))
    }
    node = Node("h1", drives=tuple(Drive(loop, "HDD", size) for loop, size in sizes.items()))
    largest = sorted(map(group_bytes, sizes.values()))
    # The middle drive to the last extent, and what else fills the largest: there is one way only.
    wanted = [largest[1], largest[2] - 2 * EXTENT + 1, EXTENT]
    requests = [DiskRequest(f"v{number}", "HDDLVG", size) for number, size in enumerate(wanted)]
    (found, *_) = plan("exact", capacities_of(node), (), requests, ["h1"]).nodes
    groups = {loop: lvm.group(loop) for loop in found.opened}
    for request in requests:
        assert lvm.create(groups[found.chosen[request.name]], request.name, request.size_bytes)
    one_more = [*requests, DiskRequest("more", "HDDLVG", largest[0] + 1)]
    assert not plan("exact", capacities_of(node), (), one_more, ["h1"]).nodes
    assert not any(lvm.create(group, "more", largest[0] + 1) for group in groups.values())
    rest = next(loop for loop in sizes if loop not in groups)
    assert not lvm.create(lvm.group(rest), "more", largest[0] + 1)


def test_extents_of_a_closed_physical_volume_are_not_offered(lvm: RealLvm) -> None:
    closed, opened = lvm.attach(50 * MIB), lvm.attach(30 * MIB)
    name = lvm.group(closed, opened)
    lvm.must("pvchange", "--allocatable", "n", closed)
    group = read_group(lvm, name)
    assert group.free_bytes == group_bytes(30 * MIB)
    assert any("are free but cannot be used: a physical volume is closed" in line for line in said(lvm))
    assert not lvm.create(name, "more", group.free_bytes + 1)
    assert lvm.create(name, "all", group.free_bytes)
    assert read_group(lvm, name).free_bytes == 0


def said(lvm: RealLvm) -> list[str]:
    return list(host_unknowns(inspected(lvm)))


def test_a_group_that_lost_a_drive_offers_nothing(lvm: RealLvm) -> None:
    kept, lost = lvm.attach(50 * MIB), lvm.attach(30 * MIB)
    name = lvm.group(kept, lost)
    lvm.detach(lost)
    group = read_group(lvm, name)
    assert (group.free_bytes, group.drives) == (0, (kept.removeprefix("/dev/"),))
    assert any("a physical volume is missing" in line for line in said(lvm))
    assert not lvm.create(name, "one", EXTENT)


def test_an_exported_group_offers_nothing(lvm: RealLvm) -> None:
    name = lvm.group(lvm.attach(50 * MIB))
    lvm.must("vgexport", name)
    assert read_group(lvm, name).free_bytes == 0
    assert any("the group is exported" in line for line in said(lvm))
    assert not lvm.create(name, "one", EXTENT)


def test_inspect_reads_the_groups_of_this_very_host(lvm: RealLvm) -> None:
    name = lvm.group(lvm.attach(50 * MIB))
    assert lvm.create(name, "data", 9 * MIB)
    facts = collect(NOON)
    assert facts.lvm is not None
    (group,) = facts.lvm.volume_groups
    assert (group.name, group.free_bytes) == (name, group_bytes(50 * MIB) - 12 * MIB)
    assert [(each.name, each.size_bytes) for each in group.logical_volumes] == [("data", 12 * MIB)]
    # Loops are no drives, so the group is not one of the node's; that is said and not left out silently.
    assert any(
        f"volume group {name} lies on disks of no or several classes" in each for each in host_unknowns(facts)
    )


def test_a_loop_that_lsblk_lists_is_no_drive(lvm: RealLvm) -> None:
    name = lvm.attach(50 * MIB).removeprefix("/dev/")
    devices = read_block_devices(LocalMachine())
    assert name in {device.kname for device in devices}
    disks = whole_disks(devices, virtualisation="none", physical_volumes=frozenset(), overrides={})
    assert name not in {disk.kernel_name for disk in disks}
