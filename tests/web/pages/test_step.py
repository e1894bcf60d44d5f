"""One step of a ledger on the page: who took it, and where its numbers lead."""

import pytest

from ullage.model.ledger import Capacity, Hold, Reserve, Supply, Together
from ullage.model.resources import Resources
from ullage.service.ledger_file import submitted
from ullage.web.pages.shell import Shell

SHELL = Shell(cluster="demo", clusters=("demo",), scope="commit", origin="http://localhost:8480")


@pytest.fixture
def draws_step(draws, tmp_path):
    """Draw the page of a step of a ledger that has one."""
    path = tmp_path / "ledger.db"
    holds = (Hold("c", "node/n3", Resources({"cpu": 1})), Hold("q", "quota/web", Resources({"cpu": 1})))
    known = Supply(tuple(Capacity(each.capacity, Resources({"cpu": 2})) for each in holds))
    submitted(path, Together((known, Reserve("a", "web/x", 4_000_000_000, holds))), at_seconds=1, create=True)

    def page(ledger=str(path), **parameters):
        return draws("step", shell=SHELL, ledger=ledger, **parameters)

    return page


def test_a_step_is_told_with_who_took_it_and_its_numbers_lead_on(draws_step):
    page = draws_step(revision="1", who="ann", action="commit plan", of="0a", plan="0a")
    assert "Step 1 of the ledger" in page.words
    assert "by ann as commit plan 0a" in page.words
    assert {"/nodes/n3", "/nodes/n3#cpu", "/explain/quota/web", "/plans/0a"} <= set(page.links)
    assert "ullage ledger explain 1 -c http://localhost:8480/v1/clusters/demo" in page.words


def test_who_took_it_is_not_told_to_those_who_may_not_see_it(draws_step):
    assert " by " not in draws_step(revision="1").words.split("Entries")[0]


def test_whose_step_it_was_may_not_be_known_any_more(draws_step):
    assert "by not known any more" in draws_step(revision="1", who="", action="reserve", of="a").words


@pytest.mark.parametrize("revision", ["0", "2", "x", "-1", "9" * 19])
def test_a_step_that_is_none_is_refused_in_one_line(draws_step, revision):
    assert draws_step(revision=revision)["title"].startswith("there is no step")


def test_where_nothing_was_promised_there_is_no_step(draws_step):
    assert draws_step(ledger="", revision="1")["title"] == "there is no step 1; nothing was promised yet"


def test_what_was_asked_is_not_said_twice(draws, tmp_path):
    path = tmp_path / "other.db"
    submitted(path, Supply((Capacity("node/n3", Resources({"cpu": 2})),)), at_seconds=1, create=True)
    page = draws("step", ledger=str(path), revision="1", who="ann", action="supply", of="1 capacities")
    assert "asked supply 1 capacities by ann decision" in page.words
