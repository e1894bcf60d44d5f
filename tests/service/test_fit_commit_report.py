"""What is told of a commit: until when, who waits, and what has ended since."""

import msgspec

from ullage.engine.ledger.state import LedgerState
from ullage.model.ledger import Decision, Outcome
from ullage.model.ledger_entry import LedgerEntry
from ullage.model.resources import Resources
from ullage.service.fit_commit_report import NOT_ALL, Telling

HELD = LedgerEntry("r", "compute", "node/n1", "web/a", state="RESERVED", expires_seconds=60)
WAITS = LedgerEntry("w", "compute", "", "web/b", state="WAITING", expires_seconds=60, queue_position=1)

TWO = Resources({"ullage.dev/volume-space": 2})


def telling(*entries, kept=(), in_line=(), at=10, owners=frozenset(("web/a", "web/b"))):
    return Telling("ledger.db", "k", LedgerState(entries=entries, revision=3), at, kept, in_line, owners)


def outcome(*changed, repeated=False):
    return Outcome(2, Decision(accepted=True, changed=changed), repeated=repeated)


def test_what_is_held_is_told_until_when_it_is_now():
    longer = msgspec.structs.replace(HELD, expires_seconds=90)
    report = telling(longer).done(outcome(HELD, repeated=True))
    assert (report.held, report.expires, report.ended) == ((HELD,), "1970-01-01T00:01:30Z", ())
    bound = msgspec.structs.replace(HELD, state="BOUND", expires_seconds=None)
    assert telling(bound).done(outcome(HELD, repeated=True)).expires == ""


def test_what_was_held_under_a_key_and_is_no_more_has_ended():
    report = telling().done(outcome(HELD, repeated=True))
    assert (report.ended, report.expires, report.all_held) == (("r",), "", False)
    assert telling(HELD, at=60).done(outcome(HELD, repeated=True)).ended == ("r",), "its time has come"
    assert telling(HELD).done(outcome(HELD)).all_held


def test_who_waits_is_told_with_the_place_in_line():
    report = telling(HELD, WAITS).done(outcome(HELD, WAITS))
    assert (report.waiting, report.all_held) == ((WAITS,), False)
    report = telling(WAITS, in_line=("w",)).undone(nothing_to_do=True, fits=False)
    assert (report.accepted, report.waiting, report.reason) == (True, (WAITS,), "")


def test_nothing_was_done_because_all_is_held_or_not_all_may_be():
    report = telling(HELD, kept=("r",)).undone(nothing_to_do=True, fits=True)
    assert (report.accepted, report.kept, report.expires) == (True, ("r",), "1970-01-01T00:01:00Z")
    report = telling().undone(nothing_to_do=False, fits=False)
    assert (report.accepted, report.reason) == (False, NOT_ALL)


def test_what_was_held_before_is_told_until_its_own_time():
    new = msgspec.structs.replace(HELD, reservation="new", expires_seconds=90)
    report = telling(HELD, new, kept=("r",)).done(outcome(new))
    assert (report.expires, report.kept_expires) == ("1970-01-01T00:01:30Z", "1970-01-01T00:01:00Z")


def test_what_others_in_line_hold_since_is_not_told_as_ones_own():
    given_back = msgspec.structs.replace(HELD, state="RELEASED")
    was = msgspec.structs.replace(WAITS, state="RELEASED", owner="web/z")
    now = msgspec.structs.replace(HELD, reservation="w", owner="web/z")
    evicted = msgspec.structs.replace(given_back, reservation="v", owner="web/v")
    report = telling(now).done(outcome(given_back, evicted, was, now))
    assert (report.held, report.others, report.expires) == ((), (now,), "")
    assert report.released == (given_back, evicted)
    moved_up = msgspec.structs.replace(WAITS, owner="web/z")
    assert telling(HELD, moved_up).done(outcome(HELD, moved_up)).all_held


def test_who_has_the_bytes_of_a_shared_claim_from_now_on_was_not_in_line():
    given_back = msgspec.structs.replace(HELD, state="RELEASED")
    heir = LedgerEntry("z", "data", "drive/n1/d", "web/z", state="RESERVED", claim="web/data")
    report = telling(heir).done(outcome(given_back, heir))
    assert (report.held, report.others, report.released) == ((), (), (given_back,))


def test_who_shares_a_claim_that_is_of_another_size_now_is_told():
    has = LedgerEntry("r", "data", "drive/n1/d", "web/a", TWO, state="RESERVED", claim="web/data")
    refers = msgspec.structs.replace(has, reservation="s", owner="web/b", resources=Resources())
    grown = msgspec.structs.replace(has, resources=Resources({"ullage.dev/volume-space": 3}))
    before, told = LedgerState(entries=(has, refers)), telling(grown, refers)
    report = told._replace(before=before).done(outcome(grown))
    assert (report.held, report.resized) == ((grown,), ("s",))
    assert told.done(outcome(grown)).resized == (), "nobody knows"
    assert told._replace(before=before).done(outcome(grown, repeated=True)).resized == ()
    moved = msgspec.structs.replace(refers, resources=TWO)
    heir = telling(moved)._replace(before=before)
    assert heir.done(outcome(msgspec.structs.replace(has, state="RELEASED"), moved)).resized == ()


def test_what_was_refused_in_its_turn_is_not_held():
    refused = msgspec.structs.replace(HELD, reservation="x", state="REJECTED", capacity="")
    assert not telling(HELD).done(outcome(HELD, refused)).all_held
