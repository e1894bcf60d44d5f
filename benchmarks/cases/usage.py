"""Usage: how fast observations are summarised, and what the summaries of 50 000 containers take.

The peer is a DDSketch object for each stream, at the same error of 1 %. Answers of a Prometheus are made here
and read by the real reader, but for the network; points of containers count, those of pods, which are summed
from them, do not.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from unittest.mock import patch

import msgspec
import numpy as np
from ddsketch import DDSketch

import metrics_answers
from ullage.engine.usage.book import Book, Samples
from ullage.engine.usage.crowds import Crowds
from ullage.engine.usage.homes import InOneRun
from ullage.model.usage import MAX_USAGE, USAGE
from ullage.service.asked import Asked
from ullage.service.usage_observe import record_of
from ullage.sources.usage import metrics_api
from ullage.sources.usage.csv_samples import read_csv
from ullage.sources.usage.prometheus import observe
from ullage.sources.usage.prometheus_parts import WINDOW_DAYS, Window
from ullage.sources.usage.prometheus_server import Reply
from ullage.stores.usage import Batch, Marks, append, read_book
from ullage.stores.usage_fold import fold
from ullage.stores.usage_reading import READINGS_MAX, Recorder

START = 1_767_225_600
STEP = 300
WEEK = 7 * 86_400 // STEP
DEFAULT_WEEKS = WINDOW_DAYS // 7
CONTAINERS = 50_000
PER_BATCH = 300
SKETCHED = 200_000
SEED = 2026
RECORDED = "a reading of 50 000 containers at a time, recorded, points per CPU s"
WITH_PODS = "a week of 50 000 containers with their pods, two resources, GB"
BY_DEFAULT = "what a Prometheus is asked for by default of 50 000 containers, GB"
WHY = {
    BY_DEFAULT: (
        "two weeks of them and their pods, with peaks of memory: 2 100 000 days of pods, each with its "
        "histogram and its peaks by the hour; memory grows with the window, `?window=7d` asks for half of it"
    )
}
NOISE = {"cpu": (6.0, 0.25), "memory": (20.0, 0.08)}
"""Logarithms of the usual amount of a container, and how much it varies from point to point."""


def batches(kind: str, subjects: int, points: int) -> Iterator[Samples]:
    """Yield batches as a Prometheus gives them: some hundred subjects, all of the window."""
    generator = np.random.default_rng(SEED)
    ending = "/main" if kind == "container" else ""
    for name, (usual, varies) in NOISE.items():
        for first in range(0, subjects, PER_BATCH):
            numbers = range(first, min(first + PER_BATCH, subjects))
            names = [
                f"{kind}/namespace-{each % 200}/web-{each // 10}-5d4f8c7b9-{each % 10:05d}{ending}"
                for each in numbers
            ]
            base = generator.lognormal(usual, 1.2, (len(names), 1))
            amounts = (base * generator.lognormal(0, varies, (len(names), points))).astype(np.int64)
            yield Samples(
                name,
                "usage",
                names,
                np.repeat(np.arange(len(names)), points),
                np.tile(START + np.arange(points) * STEP, len(names)),
                amounts.reshape(-1),
            )


def rate(work: Callable[[], int]) -> float:
    """Return the points that some work takes in, per CPU second."""
    start = time.process_time()
    points = work()
    return points / (time.process_time() - start)


def taken(found: Iterator[Samples] | list[Samples], *, kind: str = "container", sums: bool = False) -> int:
    """Take observations into a book, and into sums over crowds, and return how many points a kind had."""
    book, points = Book(), 0
    crowds = Crowds(InOneRun(homes)) if sums else None
    for each in found:
        points += len(each.numbers) if each.subjects[0].startswith(kind) else 0
        book.add(each)
        if crowds is not None:
            crowds.add(each)
    if crowds is not None:
        crowds.put(book)
    book.figures(book.streams()[0])
    return points


def homes(subject: str) -> tuple[str, ...]:
    """Say where a pod counts too."""
    _, namespace, name = subject.split("/")
    owner = name.rsplit("-", 2)[0]
    return (f"workload/{namespace}/Deployment/{owner}", f"namespace/{namespace}", "group/g", "cluster")


def one_after_the_other(streams: int, moments: int) -> list[Samples]:
    """Return observations as the metrics API gives them: one point of everybody at a time."""
    generator = np.random.default_rng(SEED)
    names = [f"pod/namespace-{each % 200}/web-{each}" for each in range(streams)]
    return [
        Samples(
            "memory",
            "usage",
            names,
            np.arange(streams),
            np.full(streams, START + place * 60),
            generator.lognormal(20, 1, streams).astype(np.int64),
        )
        for place in range(moments)
    ]


class Answered:
    """A Prometheus whose answers are here already."""

    name = "answers"

    def __init__(self, pods: int, points: int) -> None:
        generator = np.random.default_rng(SEED)
        moments = [START + place * STEP for place in range(points)]
        self.window = Window(moments[0], moments[-1], STEP)
        self._range = _answer(
            "matrix",
            [
                {
                    "metric": {"namespace": "shop", "pod": f"web-{each}", "container": "main"},
                    "values": [
                        [at, str(amount)]
                        for at, amount in zip(
                            moments, generator.lognormal(20, 0.3, points).astype(int).tolist(), strict=True
                        )
                    ],
                }
                for each in range(pods)
            ],
        )
        self._points, self.given = pods * points, 0
        self._nothing = _answer("matrix", [])
        self._count = _answer(
            "matrix", [{"metric": {"namespace": "shop"}, "values": [[at, str(pods)] for at in moments]}]
        )
        self._names = msgspec.json.encode(
            {"status": "success", "data": ["container_memory_working_set_bytes"]}
        )

    def ask(self, path: str, query: Mapping[str, str]) -> Reply:
        """Return the answer: what there is, how many series, or all points, which must be asked for once."""
        if path.endswith("query_range"):
            if 'id="/"' in query["query"]:
                return Reply(200, self._nothing)  # nodes
            if query["query"].startswith("count"):
                return Reply(200, self._count)
            window = Window(int(query["start"]), int(query["end"]), STEP)
            assert window == self.window, "a part of the window would be answered with all of it"
            self.given += self._points
            return Reply(200, self._range)
        assert path.endswith("/__name__/values"), path
        return Reply(200, self._names)


def _answer(kind: str, result: list[dict[str, object]]) -> bytes:
    return msgspec.json.encode({"status": "success", "data": {"resultType": kind, "result": result}})


def table(samples: list[Samples], path: Path) -> None:
    """Write observations as a table."""
    with path.open("w", encoding="utf-8") as file:
        file.write("subject,resource,time,value\n")
        for each in samples:
            for number, at, amount in zip(each.numbers, each.at_seconds, each.amounts, strict=True):
                file.write(f"{each.subjects[number]},{each.resource},{at},{amount}\n")


def sketched(samples: list[Samples]) -> int:
    """Do the same with a sketch for each stream, up to some points."""
    sketches: dict[tuple[str, str], DDSketch] = {}
    points = 0
    for each in samples:
        for number, amount in zip(each.numbers.tolist(), each.amounts.tolist(), strict=True):
            key = each.subjects[number], each.resource
            sketch = sketches.get(key)
            if sketch is None:
                sketch = sketches[key] = DDSketch(0.01)
            sketch.add(amount)
            points += 1
            if points >= SKETCHED:
                return points
    return points


def readings() -> tuple[float, float, float]:
    """Return how many points of the metrics API are recorded per CPU second, how many samples, and the first.

    A reading tells of 50 000 containers; their pods, which are summed from them, are recorded too, and are
    points but no samples. As many readings are taken as wait at most, so that all of them were added to the
    days of their streams once, which have points already. The first, which begins the days, is told in CPU s.
    The cluster is read anew before each, as it is by the command, which does not count.
    """
    metered = metrics_answers.Metered(CONTAINERS, SEED)
    asked = Asked("kube")
    points, seconds, first = 0, 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder) / "usage.db", "metrics")
        for place in range(READINGS_MAX + 1):
            at_seconds = START + 60 * (place + 1)
            pages, snapshot = metered.pages(at_seconds), metered.snapshot()
            with (
                patch.dict(os.environ, ULLAGE_NOW=str(at_seconds)),
                patch.object(metrics_api, "read_metrics_api", lambda *_, **__: metrics_answers.read(pages)),  # noqa: B023 - read at once
            ):
                start = time.process_time()
                report = record_of(asked, "metrics", recorder, snapshot, commits=False)
                seconds += time.process_time() - start
            if place:
                points += report.points
            else:
                first, seconds = seconds, 0.0
                fold(recorder.path)
    return points / seconds, READINGS_MAX * 2 * CONTAINERS / seconds, first


def resident() -> float:
    """Return how much memory this process has had at most, in gigabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def memory() -> tuple[float, float]:
    """Return the memory that a week of all containers takes at most, and the points per CPU second."""
    book, points, seconds = Book(), 0, 0.0
    for each in batches("container", CONTAINERS, WEEK):
        start = time.process_time()
        book.add(each)
        seconds += time.process_time() - start
        points += len(each.numbers)
    assert len(book) == 2 * CONTAINERS
    assert book.figures(book.streams()[0]).points == WEEK
    return resident(), points / seconds


def memory_with_pods(weeks: int) -> float:
    """Return the memory that weeks of all containers take with their pods, in a process of its own."""
    folder = Path(__file__).parents[1]
    command = [sys.executable, "-m", "cases.usage", str(weeks)]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return float(done.stdout)


def with_pods(weeks: int) -> Book:
    """Return weeks of all containers with their pods, as a Prometheus is kept: two with peaks of memory."""
    book = Book()
    for measure in (USAGE, MAX_USAGE)[:weeks]:
        for each in batches("container", CONTAINERS, weeks * WEEK):
            if measure == USAGE or each.resource == "memory":
                told = each._replace(measure=measure)
                book.add(told)
                pods = ["pod/" + name.partition("/")[2].rpartition("/")[0] for name in each.subjects]
                book.add(told._replace(subjects=pods))
    return book


def stored() -> dict[str, object]:
    """Return what recording a day of 5 000 pods takes, on disk and in time."""
    book = Book()
    for each in batches("pod", 5000, 288):
        book.add(each)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        start = time.process_time()
        rows = append(path, Batch("benchmark", book, Marks(0, {}), START + 86_400))
        written = time.process_time()
        read_book(path)
        return {
            "days of streams recorded, per CPU s": rows / (written - start),
            "days of streams read, per CPU s": rows / (time.process_time() - written),
            "bytes on disk, per day and stream": path.stat().st_size / rows,
        }


def run() -> dict[str, object]:
    """Measure everything; memory first, as the most that the process had is what counts."""
    gigabytes, many = memory()
    pods_too, by_default = memory_with_pods(1), memory_with_pods(DEFAULT_WEEKS)
    recorded, samples, first = readings()
    columns = list(batches("container", 1500, 1000))
    pods = list(batches("pod", 1500, 1000))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "usage.csv"
        table(list(batches("container", 300, 500)), path)
        lines = rate(lambda: taken(read_csv(str(path))))
    answers = Answered(1500, 300)
    everybody = one_after_the_other(CONTAINERS, 20)
    assert taken(observe(answers, answers.window)) == answers.given > 0, "each point is read once"
    prometheus = rate(lambda: taken(observe(answers, answers.window)))
    plain = rate(lambda: taken(columns))
    peer = rate(lambda: sketched(columns))
    return {
        "columns, points per CPU s": plain,
        "columns, a week of 50 000 containers, points per CPU s": many,
        "columns with sums over crowds, points per CPU s": rate(lambda: taken(pods, kind="pod", sums=True)),
        "a point of 50 000 pods at a time, points per CPU s": rate(lambda: taken(everybody, kind="pod")),
        RECORDED: recorded,
        "the same, samples of containers alone, per CPU s": samples,
        "the first reading of 50 000 containers, recorded, CPU s": first,
        "answers of a Prometheus, points per CPU s": prometheus,
        "lines of a table, points per CPU s": lines,
        "a DDSketch for each stream, points per CPU s": peer,
        "times as fast as a DDSketch for each stream": plain / peer,
        "a week of 50 000 containers, two resources, GB": gigabytes,
        WITH_PODS: pods_too,
        BY_DEFAULT: by_default,
        **stored(),
        "bars": {
            "columns, points per CPU s": [plain, ">=", 200_000],
            "answers of a Prometheus, points per CPU s": [prometheus, ">=", 200_000],
            RECORDED: [recorded, ">=", 200_000],
            "a week of 50 000 containers, two resources, GB": [gigabytes, "<=", 1.0],
            WITH_PODS: [pods_too, "<=", 1.0],
            BY_DEFAULT: [by_default, "<=", 1.0],
        },
    }


if __name__ == "__main__":
    assert len(with_pods(int(sys.argv[1]))) >= 4 * CONTAINERS
    print(resident())
