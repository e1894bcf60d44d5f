"""What figures were measured on: the commit, and whether anything differed from it."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import measure


@pytest.fixture
def tree(tmp_path):
    for arguments in (
        ["init", "-q"],
        ["config", "user.name", "t"],
        ["config", "user.email", "t@example.org"],
    ):
        subprocess.run(["git", "-C", tmp_path, *arguments], check=True)
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    (tmp_path / "benchmarks" / "results" / "a.json").write_text("1")
    (tmp_path / "code.py").write_text("1")
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    subprocess.run(["git", "-C", tmp_path, "commit", "-qm", "one"], check=True)
    return tmp_path


# Each row: a file that is written, and whether the figures are then of no commit.
CHANGES = {
    "nothing": ("", False),
    "a file of the commit": ("code.py", True),
    "a new file": ("benchmarks/new.py", True),
    "figures, as each run writes them": ("benchmarks/results/a.json", False),
}


@pytest.mark.parametrize("case", CHANGES)
def test_figures_of_a_changed_tree_say_so(tree, case):
    name, dirty = CHANGES[case]
    if name:
        (tree / name).write_text("2")
    found = measure.provenance(tree / "benchmarks")
    head = subprocess.run(
        ["git", "-C", tree, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    assert (found["commit"], found["dirty"]) == (head.stdout.strip(), dirty)


def test_outside_a_repository_no_commit_is_claimed(tmp_path):
    found = measure.provenance(tmp_path)
    assert (found["commit"], found["dirty"]) == ("unknown", True)
