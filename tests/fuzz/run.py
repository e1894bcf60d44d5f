"""Hostile inputs for every parser: `run.py --seconds 30`, `run.py --inputs 1000000 --target documents`.

The budget is shared equally among the targets of targets.py, each of which runs in a process of its own (see
worker.py). An input that makes one fail is saved below .cache/fuzz/ and printed; exit status 1.

The hard thing: a parser may die in any way, by an exception, a crash of the interpreter, a loop without end
or all the memory it can get, and the input that did it must survive in each case.
"""

import argparse
import hashlib
import importlib.util
import re
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from worker import LENGTH_BYTES, load_targets

HERE = Path(__file__).resolve().parent
OUTPUT = HERE.parents[1] / ".cache" / "fuzz"
SECONDS = 30.0
INPUT_SECONDS = 5
START_SECONDS = 60
SECONDS_MAX = 6 * 3600.0
SHOWN_BYTES = 2000
SHOWN_LINES = 30
EXECUTED = re.compile(r"stat::number_of_executed_units:\s+(\d+)")


class Result(NamedTuple):
    """What the fuzzing of one target came to; `input_file` is what made it fail."""

    target: str
    inputs: int
    seconds: float
    failed: bool
    input_file: Path | None
    log: str


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, help=f"time for all targets together; default {SECONDS:.0f}")
    parser.add_argument("--inputs", type=int, help="inputs for all targets together; then no limit of time")
    parser.add_argument("--target", action="append", help="only this target; may be given more than once")
    parser.add_argument("--seed", type=int, help="draw the same inputs again")
    parser.add_argument(
        "--engine", choices=["atheris", "mutation"], help="default: atheris where it is installed"
    )
    parser.add_argument("--input-seconds", type=int, default=INPUT_SECONDS, help="time for one input")
    parser.add_argument("--targets", type=Path, default=HERE / "targets.py", help="the file that lists them")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where inputs that fail are saved")
    options = parser.parse_args(arguments)
    if options.inputs is None and options.seconds is None:
        options.seconds = SECONDS
    if options.engine is None:
        options.engine = "atheris" if importlib.util.find_spec("atheris") else "mutation"
    if options.seed is None:
        options.seed = secrets.randbelow(2**31 - 1) + 1
    known = list(load_targets(options.targets))
    unknown = [name for name in options.target or [] if name not in known]
    if unknown:
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(known)}")
    options.target = options.target or known
    return options


def fuzz(name, options):
    """Run one target in its own process, with its share of the budget."""
    share = len(options.target)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        corpus, current, log = Path(folder, "corpus"), Path(folder, "current"), Path(folder, "log")
        artifacts = Path(folder, "artifacts")
        corpus.mkdir()
        artifacts.mkdir()
        command = [sys.executable, str(HERE / "worker.py"), name]
        for flag in ("targets", "engine", "seed", "input_seconds"):
            command += [f"--{flag.replace('_', '-')}", str(getattr(options, flag))]
        command += ["--corpus", str(corpus), "--current", str(current)]
        command += ["--artifacts", f"{artifacts}/"]
        if options.inputs is not None:
            command += ["--inputs", str(max(1, options.inputs // share))]
        if options.seconds is not None:
            command += ["--seconds", str(options.seconds / share)]
        began = time.monotonic()
        with log.open("wb") as output:
            status = _wait(command, output, options.seconds / share if options.seconds else SECONDS_MAX)
        seconds = time.monotonic() - began
        text = log.read_text(encoding="utf-8", errors="replace")
        executed = EXECUTED.findall(text)
        input_file = _save(name, artifacts, current, options.output) if status else None
        return Result(name, int(executed[-1]) if executed else 0, seconds, status != 0, input_file, text)


def _wait(command, output, seconds):
    """The exit status of a process; 1 when it had to be ended."""
    try:
        done = subprocess.run(
            command, stdout=output, stderr=subprocess.STDOUT, timeout=seconds + START_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return 1
    return done.returncode


def _save(name, artifacts, current, output):
    """Keep the input that atheris saved, or that a process without it was at when it died."""
    for artifact in artifacts.iterdir():
        data = artifact.read_bytes()
        break
    else:
        if not current.exists():
            return None
        content = current.read_bytes()
        data = content[LENGTH_BYTES:][: int.from_bytes(content[:LENGTH_BYTES], "big")]
    file = output / f"{name}-{hashlib.sha256(data).hexdigest()[:16]}"
    file.write_bytes(data)
    return file


def report(result):
    """One line for the table, and for a failure the input and the end of what the process said."""
    rate = round(result.inputs / result.seconds) if result.seconds else 0
    _say(f"{result.target:<24} {result.inputs:>10} {result.seconds:>8.1f} {rate:>9} {int(result.failed):>9}")
    if not result.failed:
        return
    lines = [line for line in result.log.splitlines() if not line.startswith("stat::")]
    _say("\n".join(f"    {line}" for line in lines[-SHOWN_LINES:]))
    if result.input_file is not None:
        data = result.input_file.read_bytes()
        _say(f"  input saved as {result.input_file} ({len(data)} bytes)")
        _say(f"  {data[:SHOWN_BYTES]!r}{' ...' if len(data) > SHOWN_BYTES else ''}")


def _say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments=None):
    options = parse_arguments(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    _say(f"engine {options.engine}, seed {options.seed}")
    _say(f"{'target':<24} {'inputs':>10} {'seconds':>8} {'inputs/s':>9} {'failures':>9}")
    failures = 0
    for name in options.target:
        result = fuzz(name, options)
        report(result)
        failures += result.failed
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
