"""How `balance --rolling` reads."""

from ullage.model.plan import Refusal
from ullage.service.moves import MoveStatus
from ullage.service.rolling import RollingReport, StuckNode, Turn
from ullage.service.rolling_page import rolling_page

MOVE = MoveStatus(1, 1, "i", "migrate to b", "a", "b", "migration", 0)


def report(turns=(), stuck=()):
    return RollingReport("c", 1, "p", not stuck, tuple(turns), tuple(stuck), ())


def stuck(node, count=1):
    return StuckNode(node, tuple(Refusal(f"w{at}", 1, "no room", remedy="make some") for at in range(count)))


def test_every_node_has_a_turn(asked):
    page = rolling_page(report([Turn(1, ("a", "b"), (MOVE,)), Turn(2, ("c",), ())]), asked)
    assert page.verdict.text == "every node can be maintained: 3 nodes in 2 turns with 1 move"
    assert page.next_command == "ullage check --lose node/a --lose node/b -c small.json"
    turns, moves = page.blocks
    assert [row[-1].text for row in turns.rows] == ["1 migration", "nothing moves"]
    assert [row[0].text for row in moves.rows] == ["1"]


def test_nodes_without_a_turn_come_first(asked):
    page = rolling_page(report([Turn(1, ("a",), ())], [stuck("z")]), asked)
    assert page.verdict.text == "1 node cannot be emptied: z; the others: 1 node in 1 turn with 0 moves"
    assert page.blocks[0].rows[0].subject == "z: w0"
    assert page.next_command == "ullage explain node/z -c small.json"
    assert rolling_page(report([], [stuck("z")]), asked).verdict.text == "no node can be emptied: z"


def test_no_node_at_all(asked):
    page = rolling_page(report(), asked)
    assert page.verdict.text == "there is no node to maintain"
    assert page.next_command == "ullage status -c small.json"


def test_much_is_shortened_on_a_terminal(asked):
    turn = Turn(1, tuple(f"n{at:02}" for at in range(12)), (MOVE,) * 50)
    findings, turns, moves = rolling_page(report([turn], [stuck("z", 12)]), asked, shortened=True).blocks
    assert (len(findings.rows), findings.rows[-1].message) == (11, "2 more reasons")
    assert turns.rows[0][2].text.endswith("and 4 more")
    assert len(moves.rows) == 40
