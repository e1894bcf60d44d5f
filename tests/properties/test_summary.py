"""Sums conserve, and spare is what brute force over all sets of nodes finds."""

from itertools import combinations

from hypothesis import given

from properties.small_clusters import clusters
from ullage.engine.capacity.summary import Summary, summarise_domains, summarise_groups, total
from ullage.engine.columns import Columns
from ullage.model.settings import rules_for

ADDED = ("capacity", "allocatable", "promised", "committed", "limit", "free", "blocked")


def terms(columns: Columns, row: int, resource: str) -> dict[str, int]:
    """What one node adds to each sum, from its own figures."""
    node, figures = columns.nodes[row], columns.figures(row).get(resource)
    if figures is None:
        return dict.fromkeys((*ADDED, "at_risk", "bounded"), 0)
    bounded = figures.free is not None and figures.bounds.capacity > 0
    room = figures.free if bounded else 0
    free = room if node.state == "ready" else 0
    return {
        "capacity": figures.bounds.capacity,
        "allocatable": figures.bounds.allocatable,
        "promised": figures.promised,
        "committed": figures.committed,
        "limit": figures.bounds.limit if bounded else 0,
        "free": free,
        "blocked": room - free,
        "at_risk": free + figures.committed if bounded and node.state != "offline" else 0,
        "bounded": int(bounded),
    }


@given(clusters())
def test_every_sum_and_the_spare_by_brute_force(snapshot):
    columns = Columns(snapshot)
    summaries = {each.name: each for each in summarise_groups(columns)}
    assert set(summaries) == {node.group for node in snapshot.nodes}
    for group, summary in summaries.items():
        rows = [row for row, node in enumerate(columns.nodes) if node.group == group]
        lost = rules_for(snapshot.policy, snapshot.resource_types, group).spare_nodes
        assert (summary.nodes, summary.spare_nodes) == (len(rows), lost)
        assert summary.ready == sum(columns.nodes[row].state == "ready" for row in rows)
        for resource in columns.resources:
            parts = [terms(columns, row, resource) for row in rows]
            for name in ADDED:
                assert getattr(summary, name).of(resource) == sum(part[name] for part in parts), name
            at_risk = [part["at_risk"] for part in parts]
            spare = max(sum(chosen) for chosen in combinations(at_risk, min(lost, len(rows))))
            assert summary.spare.of(resource) == spare
            assert summary.ullage.of(resource) == summary.free.of(resource) - spare
            assert (resource in summary.limit) == any(part["bounded"] for part in parts)


def sums(summaries: list[Summary], name: str) -> dict[str, int]:
    return dict(getattr(total(summaries, ""), name).without_zeros())


@given(clusters())
def test_groups_add_up_to_the_cluster_and_domains_to_the_nodes_that_have_one(snapshot):
    columns = Columns(snapshot)
    whole = total(summarise_groups(columns), "cluster")
    assert whole.name == "cluster"
    assert whole.nodes == len(snapshot.nodes)
    for column, resource in enumerate(columns.resources):
        assert whole.capacity.of(resource) == int(columns.capacity[:, column].sum())
        assert whole.promised.of(resource) == int(columns.promised[:, column].sum())
        assert whole.committed.of(resource) == int(columns.committed[:, column].sum())
    domains = summarise_domains(columns)
    inside = [row for row, node in enumerate(columns.nodes) if node.domain]
    assert sum(each.nodes for each in domains) == len(inside)
    expected = {
        resource: int(columns.capacity[inside, column].sum())
        for column, resource in enumerate(columns.resources)
    }
    assert sums(domains, "capacity") == {name: amount for name, amount in expected.items() if amount}
    assert all(each.spare_nodes == 0 and each.ullage == each.free for each in domains)
