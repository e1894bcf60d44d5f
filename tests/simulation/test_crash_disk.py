"""What a disk may hold after the power has failed, and what it must."""

import random

import pytest

from simulation.crash_disk import HEAD, Event, after_power_failed, events

BEFORE = {"ledger": b"a" * 1024}


def possible(*happened):
    """Return all contents that come up in many draws."""
    found = set()
    for seed in range(300):
        after = after_power_failed(BEFORE, happened, random.Random(seed))  # noqa: S311 - no secret
        found.add(tuple(sorted(after.items())))
    return found


def ledger(content):
    return (("ledger", content),)


def written(content, offset=0):
    return Event("W", "ledger", offset, content)


OLD, NEW = b"a" * 1024, b"b" * 1024
SYNC, FAILED = Event("S", "ledger"), Event("F", "ledger")


@pytest.mark.parametrize(
    ("happened", "contents"),
    [
        ([], {OLD}),
        ([written(NEW)], {OLD, NEW, NEW[:512] + OLD[512:]}),
        ([written(NEW), SYNC], {NEW}),
        ([written(NEW), FAILED, SYNC], {OLD, NEW, NEW[:512] + OLD[512:]}),
        ([written(NEW), FAILED, written(NEW), SYNC], {NEW}),
        ([written(b"c" * 512, 1024), SYNC], {OLD + b"c" * 512}),
        ([written(b"c" * 512, 1536), SYNC], {OLD + bytes(512) + b"c" * 512}),
        ([Event("T", "ledger", 100), SYNC], {OLD[:100]}),
        ([Event("T", "ledger", 100)], {OLD, OLD[:100]}),
        ([Event("T", "ledger", 1030), SYNC], {OLD + bytes(6)}),
    ],
)
def test_what_was_synchronised_is_sure_and_all_else_is_not(happened, contents):
    assert possible(*happened) == {ledger(content) for content in contents}


def test_a_new_file_is_sure_once_its_folder_is_synchronised():
    new = [Event("W", "log", 0, b"x"), Event("S", "log")]
    assert possible(*new) == {ledger(OLD), (*ledger(OLD), ("log", b"x"))}
    assert possible(*new, Event("S", "")) == {(*ledger(OLD), ("log", b"x"))}


def test_a_file_that_was_removed_may_be_back_until_its_folder_is_synchronised():
    assert possible(Event("U", "ledger")) == {(), ledger(OLD)}
    assert possible(Event("U", "ledger"), Event("S", "")) == {()}


def test_a_second_name_is_of_the_same_file():
    happened = [
        Event("W", "part", 0, b"x"),
        Event("S", "part"),
        Event("L", "part", 0, b"whole"),
        Event("W", "whole", 1, b"y"),
        Event("S", "whole"),
        Event("S", ""),
        Event("U", "part"),
        Event("S", ""),
    ]
    assert possible(*happened) == {(*ledger(OLD), ("whole", b"xy"))}


def test_a_trace_is_read_up_to_where_it_was_cut_off():
    first = HEAD.pack(b"W", 6, 7, 3) + b"ledger" + b"abc"
    second = HEAD.pack(b"S", 6, 0, 0) + b"ledger"
    assert list(events(first + second)) == [Event("W", "ledger", 7, b"abc"), Event("S", "ledger")]
    assert list(events(first + second[:10])) == [Event("W", "ledger", 7, b"abc")]
