"""The parity proof: `run.py --cases 2000 --seed 1`.

With `--live` cases go through a running kube-scheduler, with `--scheduler` through our own as it runs.

Cases have the seeds from --seed on. One that differs is printed with its seed, shrunk to a small YAML file in
--output, and the exit status is 1. The hard thing is a person who waits: progress is said every few seconds,
and a run on planes may end early by --seconds, which it then says.
"""

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from parity.cases import Case, case  # noqa: E402 - the path above makes it importable
from parity.compare import Difference, Verdicts, compare  # noqa: E402 - likewise
from parity.live import LiveError, live_scheduler  # noqa: E402 - likewise
from parity.scheduled import own_scheduler  # noqa: E402 - likewise
from parity.shrink import Shrinker, text_of  # noqa: E402 - likewise
from parity.tally import Tally  # noqa: E402 - likewise
from plane.build import PlaneAbsentError, plane_program  # noqa: E402 - likewise
from plane.client import ApiError  # noqa: E402 - likewise
from plane.judge import Judge, JudgeError  # noqa: E402 - likewise
from ullage.model.errors import InputError  # noqa: E402 - likewise

OUTPUT = HERE.parents[1] / ".cache" / "parity"
CASES = 2000
SECONDS_MAX = 24 * 3600.0
PROGRESS_SECONDS = 5.0
PLANES = 2
"""Planes of a run, each with cases of its own: a scheduler is often waiting."""
SHOWN_MAX = 5
FAILURES_MAX = 20
LIVE_TRIES_MAX = 300

NOT_JUDGED = (ApiError, InputError, JudgeError, LiveError)

Report = Callable[[str], None]


class OnPlane(Protocol):
    """A scheduler on a control plane."""

    def judge(self, case: Case) -> Verdicts:
        """Judge a case."""


Started = Callable[[Path], AbstractContextManager[OnPlane]]
"""What starts one: `live_scheduler`, `own_scheduler`."""


class Run:
    """One run over a range of seeds: what it has counted, and the cases that failed."""

    def __init__(self, seeds: range, report: Report, seconds: float = SECONDS_MAX) -> None:
        self.tally = Tally()
        self.failures: list[Case] = []
        self.seeds = seeds
        self._report = report
        self._began = time.monotonic()
        self._seconds = seconds
        self._said = self._began
        self._lock = threading.Lock()
        self._next = iter(seeds)

    def cases(self) -> Iterator[Case]:
        """Yield cases until there are no more, or no more time, or enough have failed; for many threads."""
        while True:
            with self._lock:
                late = time.monotonic() - self._began > self._seconds
                seed = None if late or len(self.failures) >= FAILURES_MAX else next(self._next, None)
            if seed is None:
                return
            yield case(seed)

    def add(self, asked: Case, found: Verdicts) -> None:
        """Count what came of a case, and say from time to time how far the run is."""
        with self._lock:
            self.tally.add(asked.kinds, found.refusals, pods=len(asked.pods), placed=found.placed)
            if found.differences:
                self.failures.append(asked)
                for each in found.differences[:SHOWN_MAX]:
                    self._report(f"seed {asked.seed}: {each.pod} on {each.node}: {each.ours} | {each.theirs}")
            now = time.monotonic()
            if now - self._said >= PROGRESS_SECONDS:
                self._said = now
                rate = self.tally.cases / (now - self._began)
                self._report(
                    f"  {self.tally.cases} of {len(self.seeds)} cases, {rate:.1f}/s, "
                    f"{len(self.failures)} differ"
                )

    def summary(self, what: str) -> str:
        seconds = time.monotonic() - self._began
        return (
            f"{what}: seeds {self.seeds.start} to {self.seeds.stop - 1}: {self.tally.cases} cases judged "
            f"in {seconds:.0f} s, {len(self.failures)} differ"
        )


def judged(asked: Case, judge: Callable[[Case], Verdicts]) -> Verdicts:
    """Judge a case; one that cannot be judged fails as well."""
    try:
        return judge(asked)
    except (*NOT_JUDGED, AssertionError) as error:
        return Verdicts([Difference("-", "-", "not judged", f"{type(error).__name__}: {error}")], [], 0)


def run_judge(seeds: range, report: Report) -> Run:
    """Put cases through kube-scheduler's plugins."""
    run = Run(seeds, report)
    with Judge(plane_program()) as judge:
        for each in run.cases():
            run.add(each, judged(each, lambda asked: compare(asked, judge)))
    return run


def run_on_planes(by: Started, run: Run, planes: int = PLANES) -> Run:
    """Put cases through running schedulers, as many as there is time for."""

    def work(_: int) -> None:
        with by(plane_program()) as scheduler:
            for each in run.cases():
                run.add(each, judged(each, scheduler.judge))

    with ThreadPoolExecutor(planes) as pool:
        list(pool.map(work, range(planes)))
    return run


def still_fails(failed: Case, judge: Callable[[Case], Verdicts]) -> Callable[[Case], bool]:
    """Return the question whether a smaller case differs in the same way; one not judged does not."""
    sorts = {each.sort for each in judged(failed, judge).differences}

    def fails(smaller: Case) -> bool:
        try:
            return any(each.sort in sorts for each in judge(smaller).differences)
        except NOT_JUDGED:
            return False

    return fails


def save(smallest: Case, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed-{smallest.seed}.yaml"
    path.write_text(text_of(smallest), encoding="utf-8")
    return path


def shrink_all(run: Run, folder: Path, report: Report, by: Started | None = None) -> None:
    """Shrink the first failing cases, by the judge or on planes, print them and save them."""
    for failed in run.failures[:SHOWN_MAX]:
        report(f"shrinking seed {failed.seed}")
        smallest = shrink_on_plane(failed, by) if by else shrink_judged(failed)
        path = save(smallest, folder)
        report(f"{path}:\n{text_of(smallest)}")


def shrink_judged(failed: Case) -> Case:
    with Judge(plane_program()) as judge:
        return Shrinker(still_fails(failed, lambda asked: compare(asked, judge))).shrink(failed)


def shrink_on_plane(failed: Case, by: Started) -> Case:
    with by(plane_program()) as scheduler:
        return Shrinker(still_fails(failed, scheduler.judge), LIVE_TRIES_MAX).shrink(failed)


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=CASES, help=f"how many; default {CASES}")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first case; default 1")
    parser.add_argument("--live", action="store_true", help="a running kube-scheduler, not the judge")
    parser.add_argument("--scheduler", action="store_true", help="our own scheduler as it runs")
    parser.add_argument("--seconds", type=float, default=SECONDS_MAX, help="time for a run on planes")
    parser.add_argument("--planes", type=int, default=PLANES, help=f"planes of such a run; default {PLANES}")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where cases that differ are saved")
    return parser.parse_args(arguments)


def _asked(options: argparse.Namespace) -> tuple[str, Started | None]:
    """Return what a run is about, and the scheduler on planes that it needs."""
    if options.live:
        return "parity with a running kube-scheduler", live_scheduler
    if options.scheduler:
        return "our scheduler, judged by kube-scheduler's plugins", own_scheduler
    return "parity with kube-scheduler's plugins", None


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    options = parse_arguments(arguments)
    seeds = range(options.seed, options.seed + options.cases)
    what, by = _asked(options)
    say(f"{what}: seeds {seeds.start} to {seeds.stop - 1}")
    try:
        on_planes = Run(seeds, say, options.seconds)
        run = run_on_planes(by, on_planes, options.planes) if by else run_judge(seeds, say)
    except PlaneAbsentError as reason:
        say(f"{reason}")
        return 1
    for line in run.tally.lines():
        say(line)
    shrink_all(run, options.output, say, by)
    say(run.summary(what))
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
