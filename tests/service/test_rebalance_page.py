"""How `balance` reads."""

from builders import cluster, node, pod
from ganeti_builders import ganeti_cluster, ganeti_node, instance
from ullage.engine.balance import loss_watch
from ullage.service.balance import BalanceQuestion, balance_of
from ullage.sources.ganeti.snapshot import snapshot_of


def full(name, group="default", count=4):
    pods = (pod(f"w/{name}{at:02}", cpu="1", memory="2Gi", owner="ReplicaSet/r") for at in range(count))
    return node(name, cpu="99", memory="200Gi").in_group(group).holding(*pods)


def empty(name, group="default"):
    return node(name, cpu="99", memory="200Gi").in_group(group)


def test_one_group(asked, read):
    text = read(balance_of(cluster(full("a"), empty("b"), name="c"), asked, BalanceQuestion()))
    assert text.startswith("✓ 2 moves bring the score of group default from 0.0")
    assert "free-memory-later" in text
    assert "2 restarts" in text
    assert "promise more memory than they may" in text
    assert "leave workloads without a place when lost" in text
    assert "makes neither worse for any node, as check --nodes-lost 1 judges" in " ".join(text.split())
    assert "all of them" not in text
    assert text.splitlines()[-1] == "Next: ullage check --nodes-lost 1 -c small.json"


def test_one_move_of_one_of_two_groups(asked, read):
    parts = (full("a", count=2), empty("b"), empty("x", "other"))
    text = read(balance_of(cluster(*parts), asked, BalanceQuestion()))
    assert text.startswith("✓ 1 move brings the score of group default from")
    assert "Score of group other (1 node)" in text
    assert len([line for line in text.splitlines() if line.startswith("all of them")]) == 2


def test_nothing_to_gain(asked, read):
    text = read(balance_of(cluster(empty("a"), empty("b")), asked, BalanceQuestion()))
    first = "nothing to gain: group default has a score of 0.00, and no move that is allowed lowers it by"
    assert text.startswith(first)
    assert text.splitlines()[-1] == "Next: ullage status -c small.json"
    none = read(balance_of(cluster(), asked, BalanceQuestion()))
    assert none.startswith("nothing to gain: there is no node")


def test_that_no_move_is_asked_for_is_not_that_none_is_worth_it(asked):
    page = balance_of(cluster(full("a"), empty("b")), asked, BalanceQuestion(moves_max=0)).page()
    assert page.verdict.text.startswith(
        "no move is looked for (--moves-max 0): group default has a score of "
    )
    assert "--moves-max" not in page.blocks[1].caption


def test_terms_that_are_nothing_and_most_moves_are_left_out_on_a_terminal(asked):
    answer = balance_of(cluster(full("a", count=99), empty("b")), asked, BalanceQuestion(gain_min=0.0))
    score, moves, _ = answer.page().blocks
    assert (len(score.rows), len(moves.rows)) == (17, 49)
    score, moves, _ = answer.shortened().blocks
    assert (len(score.rows), len(moves.rows)) == (5, 40)
    assert "12 terms more of which nothing counts, -o wide shows all" in score.caption
    assert "the first 40 of 49 moves" in moves.caption


def test_that_more_moves_are_possible_is_said(asked):
    answer = balance_of(cluster(full("a"), empty("b")), asked, BalanceQuestion(moves_max=1))
    assert "ended after 1 moves, --moves-max N goes on" in answer.page().blocks[1].caption


def test_both_redundancies_of_instances(asked, read):
    held = [instance(f"i{at}", "a", "b", memory=200) for at in range(3)]
    snapshot = snapshot_of(ganeti_cluster([ganeti_node(name) for name in "abc"], *held))
    answer = balance_of(snapshot, asked, BalanceQuestion())
    text = read(answer, width=200, output="wide")
    assert "could not take over from every other" in text
    assert "have workloads without another place" in text
    assert "gnt-instance replace-disks -n c" in text
    assert "balancing makes neither number larger" in text


def test_what_was_not_judged_is_not_claimed(asked, monkeypatch):
    monkeypatch.setattr(loss_watch, "RUNNING_SIDE_BY_SIDE_MAX", 3)
    page = balance_of(cluster(full("a"), empty("b")), asked, BalanceQuestion()).page()
    table = page.blocks[-1]
    assert len(table.rows) == 1
    assert table.caption == "balancing makes this no larger; whether nodes may be lost was not judged"
