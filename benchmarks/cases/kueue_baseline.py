"""Kueue's baseline at the level of quotas: 15 000 workloads come to 5 cohorts of 6 queues, run and end.

The shape is the one of Kueue's own performance test (test/performance/scheduler/configs/baseline): a queue is
guaranteed 20 CPUs, may borrow 100 within its cohort, takes back what it lends, and evicts lower priority in
itself; 350 small, 100 medium and 50 large workloads come to each. Kueue's published time for it is 351 s,
about 43 admissions a second.

Included: shares by demand, whose turn it is, admission under quota, cohort and room, the choice of victims,
evictions and starting anew, and every workload's account. Not included: making the trace, an API server,
writing objects and waiting for them, the choice of nodes. A second of the replay stands for a millisecond of
the test: the time measured is that of deciding, not of waiting for workloads to end. The bar is for the test
as it is written, where queues get their workloads at the same moments; `spread` moves every arrival by up to
a tenth of a second, so that hardly two things happen at once and shares are computed for each.
"""

import time
from random import Random

from measure import calibration_seconds
from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.events import Arrival, Job, jobs_of, setting_of
from ullage.engine.quota.outcome import Outcome
from ullage.engine.quota.replay import Replay
from ullage.model.cluster import Node, Quota, Snapshot, Workload
from ullage.model.resources import Resources
from ullage.model.table import Table

COHORTS, QUEUES = 5, 6
CPU_MILLI = 1000
GUARANTEED, BORROWED = 20, 100
SETS = (
    ("small", 350, 100, 200, 50, 1),
    ("medium", 100, 500, 500, 100, 5),
    ("large", 50, 1200, 1000, 200, 20),
)
"""Name, how many come to a queue, how often, how long they run (milliseconds), priority, CPUs."""
SPREAD = 100
ADMISSIONS_PER_SECOND = 43
BAR = 100 * ADMISSIONS_PER_SECOND
ROUNDS = 3


def cluster() -> Snapshot:
    """Return the cohorts and queues, and a node that holds what they are guaranteed."""
    whole = GUARANTEED * QUEUES * CPU_MILLI
    nothing = Resources({"cpu": 0})
    quotas = []
    for cohort in range(COHORTS):
        name = f"cohort/{cohort}"
        quotas.append(
            Quota(name, min=Resources({"cpu": whole}), lending_limit=nothing, borrowing_limit=nothing)
        )
        quotas += [
            Quota(
                queue,
                namespaces=(queue,),
                min=Resources({"cpu": GUARANTEED * CPU_MILLI}),
                parent=name,
                borrowing_limit=Resources({"cpu": BORROWED * CPU_MILLI}),
            )
            for queue in (f"queue-{cohort}-{number}" for number in range(QUEUES))
        ]
    node = Node("all", Resources({"cpu": COHORTS * whole}))
    return Snapshot(name="kueue-baseline", nodes=Table([node]), quotas=Table(quotas))


def arrivals(spread: int) -> list[Arrival]:
    """Return all workloads, each moved by less than `spread` milliseconds."""
    draw = Random(1)  # noqa: S311 - a fixed draw, not a secret
    asked = {name: Resources({"cpu": cpus * CPU_MILLI}) for name, *_, cpus in SETS}
    return [
        Arrival(
            Workload(
                f"{name}-{number}",
                f"queue-{cohort}-{queue}",
                state="init",
                requests=asked[name],
                priority=priority,
            ),
            number * every + draw.randrange(spread),
            duration,
        )
        for cohort in range(COHORTS)
        for queue in range(QUEUES)
        for name, count, every, duration, priority, _ in SETS
        for number in range(count)
    ]


def played(accounts: Accounts, jobs: list[Job]) -> tuple[float, Outcome]:
    """Return the least CPU seconds of a replay, and its outcome."""
    found = []
    for _ in range(ROUNDS):
        replay = Replay(setting_of(accounts), jobs)
        start = time.process_time()
        replay.run()
        found.append(time.process_time() - start)
    return min(found), replay.outcome()


def run() -> dict[str, object]:
    """Measure the test as it is written, and with arrivals spread."""
    accounts = Accounts(Columns(cluster()))
    figures: dict[str, object] = {"calibration loop, s": calibration_seconds()}
    bars: dict[str, object] = {}
    for what, spread in (("as written", 1), ("spread", SPREAD)):
        start = time.process_time()
        jobs = jobs_of(accounts, arrivals(spread))
        figures[f"{what}, trace made, s"] = time.process_time() - start
        seconds, outcome = played(accounts, jobs)
        assert all(job.end == "finished" for job in outcome.jobs)
        starts = sum(job.starts for job in outcome.jobs)
        figures |= {
            f"{what}, workloads": len(jobs),
            f"{what}, admissions": starts,
            f"{what}, evictions": sum(job.evictions for job in outcome.jobs),
            f"{what}, decisions": outcome.decisions,
            f"{what}, victims without a proof": outcome.unproven,
            f"{what}, simulated, s": outcome.end_seconds / 1000,
            f"{what}, s": seconds,
            f"{what}, decisions/s": outcome.decisions / seconds,
        }
        figures[f"{what}, workloads/s"] = len(jobs) / seconds
        if spread == 1:
            bars[f"{what}, workloads/s"] = [len(jobs) / seconds, ">=", BAR]
    return {**figures, "bars": bars}
