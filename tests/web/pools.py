"""A pool of real processes that runs whenever a test lets it.

A question that takes for ever is one whose worker is stopped by a signal.
"""

import asyncio
import os
import signal
import time

import msgspec

from ullage.web.pool import Pool
from ullage.web.settings import Listed, Settings
from ullage.web.work import Work

SNAPSHOT = Work("question/snapshot/show")
WAIT_SECONDS_MAX = 60.0


def document(name="mine", nodes=2):
    capacity = {"cpu": "4", "memory": "8Gi"}
    rows = [{"name": f"n{number}", "capacity": capacity} for number in range(nodes)]
    return msgspec.json.encode(
        {"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "name": name, "nodes": rows}
    )


async def until(is_so):
    """Wait until something is so; it fails only if it never is."""
    end = time.monotonic() + WAIT_SECONDS_MAX
    while not is_so():
        assert time.monotonic() < end, "this never came to be"
        await asyncio.sleep(0.02)


class Served:
    """A pool that runs whenever a test lets it, and what it told."""

    def __init__(self, folder, clusters, bounds):
        self.runner = asyncio.Runner()
        self.folder = folder
        self.heard = []
        self.pool = Pool(Settings(folder, tuple(Listed(*each) for each in clusters)), bounds=bounds)
        self.pool.hear(self.heard.append)
        self.run(self.pool.start())

    def run(self, work):
        return self.runner.run(work)

    def ready(self, name, workers=2):
        """Wait until a cluster has all its workers, with nothing to do."""
        self.run(until(lambda: self.pool.state(name).workers == workers))
        self.run(until(lambda: len(self.cluster(name)._line._free) == workers))
        return self.pool.state(name)

    def cluster(self, name):
        return self.pool._clusters[name]

    def workers(self, name):
        return sorted(worker.process for worker in self.cluster(name)._current.workers)

    def apart(self, name):
        """Return the processes that do one thing apart from the workers."""
        return sorted(worker.process for worker in self.cluster(name)._current.apart)

    def signal(self, name, number):
        for worker in self.workers(name):
            os.kill(worker, number)

    def stop_workers(self, name):
        """Let every question take for ever."""
        self.signal(name, signal.SIGSTOP)

    def go_on(self, name):
        self.signal(name, signal.SIGCONT)

    def loader(self, name):
        return self.cluster(name)._current._process.pid

    def ask(self, name, work=SNAPSHOT, **options):
        return self.pool.ask(name, work, **{"seconds_max": 30.0, **options})

    def answer(self, name, work=SNAPSHOT, **options):
        return self.run(self.ask(name, work, **options))

    def close(self):
        self.run(self.pool.stop())
        self.runner.close()
