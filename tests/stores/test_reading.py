"""The present, the past and the steps between them, read from the tables."""

import contextlib
import gc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.ledger.commands import FLEET, at, commands
from engine.ledger.ledgers import hold, reserve
from stores.ledger_files import STORY, made, tell
from ullage.engine.ledger.replay import replay
from ullage.model.errors import InputError
from ullage.model.ledger import Supply, Together
from ullage.stores import reading, writing
from ullage.stores.opening import open_to_read
from ullage.stores.reading import (
    place_of,
    read_state,
    read_state_and_places,
    row_of_key,
    rows,
    rows_naming,
    state_at,
)
from ullage.stores.sqlite import SqliteLedger


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return made(tmp_path_factory.mktemp("story") / "ledger")


@pytest.fixture
def file(path):
    with contextlib.closing(open_to_read(path)) as connection:
        yield connection


def test_every_past_state_is_what_its_steps_add_up_to(file):
    told = list(rows(file))
    for revision in range(len(STORY) + 1):
        assert state_at(file, revision) == replay(told[:revision])


@pytest.mark.parametrize("revision", [-1, len(STORY) + 1])
def test_a_revision_that_never_was_has_no_state(file, revision):
    with pytest.raises(InputError, match=f"there is no revision {revision}; use 0 to {len(STORY)}"):
        state_at(file, revision)


def test_the_present_is_the_last_of_the_past(file):
    assert read_state(file) == state_at(file, len(STORY))


def test_places_say_which_step_changed_an_entry_last(file):
    state, places = read_state_and_places(file)
    assert state == read_state(file)
    assert places == {
        ("r1", "web", "node/a"): place_of(5, 0),
        ("r1", "web", "quota/team"): place_of(5, 1),
        ("r2", "v", "group/a/vg"): place_of(3, 0),
        ("r3", "v", ""): place_of(4, 0),
    }


def test_reading_leaves_the_collector_as_it_was(file):
    for wanted in (gc.disable, gc.enable):
        wanted()
        before = gc.isenabled()
        read_state(file)
        assert gc.isenabled() == before


def test_a_state_larger_than_what_is_read_at_a_time_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "ENTRIES_AT_A_TIME", 3)
    many = [reserve(f"r{number}", hold("node/a", cpu=0), expires=10**9) for number in range(10)]
    with SqliteLedger(tmp_path / "ledger") as ledger:
        ledger.submit(Together((Supply(FLEET), *many)), at_seconds=1)
        assert len(ledger.state()) == 10
        assert ledger.state() == ledger.at(1)


def test_rows_follow_a_revision(file):
    assert [row.revision for row in rows(file, 5)] == [6, 7, 8]
    assert [(row.at_seconds, row.key, row.command) for row in rows(file)] == list(STORY)


@pytest.mark.parametrize(
    ("named", "revisions"),
    [
        ({"reservation": "r1"}, [2, 5]),
        ({"reservation": "r3"}, [4]),
        ({"reservation": "r4"}, [6]),
        ({"reservation": "r5"}, [7, 8]),
        ({"reservation": "r"}, []),
        ({"owner": "team"}, [2, 5, 6, 7, 8]),
        ({"owner": "r1"}, []),
        ({"capacity": "node/a"}, [1, 2, 5, 7, 8]),
        ({"capacity": "quota/team"}, [1, 2, 5, 6]),
        ({"capacity": "drive/a/d1"}, [1]),
        ({"owner": "team", "capacity": "quota/team"}, [2, 5, 6]),
        ({"reservation": "r1", "owner": "other"}, []),
    ],
)
def test_history_is_every_step_that_names_what_is_asked_for(file, named, revisions):
    wanted = {"reservation": "", "owner": "", "capacity": "", **named}
    assert [row.revision for row in rows_naming(file, **wanted)] == revisions


def test_a_step_is_found_by_the_key_under_which_it_was_asked_for(file):
    for row in rows(file):
        if row.key:
            assert row_of_key(file, row.key) == row
    assert any(row.key for row in rows(file))
    assert row_of_key(file, "") is None
    assert row_of_key(file, "never used") is None


def test_the_history_of_nothing_is_refused(file):
    with pytest.raises(InputError, match="nothing to look for; name a reservation, an owner or a capacity"):
        next(rows_naming(file, "", "", ""))


def test_steps_taken_together_are_in_the_history_of_each(tmp_path):
    both = Together(tuple(reserve(name, hold("node/a", cpu=1), expires=10**9) for name in ("r1", "r2")))
    with SqliteLedger(tmp_path / "ledger") as ledger:
        tell(ledger, ((1, "", Supply(FLEET)), (2, "", both), (3, "", both)))
        assert [row.revision for row in ledger.history(reservation="r2")] == [2, 3]
        assert [row.revision for row in ledger.history(capacity="node/a")] == [1, 2, 3]


@settings(max_examples=25)
@given(asked=st.lists(commands, max_size=12), kept=st.integers(1, 5))
def test_states_that_are_kept_now_and_then_change_no_past_state(tmp_path_factory, asked, kept):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(writing, "CHECKPOINT_ROWS_MIN", kept)
        path = tmp_path_factory.mktemp("kept") / "ledger"
        with SqliteLedger(path) as ledger:
            told = [(1, "", Supply(FLEET)), *((now, "", at(each, now)) for now, each in enumerate(asked, 2))]
            tell(ledger, tuple(told))
    with contextlib.closing(open_to_read(path)) as file:
        written = list(rows(file))
        for revision in range(len(written) + 1):
            assert state_at(file, revision) == replay(written[:revision])
        assert read_state(file) == replay(written)
    with SqliteLedger(path) as ledger:
        assert [finding for finding in ledger.verify() if finding.severity == "error"] == []
