"""Builds the test control plane, one Go program, once, into the user's cache.

The hard thing is the time: some minutes with two cores, half an hour on busy ones. So it is a step of its own
(`make plane`) that says every few seconds how far it is, and no test ever builds: a test that finds no
program skips and names the step. Two builds at once would only slow each other, so the second waits.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from reference.build import cache_folder, say

SOURCE = Path(__file__).parent
OVERRIDE = "ULLAGE_PLANE"
KUBERNETES_VERSION = "v1.36.3"
VERSION = "k8s.io/component-base/version"
STATED = {"gitVersion": KUBERNETES_VERSION, "gitMajor": "1", "gitMinor": "36"}
LINKING = " ".join(["-s", "-w", *(f"-X {VERSION}.{name}={value}" for name, value in STATED.items())])
FLAGS = ("-trimpath", "-buildvcs=false", f"-ldflags={LINKING}")
BUILD_SECONDS_MAX = 7200
PROGRESS_SECONDS = 10
PROGRAMS_KEPT = 3
FAILURE_LINES_MAX = 8


class PlaneAbsentError(Exception):
    """There is no program, for the reason it states."""


def plane_program() -> Path:
    """Return the program if it is there already; otherwise say why it is not and what to do."""
    override = os.environ.get(OVERRIDE, "")
    if override:
        if os.access(override, os.X_OK):
            return Path(override)
        raise PlaneAbsentError(f"{OVERRIDE} names {override}, which is not a program")
    program = _cached()
    if not program.exists():
        raise PlaneAbsentError("the test control plane is not built: run `make plane`, which takes minutes")
    return program


def build(report: Callable[[str], None] = say) -> Path:
    """Return the program, building it if need be."""
    if os.environ.get(OVERRIDE, ""):
        return plane_program()
    return build_once(_cached(), SOURCE, FLAGS, report)


def build_once(program: Path, source: Path, flags: Sequence[str], report: Callable[[str], None]) -> Path:
    """Return a Go program under its name in the cache, building it from a folder if need be."""
    if program.exists():
        return program
    family = program.name.rpartition("-")[0]
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        with _alone(program.parent / f"{family}.lock", report):
            if not program.exists():
                report(f"building {program.name}: once, for some minutes (half an hour on a busy machine)")
                _build(program, source, flags, report)
                _prune(program, family)
    except OSError as error:
        raise PlaneAbsentError(f"{program.name} did not build: {error}") from error
    return program


def _go() -> str:
    go = shutil.which("go")
    if go is None:
        raise PlaneAbsentError("it needs Go: install golang, or name a built program")
    return go


def _cached() -> Path:
    try:
        return cached_name("plane", SOURCE, FLAGS)
    except PlaneAbsentError as absent:
        raise PlaneAbsentError(f"the test control plane: {absent} in {OVERRIDE}") from None


def cached_name(family: str, source: Path, flags: Sequence[str]) -> Path:
    """Name a program after everything it is made from and the compiler's statement of itself."""
    digest = hashlib.sha256("\0".join(flags).encode())
    for path in (source / "go.mod", source / "go.sum", *sorted(source.rglob("*.go"))):
        digest.update(f"{path.relative_to(source).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    version = subprocess.run([_go(), "version"], cwd=source, capture_output=True, check=False)
    digest.update(version.stdout)
    return cache_folder() / f"{family}-{digest.hexdigest()[:16]}"


@contextlib.contextmanager
def _alone(path: Path, report: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of all builds on this machine; the system lets go of it when the holder dies."""
    with path.open("a") as lock:
        began = time.monotonic()
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waited = time.monotonic() - began
                if waited > BUILD_SECONDS_MAX:
                    raise PlaneAbsentError(f"another build held {path} for {waited:.0f} s") from None
                report(f"  {waited:.0f} s: another build is under way; waiting for it")
                time.sleep(PROGRESS_SECONDS)
        yield


def _build(program: Path, source: Path, flags: Sequence[str], report: Callable[[str], None]) -> None:
    """Build beside the final name and rename, so that nobody ever sees half a file."""
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        fresh = Path(folder) / program.name
        lines: list[str] = []
        with subprocess.Popen(
            [_go(), "build", "-v", *flags, "-o", str(fresh), "."],
            cwd=source,
            env={**os.environ, "CGO_ENABLED": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as building:
            reader = threading.Thread(target=_collect, args=(building.stderr, lines))
            reader.start()
            try:
                _watch(building, lines, report)
            finally:
                building.kill()
                reader.join()
        if building.returncode:
            ends = " | ".join(line.strip() for line in lines[-FAILURE_LINES_MAX:])
            raise PlaneAbsentError(f"{program.name} did not build: {ends or f'exit {building.returncode}'}")
        fresh.replace(program)


def _collect(stream: Iterable[str], lines: list[str]) -> None:
    for line in stream:
        lines.append(line)  # noqa: PERF402 - one by one: the list is read while it grows


def _watch(building: subprocess.Popen[str], lines: list[str], report: Callable[[str], None]) -> None:
    """Wait for the end and report how far it is; `go build -v` names each module and package it takes."""
    began = time.monotonic()
    while True:
        try:
            building.wait(PROGRESS_SECONDS)
        except subprocess.TimeoutExpired:
            seconds = time.monotonic() - began
            if seconds > BUILD_SECONDS_MAX:
                raise PlaneAbsentError(f"it did not build in {seconds:.0f} s") from None
            modules = sum(line.startswith("go: downloading") for line in tuple(lines))
            report(
                f"  {seconds:.0f} s: {modules} modules downloaded, {len(lines) - modules} packages compiled"
            )
        else:
            return


def _prune(newest: Path, family: str) -> None:
    """Remove older programs: each one takes over a hundred megabytes."""
    programs = sorted(newest.parent.glob(f"{family}-*"), key=lambda path: path.stat().st_mtime)
    for path in programs[:-PROGRAMS_KEPT]:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    try:
        say(f"test control plane: {build()}")
    except PlaneAbsentError as reason:
        say(f"{reason}; the tests that need it will be skipped")
    sys.exit(0)
