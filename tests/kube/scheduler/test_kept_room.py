"""The room of a pod for which others went is kept a few times in a row, and not for ever."""

from ullage.kube.scheduler.kept_room import TRIES_MAX, KeptRoom


def test_room_is_kept_a_few_times_in_a_row():
    room = KeptRoom()
    assert [room.is_kept("web/a") for _ in range(TRIES_MAX + 2)] == [True] * TRIES_MAX + [False] * 2
    assert room.is_kept("web/b")


def test_who_was_bound_or_is_gone_begins_anew():
    room = KeptRoom()
    for _ in range(TRIES_MAX):
        room.is_kept("web/a")
        room.is_kept("web/b")
    room.forget(lambda key: key == "web/b")
    assert room.is_kept("web/a")
    assert not room.is_kept("web/b")
