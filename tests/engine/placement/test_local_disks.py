"""A workload goes only where cpu, memory and all of its local volumes have their place."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import batch, claim, cluster, node, pod, policy, volume, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.batches import place_replicas
from ullage.engine.placement.disk_holders import served_on
from ullage.engine.placement.fit import fit
from ullage.engine.placement.local_disks import DiskRule
from ullage.engine.trial import Trial
from ullage.model.drives import Drive, PlacedVolume, ThinPool, VolumeGroup
from ullage.model.ledger import VOLUME_SPACE, WHOLE_DRIVE
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources
from ullage.model.storage import StorageClass

GIB = 1 << 30
SHARES = StorageClass("shares", "csi-baremetal", "WaitForFirstConsumer", parameters={"storageType": "HDDLVG"})
WHOLE = StorageClass("whole", "csi-baremetal", "WaitForFirstConsumer", parameters={"storageType": "HDD"})


def hdd(uuid, gib=10, **fields):
    return Drive(uuid, "HDD", int(gib * GIB), **fields)


def server(name, *drives, cpu="8", groups=(), volumes=()):
    return node(name, cpu=cpu).with_(drives=drives, volume_groups=groups, placed_volumes=volumes)


def asks(amount="4Gi", storage_class="HDDLVG", name="web/new", **fields):
    own = volume("data", amount, storage_class=storage_class, inline=True)
    return waiting(name, cpu="1", volumes=(own,), **fields)


def placed(snapshot, workload, replicas=1):
    trial = Trial(Columns(snapshot))
    counts = place_replicas(trial, trial.shape_of(workload), replicas)
    return {trial.nodes[row].name: count for row, count in counts.items()}


def test_a_workload_goes_only_where_cpu_and_disks_both_fit():
    snapshot = cluster(
        server("has-cpu", hdd("small", 2)),
        server("has-disk", hdd("a"), cpu="500m"),
        server("has-both", hdd("b")),
    )
    assert placed(snapshot, asks()) == {"has-both": 1}


def test_each_replica_takes_space_of_its_own():
    # 10 GiB less the metadata hold two volumes of 4 GiB.
    assert placed(cluster(server("n1", hdd("a"))), asks(), 5) == {"n1": 2}


def test_a_whole_drive_serves_one_volume_however_small():
    snapshot = cluster(server("n1", hdd("a"), hdd("b")))
    assert placed(snapshot, asks("1Gi", "HDD"), 5) == {"n1": 2}


@pytest.mark.parametrize(("mode", "count"), [("exact", 2), ("compat", 2), ("zos", 3)])
def test_the_mode_of_the_policy_decides_how_disks_are_chosen(mode, count):
    # In mode zos volumes are folders: 10 GiB hold two of them and 6 GiB one.
    snapshot = cluster(server("n1", hdd("a"), hdd("b", 6)), policy=policy(storage_mode=mode))
    assert placed(snapshot, asks(storage_class="HDD"), 9) == {"n1": count}


def test_what_reservations_hold_is_not_there_for_others():
    held = {
        "a": Resources({VOLUME_SPACE: 4 * GIB}),
        "b": Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: 10 * GIB - (4 << 20)}),
    }
    entries = [
        LedgerEntry("r", drive, f"drive/n1/{drive}", "web/other", resources, "RESERVED")
        for drive, resources in held.items()
    ]
    snapshot = cluster(server("n1", hdd("a"), hdd("b")), *entries)
    assert placed(snapshot, asks(), 9) == {"n1": 1}


def test_what_is_reserved_for_a_workload_is_there_for_it_and_for_nobody_else():
    whole = Resources({WHOLE_DRIVE: 1, VOLUME_SPACE: 10 * GIB - (4 << 20)})
    entries = [
        LedgerEntry("r", "data", f"drive/{name}/{drive}", "web/new", whole, "RESERVED")
        for name, drive in (("n1", "a"), ("n2", "b"))
    ]
    snapshot = cluster(server("n1", hdd("a")), server("n2", hdd("b")), *entries)
    mine, other = asks("9Gi"), asks("9Gi", name="web/other", owner="ReplicaSet/other")
    assert placed(snapshot, other, 2) == {}
    assert placed(snapshot, mine) == {"n1": 1}
    trial = Trial(Columns(snapshot))
    mark = trial.mark()
    place_replicas(trial, trial.shape_of(mine), 1)
    # Its own reservation has become its volume, and is not counted beside it; 9 of 10 GiB are taken.
    assert trial.pick(trial.shape_of(asks("512Mi", name="web/third", owner="ReplicaSet/third"))) == 0
    assert trial.pick(trial.shape_of(other)) == -1
    trial.undo(mark)
    assert trial.pick(trial.shape_of(other)) == -1


def test_a_claim_that_waits_asks_for_a_disk_and_one_that_is_bound_does_not():
    open_claim = claim("web/data", "4Gi", storage_class="shares")
    workload = waiting("web/new", volumes=(volume("data", "0", claim="data"),))
    nodes = (server("full"), server("n1", hdd("a")))
    assert placed(cluster(*nodes, open_claim, SHARES), workload) == {"n1": 1}
    bound = msgspec.structs.replace(open_claim, bound=True)
    assert placed(cluster(*nodes, bound, SHARES), workload) == {"full": 1}


def test_a_claim_that_several_share_takes_its_disk_once():
    shared = claim("web/data", "8Gi", storage_class="shares", access_modes=("ReadWriteMany",))
    workload = waiting("web/new", cpu="1", volumes=(volume("data", "0", claim="data"),))
    assert placed(cluster(server("n1", hdd("a")), shared, SHARES), workload, 4) == {"n1": 4}


def test_a_claim_without_a_size_keeps_its_workload_off_every_node():
    snapshot = cluster(server("n1", hdd("a")))
    trial = Trial(Columns(snapshot))
    shape = trial.shape_of(asks("0"))
    assert trial.pick(shape) == -1
    assert "volume new-data states no size" in {rule.reason for rule in shape.local_rules + shape.wide_rules}


def test_a_cluster_whose_disks_are_not_known_is_not_judged_by_them():
    assert placed(cluster(node("n1", cpu="8")), asks(), 3) == {"n1": 3}


def test_what_goes_with_its_workload_is_free_when_it_goes():
    group = VolumeGroup("vg", "HDD", 8 * GIB, 0, drives=("a",))
    volumes = tuple(PlacedVolume(f"v{i}", "vg", 4 * GIB, owner=f"web/old-{i}") for i in range(2))
    own = volume("data", "4Gi", storage_class="HDDLVG", inline=True)
    running = [pod(f"web/old-{i}", cpu="1", owner="ReplicaSet/old", volumes=(own,)) for i in range(2)]
    snapshot = cluster(
        server("n1", hdd("a", clean=False), groups=(group,), volumes=volumes).holding(*running)
    )
    trial = Trial(Columns(snapshot))
    shape = trial.shape_of(asks())
    mark = trial.mark()
    assert trial.pick(shape) == -1
    trial.evict(snapshot.workloads["web/old-0"])
    assert trial.pick(shape) == 0
    trial.place(shape, 0)
    assert trial.pick(shape) == -1
    trial.undo(mark)
    assert trial.pick(shape) == -1


def test_the_disks_of_what_was_placed_are_told_in_order():
    trial = Trial(Columns(cluster(server("n1", hdd("a"), hdd("b")))))
    shape = trial.shape_of(asks(storage_class="HDD"))
    place_replicas(trial, shape, 2)
    assert [each.place for each in served_on(shape, 0, 2)] == ["a", "b"]
    assert [each.place for each in served_on(shape, 0, 1, before=1)] == ["a"]


def test_fit_says_which_disk_serves_which_volume_and_reserves_it():
    snapshot = cluster(server("n1", hdd("a")))
    answer = fit(Columns(snapshot), [batch(2, asks())])
    (outcome,) = answer.outcomes
    assert [(each.place, each.fresh) for each in outcome.disks] == [("a", True), ("a", False)]
    reserved = [step for step in answer.plan.steps if step.action == "reserve"]
    assert [(step.subject, step.to_node) for step in reserved] == [("web/new/new-data", "n1")] * 2


def test_of_two_equal_batches_each_has_disks_of_its_own():
    snapshot = cluster(server("n1", hdd("a"), hdd("b")))
    twins = [batch(1, asks(storage_class="HDD", name=f"web/{name}", gang="g")) for name in ("one", "two")]
    answer = fit(Columns(snapshot), twins)
    assert sorted(each.place for outcome in answer.outcomes for each in outcome.disks) == ["a", "b"]


def test_nodes_whose_disks_differ_in_name_only_are_of_one_kind():
    nodes = [server(f"n{i}", hdd(f"d{i}"), hdd(f"e{i}", 20)) for i in range(5)]
    trial = Trial(Columns(cluster(*nodes)))
    shape = trial.shape_of(asks())
    trial.pick(shape)
    disks = trial.volumes.disks
    assert len({disks.of(row).signature() for row in range(5)}) == 1
    trial.place(shape, 2)
    assert len({disks.of(row).signature() for row in range(5)}) == 2


def test_of_nodes_with_room_the_one_that_opens_fewest_drives_is_chosen():
    group = VolumeGroup("vg", "HDD", 20 * GIB, 9 * GIB, drives=("c",))
    shared = server("shared", hdd("c", 20, clean=False), cpu="4", groups=(group,))
    nodes = (server("empty", hdd("a")), shared, server("other", hdd("b")))
    assert placed(cluster(*nodes), asks(), 3) == {"shared": 2, "empty": 1}
    assert placed(cluster(*nodes, policy=policy(few_drives="no")), asks(), 1) == {"empty": 1}


def test_among_as_many_drives_opened_the_least_stranded_wins_and_then_the_policy():
    nodes = (
        server("large", hdd("a", 40)),
        server("small", hdd("b", 12)),
        server("twin", hdd("c", 12), cpu="16"),
    )
    assert placed(cluster(*nodes), asks()) == {"twin": 1}


def test_in_mode_compat_the_node_with_most_capacities_is_chosen():
    nodes = (server("one", hdd("a")), server("two", hdd("b"), hdd("c"), cpu="2"))
    assert placed(cluster(*nodes, policy=policy(storage_mode="compat")), asks()) == {"two": 1}


def test_in_mode_zos_the_node_that_spins_up_fewest_drives_is_chosen():
    nodes = (server("cold", hdd("a", cold=True)), server("warm", hdd("b"), cpu="2"))
    assert placed(cluster(*nodes, policy=policy(storage_mode="zos")), asks(storage_class="HDD")) == {
        "warm": 1
    }


def a_set(replicas, amount="40Gi"):
    own = volume("data", amount, claim="data-s", storage_class="shares")
    asked = waiting("web/s", kind="StatefulSet", owner="StatefulSet/s", cpu="1", volumes=(own,))
    return batch(replicas, asked)


def running_set():
    """Return a cluster with 60 GiB free beside the 40 GiB of the one replica that runs."""
    group = VolumeGroup("vg", "HDD", 100 * GIB, 60 * GIB, drives=("a",))
    placed_volume = PlacedVolume("pvc-0", "vg", 40 * GIB, claim="web/data-s-0")
    bound = claim("web/data-s-0", "40Gi", storage_class="shares", bound=True)
    mounted = volume("data", "40Gi", claim="data-s-0", storage_class="shares")
    first = pod("web/s-0", owner="StatefulSet/s", cpu="1", volumes=(mounted,))
    full = server("n1", hdd("a", 101, clean=False), groups=(group,), volumes=(placed_volume,))
    return cluster(full.holding(first), bound, SHARES)


def test_a_set_that_grows_takes_disks_for_its_new_replicas_alone():
    (outcome,) = fit(Columns(running_set()), [a_set(2)]).outcomes
    assert (outcome.placed, outcome.action, outcome.refusal) == (2, "resize", None)
    assert [(each.place, each.size_bytes) for each in outcome.disks] == [("vg", 40 * GIB)]
    (outcome,) = fit(Columns(running_set()), [a_set(3)]).outcomes
    assert outcome.placed == 2


def test_a_set_that_stays_as_it_is_takes_no_disks():
    (outcome,) = fit(Columns(running_set()), [a_set(1)]).outcomes
    assert (outcome.action, outcome.disks) == ("keep", ())


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["3Gi", "5Gi"]), st.booleans()), max_size=8))
def test_undo_brings_every_disk_back_as_it_was(moves):
    nodes = [server(f"n{i}", hdd(f"d{i}"), hdd(f"e{i}", 6)) for i in range(3)]
    trial = Trial(Columns(cluster(*nodes)))
    disks = trial.volumes.disks
    before = [disks.of(row) for row in range(3)]
    mark = trial.mark()
    for row, amount, whole in moves:
        shape = trial.shape_of(asks(amount, "HDD" if whole else "HDDLVG"))
        if trial.feasible(shape)[row]:
            trial.place(shape, row)
            held = sum(each.size_bytes for each in disks.of(row).holds)
            assert held <= 16 * GIB
    trial.undo(mark)
    assert [disks.of(row) for row in range(3)] == before


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.permutations(range(3)))
def test_the_rule_says_yes_exactly_where_a_placement_finds_its_disks(sizes, order):
    nodes = [server(f"n{i}", hdd(f"d{i}", 4 + 3 * i), hdd(f"e{i}", 9 - 2 * i)) for i in order]
    trial = Trial(Columns(cluster(*nodes)))
    for gib in sizes:
        shape = trial.shape_of(asks(f"{gib}Gi"))
        (rule,) = [each for each in shape.local_rules if isinstance(each, DiskRule)]
        allowed = rule.allows(slice(None))
        for row in range(3):
            chosen = trial.volumes.disks.chosen(rule.wanted(), row)
            assert hasattr(chosen, "chosen") == bool(allowed[row])
        row = trial.pick(shape)
        if row >= 0:
            trial.place(shape, row)


def two_volumes(name="web/new", share="4Gi", whole="5Gi"):
    """A workload that wants a share of a group and a whole drive."""
    mounted = (
        volume("share", share, storage_class="HDDLVG", inline=True),
        volume("whole", whole, storage_class="HDD", inline=True),
    )
    return waiting(name, cpu="1", volumes=mounted)


def many_volumes(count):
    """A workload with so many shares, no two of one size."""
    mounted = tuple(
        volume(f"v{place}", f"{100 + 4 * place}Mi", storage_class="HDDLVG", inline=True)
        for place in range(count)
    )
    return waiting("web/new", cpu="1", volumes=mounted)


def certificate(snapshot, *batches):
    (outcome,) = fit(Columns(snapshot), batches, exact_seconds=2).outcomes
    return outcome.placed, outcome.certificate


def test_what_another_choice_of_disks_could_serve_is_never_proven_impossible():
    # Both fit with the shares together on the largest drive; the first by itself opens a small one.
    snapshot = cluster(server("n1", hdd("a", 9), hdd("b", 5.1), hdd("c", 5.1)))
    assert certificate(snapshot, batch(2, two_volumes())) == (1, "unknown")


@pytest.mark.parametrize(
    "snapshot",
    [
        cluster(server("n1", hdd("a", 9))),
        cluster(server("n1", hdd("a", 9), hdd("b", 4)), server("n2", hdd("c", 3), hdd("d", 3))),
    ],
    ids=["one drive for two", "too small"],
)
def test_one_workload_that_no_node_has_disks_for_is_proven_impossible(snapshot):
    assert certificate(snapshot, batch(1, two_volumes())) == (0, "impossible")


@pytest.mark.parametrize(("count", "sure"), [(8, "impossible"), (9, "unknown")])
def test_a_search_that_may_have_looked_at_a_part_only_proves_nothing(count, sure):
    assert certificate(cluster(server("n1", hdd("a", 0.5))), batch(1, many_volumes(count))) == (0, sure)


@pytest.mark.parametrize(("storage_class", "count"), [("HDDLVG", {"n2": 1}), ("elsewhere", {})])
def test_a_class_of_local_disks_needs_no_object(storage_class, count):
    mounted = volume("data", "4Gi", claim="data", storage_class=storage_class)
    snapshot = cluster(
        server("n1", hdd("a", 3)),
        server("n2", hdd("b")),
        claim("web/data", "4Gi", storage_class=storage_class),
    )
    assert placed(snapshot, waiting("web/new", cpu="1", volumes=(mounted,))) == count


@pytest.mark.parametrize(
    ("settings_of", "fits"),
    [
        ({}, 1),
        ({"volume_group_spare": "2Gi"}, 1),
        ({"volume_group_spare": "3Gi"}, 0),
        ({"thin_pool_ratio": "2"}, 2),
        ({"thin_pool_ratio": "2", "volume_group_spare": "3Gi"}, 1),
    ],
)
def test_a_workload_goes_where_the_policy_leaves_room_for_its_volumes(settings_of, fits):
    group = VolumeGroup("vg", "HDD", 9 * GIB, 6 * GIB, thin_pools=(ThinPool("slim", 2 * GIB),))
    snapshot = cluster(server("n1", groups=(group,)), policy=policy(**settings_of))
    assert placed(snapshot, asks(), 5).get("n1", 0) == fits


@pytest.mark.parametrize(("over", "fits"), [("100", 2), ("200", 5), ("0", 0)])
def test_volumes_share_a_drive_to_its_percentage(over, fits):
    rules = policy(storage_mode="zos", drive_over_provisioning=over)
    assert placed(cluster(server("n1", hdd("a")), policy=rules), asks("4Gi", "HDD"), 9).get("n1", 0) == fits
