"""A running kube-scheduler accepts our placements and shares our refusals."""

import pytest

from parity.cases import case
from parity.compare import Placing
from parity.live import live_scheduler
from parity.run import OUTPUT, Run, run_on_planes, shrink_all

pytestmark = pytest.mark.slow

CASES = 25
FIRST_SEED = 1


@pytest.mark.usefixtures("plane_program")
def test_each_pod_is_schedulable_there_iff_here():
    said: list[str] = []
    seeds = range(FIRST_SEED, FIRST_SEED + CASES)
    run = run_on_planes(live_scheduler, Run(seeds, said.append), planes=1)
    shrink_all(run, OUTPUT, said.append, live_scheduler)
    print(run.summary("parity with a running kube-scheduler"))  # noqa: T201 - the seeds are part of the result
    assert not run.failures, "\n".join(said)
    assert run.tally.cases == CASES
    assert 0 < run.tally.placed < run.tally.pods


def test_a_difference_is_found(plane_program, monkeypatch):
    """Steps that say the opposite of what we think must be contradicted by the scheduler."""
    drawn = case(11, ("cpu",))
    honest = Placing(drawn).steps
    assert honest[0].chosen

    class Contrary:
        def __init__(self, _):
            self.steps = [honest[0]._replace(chosen="", feasible=[]), *honest[1:]]

    monkeypatch.setattr("parity.live.Placing", Contrary)
    with live_scheduler(plane_program) as live:
        found = live.judge(drawn).differences
    assert [(each.pod, each.theirs) for each in found] == [(honest[0].pod, "took it")]
