"""What to buy: a purchase solves the question unless it says why not, and that is named."""

from builders import batch, cluster, node, policy, waiting
from ullage.engine.purchase.answer import Purchase, still_wrong
from ullage.engine.purchase.catalog import Catalog, Item
from ullage.engine.purchase.check import Check
from ullage.engine.purchase.offers import Market


def checked(cpu, lost=0):
    market = Market(
        cluster(node("x", cpu="8"), policy=policy()), Catalog((Item("n", 1, node("n", cpu="8").record),))
    )
    return Check(market, [batch(1, waiting("a", cpu=cpu))], lost, 1).of(())


def test_a_purchase_with_a_reason_solves_nothing():
    found = Purchase((), 0, 0, "bound", checked("2"))
    assert found.solves
    assert not found._replace(reason="too small").solves


def test_who_has_no_place_is_named():
    text = still_wrong(checked("9"))
    assert text.startswith("a: 1 without a place in the best mix found: ")


def test_who_has_no_place_after_a_loss_is_named():
    assert still_wrong(checked("2", lost=1)).startswith("without x, a has no place in the best mix found (")


def test_where_nothing_is_missing_no_name_is_given():
    assert still_wrong(checked("2")) == "no mix that was tried is enough"
