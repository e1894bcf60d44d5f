"""Every recorded run of Ganeti's tools, run again with ours: the same lines, numbers and exit codes.

Where the recorded answer is a defect of the real tool, htools-annotations.json says what ours must be.
"""

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ullage.service.htools.options import Printed
from ullage.service.htools.tools import run_tool

ROOT = Path(__file__).resolve().parents[2]
ORACLES = Path(os.environ.get("ULLAGE_SHARED", "") or ROOT.parent / "shared") / "oracles"
SUITES = ("htools", "htools-memory-ratio")
SCORE_APART_MAX = 1.01e-8
NUMBER = re.compile(r"(-?[0-9]+\.[0-9]{6,})")
SAVED = re.compile(r" -S (golden/\S+) > /dev/null 2>&1; cat .*")
HCHECK_FIGURES = {
    "Nodes not N+1 happy": "N1_FAIL",
    "Nodes with conflicting instances": "CONFLICT_TAGS",
    "Instances having the primary node offline": "OFFLINE_PRI",
    "Instances having a secondary node offline": "OFFLINE_SEC",
    "Nodes not directly evacuateable": "GN1_FAIL",
    "Group score": "SCORE",
    "Cluster is not healthy": "NEED_REBALANCE",
}


def runs() -> list[Any]:
    found = [
        pytest.param(suite, path.stem, id=f"{suite}/{path.stem}")
        for suite in SUITES
        for path in sorted((ORACLES / suite).glob("*.cmd"))
    ]
    absent = pytest.param(
        "", "", id="absent", marks=pytest.mark.skip(reason="../shared/oracles/htools is absent")
    )
    return found or [absent]


def recorded(suite: str, name: str) -> Printed:
    folder = ORACLES / suite
    error = folder / f"{name}.err"
    return Printed(
        (folder / f"{name}.out").read_text(encoding="utf-8"),
        error.read_text(encoding="utf-8") if error.exists() else "",
        int((folder / f"{name}.rc").read_text(encoding="utf-8")),
    )


def ours(suite: str, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Printed:
    line = (ORACLES / suite / f"{name}.cmd").read_text(encoding="utf-8").strip()
    monkeypatch.chdir(ORACLES / suite)
    saved = SAVED.search(line)
    if saved is None:
        tool, *words = shlex.split(line)
        return run_tool(tool, words)
    target = folder / Path(saved[1]).name
    tool, *words = shlex.split(line[: saved.start()])
    printed = run_tool(tool, [*words, "-S", str(target)])
    texts = [Path(f"{target}.{when}").read_text(encoding="utf-8") for when in ("original", "balanced")]
    return Printed("======\n".join(texts), "", printed.code)


def pieces(line: str) -> list[str | float]:
    """Return a line as text and scores; runs of spaces count as one, since they depend on scores' digits."""
    return [float(each) if NUMBER.fullmatch(each) else " ".join(each.split()) for each in NUMBER.split(line)]


def differences(expected: str, found: str) -> list[str]:
    """Return the lines that differ: text and whole numbers at all, scores by more than a last digit."""
    different = []
    left, right = expected.splitlines(), found.splitlines()
    for number in range(max(len(left), len(right))):
        one = left[number] if number < len(left) else "(nothing)"
        other = right[number] if number < len(right) else "(nothing)"
        if one != other and not same(pieces(one), pieces(other)):
            different.append(f"line {number + 1}\n  theirs {one}\n  ours   {other}")
    return different


def same(one: list[str | float], other: list[str | float]) -> bool:
    return len(one) == len(other) and all(
        abs(left - right) <= SCORE_APART_MAX
        if isinstance(left, float) and isinstance(right, float)
        else left == right
        for left, right in zip(one, other, strict=True)
    )


def complaint(text: str) -> str:
    """Return what is beside the result, errors in words of our own."""
    return re.sub(r"^(Error: [a-zA-Z' ]+)[^\n]*", r"\1", text, flags=re.MULTILINE)


def figures(text: str) -> dict[str, str]:
    """Return the figures of hcheck by key, whether they were printed for people or for scripts."""
    if "HCHECK_" in text:
        return dict(line.split("=", 1) for line in text.splitlines())
    found: dict[str, str] = {}
    level = ""
    for line in text.splitlines():
        if heading := re.match(r"Statistics for group (\S+) (.*)|Cluster statistics (.*)", line):
            phase = "INIT" if "initially" in line else "FINAL"
            level = f"{phase}_GROUP_0" if heading[1] else f"{phase}_CLUSTER"
        elif line.startswith("    "):
            about, value = line.strip().split(": ")
            value = {"True": "1", "False": "0"}.get(value, value)
            found[f"HCHECK_{level}_{HCHECK_FIGURES[about]}"] = value
    return found


def moves(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if re.match(r" *[0-9]+\. ", line)]


def facts(printed: Printed) -> dict[str, Any]:
    """Return the facts of a run of hbal that annotations speak of."""
    found: dict[str, Any] = {"moves": moves(printed.stdout)}
    for key, pattern in (
        ("bad_nodes", r"Initial check done: (\d+) bad nodes"),
        ("bad_instances", r"(\d+) bad instances"),
        ("initial_score", r"Initial (?:score:|coefficients: overall) ([\d.]+)"),
        ("final_score", r"(?:improved from [\d.]+ to|Final coefficients:\s+overall) ([\d.]+)"),
        ("n1_cnt_initial", r"n1_cnt +([\d.]+)"),
        ("solution_length", r"Solution length=(\d+)"),
    ):
        if match := re.search(pattern, printed.stdout):
            found[key] = float(match[1])
    table = printed.stderr.split("Final cluster status")[0]
    found["nodes_flagged_at_start"] = re.findall(r"^ \* (\S+)", table, re.MULTILINE)
    return found


@pytest.mark.parametrize(("suite", "run"), runs())
def test_a_recorded_run_is_repeated(
    suite: str, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    annotation = json.loads((ORACLES / "htools-annotations.json").read_text(encoding="utf-8"))[suite][run]
    theirs, found = recorded(suite, run), ours(suite, run, tmp_path, monkeypatch)
    decided = dict(annotation["decided"])
    assert found.code == decided.pop("rc", theirs.code), found.stderr
    if annotation["agrees"]:
        assert not differences(theirs.stdout, found.stdout), "\n".join(
            differences(theirs.stdout, found.stdout)
        )
        beside = differences(complaint(theirs.stderr), complaint(found.stderr))
        assert not beside, "\n".join(beside)
    elif run.startswith("hcheck"):
        expected = figures(theirs.stdout) | {
            key: f"{value:.8f}" if isinstance(value, float) else str(value) for key, value in decided.items()
        }
        assert figures(found.stdout) == expected
    else:
        said = facts(found)
        assert {key: said.get(key) for key in decided} == {
            key: pytest.approx(value, abs=SCORE_APART_MAX) if isinstance(value, float) else value
            for key, value in decided.items()
        }
