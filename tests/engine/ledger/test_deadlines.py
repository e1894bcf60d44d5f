"""Deadlines: what is due is found exactly, however often keys come, go and change."""

from hypothesis import given
from hypothesis import strategies as st

from ullage.engine.ledger.deadlines import SLACK, Deadlines

KEYS = [(f"r{number}", "q", "c") for number in range(6)]


@given(st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 9), st.booleans()), max_size=60))
def test_what_is_due_is_what_has_a_deadline_up_to_then(changes):
    deadlines, known = Deadlines(), {}
    for key, at, leaves in changes:
        if key in known:
            deadlines.discard(known.pop(key), key)
        if not leaves:
            deadlines.add(at, key)
            known[key] = at
        for now in range(-1, 11):
            assert deadlines.due(now) == {key for key, at in known.items() if at <= now}


def test_times_that_nobody_has_are_not_kept_for_ever():
    deadlines = Deadlines()
    deadlines.add(0, KEYS[0])
    for at in range(1, 10 * SLACK):
        deadlines.add(at, KEYS[1])
        deadlines.discard(at, KEYS[1])
    assert len(deadlines._times) <= SLACK + 2
    assert deadlines.due(10 * SLACK) == {KEYS[0]}


def test_what_is_left_of_many_times_is_still_in_order():
    deadlines = Deadlines()
    for at in (30, 20, 10):
        deadlines.add(at, KEYS[0])
    for at in range(40, 40 + 10 * SLACK):
        deadlines.add(at, KEYS[1])
        deadlines.discard(at, KEYS[1])
    deadlines.add(5, KEYS[2])
    deadlines.discard(5, KEYS[2])
    assert deadlines._times[0] == 10
    assert [bool(deadlines.due(at)) for at in (9, 10)] == [False, True]


def test_times_at_the_top_go_with_their_last_key():
    deadlines = Deadlines()
    for at, key in enumerate(KEYS):
        deadlines.add(at, key)
    for at, key in enumerate(KEYS[:-1]):
        deadlines.discard(at, key)
    assert deadlines._times == [5]
