"""The room of a pod for which others went is kept a few times in a row, and not for ever."""

from builders import waiting
from ullage.kube.scheduler.kept_room import SPENT_SECONDS, TRIES_MAX, KeptRoom


def test_room_is_kept_a_few_times_in_a_row():
    room = KeptRoom(lambda: 0.0)
    assert [room.is_kept("web/a") for _ in range(TRIES_MAX + 2)] == [True] * TRIES_MAX + [False] * 2
    assert room.is_kept("web/b")


def test_nobody_goes_for_a_while_for_one_who_cannot_be_bound():
    seconds = [0.0]
    room = KeptRoom(lambda: seconds[0])
    spent = []
    for _ in range(TRIES_MAX + 1):
        spent.append(room.is_spent("web/a"))
        room.is_kept("web/a")
    assert spent == [False] * (TRIES_MAX + 1)
    assert room.is_spent("web/a")
    assert not room.judged(waiting("web/a")).preempts
    assert room.judged(waiting("web/b")).preempts
    seconds[0] = SPENT_SECONDS
    assert not room.is_spent("web/a")
    room.is_kept("web/a")
    assert room.is_spent("web/a")


def test_who_was_bound_or_is_gone_begins_anew():
    room = KeptRoom(lambda: 0.0)
    for _ in range(TRIES_MAX):
        room.is_kept("web/a")
        room.is_kept("web/b")
    room.forget(lambda key: key == "web/b")
    assert room.is_kept("web/a")
    assert not room.is_kept("web/b")
