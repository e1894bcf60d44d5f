"""Long questions that nobody waits for on the line: asked once, looked at again, fetched or cancelled.

Jobs belong to whoever asked for them, live in memory, and are bounded: so many at once, so many kept, so many
bytes of answers. Each has a process of its own (apart.py), so that no question waits behind one, and those
who ask for them take turns: an hour's work of one leaves room for others. The hard thing is the end of one:
it is cancelled by ending the process that is busy with it, whether or not anybody still wants to know.
"""

import asyncio
import contextlib
import secrets
import time
from collections import Counter
from typing import Final, Literal

import msgspec

from ullage.service.progress import words_of
from ullage.web.frames import Stepped
from ullage.web.http import Principal, Problem
from ullage.web.pool import Pool
from ullage.web.problems import busy
from ullage.web.work import Done, Work

JOB_SECONDS_MAX: Final = 3600.0
UNFINISHED_MAX: Final = 64
UNFINISHED_EACH_MAX: Final = 8
RUNNING_MAX: Final = 4
RUNNING_EACH_MAX: Final = 1
"""So many jobs run at once, of all and of each who has asked for some."""
KEPT_MAX: Final = 200
KEPT_BYTES_MAX: Final = 256 << 20
State = Literal["waiting", "running", "done", "failed", "cancelled"]
UNFINISHED: Final = ("waiting", "running")


class JobState(msgspec.Struct, frozen=True, rename="camel"):
    """How a job stands; `status` is what HTTP says to its result, once there is one.

    What is counted while it runs (`steps_of`) may change on the way; where nothing is, there are no steps.
    """

    id: str
    cluster: str
    question: str
    state: State
    asked_seconds: int
    waited_seconds: float
    ran_seconds: float
    seconds_max: float
    progress: str
    steps_done: int = 0
    steps_total: int = 0
    steps_of: str = ""
    status: int = 0


class Job:
    """One question on its way."""

    def __init__(self, cluster: str, work: Work, owner: str) -> None:
        self.id = secrets.token_urlsafe(12)
        self.cluster = cluster
        self.work = work
        self.owner = owner
        self.state: State = "waiting"
        self.done: Done | None = None
        self.steps = Stepped("", 0, 0)
        self.asked_seconds = int(time.time())
        self.asked_at = time.monotonic()
        self.began_at: float | None = None
        self.ended_at: float | None = None
        self.task: asyncio.Task[None] | None = None
        self.turn = asyncio.Event()

    @property
    def is_finished(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.state not in UNFINISHED

    def began(self) -> None:
        """Note that it has its turn."""
        self.began_at = time.monotonic()
        self.state = "running"

    def stepped(self, steps: Stepped) -> None:
        """Note how far it is."""
        self.steps = steps

    def ended(self, state: State, done: Done | None = None) -> None:
        """Note what became of it; what was asked for is not needed any more."""
        self.ended_at = time.monotonic()
        self.state, self.done = state, done
        if state == "done":
            self.steps = Stepped(self.steps.what, self.steps.total, self.steps.total)
        self.work = Work(self.work.name)

    def told(self, before: int) -> JobState:
        """Return how it stands, with so many of its owner before it."""
        now = self.ended_at or time.monotonic()
        waited = (self.began_at or now) - self.asked_at
        ran = now - self.began_at if self.began_at else 0.0
        steps = self.steps
        counted = f", {words_of(steps.what, steps.done, steps.total)}" if steps.what else ""
        words = {
            "waiting": f"waits for its turn, {before} of yours before it",
            "running": f"runs for {ran:.0f} of at most {JOB_SECONDS_MAX:.0f} s{counted}",
            "done": f"answered after {waited + ran:.1f} s",
            "failed": f"failed after {waited + ran:.1f} s",
            "cancelled": f"cancelled after {waited + ran:.1f} s",
        }
        return JobState(
            self.id,
            self.cluster,
            self.work.name.partition("/")[2],
            self.state,
            self.asked_seconds,
            round(waited, 3),
            round(ran, 3),
            JOB_SECONDS_MAX,
            words[self.state],
            steps.done,
            steps.total,
            steps.what,
            self.done.status if self.done else 0,
        )


class Jobs:
    """All jobs, oldest first."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._jobs: dict[str, Job] = {}
        self._turns = 0
        self._last_turn: dict[str, int] = {}
        """When whoever has jobs that are not finished had a turn last, counted in turns."""

    def begin(self, cluster: str, work: Work, who: Principal) -> JobState:
        """Begin a job; raises a Problem where there is no such cluster, or there are too many jobs."""
        self._pool.state(cluster)
        unfinished = [job for job in self._jobs.values() if not job.is_finished]
        own = sum(job.owner == who.name for job in unfinished)
        if len(unfinished) >= UNFINISHED_MAX or own >= UNFINISHED_EACH_MAX:
            raise busy(f"{own} jobs of yours and {len(unfinished) - own} of others are not finished yet", 10)
        job = Job(cluster, work, who.name)
        self._jobs[job.id] = job
        job.task = asyncio.create_task(self._run(job))
        self._give_turns()
        return job.told(self._before(job))

    async def _run(self, job: Job) -> None:
        try:
            await job.turn.wait()
            done = await self._pool.ask_apart(
                job.cluster, job.work, seconds_max=JOB_SECONDS_MAX, listener=job.stepped
            )
            job.ended("done" if done.status < 400 else "failed", done)
        except Problem as problem:
            told = problem.response()
            job.ended("failed", Done(told.status, told.body, told.content, yes=False))
        finally:
            if not job.is_finished:
                job.ended("cancelled")
            self._forget()
            self._give_turns()

    def _give_turns(self) -> None:
        """Let jobs begin while they may: whoever had a turn longest ago comes first."""
        unfinished = [job for job in self._jobs.values() if not job.is_finished]
        running = Counter(job.owner for job in unfinished if job.state == "running")
        owners = {job.owner for job in unfinished}
        self._last_turn = {owner: self._last_turn.get(owner, 0) for owner in owners}
        waiting = [job for job in unfinished if job.state == "waiting"]
        while running.total() < RUNNING_MAX:
            may = [job for job in waiting if running[job.owner] < RUNNING_EACH_MAX]
            if not may:
                return
            job = min(may, key=lambda each: self._last_turn[each.owner])  # of equal ones the oldest
            waiting.remove(job)
            running[job.owner] += 1
            self._turns += 1
            self._last_turn[job.owner] = self._turns
            job.began()
            job.turn.set()

    def all(self, who: Principal) -> list[JobState]:
        """Return the jobs of somebody, newest first."""
        own = [job for job in self._jobs.values() if job.owner == who.name]
        return [job.told(self._before(job)) for job in reversed(own)]

    def state(self, number: str, who: Principal) -> JobState:
        """Return how a job stands; raises a Problem where there is none, or it is somebody else's."""
        job = self._job(number, who)
        return job.told(self._before(job))

    def result(self, number: str, who: Principal) -> Done:
        """Return what came of a job; raises a Problem where there is nothing yet, or will never be."""
        job = self._job(number, who)
        if job.done is not None:
            return job.done
        if job.is_finished:
            raise Problem(410, "the job was cancelled")
        told = job.told(self._before(job))
        raise Problem(
            409, f"the job {told.progress}", "ask again later", state=job.state, retryAfterSeconds=1
        )

    async def cancel(self, number: str, who: Principal) -> None:
        """Cancel a job that is not finished, and forget one that is."""
        job = self._job(number, who)
        if job.is_finished:
            del self._jobs[job.id]
        elif job.task is not None:
            job.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await job.task

    async def stop(self) -> None:
        """Cancel everything."""
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _job(self, number: str, who: Principal) -> Job:
        job = self._jobs.get(number)
        if job is None or job.owner != who.name:
            remedy = "jobs end with the server, and their answers are dropped for newer ones"
            raise Problem(404, "there is no such job", remedy)
        return job

    def _before(self, job: Job) -> int:
        own = [each for each in self._jobs.values() if each.owner == job.owner]
        return sum(each.state == "waiting" and each.asked_at < job.asked_at for each in own)

    def _forget(self) -> None:
        """Drop the oldest answers where there are too many of them."""
        finished = [job for job in self._jobs.values() if job.is_finished]
        size_bytes = sum(len(job.done.body) for job in finished if job.done)
        for job in finished[:-1]:
            if len(finished) <= KEPT_MAX and size_bytes <= KEPT_BYTES_MAX:
                return
            size_bytes -= len(job.done.body) if job.done else 0
            finished = finished[1:]
            del self._jobs[job.id]
