"""Kills processes that use a ledger, thousands of times, and proves after each that nothing was lost.

    python tests/simulation/crash.py --kills 10000 [--seed N] [--processes N]

A ledger lives through some generations of processes. Each is killed in one of several ways: by the clock, two
processes at once; in the middle of a write or a synchronisation; there, and the power fails with it; after
synchronisations that failed, or while the disk was full. Then the file, as it was left, is proved: every row
follows from the ones before, the tables are what the journal adds up to, and every outcome that anybody was
told stands there. The next generation goes on with what the crash has left.
"""

import argparse
import concurrent.futures
import contextlib
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from simulation.crash_child import FLEET, told  # noqa: E402 - found by the path above
from simulation.crash_disk import after_power_failed, events  # noqa: E402 - likewise
from ullage.model.errors import InputError  # noqa: E402 - likewise
from ullage.stores.sqlite import SqliteLedger  # noqa: E402 - likewise

KINDS = ("clock", "call", "power", "sync", "full")
GENERATIONS = 12
CALLS_MAX = 600
STEPS = 12
NO_CALL = -1


class NoCompilerError(Exception):
    """Only the clock can kill: there is nothing to build the failing disk with."""


def failing_disk(folder: Path) -> Path:
    """Build the library that makes a disk fail."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise NoCompilerError("a disk that fails needs a C compiler: install gcc")
    library = folder / "disk_faults.so"
    command = [
        compiler,
        "-O1",
        "-shared",
        "-fPIC",
        "-o",
        library,
        HERE / "disk_faults.c",
        "-ldl",
        "-lpthread",
    ]
    subprocess.run(command, check=True)
    return library


class Nursery:
    """The process that makes the others."""

    def __init__(self, library: Path | None) -> None:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        if library is not None:
            environment["LD_PRELOAD"] = str(library)
        self._process = subprocess.Popen(
            [sys.executable, HERE / "crash_child.py"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def carry_out(self, order: dict[str, object]) -> list[int]:
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the nursery ended with {self._process.wait()}")
        return json.loads(answer)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Life:
    """One ledger from its beginning, and everything that anybody was told of it."""

    def __init__(self, nursery: Nursery, folder: Path, seed: int, *, careless: bool = False) -> None:
        self.nursery = nursery
        self.folder = folder / "ledger"
        self.told = folder / "told"
        self.trace = folder / "trace"
        self.draw = random.Random(seed)  # noqa: S311 - the same crashes in every run, not a secret
        self.careless = careless
        self.generation = 0
        self.counted: Counter[str] = Counter()
        self.folder.mkdir()
        if self.draw.random() < 0.8:  # otherwise the first who comes makes it, and may be killed over it
            with SqliteLedger(self.folder / "ledger") as ledger:
                ledger.submit(FLEET, at_seconds=0)

    def live(self, kind: str) -> list[str]:
        """Let one generation live and die; return what is wrong afterwards."""
        self.generation += 1
        draw = self.draw
        before = contents(self.folder)
        fails_power = kind in {"power", "sync", "full"}
        faults = None
        if kind != "clock":
            syncs = kind == "sync"
            start = draw.randrange(1, 30 if syncs else 300)
            failing = (start, start + draw.choice((1, 2, 20))) if kind in {"sync", "full"} else (0, 0)
            error = errno.EIO if syncs else errno.ENOSPC
            faults = [draw.randrange(1, CALLS_MAX), draw.randrange(1 << 16), *failing, int(syncs), error]
        statuses = self.nursery.carry_out(
            {
                "folder": str(self.folder),
                "told": str(self.told),
                "trace": str(self.trace) if fails_power else "",
                "faults": faults,
                "seed": draw.randrange(1 << 30),
                "generation": self.generation,
                "steps": STEPS,
                "log_pages": draw.choice((8, 60, 1000)),
                "checkpoint_rows": draw.choice((10, 100, 10_000)),
                "careless": self.careless,
                "kill_after_seconds": [draw.uniform(0, 0.15) for _ in range(2)] if faults is None else [None],
            }
        )
        self.counted[kind] += sum(status == signal.SIGKILL for status in statuses)
        self.counted["broken"] += sum(status not in {0, signal.SIGKILL} for status in statuses)
        if fails_power:
            self._lose_power(before)
        found = self._proved()
        return [f"{kind}, generation {self.generation}: {each}" for each in found]

    def _lose_power(self, before: dict[str, bytes]) -> None:
        happened = events(self.trace.read_bytes() if self.trace.exists() else b"")
        after = after_power_failed(before, happened, self.draw)
        self.trace.unlink(missing_ok=True)
        for path in self.folder.iterdir():
            path.unlink()
        for name, content in after.items():
            (self.folder / name).write_bytes(content)

    def _proved(self) -> list[str]:
        """Look at a copy, so that the next generation finds the file as the crash has left it."""
        if self.counted["broken"]:
            return ["a process ended in a way of its own"]
        copy = self.folder.with_name("copy")
        copy.mkdir()
        try:
            for name, content in contents(self.folder).items():
                (copy / name).write_bytes(content)
            return proved(copy / "ledger", self._outcomes())
        finally:
            shutil.rmtree(copy)

    def _outcomes(self) -> list[tuple[int, str]]:
        lines = self.told.read_text(encoding="utf-8").splitlines() if self.told.exists() else []
        said = [line.split() for line in lines]
        self.counted["errors told"] = sum(each[0] == "error" for each in said)
        self.counted["outcomes told"] = sum(each[0] != "error" for each in said)
        return [(int(revision), hashed) for revision, hashed in said if revision != "error"]


def contents(folder: Path) -> dict[str, bytes]:
    """Return what lasts of a folder: the shared memory of a ledger ends with those who share it."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


def proved(path: Path, outcomes: list[tuple[int, str]]) -> list[str]:
    """Return what is wrong with a file: in itself, and with what was told of it."""
    if not path.exists():
        return [f"there is no ledger, but {len(outcomes)} outcomes were told"] if outcomes else []
    try:
        with SqliteLedger(path, create=False) as ledger:
            wrong = [finding.message for finding in ledger.verify() if finding.severity == "error"]
            there = {row.revision: told(row.command, row.decision) for row in ledger.journal()}
    except InputError as error:
        return [str(error)]
    lost = [revision for revision, hashed in outcomes if there.get(revision) != hashed]
    return wrong + [f"what was told of revision {revision} is lost" for revision in lost]


def kill(
    kills: int, seed: int, *, kinds: tuple[str, ...] = KINDS, careless: bool = False, report: bool = False
) -> tuple[list[str], Counter[str]]:
    """Kill so many processes, or fewer if something is wrong; return that, and how often what happened."""
    counted: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as closing:
        library = None if kinds == ("clock",) else failing_disk(Path(scratch))
        nursery = Nursery(library)
        closing.callback(nursery.close)
        shown = time.monotonic()
        for number in range(kills):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            life = Life(nursery, folder, seed + number, careless=careless)
            found: list[str] = []
            for generation in range(GENERATIONS):
                kind = kinds[(number + generation) % len(kinds)]
                found = life.live(kind)
                if found or sum(counted[each] + life.counted[each] for each in kinds) >= kills:
                    break
            counted += life.counted
            shutil.rmtree(folder)
            if found:
                return [f"seed {seed + number}: {each}" for each in found], counted
            done = sum(counted[each] for each in kinds)
            if report and time.monotonic() > shown + 10:
                shown = time.monotonic()
                sys.stderr.write(f"{done} of {kills} killed, {counted['outcomes told']} outcomes stand\n")
            if done >= kills:
                break
    return [], counted


def main() -> int:
    """Kill as often as asked for, in several processes; say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    share = -(-options.kills // options.processes)
    counted: Counter[str] = Counter()
    wrong: list[str] = []
    with concurrent.futures.ProcessPoolExecutor(options.processes) as pool:
        asked = [
            pool.submit(kill, share, options.seed + 1_000_000 * number, report=number == 0)
            for number in range(options.processes)
        ]
        for done in asked:
            found, times = done.result()
            wrong += found
            counted += times
    sys.stdout.write("".join(f"{what}: {times}\n" for what, times in sorted(counted.items())))
    sys.stdout.write("".join(f"{each}\n" for each in wrong) or "nothing was lost\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
