"""What `balance` is asked, and what `balance --drain` plans."""

import pytest

from builders import cluster, node, pod
from ullage.model.admission import DisruptionBudget
from ullage.model.constraints import LabelSelector
from ullage.model.errors import InputError
from ullage.service.asked import Asked
from ullage.service.balance import BalanceQuestion, balance, balance_of


def web(number):
    return pod(f"w/web-{number}", cpu="1", labels={"app": "web"}, owner="ReplicaSet/web")


PAIR = cluster(
    node("a", cpu="4").holding(web(0), web(1), pod("w/bare", cpu="1"), pod("w/d", owner="DaemonSet/d")),
    node("b", cpu="4"),
    DisruptionBudget("web", "w", LabelSelector({"app": "web"}), max_unavailable="1"),
    name="pair",
    revision=3,
    unknowns=("tea",),
)


def test_the_plan_in_waves(asked):
    answer = balance_of(PAIR, asked, BalanceQuestion(("a",)))
    report = answer.data()
    assert (answer.yes, report["kind"], report["possible"], report["drained"]) == (
        True, "BalanceReport", True, ("a",),
    )  # fmt: skip
    assert [[step["subject"] for step in wave["steps"]] for wave in report["waves"]] == [
        ["w/bare", "w/web-0"],
        ["w/web-1"],
    ]
    steps = report["plan"]["steps"]
    assert [(step["action"], step["fromNode"], step["toNode"]) for step in steps] == [("move", "a", "b")] * 3
    assert steps[0]["resources"] == {"cpu": "1"}
    assert steps[1]["evidence"] == "wave 1, budget w/web allows 1 at a time; b has 2 cpu left then"
    assert (report["plan"]["question"], report["plan"]["revision"]) == ("drain", 3)
    assert (report["daemons"], report["notRestarted"]) == (("w/d",), ("w/bare",))
    assert report["budgets"][0]["allowed"] == 1
    assert "tea" in report["notSimulated"]


def test_what_cannot_move_is_a_no(asked):
    snapshot = cluster(node("a", cpu="4").holding(web(0)), node("b", cpu="500m"))
    answer = balance_of(snapshot, asked, BalanceQuestion(("node/a",)))
    (refusal,) = answer.data()["plan"]["refusals"]
    assert not answer.yes
    assert refusal["subject"] == "w/web-0"
    assert refusal["remedy"]


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (
            BalanceQuestion(("a",), rolling=True),
            "--drain and --rolling are two questions; ask them one after",
        ),
        (BalanceQuestion(squeeze=True, rolling=True), "--squeeze and --rolling are two questions"),
        (BalanceQuestion(("a",), groups=("g",)), "--group means nothing to --drain; leave it out"),
        (BalanceQuestion(rolling=True, weights=("cpu=1",)), "--weight means nothing to --rolling"),
        (BalanceQuestion(squeeze=True, moves_max=3), "--moves-max means nothing to --squeeze"),
        (BalanceQuestion(squeeze=True, gain_min=0.1), "--gain-min means nothing to --squeeze"),
        (BalanceQuestion(gain_min=float("nan")), "--gain-min: nan is no gain; use a number as 0.01"),
        (BalanceQuestion(gain_min=float("inf")), "--gain-min: inf is no gain"),
        (BalanceQuestion(rolling=True, disk_moves=False), "--no-disk-moves means nothing to --rolling"),
        (BalanceQuestion(placement="pack"), "--placement means nothing to balance without --drain"),
    ],
)
def test_options_that_mean_nothing_beside_each_other(question, message):
    with pytest.raises(InputError, match=message):
        balance(Asked("demo"), question)


def test_a_node_that_is_not_there(asked):
    with pytest.raises(InputError, match="no node 'c'"):
        balance_of(PAIR, asked, BalanceQuestion(("c",)))


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        (BalanceQuestion(), "RebalanceReport"),
        (BalanceQuestion(squeeze=True), "SqueezeReport"),
        (BalanceQuestion(rolling=True), "RollingReport"),
    ],
)
def test_without_a_drain_other_questions_are_answered(asked, question, kind):
    assert balance_of(PAIR, asked, question).data()["kind"] == kind


def test_the_question_may_say_how_nodes_are_chosen():
    report = balance(Asked("demo"), BalanceQuestion(("s1",), "pack")).data()
    assert report["placement"] == "pack"
