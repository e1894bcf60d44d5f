"""Volumes that bind a workload to certain nodes."""

import pytest

from builders import claim, cluster, node, persistent_volume, pod, volume
from ullage.engine.columns import Columns
from ullage.engine.redundancy.local_volumes import volume_only_on
from ullage.engine.trial import Trial
from ullage.model.constraints import NodeSelector, NodeSelectorTerm, Requirement

ON_A = NodeSelector((NodeSelectorTerm((Requirement("host", "In", ("a",)),)),))
ON_BOTH = NodeSelector((NodeSelectorTerm((Requirement("host", "In", ("a", "b")),)),))


@pytest.mark.parametrize(
    ("affinity", "rows", "told"),
    [
        (ON_A, [0], True),
        (ON_A, [0, 1], True),
        (ON_A, [1], False),
        (ON_BOTH, [0], False),
        (ON_BOTH, [0, 1], True),
        (None, [0, 1], False),
    ],
)
def test_a_volume_is_told_where_no_other_node_reaches_it(affinity, rows, told):
    held = pod("w/x", cpu="1", volumes=(volume("data", "1Gi", claim="data-0"), volume("tmp", "1Gi")))
    snapshot = cluster(
        node("a", cpu="4").labelled({"host": "a"}).holding(held),
        node("b", cpu="4").labelled({"host": "b"}),
        claim("w/data-0", "1Gi", bound=True, volume="pv"),
        persistent_volume("pv", "1Gi", node_affinity=affinity, claim="w/data-0"),
    )
    found = volume_only_on(Trial(Columns(snapshot)), snapshot.workloads["w/x"], rows)
    assert found == ("volume pv of claim data-0 is reached from a only" if told else "")


def test_a_claim_that_is_unknown_or_has_no_volume_yet_binds_nothing():
    volumes = (volume("one", "1Gi", claim="absent"), volume("two", "1Gi", claim="open"))
    snapshot = cluster(node("a", cpu="4").holding(pod("x", cpu="1", volumes=volumes)), claim("open", "1Gi"))
    assert volume_only_on(Trial(Columns(snapshot)), snapshot.workloads["x"], [0]) == ""
