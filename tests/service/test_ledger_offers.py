"""What is offered can be promised, and no more: what is promised already is part of it."""

import pytest

from ullage.model.ledger import Hold, Reserve, Supply
from ullage.model.resources import Resources
from ullage.service.asked import Asked, read_everybody, read_to_hold
from ullage.service.held import holding
from ullage.service.ledger_file import submitted
from ullage.service.ledger_offers import offers_of
from ullage.service.status import status_report


def offered(asked):
    return {each.name: each for each in offers_of(asked)}


def test_a_node_that_is_ready_offers_what_is_free_on_it():
    found = offered(Asked("demo"))
    ready = [node for node in status_report(read_everybody(Asked("demo"))).nodes if node.state == "ready"]
    assert len(ready) > 3
    for node in ready:
        assert found[f"node/{node.name}"].offers.of("memory") == node.free.of("memory")


@pytest.mark.parametrize("is_held", [False, True])
def test_what_is_promised_stays_part_of_what_is_offered(tmp_path, is_held):
    before = offered(Asked("demo"))
    name, capacity = next((name, each) for name, each in before.items() if each.offers.of("cpu") > 1000)
    path = tmp_path / "ledger.db"
    hold = Hold("web", name, Resources({"cpu": 1000}))
    submitted(path, Supply((capacity,)), at_seconds=1, create=True)
    assert submitted(path, Reserve("r", "team/x", 1 << 40, holds=(hold,)), at_seconds=1).decision.accepted
    asked = Asked("demo", ledger=str(path))
    if not is_held:
        assert offered(asked) == before
    else:
        with holding([read_to_hold("demo", Asked("demo"))]):
            assert offered(asked) == before
