"""Builds the Go programs that benchmarks compare with, once, into the user's cache.

    python benchmarks/peers/build.py

A program's name in the cache holds a hash of everything it is made from. The hard thing is the time, some
minutes: run as a script it says every few seconds how far it is; a case that finds no program builds it
silently. Two builds at once would only slow each other, so the second waits for the first.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "tests"))

from reference.build import cache_folder, say  # noqa: E402 - found by the path above

SOURCE = HERE / "cluster_capacity"
OVERRIDE = "ULLAGE_CLUSTER_CAPACITY"
FLAGS = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w")
BUILD_SECONDS_MAX = 7200
PROGRESS_SECONDS = 10
FAILURE_LETTERS_MAX = 600


class PeerAbsentError(Exception):
    """There is no program, for the reason it states."""


def cluster_capacity() -> Path:
    """Return the program that runs cluster-capacity's library, building it if need be."""
    override = os.environ.get(OVERRIDE, "")
    if override:
        if os.access(override, os.X_OK):
            return Path(override)
        raise PeerAbsentError(f"{OVERRIDE} names {override}, which is not a program")
    go = shutil.which("go")
    if go is None:
        raise PeerAbsentError(f"cluster-capacity needs Go: install golang, or name a built one in {OVERRIDE}")
    program = cache_folder() / f"cluster-capacity-{_key(go)}"
    if program.exists():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    with (program.parent / "cluster-capacity.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            say(f"building {program.name} with {go}: once, for some minutes")
            _build(go, program)
    return program


def _key(go: str) -> str:
    """Hash the sources, the flags and the compiler's own statement of version and platform."""
    digest = hashlib.sha256("\0".join(FLAGS).encode())
    for name in ("go.mod", "go.sum", "main.go"):
        digest.update((SOURCE / name).read_bytes())
    version = subprocess.run([go, "version"], cwd=SOURCE, capture_output=True, check=False)
    digest.update(version.stdout)
    return digest.hexdigest()[:16]


def _build(go: str, program: Path) -> None:
    """Build beside the final name and rename, so that nobody ever sees half a file."""
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        fresh, log = Path(folder) / program.name, Path(folder) / "log"
        ended = threading.Event()
        watch = threading.Thread(target=_report, args=(log, ended))
        watch.start()
        try:
            with log.open("wb") as stream:
                done = subprocess.run(
                    [go, "build", "-v", *FLAGS, "-o", str(fresh), "."],
                    cwd=SOURCE,
                    env={**os.environ, "CGO_ENABLED": "0"},
                    stdin=subprocess.DEVNULL,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    check=False,
                    timeout=BUILD_SECONDS_MAX,
                )
        except subprocess.TimeoutExpired as error:
            raise PeerAbsentError(f"cluster-capacity did not build: {error}") from error
        finally:
            ended.set()
            watch.join()
        if done.returncode:
            ends = " ".join(log.read_text(encoding="utf-8").split())[-FAILURE_LETTERS_MAX:]
            raise PeerAbsentError(f"cluster-capacity did not build: {ends}")
        fresh.replace(program)


def _report(log: Path, ended: threading.Event) -> None:
    """Say how far a build is; `go build -v` writes a line per module loaded and package compiled."""
    began = time.monotonic()
    while not ended.wait(PROGRESS_SECONDS):
        lines = log.read_bytes().splitlines()
        modules = sum(line.startswith(b"go: downloading") for line in lines)
        seconds = time.monotonic() - began
        say(f"  {seconds:.0f} s: {modules} modules downloaded, {len(lines) - modules} packages compiled")


if __name__ == "__main__":
    try:
        say(f"cluster-capacity: {cluster_capacity()}")
    except PeerAbsentError as reason:
        say(f"{reason}; the benchmarks that need it will be skipped")
