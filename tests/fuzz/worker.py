"""One target in a process of its own: run it on input after input until the budget is spent or it fails.

Called by run.py. With atheris the inputs follow the coverage of the ullage modules, else they are seeded
mutations. The process is bounded in memory. Whatever a target raises besides InputError, a message of more
than one line and an input that takes too long end the process with an error.
"""

import argparse
import contextlib
import importlib.util
import mmap
import resource
import signal
import sys
import time
from pathlib import Path

from mutations import INPUT_BYTES_MAX, mutated

MEMORY_BYTES_MAX = 2 << 30
MEMORY_GROWTH_MIB_MAX = 1024
LENGTH_BYTES = 8
CURRENT_BYTES = LENGTH_BYTES + INPUT_BYTES_MAX


class NotAllowedError(Exception):
    """What no input may do."""


def load_targets(path):
    """The list of targets of a file such as targets.py."""
    spec = importlib.util.spec_from_file_location("fuzz_targets", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_targets"] = module
    spec.loader.exec_module(module)
    return module.TARGETS


def judged(run, seconds_max):
    """The target as a function that raises for anything an input may not do."""
    from ullage.model.errors import InputError

    def call(data):
        began = time.monotonic()
        try:
            run(data)
        except InputError as error:
            if len(str(error).splitlines()) != 1:
                raise NotAllowedError(f"a message that is not one line: {str(error)!r}") from error
        took_seconds = time.monotonic() - began
        if took_seconds > seconds_max:
            raise NotAllowedError(f"an input took {took_seconds:.1f} s")

    return call


def fuzz_by_coverage(target, options):
    """Hand the target to atheris, which ends the process by itself."""
    import atheris

    with atheris.instrument_imports(include=["ullage"]):
        call = judged(target.run, options.input_seconds)
        with contextlib.suppress(Exception):
            call(b"")  # imports what the target needs; a failure is met again below
    for number, data in enumerate(target.seeds):
        (options.corpus / f"seed-{number}").write_bytes(data)
    flags = [
        f"-seed={options.seed or 1}",
        f"-timeout={options.input_seconds}",
        f"-rss_limit_mb={MEMORY_GROWTH_MIB_MAX}",
        f"-max_len={INPUT_BYTES_MAX}",
        f"-artifact_prefix={options.artifacts}",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    if options.inputs:
        flags.append(f"-runs={options.inputs}")
    if options.seconds:
        flags.append(f"-max_total_time={max(1, round(options.seconds))}")
    atheris.Setup([options.target, *flags, str(options.corpus)], call)
    atheris.Fuzz()


def fuzz_by_mutation(target, options):
    """Run the target on seeded mutations; the input at hand is kept where the parent process can see it."""
    call = judged(target.run, options.input_seconds)
    began = time.monotonic()
    count = 0
    with options.current.open("w+b") as file:
        file.truncate(CURRENT_BYTES)
        current = mmap.mmap(file.fileno(), CURRENT_BYTES)
        try:
            for data in mutated(target.seeds, options.seed):
                if count == options.inputs or (
                    options.seconds and time.monotonic() - began > options.seconds
                ):
                    break
                kept = data[:INPUT_BYTES_MAX]
                current[: LENGTH_BYTES + len(kept)] = len(kept).to_bytes(LENGTH_BYTES, "big") + kept
                count += 1
                signal.setitimer(signal.ITIMER_REAL, options.input_seconds + 1)  # kills what never returns
                call(data)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.stderr.write(f"stat::number_of_executed_units: {count}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--targets", type=Path, required=True)
    parser.add_argument("--engine", choices=["atheris", "mutation"], required=True)
    parser.add_argument("--inputs", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--input-seconds", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--current", type=Path, required=True)
    parser.add_argument("--artifacts", required=True)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    target = load_targets(options.targets)[options.target]
    fuzz = fuzz_by_coverage if options.engine == "atheris" else fuzz_by_mutation
    fuzz(target, options)


if __name__ == "__main__":
    main()
