"""Findings about losses and budgets: fact, number, remedy."""

from ullage.engine.redundancy.budgets import Broken, Budget
from ullage.engine.redundancy.losses import Loser, LossReport, Move, Survey
from ullage.service.check_findings import budget_findings, loss_findings, proof_words, survey_findings

FULL = Budget("w/web", 3, 3, 3, 0, None, "", min_available="3")


def test_a_budget_that_blocks_says_what_would_unblock_it():
    (found,) = budget_findings([FULL])
    assert (found.code, found.severity, found.subject) == ("budget-blocks", "warning", "budget/w/web")
    assert found.message == "budget w/web allows no eviction: 3 run and 3 are needed; a drain would wait"
    assert found.remedy == "run 1 more of its replicas, or set its minAvailable to 2"


def test_a_budget_that_protects_nobody_or_allows_something_is_no_finding():
    assert list(budget_findings([FULL._replace(healthy=0), FULL._replace(desired=2, counted=1)])) == []


def test_what_the_cluster_counts_otherwise_is_said():
    (found,) = budget_findings([FULL._replace(desired=2, counted=1, stated=2)])
    assert found.message == (
        "budget w/web: the cluster states that 2 may be evicted, the pods seen here allow 1"
    )


def test_losers_of_one_reason_are_one_finding():
    losers = (Loser("w/a", "n", "r", "m"), Loser("w/b", "n", "r", "m"), Loser("w/c", "o", "q", "m"))
    report = LossReport(("n", "o"), 1, (), losers, (), 0)
    several, one = loss_findings(report, [], "node n and node o")
    assert several.message == (
        "2 workloads, w/a (on n), w/b (on n), have no place when node n and node o are lost: r"
    )
    assert (one.subject, one.remedy) == ("workload/w/c", "m")
    assert one.message.startswith("workload w/c (on o) has no place")


def test_pods_without_an_owner_are_named_with_how_many_there_are():
    report = LossReport(("n",), 1, (), (), ("a", "b", "c", "d"), 0)
    (found,) = loss_findings(report, [], "node n")
    assert found.message == (
        "4 pods (a, b, c and 1 more) without an owner: nobody starts them again when node n is lost"
    )


def test_a_broken_budget_says_how_many_go():
    report = LossReport(("n",), 1, (), (), (), 0)
    budget = FULL._replace(desired=2, counted=1)
    (found,) = loss_findings(report, [Broken(budget, ("n",), 2)], "node n")
    assert found.message == "losing n takes 2 of 3 workloads of budget w/web, which allows 1 to go"


def test_a_survey_tells_the_worst_and_counts_the_rest():
    worst = LossReport(("n",), 3, (Move("w/x", "n", "o"),), (Loser("w/a", "n", "r", "m"),), (), 0)
    survey = Survey(1, 100, 9, 7, 5, 12, (worst,))
    first, more, untried = survey_findings(survey, [], "any 1 node")
    assert first.message == (
        "losing node n (3 losses like it) leaves 1 of 2 workloads without a place (w/a); w/a: r"
    )
    assert (first.subject, first.remedy) == ("node/n", "m")
    assert more.message == "4 more kinds of loss (any 1 node) leave workloads without a place"
    assert (untried.severity, untried.message) == (
        "warning",
        "2 of 9 kinds of loss (any 1 node) were not tried: too many",
    )


def test_a_loss_says_how_sure_it_is():
    lost = LossReport(("n",), 1, (), (Loser("w/a", "n", "r", "m"),), (), 0, "unknown")
    assert proof_words(lost) == ""
    assert proof_words(lost._replace(certificate_note="too large")) == "not proven: too large"
    proven = lost._replace(certificate="impossible", certificate_note="sums")
    assert proof_words(proven) == "proven: no placement holds all"
    (found,) = survey_findings(Survey(1, 1, 1, 1, 1, 1, (proven,), looked=1), [], "any 1 node")
    assert found.message.endswith("; w/a: r; proven: no placement holds all")


def test_a_loss_that_is_saved_is_a_warning():
    moves = (Move("w/a", "n", "o"), Move("w/b", "n", "p"))
    saved = LossReport(("n",), 2, moves, (), (), 0, "exact", "found by exact search")
    (found,) = survey_findings(Survey(1, 2, 1, 1, 0, 0, (), looked=1, saved=(saved,)), [], "any 1 node")
    assert (found.code, found.severity, found.subject) == ("loss-exact-only", "warning", "node/n")
    assert found.message == (
        "losing node n (2 losses like it) leaves nobody without a place only if 2 workloads go where an "
        "exact search puts them, not one after the other"
    )
    assert loss_findings(saved._replace(alike=1), [], "node n")[0].code == "loss-exact-only"


def test_kinds_beyond_those_told_were_not_looked_at_exactly():
    worst = LossReport(("n",), 1, (), (Loser("w/a", "n", "r", "m"),), (), 0, "unknown")
    _, more = survey_findings(Survey(1, 9, 9, 9, 5, 5, (worst,), looked=1), [], "any 1 node")
    assert more.message == (
        "4 more kinds of loss (any 1 node) leave workloads without a place when they are placed one after "
        "the other, and were not looked at exactly"
    )
