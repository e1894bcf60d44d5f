"""What became of a batch: what stands of it, and the steps to it."""

import pytest

from ullage.engine.placement.outcome import Outcome
from ullage.model.plan import Refusal

PLACED = Outcome("web/a", "Deployment", 3, 3, "ok", (("n1", 2), ("n2", 1)))


def test_undone_nothing_stands_and_what_was_not_refused_may_be_asked_again():
    assert PLACED.undone()[2:6] == (3, 0, "init", ())
    refused = PLACED._replace(state="error", refusal=Refusal("web/a", 1, "no room"))
    assert refused.undone().state == "error"


@pytest.mark.parametrize(("action", "steps"), [("place", 2), ("resize", 2), ("keep", 0)])
def test_each_node_is_a_step_unless_all_stays(action, steps):
    found = PLACED._replace(action=action).steps()
    assert [(each.to_node, each.count) for each in found] == [("n1", 2), ("n2", 1)][:steps]
    assert all(each.action == action for each in found)
