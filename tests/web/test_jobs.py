"""Jobs: begun, looked at, fetched, cancelled; bounded, and each its owner's alone."""

import asyncio
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

ANNE, BORIS = Principal("anne", "read"), Principal("boris", "commit")
STATUS = Work("question/status")
ROLLING = Work("question/balance", {"rolling": True})
CHECK = Work("question/check", {"nodesLost": 1})


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    running = Served(tmp_path_factory.mktemp("jobs"), [("demo", "demo")], Bounds())
    running.run(running.pool.refresh("demo"))
    yield running
    running.close()


@pytest.fixture
def jobs(served):
    served.ready("demo")
    found = Jobs(served.pool)
    yield found
    served.go_on("demo")
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
    served.stop_workers("demo")
    first, second, third = (begun(served, jobs) for _ in range(3))
    served.run(until(lambda: jobs.state(first.id, ANNE).state == "running"))
    assert "runs for" in jobs.state(first.id, ANNE).progress
    assert jobs.state(second.id, ANNE).progress == "waits for a worker, 0 before it"
    assert jobs.state(third.id, ANNE).progress == "waits for a worker, 1 before it"
    for job in (first, third):
        refused = refusal(jobs.result, job.id, ANNE)
        assert refused.status == 409
        assert refused.members["retryAfterSeconds"] > 0
    served.go_on("demo")
    assert finished(served, jobs, third).state == "done"


def test_a_job_that_is_cancelled_ends_its_worker(served, jobs):
    served.stop_workers("demo")
    workers = set(served.workers("demo"))
    running, waiting = begun(served, jobs), begun(served, jobs)
    served.run(until(lambda: jobs.state(running.id, ANNE).state == "running"))
    for job in (waiting, running):
        served.run(jobs.cancel(job.id, ANNE))
        assert jobs.state(job.id, ANNE).state == "cancelled"
        assert refusal(jobs.result, job.id, ANNE).status == 410
    served.run(until(lambda: len(workers & set(served.workers("demo"))) == 1))


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
            (worker,) = large.workers("large")
            job = begun(large, jobs, ROLLING, cluster="large")
            large.run(until(lambda job=job: jobs.state(job.id, ANNE).steps_total))
            state = jobs.state(job.id, ANNE)
            assert (state.state, state.steps_total) == ("running", 400)
            assert state.progress.endswith(f", {state.steps_done} of 400 nodes given a turn")
            if how == "cancelled":
                large.run(jobs.cancel(job.id, ANNE))
            else:
                large.signal("large", signal.SIGKILL)
            assert finished(large, jobs, job).state == how
            large.run(until(lambda worker=worker: worker not in large.workers("large")))
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
    served.stop_workers("demo")
    for number in range(UNFINISHED_EACH_MAX):
        begun(served, jobs)
        assert len(jobs.all(ANNE)) == number + 1
    assert refusal(begun, served, jobs).status == 503
    for number in range(UNFINISHED_MAX - UNFINISHED_EACH_MAX):
        begun(served, jobs, who=Principal(f"user{number}", "read"))
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
