"""Run the benchmarks, each case in a process of its own, and keep the figures in benchmarks/results/.

    python benchmarks/run.py [CASE ...]

A case is a module in benchmarks/cases with `run() -> dict`: figures by name, and under "bars" the ones that
are held against a bar, as {name: [figure, "<=" or ">=", bar]}. Where a bar is
known to be missed, `WHY` of the module has the reason under the same name.
"""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CASE_SECONDS_MAX = 1800


def main(names: list[str]) -> int:
    """Run the named cases, or all of them; return 1 where a bar is missed."""
    cases = names or sorted(path.stem for path in (HERE / "cases").glob("*.py"))
    missed = 0
    for case in cases:
        print(f"== {case}", flush=True)
        done = subprocess.run(
            [sys.executable, str(HERE / "run.py"), "--one", case],
            env={"OPENBLAS_NUM_THREADS": "1", **os.environ},  # as the program itself sets it
            check=False,
            capture_output=True,
            text=True,
            timeout=CASE_SECONDS_MAX,
        )
        if done.returncode:
            print(done.stderr)
            return 1
        figures = json.loads(done.stdout.splitlines()[-1])
        missed += report(figures)
        (HERE / "results").mkdir(exist_ok=True)
        (HERE / "results" / f"{case}.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 1 if missed else 0


def report(figures: dict[str, object]) -> int:
    """Print the figures of a case; return how many bars it misses."""
    missed = 0
    bars = figures["bars"]
    assert isinstance(bars, dict)
    for name, value in figures.items():
        if name not in {"bars", "levels"}:
            print(f"   {name:<44} {value:.6g}" if isinstance(value, float) else f"   {name:<44} {value}")
    for name, (figure, relation, bar) in bars.items():
        held = figure <= bar if relation == "<=" else figure >= bar
        missed += not held
        print(f"   {'ok    ' if held else 'MISSED'} {name}: {figure:.4g} {relation} {bar:g}")
    return missed


def one(case: str) -> None:
    """Run one case here and print its figures as the last line."""
    sys.path.insert(0, str(HERE))
    figures = importlib.import_module(f"cases.{case}").run()
    from measure import provenance

    print(json.dumps({**figures, "provenance": provenance()}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1:]))
