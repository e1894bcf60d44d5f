"""Breaks the model and the engine on purpose, many times, and counts how often the tests notice.

mutmut generates every mutant of src/ullage/model and src/ullage/engine; a seeded draw of them is tried. The
hard part is speed without false verdicts: first a mutant meets only the tests that call its function
(mutmut's own map), about a second each. Only a failed test or a timeout is believed there: every other mutant
meets the whole selection in a fresh process, because the map knows nothing of code that runs at import or
behind a cache, and mutmut reports a test run that could not start like one that never ended.
"""

import argparse
import contextlib
import importlib.metadata
import io
import json
import os
import platform
import random
import secrets
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from mutmut.__main__ import copy_also_copy_files, copy_src_dir, create_mutants
from mutmut.configuration import config
from mutmut.mutation.diff_apply import get_diff_for_mutant

ROOT = Path(__file__).resolve().parents[1]
MUTANTS = ROOT / "mutants"
RESULTS = ROOT / "benchmarks" / "results"
FAILED = 1  # pytest: tests ran, and one failed
SURVIVED = frozenset({0, 5})  # pytest: all passed; nothing was collected
TIMED_OUT = frozenset({-24, -9})  # over the limit of processor time; ended a second after that
UNTRIED = None


class Verdict(NamedTuple):
    """What became of one mutant: killed, timeout or survived, and the change it made."""

    name: str
    path: str
    outcome: str
    difference: str


def main() -> int:
    options = _options()
    os.chdir(ROOT)
    missing = [folder for folder in config().pytest_add_cli_args_test_selection if not Path(folder).is_dir()]
    if missing:
        _say(f"mutation: no folder {', '.join(missing)}; see [tool.mutmut] in pyproject.toml")
        return 1
    paths = _generate(options.jobs)
    drawn = sorted(random.Random(options.seed).sample(sorted(paths), min(options.count, len(paths))))  # noqa: S311 - a reproducible draw, not a secret
    _say(f"seed {options.seed}: {len(drawn)} of {len(paths)} mutants")
    seconds_max = _baseline()
    codes = _first_round(drawn, options.jobs)
    undecided = [name for name in drawn if codes[name] != FAILED and codes[name] not in TIMED_OUT]
    _say(
        f"{len(drawn) - len(undecided)} detected by the tests that call them; {len(undecided)} meet all tests"
    )
    codes |= _second_round(undecided, options.jobs, seconds_max)
    verdicts = [_verdict(name, paths[name], codes[name]) for name in drawn]
    report = _report(verdicts, generated=len(paths), seed=options.seed)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "mutation.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    page = _page(report)
    (RESULTS / "mutation.md").write_text(page, encoding="utf-8")
    _say(page)
    return 0 if report["detected_percent"] >= options.minimum else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Mutation testing of the model and the engine.")
    parser.add_argument("--count", type=int, default=500, help="mutants to draw (500)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="repeats a draw")
    parser.add_argument("--jobs", type=int, default=2, help="mutants tried at once (2)")
    parser.add_argument("--minimum", type=int, default=85, help="percentage to detect, else exit 1 (85)")
    return parser.parse_args()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _environment(mutant: str) -> dict[str, str]:
    return {
        **os.environ,
        "MUTANT_UNDER_TEST": mutant,
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(MUTANTS / "src"),
        "ULLAGE_SHARED": os.environ.get("ULLAGE_SHARED", "") or str(ROOT.parent / "shared"),
    }


def _generate(jobs: int) -> dict[str, str]:
    """Write the mutated sources below mutants/ and return each mutant's name with its source file."""
    shutil.rmtree(MUTANTS, ignore_errors=True)
    MUTANTS.mkdir()
    with contextlib.redirect_stdout(io.StringIO()):
        copy_src_dir()
        copy_also_copy_files()
        create_mutants(jobs)
    return {name: path for path, codes in _recorded().items() for name in codes}


def _recorded() -> dict[str, dict[str, int | None]]:
    """Read mutmut's records: source file -> mutant -> exit code of its tests."""
    records = {}
    for meta in sorted(MUTANTS.rglob("*.meta")):
        path = meta.relative_to(MUTANTS).with_suffix("")
        records[str(path)] = json.loads(meta.read_bytes())["exit_code_by_key"]
    return records


def _pytest(mutant: str, seconds_max: float | None) -> subprocess.CompletedProcess[str]:
    """Run the whole selection against one mutant (none: the unmutated code) in a process of its own."""
    selection = [*config().pytest_add_cli_args, *config().pytest_add_cli_args_test_selection]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "--rootdir=.", *selection],
        cwd=MUTANTS,
        env=_environment(mutant),
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds_max,
    )


def _baseline() -> float:
    """Return the seconds to allow the whole selection: many times what the unmutated code takes."""
    start = time.monotonic()
    clean = _pytest("", None)
    if clean.returncode:
        sys.exit(f"mutation: the tests fail without any mutant\n{(clean.stdout + clean.stderr)[-4000:]}")
    seconds = time.monotonic() - start
    _say(f"without a mutant the whole selection takes {seconds:.0f} s")
    return 30 + 5 * seconds


def _first_round(drawn: list[str], jobs: int) -> dict[str, int]:
    """Let mutmut try each mutant with the tests that call its function; return their exit codes."""
    log = MUTANTS / "mutmut.log"
    with log.open("w", encoding="utf-8") as output:
        done = subprocess.run(
            [Path(sys.executable).with_name("mutmut"), "run", "--max-children", str(jobs), *drawn],
            env=_environment(""),
            stdout=None if sys.stdout.isatty() else output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    codes = {name: code for codes in _recorded().values() for name, code in codes.items()}
    untried = [name for name in drawn if codes[name] is UNTRIED]
    if done.returncode or untried:
        tail = log.read_text(encoding="utf-8").replace("\r", "\n")[-4000:]
        sys.exit(f"mutation: mutmut exited with {done.returncode}, {len(untried)} mutants untried\n{tail}")
    return {name: code for name in drawn if (code := codes[name]) is not UNTRIED}


def _second_round(undecided: list[str], jobs: int, seconds_max: float) -> dict[str, int]:
    """Try each mutant with the whole selection; a run over its time counts as timed out."""

    def tried(name: str) -> int:
        try:
            return _pytest(name, seconds_max).returncode
        except subprocess.TimeoutExpired:
            return min(TIMED_OUT)

    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip(undecided, pool.map(tried, undecided), strict=True))


def _verdict(name: str, path: str, code: int) -> Verdict:
    if code in SURVIVED:
        return Verdict(name, path, "survived", get_diff_for_mutant(name, path=path))
    return Verdict(name, path, "timeout" if code in TIMED_OUT else "killed", "")


def _report(verdicts: list[Verdict], *, generated: int, seed: int) -> dict:
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    modules = {
        path: dict(Counter(verdict.outcome for verdict in verdicts if verdict.path == path))
        for path in sorted({verdict.path for verdict in verdicts})
    }
    return {
        "seed": seed,
        "generated": generated,
        "drawn": len(verdicts),
        "killed": outcomes["killed"],
        "timeout": outcomes["timeout"],
        "survived": outcomes["survived"],
        "detected_percent": round(100 * (len(verdicts) - outcomes["survived"]) / max(1, len(verdicts)), 1),
        "mutmut": importlib.metadata.version("mutmut"),
        "python": platform.python_version(),
        "modules": modules,
        "survivors": [
            {"name": verdict.name, "difference": verdict.difference}
            for verdict in verdicts
            if verdict.outcome == "survived"
        ],
    }


def _page(report: dict) -> str:
    lines = [
        "# Mutation testing of the model and the engine",
        "",
        (
            f"**{report['detected_percent']} % detected**: of {report['drawn']} mutants {report['killed']} "
            f"were killed, {report['timeout']} timed out, {report['survived']} survived. "
            f"Drawn with seed {report['seed']} from the {report['generated']} that mutmut {report['mutmut']} "
            f"generates; Python {report['python']}."
        ),
        "",
        f"Again: `.venv/bin/python tests/mutation.py --seed {report['seed']} --count {report['drawn']}`.",
        "",
        "| module | killed | timed out | survived |",
        "|---|---:|---:|---:|",
    ]
    lines += [
        f"| {path} | {counts.get('killed', 0)} | {counts.get('timeout', 0)} | {counts.get('survived', 0)} |"
        for path, counts in report["modules"].items()
    ]
    lines += ["", "## Survivors", ""]
    for survivor in report["survivors"]:
        lines += [f"`{survivor['name']}`", "", "```diff", survivor["difference"], "```", ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
