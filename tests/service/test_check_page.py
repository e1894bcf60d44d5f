"""How `check` reads."""

from builders import cluster, node, pod, policy
from ullage.model.admission import DisruptionBudget
from ullage.model.constraints import LabelSelector
from ullage.service.check import CheckQuestion, check_of


def machine(name, *held, cpu="4"):
    return node(name, cpu=cpu, memory="8Gi").holding(*held)


def owned(name, cpu):
    sized = pod(name, cpu=cpu, memory="1Gi", owner="ReplicaSet/r")
    return pod(name, cpu=cpu, memory="1Gi", owner="ReplicaSet/r", limits=sized.requests)


def answer(*parts, asked, **question):
    return check_of(cluster(*parts, name="c", policy=policy()), asked, CheckQuestion(**question))


def test_nothing_wrong(asked, read):
    text = read(answer(machine("a"), asked=asked))
    assert text.splitlines()[0] == "✓ nothing is wrong"
    assert text.splitlines()[-1] == "Next: ullage check --nodes-lost 1 -c small.json"


def test_a_loss_that_costs_nobody(asked, read):
    parts = (
        machine("a", owned("x", "1"), pod("d", cpu="1", memory="1Gi", owner="DaemonSet/d")),
        machine("b"),
    )
    text = read(answer(*parts, asked=asked, lose=("node/a",)))
    assert "losing 1 node leaves nobody without a place: 1 placed anew" in text.splitlines()[0]
    assert "1 daemon goes with its node" in text


def test_a_loss_that_costs_somebody(asked, read):
    text = read(answer(machine("a", owned("x", "4")), machine("b", cpu="2"), asked=asked, lose=("node/a",)))
    assert " ".join(text.split()).startswith(
        "✗ 1 error; losing 1 node leaves 1 workload without a place "
        "(proven: no placement holds all) cluster c"
    )
    assert "no place ✗" in text
    assert "workload x (on a) has no place when node a is lost: 0/1 nodes" in text


def test_any_node_may_be_lost(asked, read):
    text = read(answer(machine("a"), machine("b"), asked=asked, nodes_lost=1))
    assert text.splitlines()[0] == "✓ nothing is wrong; any 1 node may be lost (2 losses, 1 kind)"


def test_the_next_command_looks_at_the_worst_loss(asked, read):
    text = read(answer(machine("a", owned("x", "4")), machine("b", cpu="2"), asked=asked, nodes_lost=1))
    assert "1 of 2 losses of 1 node leaves workloads without a place" in text.splitlines()[0]
    assert text.splitlines()[-1] == "Next: ullage check --lose node/a -c small.json"


def test_budgets_are_listed(asked, read):
    budget = DisruptionBudget("web", "w", LabelSelector(), min_available="1")
    text = read(answer(machine("a", owned("w/x", "1")), budget, asked=asked))
    assert "budget w/web allows no eviction: 1 run and 1 are needed; a drain would wait" in " ".join(
        text.split()
    )
    assert "Disruption budgets" in text


def test_a_large_loss_is_shortened_on_a_terminal(asked):
    held = [owned(f"p{number:02}", "10m") for number in range(50)]
    found = answer(
        node("a", cpu="4", memory="80Gi").holding(*held),
        node("b", cpu="4", memory="80Gi"),
        asked=asked,
        lose=("node/a",),
    )
    moves = found.page().blocks[-1]
    assert (len(moves.rows), len(found.shortened().blocks[-1].rows)) == (50, 40)
    assert "the first 40 of 50" in found.shortened().blocks[-1].caption


PACKED = (machine("a", *(owned(f"p{place}", size) for place, size in enumerate("33222")), cpu="12"),)
PACKED += (machine("b", cpu="6"), machine("c", cpu="6"))


def test_a_loss_that_an_exact_search_survives(asked, read):
    text = read(answer(*PACKED, asked=asked, lose=("node/a",)))
    first = "✓ 1 warning; losing 1 node leaves nobody without a place: 5 placed anew by exact search"
    assert text.splitlines()[0] == first
    assert "placed by exact search" in text.splitlines()


def test_any_node_may_be_lost_where_an_exact_search_finds_a_way(asked, read):
    text = read(answer(*PACKED, asked=asked, nodes_lost=1))
    assert text.splitlines()[0] == (
        "✓ 1 warning; any 1 node may be lost (3 losses, 2 kinds, 1 only by exact search)"
    )
    assert text.splitlines()[-1] == "Next: ullage check --lose node/a -c small.json"


def test_without_an_exact_look_nothing_is_said_of_proofs(asked, read):
    text = read(answer(*PACKED, asked=asked, lose=("node/a",), exact_seconds=0))
    assert text.splitlines()[0] == "✗ 1 error; losing 1 node leaves 1 workload without a place"
    assert "exact search" not in text
