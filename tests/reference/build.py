"""Builds the Go programs that tests compare with, once, into the user's cache.

A program's name in the cache holds a hash of everything it is made from, so a stale one is never run and an
unchanged one is never built again. Run as a script it is the visible step of `make test`; a machine without
Go gets the reason in one line, and the tests that need the program skip with it.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

SOURCE = Path(__file__).parent / "quantity"
OVERRIDE = "ULLAGE_QUANTITY_REFERENCE"
BUILD_SECONDS_MAX = 600


def say(line: str) -> None:
    """Print one line of progress, at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def quantity_reference(report: Callable[[str], None] = say) -> Path | None:
    """Return the program that runs Kubernetes' resource.Quantity; None after reporting why there is none."""
    override = os.environ.get(OVERRIDE, "")
    if override:
        if os.access(override, os.X_OK):
            return Path(override)
        report(f"{OVERRIDE} names {override}, which is not a program")
        return None
    go = shutil.which("go")
    if go is None:
        report(f"the quantity reference needs Go: install golang, or name a built one in {OVERRIDE}")
        return None
    program = cache_folder() / f"quantity-{_key(go)}"
    if program.exists():
        return program
    report(f"building {program.name} with {go} (once)")
    failure = _build(go, program)
    if failure:
        report(f"the quantity reference did not build: {failure}")
        return None
    return program


def cache_folder() -> Path:
    """Return the folder of the user's cache that holds what tests build."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "ullage"


def _key(go: str) -> str:
    """Hash the sources and the compiler's own statement of version and platform."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum", "main.go"):
        digest.update((SOURCE / name).read_bytes())
    version = subprocess.run([go, "version"], cwd=SOURCE, capture_output=True, check=False)
    digest.update(version.stdout)
    return digest.hexdigest()[:16]


def _build(go: str, program: Path) -> str:
    """Build beside the final name and rename, so that two runs at once cannot see half a file."""
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=program.parent) as folder:
            fresh = Path(folder) / program.name
            done = subprocess.run(
                [go, "build", "-trimpath", "-buildvcs=false", "-o", str(fresh), "."],
                cwd=SOURCE,
                env={**os.environ, "CGO_ENABLED": "0"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=BUILD_SECONDS_MAX,
            )
            if done.returncode:
                return " ".join(done.stderr.split()) or f"go build exited with {done.returncode}"
            fresh.replace(program)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return ""


if __name__ == "__main__":
    built = quantity_reference()
    say(f"quantity reference: {built or 'absent; its tests will be skipped'}")
