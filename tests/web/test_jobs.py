"""Jobs: begun, looked at, fetched, cancelled; bounded, and each its owner's alone."""

import asyncio
import os
import signal

import msgspec
import pytest

from ullage.web import jobs as module
from ullage.web.frames import Stepped
from ullage.web.http import Principal, Problem
from ullage.web.jobs import UNFINISHED_EACH_MAX, UNFINISHED_MAX, Job, Jobs
from ullage.web.served import Bounds
from ullage.web.work import Work
from web.pools import Served, until

CLUSTERS = [("demo", "demo"), ("large", "synthetic:nodes=1000,seed=3")]
ANNE, BORIS = Principal("anne", "read"), Principal("boris", "commit")
STATUS = Work("question/status")
ROLLING = Work("question/balance", {"rolling": True})
CHECK = Work("question/check", {"nodesLost": 1})
ENDLESS = Work("question/check", {"nodesLost": 3})
"""What takes longer than any test, on the large cluster."""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    running = Served(tmp_path_factory.mktemp("jobs"), CLUSTERS, Bounds())
    for name, _ in CLUSTERS:
        running.run(running.pool.refresh(name))
    yield running
    running.close()


@pytest.fixture
def jobs(served):
    served.ready("demo")
    found = Jobs(served.pool)
    yield found
    served.run(found.stop())


def begun(served, jobs, work=STATUS, who=ANNE, cluster="demo"):
    async def begin():
        return jobs.begin(cluster, work, who)

    return served.run(begin())


def finished(served, jobs, job, who=ANNE):
    served.run(until(lambda: jobs.state(job.id, who).state not in {"waiting", "running"}))
    return jobs.state(job.id, who)


def refusal(call, *arguments):
    with pytest.raises(Problem) as refused:
        call(*arguments)
    return refused.value


def test_a_job_has_the_result_that_the_question_would_have_had(served, jobs):
    job = begun(served, jobs)
    assert (job.cluster, job.question, job.status) == ("demo", "status", 0)
    state = finished(served, jobs, job)
    assert (state.state, state.status) == ("done", 200)
    assert jobs.result(job.id, ANNE).body == served.answer("demo", STATUS).body


@pytest.mark.parametrize("work", [Work("question/fit", {"shape": "bogus"}), Work("question/none")])
def test_a_job_that_is_refused_has_failed_and_its_result_says_why(served, jobs, work):
    job = begun(served, jobs, work)
    state = finished(served, jobs, job)
    assert (state.state, state.status) == ("failed", 422)
    assert msgspec.json.decode(jobs.result(job.id, ANNE).body)["status"] == 422


def test_a_job_says_whether_it_waits_or_runs_and_has_no_result_yet(served, jobs):
    first = begun(served, jobs, ENDLESS, cluster="large")
    second, third = (begun(served, jobs) for _ in range(2))
    served.run(until(lambda: jobs.state(first.id, ANNE).state == "running"))
    assert "runs for" in jobs.state(first.id, ANNE).progress
    assert jobs.state(second.id, ANNE).progress == "waits for its turn, 0 of yours before it"
    assert jobs.state(third.id, ANNE).progress == "waits for its turn, 1 of yours before it"
    for job in (first, third):
        refused = refusal(jobs.result, job.id, ANNE)
        assert refused.status == 409
        assert refused.members["retryAfterSeconds"] > 0
    served.run(jobs.cancel(first.id, ANNE))
    assert finished(served, jobs, third).state == "done"


def test_a_job_keeps_nobody_waiting_for_a_worker(served, jobs):
    served.ready("large")
    many = [begun(served, jobs, ENDLESS, cluster="large") for _ in range(UNFINISHED_EACH_MAX)]
    served.run(until(lambda: served.apart("large")))
    assert served.answer("large", Work("snapshot", {"form": "json"}), client="anne").status == 200
    assert served.answer("large", STATUS, client="anne", is_long=True).status == 200
    assert jobs.state(many[0].id, ANNE).state == "running"


def test_each_who_asks_for_jobs_has_turns(served, jobs):
    mine = [begun(served, jobs, ENDLESS, cluster="large") for _ in range(3)]
    theirs = [begun(served, jobs, who=BORIS) for _ in range(2)]
    for job in theirs:
        assert finished(served, jobs, job, BORIS).state == "done"
    assert [jobs.state(job.id, ANNE).state for job in mine] == ["running", "waiting", "waiting"]


def test_who_had_a_turn_longest_ago_is_next(served, jobs, monkeypatch):
    monkeypatch.setattr(module, "RUNNING_MAX", 1)
    mine = [begun(served, jobs, ENDLESS, cluster="large") for _ in range(2)]
    theirs = begun(served, jobs, ENDLESS, BORIS, "large")
    served.run(jobs.cancel(mine[0].id, ANNE))
    assert jobs.state(theirs.id, BORIS).state == "running"
    assert jobs.state(mine[1].id, ANNE).state == "waiting"


def test_a_job_that_is_cancelled_ends_its_process(served, jobs):
    running, waiting = (begun(served, jobs, ENDLESS, cluster="large") for _ in range(2))
    served.run(until(lambda: served.apart("large")))
    (process,) = served.apart("large")
    for job in (waiting, running):
        served.run(jobs.cancel(job.id, ANNE))
        assert jobs.state(job.id, ANNE).state == "cancelled"
        assert refusal(jobs.result, job.id, ANNE).status == 410
    served.run(until(lambda: process not in served.apart("large")))


def test_a_job_tells_the_steps_of_its_worker(served, jobs):
    state = finished(served, jobs, begun(served, jobs, CHECK))
    assert state.state == "done"
    assert state.steps_of
    assert state.steps_done == state.steps_total > 0


@pytest.mark.slow
def test_a_job_in_the_midst_of_its_steps_is_cancelled_and_ends_with_its_worker(tmp_path):
    large = Served(tmp_path, [("large", "synthetic:nodes=400")], Bounds(workers=1))
    try:
        large.run(large.pool.refresh("large"))
        jobs = Jobs(large.pool)
        for how in ("cancelled", "failed"):
            large.ready("large", 1)
            job = begun(large, jobs, ROLLING, cluster="large")
            large.run(until(lambda job=job: jobs.state(job.id, ANNE).steps_total))
            (process,) = large.apart("large")
            state = jobs.state(job.id, ANNE)
            assert (state.state, state.steps_total) == ("running", 400)
            assert state.progress.endswith(f", {state.steps_done} of 400 nodes given a turn")
            if how == "cancelled":
                large.run(jobs.cancel(job.id, ANNE))
            else:
                os.kill(process, signal.SIGKILL)
            assert finished(large, jobs, job).state == how
            large.run(until(lambda: not large.apart("large")))
        assert large.answer("large", STATUS).status == 200
    finally:
        large.close()


def test_a_job_of_which_nothing_is_counted_has_no_steps(served, jobs):
    state = finished(served, jobs, begun(served, jobs))
    assert (state.steps_done, state.steps_total, state.steps_of) == (0, 0, "")


def test_progress_is_how_long_a_job_runs_and_how_far_it_is():
    job = Job("demo", Work("question/check"), "anne")
    job.began()
    assert job.told(0).progress == "runs for 0 of at most 3600 s"
    for done in (3, 12):
        job.stepped(Stepped("losses tried", done, 40))
    state = job.told(0)
    assert state.progress == "runs for 0 of at most 3600 s, 12 of 40 losses tried"
    assert (state.steps_done, state.steps_total, state.steps_of) == (12, 40, "losses tried")
    job.ended("cancelled")
    assert (job.told(0).steps_done, job.told(0).steps_total) == (12, 40)


def test_a_finished_job_is_forgotten_when_its_owner_wants_that(served, jobs):
    job = begun(served, jobs)
    finished(served, jobs, job)
    served.run(jobs.cancel(job.id, ANNE))
    assert refusal(jobs.state, job.id, ANNE).status == 404


def test_nobody_sees_the_jobs_of_others(served, jobs):
    job = begun(served, jobs)
    assert [each.id for each in jobs.all(ANNE)] == [job.id]
    assert jobs.all(BORIS) == []
    assert refusal(jobs.state, job.id, BORIS).status == 404
    assert refusal(jobs.result, job.id, BORIS).status == 404
    with pytest.raises(Problem):
        served.run(jobs.cancel(job.id, BORIS))


def test_there_are_only_so_many_jobs_at_once(served, jobs):
    for number in range(UNFINISHED_EACH_MAX):
        begun(served, jobs, ENDLESS, cluster="large")
        assert len(jobs.all(ANNE)) == number + 1
    assert refusal(begun, served, jobs).status == 503
    for number in range(UNFINISHED_MAX - UNFINISHED_EACH_MAX):
        begun(served, jobs, ENDLESS, Principal(f"user{number}", "read"), "large")
    assert refusal(begun, served, jobs, STATUS, BORIS).status == 503


def test_a_cluster_that_there_is_not_has_no_jobs(served, jobs):
    assert refusal(begun, served, jobs, STATUS, ANNE, "nowhere").status == 404


@pytest.mark.parametrize("bound", ["KEPT_MAX", "KEPT_BYTES_MAX"])
def test_the_oldest_answers_are_dropped_for_newer_ones(served, jobs, bound, monkeypatch):
    size = len(served.answer("demo", STATUS).body)
    monkeypatch.setattr(module, bound, 2 if bound == "KEPT_MAX" else 2 * size)
    begun_jobs = []
    for _ in range(4):
        begun_jobs.append(begun(served, jobs))
        finished(served, jobs, begun_jobs[-1])
    served.run(asyncio.sleep(0))
    assert [each.id for each in jobs.all(ANNE)] == [each.id for each in reversed(begun_jobs[2:])]
