"""The scheduler as a process."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final

from ullage.kube.election import ALONE
from ullage.kube.metrics import Metrics
from ullage.kube.running import Options, Process, run
from ullage.kube.scheduler.actions import Actions, NotDoneError
from ullage.kube.scheduler.process import Scheduler
from ullage.kube.scheduler.volumes import Volumes
from ullage.sources.kubernetes.api.left_out import Unreadable
from ullage.sources.kubernetes.api.mirror import Mirror
from ullage.sources.kubernetes.api.mirrored_pods import PodFacts

UNREADABLE_SECONDS: Final = 2.0
"""How often it is looked for pods that cannot be read."""


def run_scheduler(options: Options, names: Sequence[str]) -> None:
    """Schedule the pods that name one of these schedulers, until told to end; raises an InputError."""

    async def work(process: Process) -> None:
        leading = process.election if options.elects_leader else ALONE
        actions = Actions(process.client, process.events, leading, process.unanswered)
        volumes = Volumes(process.client, process.following.mirror, leading)
        scheduler = Scheduler(process.following, actions, names=names, preparing=volumes)
        process.events.is_busy = scheduler.is_binding
        show_figures(process.metrics, scheduler)
        if process.election.took_over:
            # what the one before did last may not have been seen yet, and room be given away twice
            await process.following.look_again()
        telling = asyncio.create_task(tell_unreadable(process.following.mirror, actions, names))
        try:
            await scheduler.run()
        finally:
            telling.cancel()

    run(options, work)


async def tell_unreadable(mirror: Mirror, actions: Actions, names: Sequence[str]) -> None:
    """Tell each pod that waits and cannot be read what is wrong with it: nobody else would."""
    told: set[Unreadable] = set()
    while True:
        found = {each for each in mirror.unreadable if each.uid and each.scheduler in names}
        for each in sorted(found - told, key=lambda each: each.key):
            with contextlib.suppress(NotDoneError):
                await actions.say_why_not(each.key, PodFacts(each.uid), f"it cannot be read: {each.why}")
                told.add(each)
        told &= found
        await asyncio.sleep(UNREADABLE_SECONDS)


def show_figures(metrics: Metrics, scheduler: Scheduler) -> None:
    """Show Prometheus what a scheduler has done, and who waits."""
    metrics.counter("scheduler_cycles", "Looks at all that waits.", lambda: scheduler.figures.cycles)
    metrics.counter("scheduler_pods_bound", "Pods that were bound.", lambda: scheduler.figures.bound)
    metrics.counter("scheduler_pods_evicted", "Pods that made room.", lambda: scheduler.evicted)
    metrics.counter(
        "scheduler_binds_failed", "Pods that were not bound after all.", lambda: scheduler.figures.failed
    )
    metrics.gauge("scheduler_pods_waiting", "Pods that wait for a place.", lambda: scheduler.waiting[0])
    metrics.gauge(
        "scheduler_pods_nominated", "Waiting pods for which room is made.", lambda: scheduler.waiting[1]
    )
