"""Exact looks at losses: what they save no longer fails, and their time is bounded."""

from itertools import count

from builders import cluster, node, pod, policy
from ullage.engine.columns import Columns
from ullage.engine.redundancy.losses import Losses
from ullage.service.check_exact import ExactLooks

SECONDS = 2


def full(name, *sizes):
    pods = [pod(f"{name}-{number}", cpu=each, owner="ReplicaSet/r") for number, each in enumerate(sizes)]
    return node(name, cpu="12").holding(*pods)


def losses_in(*parts):
    return Losses(Columns(cluster(*parts, node("b", cpu="6"), node("c", cpu="6"), policy=policy())))


SAVED = full("saved", "3", "3", "2", "2", "2")
ALIKE = full("twin", "3", "3", "2", "2", "2")
HOPELESS = full("hopeless", "5", "5", "2")


def test_kinds_that_are_saved_no_longer_fail():
    found = losses_in(SAVED, ALIKE, HOPELESS)
    before = found.every(1)
    assert (before.failing, before.failing_losses, before.looked) == (2, 3, 0)
    looks = ExactLooks(SECONDS)
    after = looks.at_survey(found, before)
    assert (after.failing, after.failing_losses, after.looked) == (1, 1, 2)
    assert [(each.nodes, each.certificate) for each in after.worst] == [(("hopeless",), "impossible")]
    assert [(each.nodes, each.certificate, each.alike) for each in after.saved] == [(("saved",), "exact", 2)]
    assert not looks.undecided


def test_no_seconds_no_looks():
    found = losses_in(SAVED)
    looks = ExactLooks(0)
    assert looks.at_loss(found, found.of(["saved"])) == found.of(["saved"])
    assert looks.at_survey(found, found.every(1)) == found.every(1)
    assert looks.undecided


def test_looks_stop_when_the_time_for_all_is_over_and_say_so():
    found = losses_in(SAVED, full("other", "4", "4", "4"), HOPELESS)
    survey = found.every(1)
    assert len(survey.worst) == 3
    looks = ExactLooks(SECONDS, count(step=6).__next__)
    after = looks.at_survey(found, survey)
    notes = [each.certificate_note for each in (*after.worst, *after.saved)]
    assert after.looked == 2, "each look took 6 s of 10 s"
    assert notes.count("not looked at exactly, because 10 s for all exact searches were over") == 1
    assert looks.undecided
    assert looks.at_loss(found, found.of(["saved"])).certificate == "unknown", (
        "no look is left for this check"
    )


def test_kinds_that_are_not_told_in_full_were_not_looked_at():
    found = losses_in(HOPELESS)
    survey = found.every(1)
    looks = ExactLooks(SECONDS)
    assert looks.at_survey(found, survey._replace(failing=survey.failing + 3)).failing == 4
    assert looks.undecided
