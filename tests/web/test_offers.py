"""Which capacities a command is about, and when a ledger has to be told of them."""

import pytest

from engine.ledger.ledgers import MIB, capacity, drive, group, hold, reserve, volume
from ullage.model.ledger import Bind, Reserve, Supply
from ullage.web.offers import Offers

A, B = capacity("node/a", cpu=10), capacity("node/b", cpu=10)
D1, D2, VG = drive("a", "d1", 100 * MIB), drive("a", "d2", 100 * MIB), group("a", "vg", 96 * MIB)
ALL = (A, B, D1, D2, VG)


def known(*capacities):
    return {each.name: each for each in capacities}


ON_A = reserve("r", hold("node/a", cpu=1), expires=9)
ON_DISK = reserve("r", hold(D1.name, cpu=1), expires=9)
CHOOSING = Reserve("r", "o", 9, nodes=("a", "b"), volumes=(volume("v", "HDDLVG", MIB),))


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (ON_A, {A.name}),
        (ON_DISK, {D1.name, D2.name, VG.name}),
        (CHOOSING, {each.name for each in ALL}),
        (reserve("r", hold("node/elsewhere", cpu=1), expires=9), set()),
        (Bind("r"), set()),
    ],
)
def test_a_ledger_is_told_of_what_a_command_is_about(command, names):
    news = Offers(ALL, {}).news(command)
    assert {each.name for each in (news.capacities if news else ())} == names


def test_what_was_told_is_no_news_until_it_is_taken_back():
    offers = Offers(ALL, {})
    first = offers.news(ON_A)
    assert first == Supply((A,))
    assert offers.news(ON_A) is None
    offers.untold(first)
    assert offers.news(ON_A) == first


def test_what_the_ledger_knows_as_it_is_is_no_news_and_what_differs_is():
    smaller = capacity("node/a", cpu=5)
    assert Offers((A, B), known(A)).news(ON_A) is None
    assert Offers((A, B), known(smaller)).news(ON_A) == Supply((A,))


def test_what_the_ledger_knows_and_is_not_there_any_more_is_gone():
    offers = Offers((B,), known(A, D1))
    assert offers.news(ON_A) == Supply((), ("node/a",))
    assert offers.news(ON_A) is None
    assert offers.news(ON_DISK) == Supply((), (D1.name,))
