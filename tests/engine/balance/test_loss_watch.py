"""Losses that go along with moves: `balance` never leaves more without a place than there were before."""

from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from builders import cluster, node, pod, policy
from placement_strategies import HOSTNAME, constraints
from ullage.engine.balance import loss_watch
from ullage.engine.balance import rebalance as rebalance_module
from ullage.engine.balance.loss_watch import LossWatch, look_for_seconds, watch_of
from ullage.engine.balance.rebalance import Wishes, rebalance
from ullage.engine.columns import Columns
from ullage.engine.redundancy.loss_proofs import look_exactly
from ullage.engine.redundancy.losses import Losses
from ullage.engine.trial import Trial
from ullage.model.admission import DisruptionBudget
from ullage.model.cluster import Snapshot
from ullage.model.constraints import UNCONSTRAINED, LabelSelector
from ullage.model.table import Table

POLICIES = {
    "kubernetes": policy(fill="exact", placement="preferences"),
    "ganeti": policy(fill="exact", cpu_ratio="4", memory_ratio="1"),
    "packed": policy(fill="exact", placement="pack"),
}
EVERY_GAIN = Wishes(gain_min=0.0)
NODE_MEMORY = 10


def holding(*held: list[int], policy_name: str = "kubernetes") -> Snapshot:
    """Nodes of 10 units of memory, each with pods of these sizes; every pod has an owner."""
    nodes = [
        node(f"n{at}", cpu="8", memory=f"{NODE_MEMORY}Gi", pods=20).holding(
            *(
                pod(f"w/p{at}{place}", cpu="100m", memory=f"{size}Gi", pods=1, owner="ReplicaSet/r")
                for place, size in enumerate(sizes)
            )
        )
        for at, sizes in enumerate(held)
    ]
    return cluster(*nodes, policy=POLICIES[policy_name])


def at_places(snapshot: Snapshot, places: dict[str, str]) -> Snapshot:
    moved = [replace(each, node=places.get(each.key, each.node)) for each in snapshot.workloads]
    return replace(snapshot, workloads=Table(moved))


def after(snapshot: Snapshot, found) -> Snapshot:
    return at_places(snapshot, {move.workload: move.to_node for group in found for move in group.moves})


def left_out(snapshot: Snapshot) -> dict[str, int]:
    """What `check --nodes-lost 1` says: how many the loss of each node leaves without a place."""
    found = {}
    for each in snapshot.nodes:
        losses = losses_of(snapshot)
        found[each.name] = len(look_exactly(losses, losses.of([each.name]), 2).losers)
    return found


def losses_of(snapshot: Snapshot) -> Losses:
    """The losses that `check` looks at: nodes are chosen as the policy says, but preferences not weighed."""
    placement = snapshot.policy.layers[0].cluster.get("placement", "spread")
    return Losses(Columns(snapshot), "spread" if placement == "preferences" else placement)


def is_no_worse(before: dict[str, int], then: dict[str, int]) -> bool:
    return all(then[name] <= count for name, count in before.items())


TIGHT = (
    ([3], [5, 3], [2, 4]),
    ([4, 5], [5, 2, 3], [5]),
    ([4, 4], [1, 2, 4, 3], [5, 1, 1], [3]),
    ([4, 5, 1], [5, 2, 3], [3, 1], [4, 5]),
    ([2, 4, 3], [], [4, 1, 5]),
    ([], [5, 3, 2], [2, 4, 1, 2]),
    ([5, 2], [4, 3], [3, 1, 1], [5, 1, 2]),
)
"""Clusters in which the most even placement would leave somebody without a place."""


@pytest.mark.parametrize("policy_name", ["kubernetes", "ganeti"])
@pytest.mark.parametrize("held", TIGHT, ids=str)
def test_no_loss_leaves_more_without_a_place_after_the_moves(held, policy_name):
    snapshot = holding(*held, policy_name=policy_name)
    found = rebalance(snapshot, Wishes())
    before, then = left_out(snapshot), left_out(after(snapshot, found))
    assert is_no_worse(before, then)
    (group,) = found
    counts = [sum(count > 0 for count in each.values()) for each in (before, then)]
    assert counts == [group.not_evacuable_before, group.not_evacuable_after]
    assert group.refused
    assert not group.ended_early


def test_another_way_to_the_same_evenness_is_found():
    (group,) = rebalance(holding([3], [5, 3], [2, 4]), Wishes())
    assert [(move.workload, move.to_node) for move in group.moves] == [("w/p20", "n0"), ("w/p11", "n2")]


def test_a_loss_that_only_an_exact_look_finds_a_way_for_leaves_nobody_out():
    """One after the other, 3, 3, 2, 2 and 2 do not all find a place on two nodes with room for 6 each."""
    full = [pod(f"w/p{at}", memory=str(size), pods=1) for at, size in enumerate((3, 3, 2, 2, 2))]
    nodes = [node(name, memory="6", pods=9) for name in ("n1", "n2")]
    snapshot = cluster(node("n0", memory="12", pods=9).holding(*full), *nodes)
    assert LossWatch(Columns(snapshot), "spread", look_for_seconds).limits == [0, 0, 0]
    assert LossWatch(Columns(snapshot), "spread", lambda _, report: report).limits == [1, 0, 0]


@pytest.mark.parametrize(
    ("policy_name", "placement"), [("kubernetes", "spread"), ("ganeti", "spread"), ("packed", "pack")]
)
def test_nodes_are_chosen_as_check_chooses_them(policy_name, placement):
    assert watch_of(holding([1], [], policy_name=policy_name)).trial.policy == placement


@st.composite
def tight_clusters(draw: st.DrawFn) -> Snapshot:
    """Three or four nodes, mostly full, in one or two groups; rules, taints and budgets in some of them."""
    has_rules = draw(st.booleans())
    nodes = []
    for at in range(draw(st.integers(3, 4))):
        labels = {HOSTNAME: f"n{at}", "zone": draw(st.sampled_from("xy"))}
        built = node(f"n{at}", cpu="8", memory=str(NODE_MEMORY), pods=20).labelled(labels)
        if has_rules and draw(st.integers(0, 4)) == 0:
            built = built.tainted("dedicated")
        if draw(st.integers(0, 3)) == 0:
            built = built.in_group("other")
        free = NODE_MEMORY
        for place, size in enumerate(draw(st.lists(st.integers(1, 5), max_size=4))):
            if size <= free:
                free -= size
                rules = draw(constraints) if has_rules and draw(st.booleans()) else UNCONSTRAINED
                app = draw(st.sampled_from("ab"))
                built = built.holding(
                    pod(
                        f"w/p{at}{place}", cpu="100m", memory=str(size), pods=1, labels={"app": app},
                        owner=draw(st.sampled_from(("ReplicaSet/r", "ReplicaSet/r", "", "DaemonSet/d"))),
                        constraints=rules, terminating=draw(st.integers(0, 9)) == 0,
                    )
                )  # fmt: skip
        nodes.append(built)
    guarded = [
        DisruptionBudget("b", "w", LabelSelector({"app": app}), max_unavailable=str(draw(st.integers(0, 2))))
        for app in draw(st.sampled_from(("", "", "a")))
    ]
    return cluster(*nodes, *guarded, policy=POLICIES[draw(st.sampled_from(sorted(POLICIES)))])


@given(tight_clusters())
@settings(max_examples=60)
def test_no_loss_is_worse_after_the_moves_of_any_cluster(snapshot):
    found = rebalance(snapshot, EVERY_GAIN)
    assume(any(group.moves or group.refused for group in found))
    before, then = left_out(snapshot), left_out(after(snapshot, found))
    assert is_no_worse(before, then)
    group_of = {each.name: each.group for each in snapshot.nodes}
    counts = [Counter(group_of[name] for name, count in each.items() if count) for each in (before, then)]
    told = {group.group: (group.not_evacuable_before, group.not_evacuable_after) for group in found}
    assert told == {name: (counts[0][name], counts[1][name]) for name in told}


@given(tight_clusters(), st.data())
@settings(max_examples=40)
def test_what_goes_along_with_moves_judges_as_one_that_was_made_after_them(snapshot, data):
    watch = LossWatch(Columns(snapshot), "spread", look_for_seconds)
    limits = watch.limits
    movable = [each for each in snapshot.workloads if not each.terminating and "Daemon" not in each.owner]
    assume(movable)
    places = {each.key: each.node for each in movable}
    watch.rewind(data.draw(st.sampled_from(([], watch.every_row))))
    for _ in range(data.draw(st.integers(1, 5))):
        key = data.draw(st.sampled_from(sorted(places)))
        target = data.draw(st.sampled_from([each.name for each in snapshot.nodes]))
        trial = Trial(Columns(at_places(snapshot, places)))
        if not trial.feasible(trial.shape_of(snapshot.workloads[key]))[trial.row_of[target]]:
            continue
        if watch.follow(key, places[key], target):
            places[key] = target
        fresh = LossWatch(Columns(at_places(snapshot, places)), "spread", look_for_seconds)
        assert watch.verdicts() == list(fresh.limits)
        assert watch.limits is limits
    watch.rewind()
    assert watch.verdicts() == limits


def test_moves_of_one_group_may_not_use_up_the_room_that_another_needs():
    """Group b's pod of 6 fits on n1 of group a alone, as long as nothing moves there."""
    snapshot = cluster(
        node("n0", cpu="8", memory="10", pods=9).in_group("a").holding(
            *(pod(f"w/p{at}", memory="3", cpu="1", pods=1, owner="ReplicaSet/r") for at in range(3))
        ),
        node("n1", cpu="8", memory="10", pods=9).in_group("a"),
        node("n2", cpu="8", memory="10", pods=9).in_group("b").holding(
            pod("w/large", memory="8", cpu="1", pods=1, owner="ReplicaSet/l")
        ),
    )  # fmt: skip
    found = rebalance(snapshot, EVERY_GAIN)
    assert [(group.group, group.moves, group.refused > 0) for group in found] == [
        ("a", (), True), ("b", (), False),
    ]  # fmt: skip


class TestBounds:
    """What is too much to judge is not claimed."""

    HELD = ([3], [5, 3], [2, 4])

    @pytest.mark.parametrize("bound", ["RUNNING_SIDE_BY_SIDE_MAX", "RUNNING_MAX"])
    def test_a_cluster_too_large_is_not_judged(self, monkeypatch, bound):
        monkeypatch.setattr(loss_watch, bound, 3)
        if bound == "RUNNING_MAX":
            monkeypatch.setattr(loss_watch, "can_do", lambda *_: False)
        snapshot = holding(*self.HELD)
        assert watch_of(snapshot) is None
        (group,) = rebalance(snapshot, Wishes())
        assert (group.not_evacuable_before, group.not_evacuable_after) == (None, None)
        assert len(group.moves) == 1

    def test_a_search_that_judged_enough_ends_with_what_is_sure(self, monkeypatch):
        monkeypatch.setattr(loss_watch, "PLACED_SIDE_BY_SIDE_MAX", 1)
        snapshot = holding(*self.HELD)
        found = rebalance(snapshot, Wishes())
        assert found[0].ended_early
        assert is_no_worse(left_out(snapshot), left_out(after(snapshot, found)))

    @pytest.mark.parametrize("held", TIGHT, ids=str)
    def test_where_searches_do_not_help_the_first_moves_that_are_sure_are_kept(self, monkeypatch, held):
        monkeypatch.setattr(rebalance_module, "ROUNDS_MAX", 1)
        snapshot = holding(*held)
        found = rebalance(snapshot, Wishes())
        assert found[0].ended_early
        assert is_no_worse(left_out(snapshot), left_out(after(snapshot, found)))

    def test_without_exact_looks_moves_are_refused(self):
        for held in TIGHT:
            snapshot = holding(*held)
            found = rebalance(snapshot, EVERY_GAIN, lambda _, report: report)
            losses, ended = (losses_of(each) for each in (snapshot, after(snapshot, found)))
            for each in snapshot.nodes:
                assert len(ended.of([each.name]).losers) <= len(losses.of([each.name]).losers)
