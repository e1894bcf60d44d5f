"""Entries page by page: each once, whatever the size of a page, and nothing lost while others write."""

import pytest

from engine.ledger.ledgers import capacity, hold, reserve
from stores.ledger_files import made
from ullage.engine.ledger.state import LedgerState
from ullage.model.errors import InputError
from ullage.model.ledger import Bind, Supply
from ullage.stores.entry_pages import EntryPage, Wanted, page_of_file, page_of_state
from ullage.stores.sqlite import SqliteLedger


@pytest.fixture
def path(tmp_path):
    return made(tmp_path / "ledger.db")


@pytest.fixture(params=["file", "state"])
def page(request, path):
    if request.param == "file":
        return lambda *asked: page_of_file(path, *asked)
    with SqliteLedger(path) as ledger:
        state = ledger.state()
    return lambda *asked: page_of_state(state, *asked)


def walk(page, wanted: Wanted, count: int) -> list[EntryPage]:
    pages = [page(wanted, "", count)]
    while pages[-1].after:
        pages.append(page(wanted, pages[-1].after, count))
    return pages


@pytest.mark.parametrize("count", [1, 2, 3, 100])
def test_every_entry_is_on_one_page(page, path, count):
    with SqliteLedger(path) as ledger:
        state = ledger.state()
    pages = walk(page, Wanted(), count)
    found = [entry.key for each in pages for entry in each.entries]
    assert sorted(found) == sorted(entry.key for entry in state.entries)
    assert len(found) > 2
    assert all(len(each.entries) == count for each in pages[:-1])
    assert pages[0][:4] == (state.revision, state.at_seconds, len(state), len(state.waiting))
    assert pages[0].waiting


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(reservation="r1"),
        Wanted(owner="other"),
        Wanted(capacity="quota/team"),
        Wanted(state="BOUND"),
        Wanted(owner="other", state="WAITING"),
        Wanted(owner="r1"),
        Wanted(reservation='"'),
    ],
)
def test_only_what_is_meant_is_shown(page, wanted):
    every = [entry for each in walk(page, Wanted(), 100) for entry in each.entries]
    meant = [entry.key for each in walk(page, wanted, 1) for entry in each.entries]
    given = {name: value for name, value in wanted._asdict().items() if value}
    assert sorted(meant) == sorted(
        entry.key for entry in every if all(getattr(entry, name) == value for name, value in given.items())
    )


def test_what_changes_meanwhile_comes_again_as_it_is_then(tmp_path):
    path = tmp_path / "ledger.db"
    with SqliteLedger(path) as ledger:
        ledger.submit(Supply((capacity("node/a", cpu=10),)), at_seconds=1)
        for name in ("one", "two", "three"):
            ledger.submit(reserve(name, hold("node/a", cpu=1), expires=99), at_seconds=1)
        first = page_of_file(path, Wanted(), "", 2)
        ledger.submit(Bind("one"), at_seconds=2)
        rest = page_of_file(path, Wanted(), first.after, 9)
    assert [entry.reservation for entry in first.entries] == ["one", "two"]
    assert [(entry.reservation, entry.state) for entry in rest.entries] == [
        ("three", "RESERVED"),
        ("one", "BOUND"),
    ]


@pytest.mark.parametrize("after", ["x", "-1", "1" * 19, "1.5", "²"])
def test_a_place_that_no_page_told_is_refused(path, after):
    with pytest.raises(InputError, match="is no place in the ledger; use what a page told"):
        page_of_file(path, Wanted(), after, 1)


def test_an_empty_ledger_has_an_empty_page():
    assert page_of_state(LedgerState(), Wanted(), "", 5) == EntryPage(0, 0, 0, 0, ())
