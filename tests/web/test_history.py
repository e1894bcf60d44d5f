"""Samples that are kept: enough of what was lately, less of what was long ago, and never too many."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.web.history import (
    AGE_SECONDS_MAX,
    DAY_SECONDS,
    THINNED_AFTER,
    TIERS,
    History,
    Mark,
    Sample,
    Span,
    chosen,
    thin,
)
from ullage.web.state import State

NOW = 2_000_000_000
ALL = Span(0, NOW, NOW + 1)


@pytest.fixture
def state(tmp_path):
    opened = State(tmp_path)
    yield opened
    opened.close()


def run(work):
    return asyncio.run(work)


def sample(number):
    return Sample(number, 0, 1, 2, 3, {"cpu": {"committed": float(number)}})


def keep(state, cluster, *times):
    state.now(
        lambda connection: connection.executemany(
            "INSERT INTO samples VALUES (?, ?, '{}')", [(cluster, at) for at in times]
        )
    )


def kept(state, cluster):
    found = run(History(state).past(cluster, ALL))
    return found.times


def test_what_was_kept_is_told_in_order_and_of_one_cluster(state):
    async def story():
        history = History(state)
        for cluster, at in (("a", 300), ("b", 200), ("a", 100), ("a", 9000)):
            await history.add(cluster, NOW - 10_000 + at, sample(at))
        return await history.past("a", Span(NOW - 10_000, NOW - 9000, 10))

    past = run(story())
    assert past.times == [NOW - 9900, NOW - 9700]
    assert past.samples == [sample(100), sample(300)]


def test_of_two_samples_at_one_moment_the_later_counts(state):
    async def story():
        history = History(state)
        await history.add("a", NOW, sample(1))
        await history.add("a", NOW, sample(2))
        return await history.past("a", ALL)

    assert run(story()).samples == [sample(2)]


def test_plans_that_were_committed_are_told_with_the_span_they_are_in(state):
    async def story():
        history = History(state)
        for at in (5, 50, 500):
            await history.mark("a", Mark(at, f"plan-{at}", "me", "held"))
        await history.mark("b", Mark(50, "other", "me", "held"))
        return await history.past("a", Span(10, 100, 10))

    assert run(story()).marks == [Mark(50, "plan-50", "me", "held")]


@pytest.mark.parametrize(("age", "step"), TIERS)
def test_the_older_samples_are_the_fewer_are_kept_and_the_last_of_each_step_is(state, age, step):
    start = (NOW - age) // DAY_SECONDS * DAY_SECONDS - 3 * DAY_SECONDS if age else NOW - 3600
    every = list(range(start, start + (3600 if age < DAY_SECONDS else 2 * DAY_SECONDS), max(1, step // 7)))
    keep(state, "a", *every)
    state.now(lambda connection: thin(connection, NOW))
    last = {at // step: at for at in every}
    assert kept(state, "a") == sorted(last.values())
    state.now(lambda connection: thin(connection, NOW))
    assert kept(state, "a") == sorted(last.values()), "thinning again changes nothing"


def test_one_cluster_is_thinned_as_if_there_were_no_other(state):
    keep(state, "a", NOW - 10, NOW - 9)
    keep(state, "b", NOW - 12)
    state.now(lambda connection: thin(connection, NOW))
    assert (kept(state, "a"), kept(state, "b")) == ([NOW - 9], [NOW - 12])


def test_what_is_too_old_for_any_use_goes(state):
    keep(state, "a", NOW - AGE_SECONDS_MAX - 1, NOW - AGE_SECONDS_MAX + 1)
    state.now(lambda connection: thin(connection, NOW))
    assert kept(state, "a") == [NOW - AGE_SECONDS_MAX + 1]


def test_years_of_samples_every_minute_are_a_few_thousand(state):
    """A year at the pace of one a minute, put in as the thinning of each day would leave it."""
    ages = [day * DAY_SECONDS + minute * 60 for day in range(3) for minute in range(1440)]
    keep(state, "a", *(NOW - age for age in ages))
    state.now(lambda connection: thin(connection, NOW))
    assert 1440 + 2 * 96 - 2 <= len(kept(state, "a")) <= 1440 + 2 * 96 + 3


def test_samples_are_thinned_as_they_come(state):
    async def story():
        history = History(state)
        for number in range(2 * THINNED_AFTER):
            await history.add("a", NOW + number, sample(number))
        return (await history.past("a", Span(0, 2 * NOW, 3 * NOW))).times

    assert len(run(story())) < 2 * THINNED_AFTER


@given(
    st.lists(st.integers(0, 1000), unique=True).map(sorted),
    st.integers(0, 500),
    st.integers(0, 500),
    st.integers(1, 40),
)
def test_never_more_moments_than_wanted_and_the_last_is_one_of_them(times, start, length, points):
    span = Span(start, start + length, points)
    within = [at for at in times if start <= at <= start + length]
    found = chosen(within, span)
    assert len(found) <= points
    assert set(found) <= set(within)
    assert found == sorted(found)
    assert found[-1:] == within[-1:]
    if length < points:
        assert found == within
