"""The cluster as it will be once those who are nominated run, and those who go for them are gone."""

from builders import cluster, node, waiting, workload
from engine.same_columns import assert_same
from ullage.engine.columns import Columns
from ullage.engine.placement.scheduling import Nominated, schedule
from ullage.engine.placement.settled import settled

LOW = [workload(f"v{index}", cpu=2, node=f"n{index}") for index in range(2)]
BOSS = waiting("boss", cpu=2, priority=9)
SNAPSHOT = cluster(node("n0", cpu=2), node("n1", cpu=2), *LOW, BOSS)


def test_who_is_nominated_runs_and_who_goes_for_it_is_gone():
    columns = Columns(SNAPSHOT)
    after = settled(columns, schedule(columns, [BOSS]).nominated)
    there = cluster(
        node("n0", cpu=2), node("n1", cpu=2), LOW[1], workload("boss", cpu=2, priority=9, node="n0")
    )
    assert {each.key: each for each in after.snapshot.workloads} == {
        each.key: each for each in there.workloads
    }
    assert_same(after, Columns(there))
    assert_same(columns, Columns(SNAPSHOT))


def test_who_leaves_already_is_gone_too_and_nobody_else():
    after = settled(Columns(SNAPSHOT), [Nominated("boss", "n1", waits_for=("v1",))])
    assert {each.key: each.node for each in after.snapshot.workloads} == {"boss": "n1", "v0": "n0"}


def test_who_is_not_there_any_more_or_for_a_node_that_is_not_changes_nothing():
    columns = Columns(SNAPSHOT)
    assert settled(columns, [Nominated("other", "n0"), Nominated("boss", "n7", waits_for=())]) is columns
