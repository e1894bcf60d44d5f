"""The fuzz driver itself: a parser that fails in any way is reported with its input, a good one is not."""

import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")
TARGETS = """
import ctypes, time
from collections import namedtuple
from ullage.model.errors import InputError

Target = namedtuple("Target", "run seeds")
SEEDS = [b"good", b"bad"]

def refuses(data):
    raise InputError("wrong", where="here", remedy="mend it")

def raises(data):
    if b"bad" in data:
        raise KeyError("unforeseen")

def silent(data):
    raise InputError("")

def hangs(data):
    while b"bad" in data:
        pass

def hoards(data):
    return bytearray(5 << 30)

def crashes(data):
    if b"bad" in data:
        ctypes.string_at(0)

TARGETS = {run.__name__: Target(run, SEEDS) for run in (refuses, raises, silent, hangs, hoards, crashes)}
"""


def run(folder, *options):
    targets = folder / "targets.py"
    targets.write_text(TARGETS, encoding="utf-8")
    command = [
        sys.executable,
        str(RUN),
        "--targets",
        str(targets),
        "--output",
        str(folder / "out"),
        "--seed",
        "7",
    ]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout


def test_a_parser_that_only_refuses_passes(tmp_path):
    status, output = run(tmp_path, "--engine", "mutation", "--inputs", "500", "--target", "refuses")
    assert status == 0
    assert output.splitlines()[-1].split()[:2] == ["refuses", "500"]
    assert output.splitlines()[-1].split()[-1] == "0"
    assert list((tmp_path / "out").iterdir()) == []


FAILURES = {
    "raises": (b"bad", "KeyError: 'unforeseen'"),
    "silent": (b"good", "a message that is not one line: ''"),
    "hoards": (b"good", "MemoryError"),
    "crashes": (b"bad", ""),
}


@pytest.mark.parametrize(
    ("name", "data", "words"), [(name, *rest) for name, rest in FAILURES.items()], ids=FAILURES
)
def test_a_parser_that_fails_is_reported_with_its_input(tmp_path, name, data, words):
    status, output = run(tmp_path, "--engine", "mutation", "--inputs", "500", "--target", name)
    assert status == 1
    assert words in output
    assert output.splitlines()[-1] == f"  {data!r}"
    [saved] = (tmp_path / "out").iterdir()
    assert saved.name.startswith(f"{name}-")
    assert saved.read_bytes() == data


def test_a_parser_that_never_returns_is_ended_and_reported(tmp_path):
    options = ("--engine", "mutation", "--inputs", "500", "--input-seconds", "1", "--target", "hangs")
    status, output = run(tmp_path, *options)
    assert status == 1
    assert output.splitlines()[-1] == "  b'bad'"


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
def test_atheris_finds_what_a_parser_may_not_raise(tmp_path):
    options = ("--engine", "atheris", "--inputs", "4000", "--target", "refuses", "--target", "raises")
    status, output = run(tmp_path, *options)
    assert status == 1
    assert "KeyError: 'unforeseen'" in output
    assert [line.split()[-1] for line in output.splitlines()[2:4]] == ["0", "1"]
    [saved] = (tmp_path / "out").iterdir()
    assert b"bad" in saved.read_bytes()


def test_an_unknown_target_is_named(tmp_path):
    done = subprocess.run(
        [sys.executable, str(RUN), "--target", "nothing"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert "no target nothing; there are yaml-documents, " in done.stderr


def load(name):
    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", RUN.with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_same_seed_draws_the_same_mutations():
    mutated = load("mutations").mutated
    seeds = [b"a: [1, 2]", b"{}"]
    first, again, other = (list(itertools.islice(mutated(seeds, seed), 300)) for seed in (1, 1, 2))
    assert first == again != other
    assert first[:2] == seeds
    assert len(set(first)) > 200
    assert max(map(len, first)) <= 2048
