"""What every store promises: outcomes, keys, revisions, and others who use the same ledger."""

import asyncio
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.ledger.commands import FLEET as SMALL_FLEET
from engine.ledger.commands import at, commands
from engine.ledger.ledgers import Ledger, hold, reserve
from simulation.linearizability import Operation, violations
from stores.ledger_files import FLEET, STORY, tell
from stores.ledger_stores import KINDS, opener_of
from ullage.model.errors import InputError
from ullage.model.ledger import Bind, Expire, Release, Resize, Supply
from ullage.model.resources import Resources
from ullage.stores.protocol import KEY_CHARACTERS_MAX, LedgerStore, MovedError, checked_key

ONE = reserve("one", hold("node/a", cpu=10), expires=10**9)
TWO = reserve("two", hold("node/a", cpu=10), expires=10**9)


@pytest.fixture(params=KINDS)
def opens(request, tmp_path):
    return opener_of(request.param, tmp_path)


@pytest.fixture
def ledger(opens):
    with opens() as opened:
        opened.submit(FLEET, at_seconds=100)
        yield opened


def test_it_is_a_store_of_the_ledger(ledger):
    store: LedgerStore = ledger
    assert store.submit(ONE, at_seconds=101).decision.accepted


def test_what_is_told_is_what_the_engine_decides(opens):
    plain = Ledger()
    with opens() as ledger:
        for outcome, (at_seconds, _, command) in zip(tell(ledger), STORY, strict=True):
            assert outcome.decision == plain.do(command, at_seconds)
        assert ledger.state() == plain.state


def test_what_was_told_is_there_when_it_is_opened_again(ledger, opens):
    before = ledger.state()
    outcome = ledger.submit(ONE, at_seconds=101)
    ledger.close()
    with opens() as again:
        assert [entry.reservation for entry in again.state().entries] == ["one"]
        assert again.at(before.revision) == before
        assert next(again.journal(before.revision)).decision == outcome.decision


def test_a_key_that_comes_again_gives_the_first_outcome_and_takes_no_step(ledger):
    first = ledger.submit(ONE, at_seconds=101, key="k")
    ledger.submit(Release("one"), at_seconds=102)
    again = ledger.submit(ONE, at_seconds=103, key="k")
    assert (again.revision, again.decision, again.repeated) == (first.revision, first.decision, True)
    assert not first.repeated
    assert ledger.state().revision == 3
    assert ledger.state().entries == ()


def test_a_refusal_is_remembered_under_its_key_too(ledger):
    refused = ledger.submit(Bind("one"), at_seconds=101, key="k")
    ledger.submit(ONE, at_seconds=102)
    assert ledger.submit(Bind("one"), at_seconds=103, key="k").decision == refused.decision


def test_a_key_for_another_command_is_refused(ledger):
    ledger.submit(ONE, at_seconds=101, key="k")
    with pytest.raises(
        InputError, match="the key k was used for another command at revision 2; use a new key"
    ):
        ledger.submit(TWO, at_seconds=102, key="k")
    assert ledger.state().revision == 2


def test_a_key_is_known_after_the_ledger_was_opened_again(ledger, opens):
    ledger.submit(ONE, at_seconds=101, key="k")
    ledger.close()
    with opens() as again:
        assert again.submit(ONE, at_seconds=102, key="k").repeated


def test_a_key_that_comes_twice_at_once_is_one_step(ledger):
    async def both(second):
        asked = [ledger.submit_async(each, at_seconds=101, key="k") for each in (ONE, second, TWO)]
        return await asyncio.gather(*asked, return_exceptions=True)

    first, again, other = asyncio.run(both(ONE))
    assert (first.repeated, again.repeated) == (False, True)
    assert first.revision == again.revision == ledger.state().revision
    assert isinstance(other, InputError)


def test_amounts_of_nothing_are_the_same_command_however_they_are_made(ledger):
    ledger.submit(ONE, at_seconds=101)
    for nothing in (Resources(), Resources({})):
        outcome = ledger.submit(Resize("one", "web", "node/a", nothing), at_seconds=102, key="k")
    assert outcome.repeated


@pytest.mark.parametrize("planned", [0, 1])
def test_who_asks_for_one_revision_and_no_other_changes_nothing_on_a_later_one(ledger, planned):
    ledger.submit(TWO, at_seconds=101)
    with pytest.raises(MovedError, match=f"at revision 2, not {planned}"):
        ledger.submit(ONE, at_seconds=102, revision=planned, exact=True)
    assert [entry.reservation for entry in ledger.state().entries] == ["two"]


def test_who_asks_for_one_revision_and_no_other_has_the_step_on_it_and_its_outcome_again(ledger):
    first, again = (ledger.submit(ONE, at_seconds=101, key="k", revision=1, exact=True) for _ in range(2))
    assert (first.revision, first.decision.accepted, first.repeated) == (2, True, False)
    assert (again.revision, again.repeated) == (2, True)


@pytest.mark.parametrize(("planned", "moved"), [(None, False), (1, True), (2, False), (0, True)])
def test_who_planned_on_an_older_revision_is_told_and_judged_on_the_present_one(ledger, planned, moved):
    ledger.submit(TWO, at_seconds=101)
    outcome = ledger.submit(ONE, at_seconds=102, revision=planned)
    assert (outcome.moved, outcome.decision.accepted) == (moved, True)


def test_who_planned_on_another_ledger_is_refused(ledger):
    with pytest.raises(InputError, match="revision 9 is not reached yet, the last one is 1"):
        ledger.submit(ONE, at_seconds=101, revision=9)
    assert ledger.state().revision == 1


def test_time_does_not_go_backwards(ledger):
    ledger.submit(ONE, at_seconds=500)
    ledger.submit(Expire(), at_seconds=20)
    assert [row.at_seconds for row in ledger.journal()] == [100, 500, 500]


@pytest.mark.parametrize("at_seconds", [-1, 1 << 63])
def test_what_is_no_time_is_refused(ledger, at_seconds):
    with pytest.raises(InputError, match=f"{at_seconds} is no time; give seconds since 1970"):
        ledger.submit(ONE, at_seconds=at_seconds)


def test_a_question_is_asked_of_the_present_and_costs_no_copy(ledger, opens):
    ledger.submit(ONE, at_seconds=101)
    assert ledger.ask(lambda state: state.held_amount("node/a", "cpu")) == 10
    with opens() as other:
        other.submit(TWO, at_seconds=102)
    assert ledger.ask(lambda state: state.held_amount("node/a", "cpu")) == 20
    with pytest.raises(ZeroDivisionError):
        ledger.ask(lambda _: 1 // 0)
    assert ledger.submit(Release("two"), at_seconds=103).decision.accepted


def test_a_state_that_was_handed_out_changes_no_more(ledger):
    before = ledger.state()
    ledger.submit(ONE, at_seconds=101)
    assert (before.revision, before.entries) == (1, ())


def test_the_journal_is_read_as_it_was_when_reading_began(ledger):
    ledger.submit(ONE, at_seconds=101)
    reading = ledger.journal()
    next(reading)
    ledger.submit(TWO, at_seconds=102)
    assert [row.revision for row in reading] == [2]


def test_who_stops_reading_half_way_holds_up_nobody(ledger):
    next(ledger.journal())
    next(ledger.history(capacity="node/a"))
    assert ledger.submit(ONE, at_seconds=101).revision == 2


@pytest.mark.parametrize(
    "use",
    [
        lambda ledger: ledger.submit(ONE, at_seconds=101),
        lambda ledger: asyncio.run(ledger.submit_async(ONE, at_seconds=101)),
        lambda ledger: ledger.ask(len),
    ],
    ids=["submit", "submit_async", "ask"],
)
def test_a_ledger_that_was_closed_is_closed(ledger, use):
    ledger.close()
    ledger.close()
    with pytest.raises(InputError, match="the ledger is closed"):
        use(ledger)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(asked=st.lists(st.tuples(st.booleans(), commands), max_size=15))
def test_two_who_write_to_one_file_in_turn_are_one_ledger(kind, tmp_path_factory, asked):
    opens = opener_of(kind, tmp_path_factory.mktemp("shared"))
    plain = Ledger(*SMALL_FLEET)
    with opens() as first, opens() as second:
        first.submit(Supply(SMALL_FLEET), at_seconds=plain.at_seconds)
        for now, (whose, command) in enumerate(asked, plain.at_seconds + 1):
            told = (first if whose else second).submit(at(command, now), at_seconds=now)
            assert told.decision == plain.do(at(command, now), now)
        assert first.state() == second.state() == plain.state
        assert first.ask(lambda state: state == plain.state)
        assert [finding for finding in second.verify() if finding.severity == "error"] == []


def test_threads_and_tasks_of_two_users_see_one_order_of_steps(opens):
    history = []

    def client(ledger, name):
        for number in range(20):
            mine = reserve(f"{name}-{number % 3}", hold("node/a", cpu=300), expires=10**9)
            for command in (mine, Bind(mine.reservation), Release(mine.reservation)):
                invoked = time.monotonic()
                outcome = ledger.submit(command, at_seconds=200)
                history.append(Operation(invoked, time.monotonic(), command, outcome, 200))

    with opens() as first, opens() as second:
        first.submit(FLEET, at_seconds=100)
        start = first.state()
        threads = [
            threading.Thread(target=client, args=(ledger, f"{place}{number}"))
            for place, ledger in enumerate((first, second))
            for number in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(history) == 8 * 20 * 3
        assert violations(history, start) == []
        assert first.verify() == []


@pytest.mark.parametrize("key", ["", "k", "a key of words", "ключ", "k" * KEY_CHARACTERS_MAX])
def test_a_line_of_moderate_length_is_a_key(key):
    assert checked_key(key) == key


@pytest.mark.parametrize("key", ["k" * (KEY_CHARACTERS_MAX + 1), "a\nb", "\0", "\ud800"])
def test_what_cannot_be_kept_or_printed_is_refused(key):
    with pytest.raises(InputError, match="cannot be kept; use at most 256 printable characters"):
        checked_key(key)
