"""Room kept for failover: what is new leaves each group what it needs to lose some of its nodes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import batch, cluster, node, policy, waiting, workload

from ullage.engine.capacity.summary import summarise_groups
from ullage.engine.columns import Columns
from ullage.engine.placement.binding_rules import binding_rules
from ullage.engine.placement.fit import fit
from ullage.engine.placement.headroom import headroom
from ullage.engine.placement.node_verdicts import NodeVerdicts
from ullage.engine.placement.reasons import reasons_of
from ullage.engine.placement.scheduling import schedule
from ullage.engine.trial import Trial
from ullage.model.cluster import Batch
from ullage.model.delta import Delta


def three_nodes(*more, spare_nodes="1", **fields):
    nodes = [node(f"n{number}", cpu="10", memory="100") for number in range(3)]
    return Columns(cluster(*nodes, *more, policy=policy(spare_nodes=spare_nodes), **fields))


def placed(columns, replicas, **amounts):
    (outcome,) = fit(columns, [batch(replicas, waiting("new", **amounts))]).outcomes
    return outcome


@pytest.mark.parametrize(
    ("spare_nodes", "asked", "fits"),
    [
        ("0", 30, 30),
        ("1", 30, 20),
        ("2", 30, 10),
        ("3", 30, 0),
        ("5", 30, 0),
    ],
)
def test_so_many_nodes_as_may_fail_are_not_promised(spare_nodes, asked, fits):
    assert placed(three_nodes(spare_nodes=spare_nodes), asked, cpu="1").placed == fits


def test_only_what_is_asked_for_must_be_within_the_budget():
    full = [workload(f"old{n}", memory="80", node=f"n{n}") for n in range(3)]
    columns = three_nodes(*full)
    assert placed(columns, 5, cpu="1").placed == 5
    assert placed(columns, 5, cpu="1", memory="1").placed == 0


def test_each_group_keeps_its_own():
    columns = Columns(
        cluster(
            node("a0", cpu="10").in_group("a"),
            node("a1", cpu="10").in_group("a"),
            node("b0", cpu="10").in_group("b"),
            policy=policy(groups={"a": {"spare-nodes": "1"}}, spare_nodes="0"),
        )
    )
    outcome = placed(columns, 30, cpu="1")
    counts = dict(outcome.nodes)
    assert counts["b0"] == 10
    assert counts.get("a0", 0) + counts.get("a1", 0) == 10


def test_larger_nodes_need_more_kept():
    columns = Columns(
        cluster(node("small", cpu="10"), node("large", cpu="16"), policy=policy(spare_nodes="1"))
    )
    assert placed(columns, 30, cpu="1").placed == 10


def test_daemons_belong_to_their_node():
    daemon = waiting("agent", cpu="10", owner="DaemonSet/agent")
    (outcome,) = fit(three_nodes(), [Batch(daemon, 3)]).outcomes
    assert outcome.placed == 3


def test_what_runs_already_is_not_judged_but_what_it_grows_by_is():
    running = [workload(f"w{n}", cpu="6", node=f"n{n}") for n in range(3)]
    columns = three_nodes(*running)
    grown, too_far = (waiting("w0", cpu=cpu, node="n0") for cpu in ("8", "9"))
    assert fit(columns, [Batch(grown)]).fits
    assert not fit(columns, [Batch(too_far)]).fits


def test_the_refusal_names_the_group_and_its_terms():
    outcome = placed(three_nodes(), 21, cpu="1")
    assert outcome.refusal.reason == (
        "0/3 nodes may take it (kept off: 3 room kept for failover); "
        "group default has 10 of cpu left and keeps 10 for 1 node to fail: 1 short"
    )


@pytest.mark.parametrize(
    ("replicas", "cpu", "texts"),
    [
        (
            1,
            "8",
            [
                "lower the request of cpu to 4: it then fits",
                "promise what is kept for failover (policy spare-nodes=0): it then fits",
                "evict old0: it then fits",
                "add a node with 10 of cpu: it then fits",
            ],
        ),
        (
            5,
            "1",
            [
                "lower the request of cpu to 800m: all 5 then fit",
                "promise what is kept for failover (policy spare-nodes=0): all 5 then fit",
                "ask for 4 replicas only",
                "evict old0: all 5 then fit",
                "add a node with 10 of cpu: all 5 then fit",
            ],
        ),
    ],
)
def test_remedies_know_what_is_kept(replicas, cpu, texts):
    old = [workload(f"old{n}", cpu="8", node=f"n{n}") for n in range(2)]
    outcome = placed(three_nodes(*old), replicas, cpu=cpu)
    assert [each.text for each in outcome.refusal.remedies] == texts


def test_exact_search_leaves_it_too():
    columns = three_nodes()
    mixed = [batch(3, waiting("a", cpu="4")), batch(3, waiting("b", cpu="3"))]
    answer = fit(columns, mixed, exact_seconds=2)
    refused = [each for each in answer.outcomes if each.refusal]
    assert len(refused) == 1
    assert refused[0].certificate == "impossible"
    fitting = [batch(3, waiting("a", cpu="4")), batch(2, waiting("b", cpu="4"))]
    assert fit(columns, fitting, exact_seconds=2).fits


def test_headroom_counts_what_fit_would_place():
    columns = three_nodes(workload("old", cpu="3", node="n1"))
    (found,) = headroom(columns, [Batch(waiting("new", cpu="2"))])
    assert found.replicas == 8
    assert placed(columns, 8, cpu="2").placed == 8
    assert placed(columns, 9, cpu="2").placed == 8


def test_the_scheduler_judges_it_in_the_same_decision():
    pods = [waiting(f"p{n}", cpu="5") for n in range(5)]
    cycle = schedule(three_nodes(*pods), pods)
    assert [each.workload for each in cycle.bound] == ["p0", "p1", "p2", "p3"]
    assert "keeps 10 for 1 node to fail" in cycle.unplaced[0].refusal.reason


def test_the_scheduler_evicts_for_it_by_priority():
    old = [workload(f"old{n}", cpu="5", node=f"n{n % 3}", priority=1) for n in range(4)]
    pod = waiting("urgent", cpu="5", priority=9)
    cycle = schedule(three_nodes(*old, pod), [pod])
    (nominated,) = cycle.nominated
    assert len(nominated.evicted) == 1


def test_nodes_say_it_to_whoever_asks_and_follow_the_cluster():
    old = [workload(f"old{n}", cpu=cpu, node=f"n{n}") for n, cpu in enumerate(("6", "6", "2"))]
    columns = three_nodes(*old)
    verdicts = NodeVerdicts(columns)
    pod = waiting("new", cpu="7")
    assert verdicts.reasons(pod, ["n1", "n2"]) == {"n1": "cpu short", "n2": "room kept for failover"}
    gone = Delta(dropped={"workloads": ("old0",)})
    verdicts.advance(columns.copy().advance(gone), gone)
    assert verdicts.reasons(pod, ["n0", "n1", "n2"]) == {"n0": "", "n1": "cpu short", "n2": ""}


def test_what_lacks_room_by_itself_is_told_so_and_the_rest_of_its_group():
    columns = three_nodes(workload("old0", cpu="9", node="n0"), workload("old1", cpu="6", node="n1"))
    trial = Trial(columns, keeps_spare=True)
    shape = trial.shape_of(waiting("new", cpu="6"))
    reasons = reasons_of(trial, shape)
    assert [reasons.of(row) for row in range(3)] == ["cpu short", "cpu short", "room kept for failover"]
    (rule,) = binding_rules(trial, shape)
    assert (rule.kind, rule.nodes) == ("spare", 3)
    assert rule.text == "group default has 15 of cpu left and keeps 10 for 1 node to fail: 1 short"


# By recomputation

amounts = st.integers(0, 12)
worlds = st.tuples(
    st.lists(
        st.tuples(st.integers(1, 12), st.integers(1, 12), st.sampled_from(("a", "b"))), min_size=1, max_size=5
    ),
    st.sampled_from(("0", "1", "2")),
    st.lists(st.tuples(amounts, amounts), max_size=8),
)


@settings(max_examples=100, deadline=None)
@given(worlds)
def test_one_more_goes_where_the_group_can_still_lose_its_nodes(world):
    sizes, spare_nodes, asked = world
    nodes = [
        node(f"n{number}", cpu=str(cpu), memory=str(memory)).in_group(group)
        for number, (cpu, memory, group) in enumerate(sizes)
    ]
    rules = policy(groups={"b": {"spare-nodes": "1"}}, spare_nodes=spare_nodes)
    trial = Trial(Columns(cluster(*nodes, policy=rules)), keeps_spare=True)
    there = []
    for number, (cpu, memory) in enumerate(asked):
        shape = trial.shape_of(waiting(f"w{number}", cpu=str(cpu), memory=str(memory)))
        feasible = trial.feasible(shape)
        for row, one in enumerate(trial.nodes):
            new = workload(f"w{number}", cpu=str(cpu), memory=str(memory), node=one.name)
            assert feasible[row] == _holds(nodes, rules, [*there, new], one.group), (number, row)
        row = trial.pick(shape)
        if row >= 0:
            trial.place(shape, row)
            there.append(workload(f"w{number}", cpu=str(cpu), memory=str(memory), node=trial.nodes[row].name))
    mark = trial.mark()
    for row in range(len(trial.nodes)):
        trial.lose(row)
    trial.undo(mark)
    last = trial.shape_of(waiting("last", cpu="1", memory="1"))
    for row, one in enumerate(trial.nodes):
        new = workload("last", cpu="1", memory="1", node=one.name)
        assert trial.feasible(last)[row] == _holds(nodes, rules, [*there, new], one.group)


def _holds(nodes, rules, workloads, group):
    """Whether nodes have room for all, and the group has left what it keeps of what the last asks for."""
    columns = Columns(cluster(*nodes, *workloads, policy=rules))
    if (columns.committed > columns.limit).any():
        return False
    (found,) = [each for each in summarise_groups(columns) if each.name == group]
    asked = [name for name, amount in workloads[-1].requests.items() if amount]
    return not found.spare_nodes or all(found.ullage.of(name) >= 0 for name in asked)
