"""Fitting: the same answer as scoring every node for every replica, nothing over a limit, true remedies."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from properties.small_clusters import clusters, resource_maps
from remedied import applied
from ullage.engine.capacity.admission import Place, admit
from ullage.engine.capacity.bounds import figures_of
from ullage.engine.capacity.summary import Summary, summarise_groups
from ullage.engine.columns import Columns
from ullage.engine.placement.fit import FitAnswer, fit
from ullage.engine.placement.room import STEPS
from ullage.model.cluster import Batch, Node, Snapshot, Workload
from ullage.model.resources import NOTHING, Resources, ResourceTypes
from ullage.model.settings import rules_for

TYPES = ResourceTypes()

requests = resource_maps(range(13))
batches = st.lists(
    st.builds(
        Batch,
        st.builds(Workload, st.sampled_from("abc"), requests=requests, state=st.just("init")),
        st.integers(0, 6),
        st.booleans(),
    ),
    max_size=3,
)


def promised_at(snapshot: Snapshot) -> dict[str, Resources]:
    promised = {node.name: NOTHING for node in snapshot.nodes}
    for each in snapshot.workloads:
        if each.holds_capacity:
            promised[each.node] += each.requests
    return promised


def place(snapshot: Snapshot, node: Node, promised: Resources) -> Place:
    rules = rules_for(snapshot.policy, TYPES, node.group, node.name)
    return Place(node.name, figures_of(node, rules, promised), rules, TYPES)


def share_left(where: Place, asked: Resources) -> int:
    """The smallest share of a resource that is left after one more, in steps of which a limit has 2^20."""
    shares = [STEPS]
    for resource, amount in asked.items():
        figures = where.figures.get(resource)
        if amount > 0 and figures is not None:
            if figures.free is None:
                shares.append(STEPS - 1)
                continue
            left = figures.free - amount - (where.rules.fill == "below")
            shares.append(left * ((1 << 56) // max(figures.bounds.limit, 1)) >> 36)
    return min(shares)


def score_every_node(snapshot: Snapshot, drawn: list[Batch]) -> list[dict[str, int]]:
    """Where replicas go if every node is judged anew for each of them."""
    promised = promised_at(snapshot)
    answers = []
    for batch in drawn:
        before, counts = dict(promised), {}
        for _ in range(batch.replicas):
            scored = []
            for node in snapshot.nodes:
                where = place(snapshot, node, promised[node.name])
                if node.state == "ready" and admit(where, batch.workload).admitted:
                    scored.append((-share_left(where, batch.workload.requests), node.name))
            if not scored:
                break
            chosen = min(scored)[1]
            counts[chosen] = counts.get(chosen, 0) + 1
            promised[chosen] += batch.workload.requests
        if batch.atomic and sum(counts.values()) < batch.replicas:
            promised, counts = before, {}
        answers.append(counts)
    return answers


@given(clusters(), batches)
def test_placing_at_once_gives_what_scoring_every_node_for_every_replica_gives(snapshot, drawn):
    found = fit(Columns(snapshot), drawn)
    assert [dict(each.nodes) for each in found.outcomes] == score_every_node(snapshot, drawn)


def placed_on(found: FitAnswer) -> dict[str, Resources]:
    taken: dict[str, Resources] = {}
    for step in found.plan.steps:
        taken[step.to_node] = taken.get(step.to_node, NOTHING) + step.resources * step.count
    return taken


@given(clusters(), batches, st.booleans())
def test_nothing_is_placed_that_is_not_free_and_nothing_is_lost(snapshot, drawn, atomic):
    found = fit(Columns(snapshot), drawn, atomic=atomic)
    promised = promised_at(snapshot)
    for name, taken in placed_on(found).items():
        node = snapshot.nodes[name]
        assert node.state == "ready"
        before = place(snapshot, node, promised[name]).figures
        after = place(snapshot, node, promised[name] + taken).figures
        for resource, amount in taken.without_zeros().items():
            assert resource in before
            if after[resource].bounds.limit is not None:
                assert after[resource].committed <= after[resource].bounds.limit
                assert amount <= after[resource].bounds.limit - promised[name].of(resource)
    for each in found.outcomes:
        assert each.placed == sum(count for _, count in each.nodes)
        assert (each.refusal is None) == (each.state in {"ok", "init"})
        assert each.placed == each.replicas or each.refusal is not None or atomic
    assert found.fits == all(each.refusal is None for each in found.outcomes)
    if atomic and not found.fits:
        assert found.plan.steps == ()


@given(clusters(), requests, st.integers(0, 8))
def test_an_empty_node_more_never_lowers_how_many_fit(snapshot, asked, replicas):
    batch = Batch(Workload("a", requests=asked, state="init"), replicas)
    spare = Node("n9", Resources(dict.fromkeys(("cpu", "memory"), 12)))
    larger = msgspec.structs.replace(snapshot, nodes=snapshot.nodes.changed([spare]))
    before = fit(Columns(snapshot), [batch]).outcomes[0].placed
    assert fit(Columns(larger), [batch]).outcomes[0].placed >= before


@given(clusters(), requests)
def test_one_replica_fits_where_some_ready_node_admits_it(snapshot, asked):
    workload = Workload("a", requests=asked, state="init")
    columns = Columns(snapshot)
    groups = {each.name: each for each in summarise_groups(columns)}

    def can_promise(group: Summary) -> bool:
        bounded = [name for name, amount in asked.items() if amount and name in group.ullage]
        return not group.spare_nodes or all(asked[name] <= group.ullage.of(name) for name in bounded)

    admitted = [
        admit(columns.place_of(row), workload).admitted and can_promise(groups[node.group])
        for row, node in enumerate(columns.nodes)
        if node.state == "ready"
    ]
    assert fit(columns, [Batch(workload)]).fits == any(admitted)


@given(clusters(), requests, st.integers(1, 4))
def test_every_remedy_makes_everything_fit(snapshot, asked, replicas):
    batch = Batch(Workload("a", requests=asked, state="init"), replicas)
    refusal = fit(Columns(snapshot), [batch]).outcomes[0].refusal
    if refusal is None:
        return
    assert refusal.remedy
    for remedy in refusal.remedies:
        changed, wanted = applied(remedy, snapshot, batch)
        assert fit(Columns(changed), [wanted]).fits, remedy.text
