"""Ganeti's own tools and ours, side by side on random clusters: the same lines, numbers and exit codes.

A failure names the seed; ULLAGE_HTOOLS_SEED and ULLAGE_HTOOLS_CASES choose others. The clusters keep away
from what differs on purpose (see ganeti_clusters.py); in hcheck that is offline nodes and the last verdict.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from ganeti_clusters import random_cluster, random_kind
from ganeti_messages import random_message
from ullage.service.htools.options import Printed
from ullage.service.htools.tools import run_tool
from ullage.sources.ganeti.text_writer import write_text

pytestmark = pytest.mark.slow

CASES = int(os.environ.get("ULLAGE_HTOOLS_CASES", "200"))
FIRST_SEED = int(os.environ.get("ULLAGE_HTOOLS_SEED", "0"))
PROGRAM = os.environ.get("ULLAGE_HTOOLS", "") or shutil.which("hbal") or ""
SECONDS_MAX = 120
SCORE_APART_MAX = 1.01e-8
NUMBER = re.compile(r"(-?[0-9]+\.[0-9]{6,})")
DIFFERS = re.compile(r"^HCHECK_FINAL_CLUSTER_NEED_REBALANCE=.*$", re.MULTILINE)

HBAL_CHOICES = (
    [], ["--ignore-dynu"], ["--no-disk-moves"], ["--no-instance-moves"], ["--restricted-migration"],
    ["--evac-mode"], ["--ignore-soft-errors"], ["-l", "3"], ["-e", "2"], ["-g", "0.5", "--min-gain-limit=9"],
    ["--max-cpu=0.7"], ["--min-disk=0.8"], ["--exclusion-tags=service"], ["-O", "node-0001"], ["-q"],
    ["--exclude-instances=instance-00000"], ["--select-instances=instance-00000"],
    ["-vvvv", "-p+idx,ptags,inst_spindles"],
)  # fmt: skip
HSPACE_CHOICES = (
    [], ["--no-capacity-checks"], ["--accept-existing-errors"], ["--independent-groups"], ["-p"],
    ["--machine-readable"], ["-v", "-v"],
)  # fmt: skip
HROLLER_CHOICES = (
    [], ["--full-evacuation"], ["--offline-maintenance"], ["--ignore-non-redundant"],
    ["--skip-non-redundant"], ["--one-step-only"],
)  # fmt: skip
HCHECK_CHOICES = ([], ["--no-simulation"], ["--no-capacity-checks"], ["--ignore-dynu"], ["-l", "2"])


def theirs(tool: str, words: list[str]) -> Printed:
    done = subprocess.run(
        [PROGRAM, *words],
        env={**os.environ, "HTOOLS": tool, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    return Printed(done.stdout, done.stderr, done.returncode)


def differences(one: str, other: str) -> list[str]:
    """Return the lines that differ: text and whole numbers at all, scores by more than a last digit."""
    left, right = one.splitlines(), other.splitlines()
    longest = max(len(left), len(right))
    left += ["(nothing)"] * (longest - len(left))
    right += ["(nothing)"] * (longest - len(right))
    return [
        f"line {number}\n  theirs {a}\n  ours   {b}"
        for number, (a, b) in enumerate(zip(left, right, strict=True), 1)
        if a != b and not same(NUMBER.split(a), NUMBER.split(b))
    ]


def same(one: list[str], other: list[str]) -> bool:
    return len(one) == len(other) and all(
        abs(float(a) - float(b)) <= SCORE_APART_MAX
        if NUMBER.fullmatch(a) and NUMBER.fullmatch(b)
        else " ".join(a.split()) == " ".join(b.split())
        for a, b in zip(one, other, strict=True)
    )


def compare(seed: int, tool: str, words: list[str]) -> None:
    expected, found = theirs(tool, words), run_tool(tool, words)
    line = f"seed {seed}: {tool} {' '.join(words)}"
    assert found.code == expected.code, f"{line}\n{found.stderr}\n{expected.stderr}"
    for one, other in ((expected.stdout, found.stdout), (expected.stderr, found.stderr)):
        different = differences(DIFFERS.sub("", one), DIFFERS.sub("", other))
        assert not different, "\n".join([line, *different[:10]])


@pytest.fixture(params=range(FIRST_SEED, FIRST_SEED + CASES))
def seed(request: pytest.FixtureRequest) -> int:
    if not PROGRAM:
        pytest.skip("Ganeti's tools are not installed (package ganeti-htools)")
    return int(request.param)


def test_hbal_prints_the_same(seed: int, tmp_path: Path) -> None:
    kind = random_kind(seed)
    path = tmp_path / "cluster.data"
    path.write_text(write_text(random_cluster(seed, kind)), encoding="utf-8")
    chosen = Random(f"hbal {seed}").choice(HBAL_CHOICES)  # noqa: S311 - seeded cases, no secrets
    group = ["-G", "group-0"] if kind.groups > 1 else []
    compare(seed, "hbal", ["-t", str(path), "-vvv", "-p", "--print-instances", "-C", *group, *chosen])


def test_hinfo_prints_the_same(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "cluster.data"
    path.write_text(write_text(random_cluster(seed, random_kind(seed))), encoding="utf-8")
    compare(seed, "hinfo", ["-t", str(path), "-vv", "-p", "--print-instances"])


def test_hcheck_prints_the_same(seed: int, tmp_path: Path) -> None:
    kind = random_kind(seed)._replace(offline_share=0.0)
    path = tmp_path / "cluster.data"
    path.write_text(write_text(random_cluster(seed, kind)), encoding="utf-8")
    chosen = Random(f"hcheck {seed}").choice(HCHECK_CHOICES)  # noqa: S311 - seeded cases, no secrets
    compare(seed, "hcheck", ["-t", str(path), "--machine-readable", *chosen])


def test_hroller_and_hsqueeze_print_the_same(seed: int, tmp_path: Path) -> None:
    kind = random_kind(seed, nodes_max=6, instances_max=14)._replace(offline_share=0.0)
    path = tmp_path / "cluster.data"
    path.write_text(write_text(random_cluster(seed, kind)), encoding="utf-8")
    chosen = Random(f"hroller {seed}").choice(HROLLER_CHOICES)  # noqa: S311 - seeded cases, no secrets
    compare(seed, "hroller", ["-t", str(path), "-vv", "-f", "--print-moves", *chosen])
    compare(seed, "hsqueeze", ["-t", str(path), "-vv", "-C"])


def test_hspace_prints_the_same(seed: int, tmp_path: Path) -> None:
    kind = random_kind(seed, nodes_max=5, instances_max=12)._replace(offline_share=0.0)
    cluster = random_cluster(seed, kind)
    path = tmp_path / "cluster.data"
    path.write_text(write_text(cluster), encoding="utf-8")
    chosen = Random(f"hspace {seed}")  # noqa: S311 - seeded cases, no secrets
    template = chosen.choice(("drbd", "drbd", "plain", "ext"))
    sizes = ["--standard-alloc", chosen.choice(("20g,4g,2", "40g,6000,3"))]
    sizes += ["--tiered-alloc", chosen.choice(("80g,12g,6", "60g,9000,4"))]
    more = chosen.choice(HSPACE_CHOICES)
    if any(each.forthcoming for each in cluster.instances) and more == ["--machine-readable"]:
        more = []  # theirs stops: it counts instances that are still to come only once
    compare(seed, "hspace", ["-t", str(path), "--disk-template", template, *sizes, *more])


def test_hail_answers_the_same(seed: int, tmp_path: Path) -> None:
    message, words = random_message(seed)
    path = tmp_path / "message.json"
    path.write_text(json.dumps(message), encoding="utf-8")
    compare(seed, "hail", [*words, str(path)])
