"""Our engine and kube-scheduler's plugins name the same nodes, and our engine agrees with itself."""

import pytest

from parity.cases import KINDS, case
from parity.compare import Placing
from parity.run import OUTPUT, run_judge, shrink_all
from ullage.engine.trial import Trial

pytestmark = pytest.mark.slow

CASES = 300
FIRST_SEED = 1
PLUGINS = frozenset(
    (
        "InterPodAffinity", "NodeAffinity", "NodePorts", "NodeResourcesFit", "NodeUnschedulable",
        "NodeVolumeLimits", "PodTopologySpread", "SchedulingGates", "TaintToleration", "VolumeBinding",
        "VolumeRestrictions", "VolumeZone",
    )
)  # fmt: skip


@pytest.mark.usefixtures("plane_program")
def test_each_pod_fits_the_same_nodes_here_and_there():
    said: list[str] = []
    run = run_judge(range(FIRST_SEED, FIRST_SEED + CASES), said.append)
    shrink_all(run, OUTPUT, said.append)
    print(run.summary("parity"))  # noqa: T201 - the seeds are part of the result
    assert not run.failures, "\n".join(said)
    assert run.tally.cases == CASES
    assert set(run.tally.kinds) == set(KINDS)
    assert {plugin for plugin, _ in run.tally.refusals} == PLUGINS, "some rule refused no node"


def test_state_that_is_not_kept_up_to_date_is_found(monkeypatch):
    """An engine that once forgets to count what it places differs from one that counts anew."""
    honest = Trial.place

    def forgetful(trial, shape, row, count=1):
        if len(trial.log) != 1:
            honest(trial, shape, row, count)

    def noticed(seed: int) -> bool:
        drawn = case(seed, ("pod count",))
        assert Placing(drawn).check_state(drawn) == []
        placing = Placing(drawn)
        with monkeypatch.context() as patched:
            patched.setattr(Trial, "place", forgetful)
            return bool(placing.check_state(drawn))

    assert any(noticed(seed) for seed in range(20))
