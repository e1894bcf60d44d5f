"""Balancing of any source: what is promised comes true, no rule is broken, redundancy never gets worse."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from builders import claim, cluster, node, persistent_volume, pod, volume
from fleet_strategies import kinds, seeds
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ganeti_clusters import Kind, random_cluster
from placement_strategies import clusters
from ullage.engine.balance.global_n1 import evacuable
from ullage.engine.balance.rebalance import FoundMove, Wishes, fleet_of, has_rules, rebalance
from ullage.engine.balance.score import TERMS, score_of, with_weights
from ullage.engine.columns import Columns
from ullage.engine.redundancy.budgets import Budgets
from ullage.engine.trial import Trial
from ullage.model.admission import DisruptionBudget
from ullage.model.cluster import Snapshot
from ullage.model.constraints import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement
from ullage.model.ganeti import LOCAL_TEMPLATES
from ullage.model.table import Table
from ullage.sources.ganeti.snapshot import snapshot_of

EVERY_GAIN = Wishes(gain_min=0.0)
weights = st.dictionaries(st.sampled_from([term.name for term in TERMS]), st.sampled_from((0.0, 0.3, 9.0)))
wishes = st.builds(
    Wishes,
    weights=weights,
    moves_max=st.sampled_from((0, 1, 3, 100)),
    disk_moves=st.sampled_from((True, True, False)),
    gain_min=st.sampled_from((None, 0.0, 0.0)),
)


def after(snapshot: Snapshot, move: FoundMove) -> Snapshot:
    """Make a move come true in the records: where a workload is, and what its nodes report free."""
    workload = snapshot.workloads[move.workload]
    assert (workload.node, workload.standby) == (move.from_node, move.from_standby)
    machine = workload.instance
    moved = replace(workload, node=move.to_node, standby=move.to_standby)
    nodes = {each.name: each for each in snapshot.nodes}
    if machine is not None:
        memory = machine.memory_bytes if machine.uses_memory else 0
        disk = machine.disk_total_bytes if machine.template in LOCAL_TEMPLATES else 0
        changes = (
            (move.from_node, memory, disk),
            (move.from_standby, 0, disk),
            (move.to_node, -memory, -disk),
            (move.to_standby, 0, -disk),
        )
        for name, freed_memory, freed_disk in changes:
            if name:
                host = nodes[name].host
                host = replace(
                    host,
                    memory_free_bytes=host.memory_free_bytes + freed_memory,
                    disk_free_bytes=host.disk_free_bytes + freed_disk,
                )
                nodes[name] = replace(nodes[name], host=host)
    workloads = [moved if each.key == moved.key else each for each in snapshot.workloads]
    return replace(snapshot, workloads=Table(workloads), nodes=Table(nodes.values()))


def scores(snapshot: Snapshot, terms=TERMS) -> dict[str, float]:
    fleet = fleet_of(snapshot)
    found = {}
    for number, group in enumerate(fleet.cluster.groups):
        scope = fleet.of_group(number).scope
        found[group.name] = score_of(
            [fleet.hosts[each] for each in scope], [fleet.states[each] for each in scope], terms
        )
    return found


ganeti_snapshots = st.builds(lambda seed, kind: snapshot_of(random_cluster(seed, kind)), seeds, kinds)


@given(ganeti_snapshots, wishes)
@settings(max_examples=25)
def test_the_moves_applied_to_the_records_give_the_promised_score(snapshot, wished):
    terms = with_weights(wished.weights)
    found = rebalance(snapshot, wished)
    assert sum(len(group.moves) for group in found) <= wished.moves_max
    start = scores(snapshot, terms)
    for group in found:
        assert group.score_before == pytest.approx(start[group.group], abs=1e-9)
        score = group.score_before
        for move in group.moves:
            snapshot = after(snapshot, move)
            assert move.gain == pytest.approx(score - move.score, abs=1e-12)
            assert move.score < score
            score = move.score
            assert scores(snapshot, terms)[group.group] == pytest.approx(score, abs=1e-9)
        assert score == pytest.approx(group.score_after, abs=1e-9)
        contributions = sum(term.weight * term.after for term in group.terms)
        assert contributions == pytest.approx(group.score_after, abs=1e-9)
        assert wished.disk_moves or not any(move.disk_bytes for move in group.moves)


@given(ganeti_snapshots, wishes)
@settings(max_examples=25)
def test_no_state_on_the_way_breaks_a_rule_that_held(snapshot, wished):
    before = fleet_of(snapshot)
    for move in (each for group in rebalance(snapshot, wished) for each in group.moves):
        snapshot = after(snapshot, move)
        now = fleet_of(snapshot)
        for host, old, new in zip(now.hosts, before.states, now.states, strict=True):
            free = new.now.memory_free
            assert not host.refuses_memory(free) or free >= old.now.memory_free
            assert not host.refuses_disk(new.now.disk_free) or new.now.disk_free >= old.now.disk_free
            over = new.now.cpu > host.cpu_ratio * host.cpu
            assert not over or new.now.cpu <= old.now.cpu
            is_offline = host.offline and len(new.primaries) > len(old.primaries)
            assert not is_offline
        before = now


@given(ganeti_snapshots, wishes)
@settings(max_examples=25)
def test_neither_redundancy_gets_worse(snapshot, wished):
    found = rebalance(snapshot, wished)
    end = snapshot
    for move in (each for group in found for each in group.moves):
        end = after(end, move)
    for part in found:
        numbers = {group.name: number for number, group in enumerate(fleet_of(end).cluster.groups)}
        start, last = (fleet_of(each).of_group(numbers[part.group]) for each in (snapshot, end))
        failing = (len(start.bad_hosts()), len(last.bad_hosts()))
        assert failing == (part.failing_before, part.failing_after)
        assert failing[1] <= failing[0]
        stuck = [len(each.scope) - len(evacuable(each)) for each in (start, last)]
        assert stuck == [part.not_evacuable_before, part.not_evacuable_after]
        assert stuck[1] <= stuck[0]


@pytest.mark.parametrize(
    ("seed", "nodes", "instances", "storage", "distinct"),
    [(24, 3, 8, "ext", False), (62, 5, 11, "mixed", True), (91, 4, 5, "ext", True)],
)
def test_moves_that_would_leave_a_node_without_a_way_out_are_not_made(
    seed, nodes, instances, storage, distinct
):
    kind = Kind(nodes, instances, storage, is_tight=True, has_distinct_sizes=distinct)
    (group,) = rebalance(snapshot_of(random_cluster(seed, kind)), EVERY_GAIN)
    assert (group.not_evacuable_before, group.not_evacuable_after) == (0, 0)
    assert group.refused


@pytest.mark.parametrize(("memory", "moves"), [(500, 1), (600, 0)])
def test_a_node_that_is_offline_is_left_only_while_others_can_still_take_over(memory, moves):
    nodes = [ganeti_node("a", offline=True), ganeti_node("b"), ganeti_node("c")]
    held = instance("i", "a", memory=memory), instance("j", "c", "b", memory=500)
    (group,) = rebalance(snapshot_of(ganeti_cluster(nodes, *held)), EVERY_GAIN)
    assert (len(group.moves), group.failing_after) == (moves, 0)


def owned(snapshot: Snapshot, has_owner) -> Snapshot:
    """Give some workloads an owner: the others are never moved."""
    workloads = [
        replace(each, owner=f"ReplicaSet/{each.labels['app']}") if has_owner(number) else each
        for number, each in enumerate(snapshot.workloads)
    ]
    return replace(snapshot, workloads=Table(workloads))


budgets = st.builds(
    DisruptionBudget,
    st.sampled_from(("b0", "b1")),
    st.sampled_from(("web", "ml")),
    st.sampled_from(("a", "b")).map(lambda app: LabelSelector({"app": app})),
    min_available=st.sampled_from(("0", "1", "2")),
)


@given(clusters(), st.sets(st.integers(0, 5)), st.lists(budgets, max_size=2, unique_by=lambda each: each.key))
@settings(max_examples=40)
def test_pods_are_moved_as_their_rules_and_budgets_allow(snapshot, bare, protecting):
    snapshot = replace(
        owned(snapshot, lambda number: number not in bare), disruption_budgets=Table(protecting)
    )
    known = Budgets(snapshot)
    trial = Trial(Columns(snapshot))
    for group in rebalance(snapshot, EVERY_GAIN):
        spent: Counter[tuple[int, int]] = Counter()
        for move in group.moves:
            workload = snapshot.workloads[move.workload]
            assert workload.owner
            assert not workload.terminating
            assert move.cost == "restart"
            shape = trial.shape_of(workload)
            trial.place(shape, trial.row_of[move.from_node], -1)
            assert trial.feasible(shape)[trial.row_of[move.to_node]]
            trial.place(shape, trial.row_of[move.to_node])
            for number in known.of(workload):
                spent[move.set_number, number] += 1
        assert all(count <= known.all[number].allowed for (_, number), count in spent.items())


def web(number, **fields):
    asked = {"cpu": "1", "memory": "4Gi", "labels": {"app": "web"}, "owner": "ReplicaSet/web"}
    return pod(f"w/web-{number}", **{**asked, **fields})


def machine(name):
    return node(name, cpu="16", memory="64Gi").labelled({"host": name})


def moved(*parts, wished=EVERY_GAIN):
    (group,) = rebalance(cluster(*parts), wished)
    return [(move.workload, move.from_node, move.to_node, move.set_number) for move in group.moves]


def test_half_of_the_pods_move_to_the_empty_node():
    full = machine("a").holding(*(web(number) for number in range(4)))
    assert moved(full, machine("b")) == [("w/web-0", "a", "b", 1), ("w/web-1", "a", "b", 2)]


@pytest.mark.parametrize(
    "held",
    [
        pytest.param([pod(f"w/p{number}", memory="4Gi") for number in range(4)], id="no owner"),
        pytest.param([web(number, owner="DaemonSet/d") for number in range(4)], id="daemons"),
        pytest.param([web(number, terminating=True) for number in range(4)], id="about to end"),
    ],
)
def test_some_pods_never_move(held):
    assert moved(machine("a").holding(*held), machine("b")) == []


def test_a_cordoned_node_takes_nothing():
    full = machine("a").holding(*(web(number) for number in range(4)))
    assert moved(full, machine("b").cordoned()) == []


def test_a_local_volume_keeps_a_pod_on_its_node():
    only_here = NodeSelector((NodeSelectorTerm((Requirement("host", "In", ("a",)),)),))
    held = [web(number, volumes=(volume("data", "1Gi", claim="data"),)) for number in range(4)]
    stored = (
        claim("w/data", "1Gi", bound=True, volume="disk"),
        persistent_volume("disk", "1Gi", node_affinity=only_here, claim="w/data"),
    )
    assert moved(machine("a").holding(*held), machine("b"), *stored) == []


@pytest.mark.parametrize(
    ("fields", "moves"),
    [
        ([{"min_available": "3"}], 2),
        ([{"min_available": "4"}], 0),
        ([{"min_available": "0"}, {"min_available": "0"}], 0),
    ],
    ids=("one at a time", "none may go", "two budgets protect it"),
)
def test_budgets_say_who_may_go(fields, moves):
    protecting = [
        DisruptionBudget(f"b{number}", "w", LabelSelector({"app": "web"}), **each)
        for number, each in enumerate(fields)
    ]
    full = machine("a").holding(*(web(number) for number in range(4)))
    snapshot = replace(cluster(full, machine("b"), machine("c")), disruption_budgets=Table(protecting))
    (group,) = rebalance(snapshot, EVERY_GAIN)
    assert len(group.moves) == moves
    assert [move.set_number for move in group.moves] == list(range(1, moves + 1))


def test_pods_of_one_budget_move_one_after_the_other_though_their_nodes_differ():
    parts = [machine(name).holding(*(web(f"{name}{at}") for at in range(2))) for name in "ab"]
    snapshot = cluster(
        *parts,
        machine("c"),
        machine("d"),
        DisruptionBudget("b", "w", LabelSelector({"app": "web"}), max_unavailable="1"),
    )
    (group,) = rebalance(snapshot, EVERY_GAIN)
    assert [(move.from_node, move.to_node, move.set_number) for move in group.moves] == [
        ("a", "c", 1), ("b", "d", 2),
    ]  # fmt: skip


def test_what_a_move_must_gain_ends_the_search():
    full = machine("a").holding(*(web(number) for number in range(4)))
    assert moved(full, machine("b"), wished=Wishes(gain_min=100.0)) == []
    assert len(moved(full, machine("b"), wished=Wishes())) == 2


def test_only_the_groups_that_are_named():
    full = machine("a").holding(*(web(number) for number in range(4)))
    snapshot = cluster(full, machine("b"), machine("c").in_group("other"))
    assert [group.group for group in rebalance(snapshot, Wishes(groups=("other",)))] == ["other"]


def test_moves_of_all_groups_count_together():
    parts = [
        machine(f"{group}-full").in_group(group).holding(*(web(f"{group}{at}") for at in range(4)))
        for group in ("x", "y")
    ]
    empty = [machine(f"{group}-empty").in_group(group) for group in ("x", "y")]
    found = rebalance(cluster(*parts, *empty), Wishes(moves_max=3, gain_min=0.0))
    assert [len(group.moves) for group in found] == [2, 1]


def test_costs_of_moves():
    mirrored = [instance(f"i{number}", "a", "b", memory=200) for number in range(3)]
    snapshot = snapshot_of(ganeti_cluster([ganeti_node(name) for name in "abc"], *mirrored))
    (group,) = rebalance(snapshot, EVERY_GAIN)
    assert {(move.cost, move.disk_bytes > 0) for move in group.moves} <= {
        ("migration", False), ("disk copy", True),
    }  # fmt: skip
    (alone,) = rebalance(snapshot, EVERY_GAIN._replace(disk_moves=False))
    assert {move.cost for move in alone.moves} == {"migration"}
    assert not has_rules(snapshot)
    assert has_rules(cluster(machine("a").holding(web(0))))


def test_equal_machines_stand_for_each_other_until_they_are_used_up():
    full = machine("a").holding(*(web(number, memory="1Gi") for number in range(12)))
    found = moved(full, machine("b"), machine("c"))
    assert [workload for workload, *_ in found] == [
        f"w/web-{number}" for number in (0, 1, 10, 11, 2, 3, 4, 5)
    ]
    assert Counter(target for _, _, target, _ in found) == {"b": 4, "c": 4}


def test_what_was_balanced_to_the_end_has_nothing_to_gain():
    snapshot = snapshot_of(random_cluster(7, Kind(nodes=4, instances=40, storage="ext")))
    (group,) = rebalance(snapshot, EVERY_GAIN)
    assert len(group.moves) > 4
    for move in group.moves:
        snapshot = after(snapshot, move)
    (again,) = rebalance(snapshot, EVERY_GAIN)
    assert again.moves == ()
