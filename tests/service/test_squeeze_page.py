"""How `balance --squeeze` reads."""

from builders import cluster, node, pod
from ullage.service.balance import BalanceQuestion
from ullage.service.moves import MoveStatus
from ullage.service.squeeze import SqueezeGroup, SqueezeReport, squeeze_of
from ullage.service.squeeze_page import squeeze_page

QUESTION = BalanceQuestion(squeeze=True)
MOVE = MoveStatus(1, 1, "i", "migrate to b", "a", "b", "migration", 0)


def report(*groups):
    return SqueezeReport("c", 1, "p", any(group.off for group in groups), groups, ())


def test_nodes_that_can_go(asked, read):
    moving = pod("w/x", cpu="1", owner="ReplicaSet/r")
    snapshot = cluster(node("a", cpu="4").holding(moving), node("b", cpu="4").holding(pod("w/y", cpu="1")))
    text = read(squeeze_of(snapshot, asked, QUESTION))
    assert text.splitlines()[0] == "✓ 1 node can be switched off: a; after 1 move"
    assert text.splitlines()[-1] == "Next: ullage check --lose node/a -c small.json"


def test_empty_nodes_can_go_at_once(asked):
    page = squeeze_page(report(SqueezeGroup("g", ("a",))), asked)
    assert page.verdict.text == "1 node can be switched off: a; they are empty"


def test_no_node_can_go(asked):
    page = squeeze_page(
        report(SqueezeGroup("g", (), ("s",), "not enough"), SqueezeGroup("h", reason="full")), asked
    )
    assert page.verdict.text == "no node can be switched off: not enough; full; switch on s"
    assert page.verdict.tone == "no"
    assert page.next_command == "ullage balance -c small.json"
    nodes, _ = page.blocks
    assert [[cell.text for cell in row] for row in nodes.rows] == [
        ["g", "-", "s", "0", "not enough"], ["h", "-", "-", "0", "full"],
    ]  # fmt: skip


def test_many_nodes_and_moves_are_shortened_on_a_terminal(asked):
    group = SqueezeGroup("g", tuple(f"n{at:02}" for at in range(20)), moves=(MOVE,) * 50)
    page = squeeze_page(report(group), asked, shortened=True)
    nodes, moves = page.blocks
    assert "and 8 more" in nodes.rows[0][1].text
    assert nodes.rows[0][1].exact.endswith("n19")
    assert len(moves.rows) == 40
    assert page.next_command.count("--lose") == 5
