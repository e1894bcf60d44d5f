"""A replay: turns, evictions and starting anew by rule, and its definition on random traces."""

from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plain_replay import PlainReplay
from quota_traces import job, random_trace, setting
from ullage.engine.quota.book import NO_QUOTA
from ullage.engine.quota.events import CapacityChange
from ullage.engine.quota.replay import Replay


class LoggedReplay(Replay):
    """A replay that notes every start, with those that went for it."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.log = []

    def _decided(self, key, since_seconds, kind):
        before = set(self._members)
        victims = super()._decided(key, since_seconds, kind)
        if victims is not None:
            self.log.append((self.now_seconds, key, tuple(sorted(before - set(self._members)))))
        return victims


def played(made, jobs, **options):
    replay = LoggedReplay(made, jobs, **options)
    replay.run()
    return replay


def starts(made, *jobs, **options):
    return played(made, jobs, **options).log


def shared(mode="fair", gpus=4, **mins):
    return setting(mode, {"gpu": gpus}, **(mins or {"A": {"gpu": 2}, "B": {"gpu": 2}}))


# Rules


@pytest.mark.parametrize("mode", ["nos", "fair"])
def test_who_lends_takes_back_and_who_borrowed_starts_anew(mode):
    made = shared(mode)
    jobs = [job(made, f"b{number}", "B", 0, 10, gpu=1) for number in range(4)]
    replay = played(made, [*jobs, job(made, "a", "A", 4, 3, gpu=2)])
    assert replay.log[4:] == [(4, "a", ("b2", "b3")), (7, "b2", ()), (7, "b3", ())]
    outcome = replay.outcome()
    found = {each.key: each for each in outcome.jobs}
    assert (found["b3"].evictions, found["b3"].lost_seconds, found["b3"].waited_seconds) == (1, 4, 3)
    assert (found["b3"].held_seconds, found["b3"].ended_seconds) == (14, 17)
    assert (found["a"].took, found["a"].waited_seconds, found["a"].end) == (2, 0, "finished")
    assert [use.beyond for use in outcome.quotas] == [(0,), (2 * 4 + 2 * 3,)]
    assert [use.within for use in outcome.quotas] == [(2 * 3,), (2 * 17,)]


def test_the_quota_with_least_of_its_own_in_use_goes_first():
    made = shared(gpus=3, A={"gpu": 1}, B={"gpu": 2})
    jobs = [job(made, f"{quota}{number}", quota, 0, 9, gpu=1) for quota in "AB" for number in range(2)]
    assert [key for _, key, _ in starts(made, *jobs)] == ["A0", "B0", "B1", "A1"]


def test_in_mode_nos_every_start_moves_the_turns_of_all():
    made = shared("nos", gpus=9, A={"gpu": 1}, B={"gpu": 2}, C={"gpu": 4})
    sizes = {"A0": 1, "A1": 1, "B0": 2, "B1": 1, "C0": 1, "C1": 2}
    jobs = [job(made, key, key[0], 0, 9, gpu=size) for key, size in sizes.items()]
    assert [key for _, key, _ in starts(made, *jobs)] == ["A0", "B0", "C0", "C1", "A1", "B1"]


def test_inside_a_quota_priority_goes_first_then_who_waits_longest():
    made = shared(gpus=1, A={"gpu": 1})
    jobs = [
        job(made, "first", "A", 0, 10, gpu=1, priority=9),
        job(made, "young", "A", 2, 1, gpu=1),
        job(made, "old", "A", 1, 1, gpu=1),
        job(made, "urgent", "A", 3, 1, gpu=1, priority=5),
    ]
    assert [key for _, key, _ in starts(made, *jobs)] == ["first", "urgent", "old", "young"]


def test_a_smaller_one_goes_past_one_that_finds_no_room():
    made = shared(gpus=2, A={"gpu": 2})
    log = starts(
        made,
        job(made, "a", "A", 0, 10, gpu=1),
        job(made, "large", "A", 1, 1, gpu=2),
        job(made, "small", "A", 2, 1, gpu=1),
    )
    assert log == [(0, "a", ()), (2, "small", ()), (10, "large", ())]


def test_nobody_goes_before_it_ran_for_the_least_time():
    made = shared()
    jobs = [job(made, f"b{number}", "B", 0, 100, gpu=1) for number in range(4)]
    log = starts(made, *jobs, job(made, "a", "A", 4, 3, gpu=1), run_min_seconds=30)
    assert log[4] == (30, "a", ("b2",))


def test_who_was_evicted_does_not_borrow_before_something_changes():
    made = shared(gpus=3, A={"gpu": 2}, B={"gpu": 1})
    low = [job(made, f"b{number}", "B", 0, 100, gpu=1) for number in range(3)]
    claim = job(made, "a", "A", 5, 2, gpu=2)
    replay = played(made, [*low, claim])
    assert replay.log[3:] == [(5, "a", ("b1", "b2")), (7, "b1", ()), (7, "b2", ())]


def test_who_would_start_and_go_in_one_moment_did_not_start():
    made = shared(gpus=3, A={"gpu": 1}, B={"gpu": 2})
    replay = played(made, [job(made, "a", "A", 0, 5, gpu=3), job(made, "b", "B", 0, 4, gpu=2)])
    assert replay.log == [(0, "a", ()), (0, "b", ("a",)), (4, "a", ())]
    first, second = replay.outcome().jobs
    assert (first.starts, first.evictions, first.waited_seconds, second.took) == (1, 0, 4, 0)


def test_a_gang_goes_as_one_or_waits_as_one():
    made = shared()
    log = starts(made, job(made, "one", "A", 0, 5, gpu=1), job(made, "gang", "A", 1, 5, gpu=4))
    assert log == [(0, "one", ()), (5, "gang", ())]


def test_without_a_quota_only_room_counts():
    made = shared(gpus=2, A={"gpu": 2})
    log = starts(made, job(made, "free", "", 0, 5, gpu=2), job(made, "a", "A", 1, 1, gpu=1))
    assert log == [(0, "free", ()), (5, "a", ())]


def test_what_leaves_is_withdrawn_whether_it_runs_or_waits():
    made = shared(gpus=1, A={"gpu": 1})
    replay = played(
        made,
        [job(made, "runs", "A", 0, gpu=1, leaves=5), job(made, "waits", "A", 1, 1, gpu=1, leaves=3)],
    )
    found = {each.key: each for each in replay.outcome().jobs}
    assert (found["runs"].end, found["runs"].ended_seconds, found["runs"].held_seconds) == ("withdrawn", 5, 5)
    assert (found["waits"].end, found["waits"].waited_seconds, found["waits"].starts) == ("withdrawn", 2, 0)


def test_capacity_that_comes_lets_in_and_capacity_that_goes_evicts_nobody():
    made = shared(gpus=1, A={"gpu": 4})
    jobs = [job(made, f"a{number}", "A", 0, gpu=1) for number in range(3)]
    changes = [CapacityChange(5, {"gpu": 3}), CapacityChange(9, {"gpu": 1})]
    replay = played(made, jobs, changes=changes)
    assert replay.log == [(0, "a0", ()), (5, "a1", ()), (5, "a2", ())]
    assert [each.end for each in replay.outcome().jobs] == ["runs"] * 3


def test_what_ran_when_the_record_began_runs_without_a_decision():
    made = shared(gpus=1, A={"gpu": 1})
    replay = played(made, [job(made, "x", "A", 0, 4, gpu=3, runs=True)])
    assert (replay.log, replay.outcome().jobs[0].held_seconds) == ([], 4)


def test_an_outcome_can_be_counted_until_later():
    made = shared(gpus=1, A={"gpu": 1})
    replay = played(made, [job(made, "runs", "A", 0, gpu=1), job(made, "waits", "A", 2, gpu=1)])
    outcome = replay.outcome(10)
    assert [(each.held_seconds, each.waited_seconds) for each in outcome.jobs] == [(10, 0), (0, 8)]
    assert outcome.quotas[0].within == (10,)


# Properties

SEEDS = st.integers(0, 100_000)


@given(SEEDS)
@example(30)
@example(199)
@example(476)
@example(3301)
def test_a_replay_is_its_definition(seed):
    made, jobs, changes, run_min = random_trace(seed)
    plain = PlainReplay(made, jobs, changes, run_min)
    replay = played(made, jobs, changes=changes, run_min_seconds=run_min)
    assert replay.log == [tuple(start) for start in plain.run()]
    outcome = replay.outcome()
    assert {
        each.key: each.ended_seconds for each in outcome.jobs if each.ended_seconds is not None
    } == plain.done
    assert not outcome.unsettled


@given(SEEDS)
def test_the_order_in_which_arrivals_are_written_does_not_matter(seed):
    made, jobs, changes, run_min = random_trace(seed)
    shuffled = Random(seed).sample(jobs, len(jobs))  # noqa: S311 - nothing secret
    one, two = (played(made, order, changes=changes, run_min_seconds=run_min) for order in (jobs, shuffled))
    assert one.log == two.log
    assert sorted(one.outcome().jobs) == sorted(two.outcome().jobs)


@given(SEEDS)
def test_what_workloads_hold_is_what_quotas_use_and_never_more_than_there_is(seed):
    made, jobs, _, run_min = random_trace(seed)
    jobs = [each._replace(runs=False) for each in jobs]
    outcome = played(made, jobs, run_min_seconds=run_min).outcome(50)
    held = [0] * len(made.book.resources)
    in_all = dict.fromkeys(made.capacity, 0)
    for each, asked in zip(outcome.jobs, jobs, strict=True):
        for name, amount in asked.takes:
            in_all[name] += amount * each.held_seconds
        if each.quota != NO_QUOTA:
            for place, amount in enumerate(asked.member.amounts):
                held[place] += amount * each.held_seconds
    used = [
        sum(use.within[place] + use.beyond[place] for use in outcome.quotas) for place in range(len(held))
    ]
    assert used == held
    assert all(amount <= made.capacity[name] * 50 for name, amount in in_all.items())


@given(SEEDS)
def test_every_workload_finishes_runs_waits_or_is_withdrawn_and_all_its_time_is_told(seed):
    made, jobs, changes, run_min = random_trace(seed)
    outcome = played(made, jobs, changes=changes, run_min_seconds=run_min).outcome(50)
    for each, asked in zip(outcome.jobs, jobs, strict=True):
        ended = 50 if each.ended_seconds is None else each.ended_seconds
        assert each.waited_seconds + each.held_seconds == ended - each.arrived_seconds
        assert each.starts == each.evictions + (
            each.end in {"finished", "runs"} or each.starts > each.evictions
        )
        if each.end == "finished":
            assert each.held_seconds == asked.duration_seconds + each.lost_seconds
    assert sum(each.took for each in outcome.jobs) == sum(each.evictions for each in outcome.jobs)
