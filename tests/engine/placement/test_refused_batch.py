"""What a remedy is said to do: it speaks of all replicas, and of other batches where there are any."""

import pytest

from builders import batch, cluster, node, waiting
from ullage.engine.columns import Columns
from ullage.engine.placement.refused_batch import Own, RefusedBatch
from ullage.engine.trial import Trial

ASKED = waiting("a", memory="1")


@pytest.mark.parametrize(
    ("replicas", "kept", "others", "said"),
    [
        (1, 0, 0, "it then fits"),
        (3, 0, 0, "all 3 then fit"),
        (1, 2, 0, "all 3 then fit"),
        (1, 0, 1, "it then fits, the others as they are"),
    ],
)
def test_what_is_said(replicas, kept, others, said):
    trial = Trial(Columns(cluster(node("n1", memory="1"))))
    trial.devices.expect([batch(1, ASKED)] * (1 + others))
    refused = RefusedBatch(trial, ASKED, trial.shape_of(ASKED), replicas, 0, Own(frozenset(), kept))
    assert (refused.then, refused.rest) == (said, replicas)
