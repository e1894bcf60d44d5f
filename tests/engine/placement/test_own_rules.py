"""Rules of a workload by itself."""

import numpy as np
import pytest
from tests.builders import cluster, node, waiting

from ullage.engine.columns import Columns
from ullage.engine.placement.own_rules import own_rules
from ullage.engine.placement.rules import EVERY
from ullage.engine.trial import Trial


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (waiting("w", cpu="1", memory="1"), {}),
        (waiting("w", cpu="3"), {"size of the node (cpu)": ["small"]}),
        (waiting("w", {"example.com/x": "1"}), {"size of the node (example.com/x)": ["large", "small"]}),
        (waiting("w", cpu="1", node="small"), {"another node is named": ["large"]}),
        (waiting("w", cpu="1", node="gone"), {"another node is named": ["large", "small"]}),
    ],
)
def test_what_keeps_a_workload_off_nodes_whatever_else_is_there(asked, told):
    trial = Trial(Columns(cluster(node("small", cpu="2", memory="9"), node("large", cpu="4", memory="9"))))
    rules = own_rules(trial.shape_of(asked), trial.columns, trial.room, trial.row_of)
    found = {
        rule.reason: [trial.nodes[row].name for row in np.flatnonzero(~rule.allows(EVERY)).tolist()]
        for rule in rules
    }
    assert found == told
