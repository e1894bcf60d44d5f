"""How `balance --drain` reads."""

from builders import cluster, node, pod
from ullage.service.balance import BalanceQuestion, balance_of


def owned(name, cpu="1", **fields):
    return pod(name, cpu=cpu, **{"owner": "ReplicaSet/r", **fields})


def drained(*parts, asked, nodes=("a",)):
    return balance_of(cluster(*parts, name="c"), asked, BalanceQuestion(nodes))


def test_a_node_that_can_be_emptied(asked, read):
    text = read(drained(node("a", cpu="4").holding(owned("x")), node("b", cpu="4"), asked=asked))
    assert text.splitlines()[0] == "✓ a can be emptied: 1 move in 1 wave"
    assert "b has 3 cpu left then" in text
    assert text.splitlines()[-1] == "Next: ullage check --lose node/a -c small.json"


def test_an_empty_node(asked, read):
    text = read(drained(node("a", cpu="4"), asked=asked))
    assert text.splitlines()[0] == "✓ a can be emptied: nothing has to move"
    assert text.splitlines()[-1] == "Next: ullage explain node/a -c small.json"


def test_who_cannot_move_and_what_stays(asked, read):
    held = (
        owned("x", "3"),
        owned("y", "3"),
        pod("bare", cpu="1"),
        owned("d", "0", owner="DaemonSet/d"),
        owned("m", "0", owner="Node/a"),
        owned("e", "0", terminating=True),
    )
    text = read(drained(node("a", cpu="9").holding(*held), node("b", cpu="2"), asked=asked))
    assert text.splitlines()[0] == "✗ a cannot be emptied: 2 workloads cannot move; 1 move in 1 wave"
    assert "✗ error    x, y: 0/1 nodes have room" in text
    assert "bare: no owner: nobody starts it again once evicted" in text
    assert "d, m: 1 daemon and 1 mirror pod: left where the node is" in text
    assert "e: about to end: goes by itself" in text


def test_many_moves_and_many_reasons_are_shortened_on_a_terminal(asked):
    moving = [owned(f"p{number:02}", "10m") for number in range(50)]
    stuck = [owned(f"s{number:02}", str(10 + number)) for number in range(12)]
    found = drained(node("a", cpu="999").holding(*moving, *stuck), node("b", cpu="9"), asked=asked)
    findings, moves = found.page().blocks
    assert (len(findings.rows), len(moves.rows)) == (12, 50)
    findings, moves = found.shortened().blocks
    assert (len(findings.rows), len(moves.rows)) == (11, 40)
    assert findings.rows[-1].message == "2 more reasons"
    assert "the first 40 of 50 moves" in moves.caption
