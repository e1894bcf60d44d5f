"""What every test of the command line may use: running one in this process, and golden files."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from ullage.cli.main import run

FILES = Path(__file__).parent / "files"
GOLDEN = Path(__file__).parent.parent / "golden" / "cli"


class Result(NamedTuple):
    code: int
    out: str
    err: str


NOW = "1795000000"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch, tmp_path):
    """The same width and time, no colours, and no cluster or ledger but those that a test names."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ULLAGE_NOW", NOW)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    for name in (
        "ULLAGE_CLUSTER",
        "ULLAGE_LEDGER",
        "XDG_DATA_HOME",
        "ULLAGE_TRACEBACK",
        "NO_COLOR",
        "_ULLAGE_COMPLETE",
        "KUBERNETES_SERVICE_HOST",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ask(capsysbinary):
    """Run a command line: `ask("status", "-c", "demo")` has its code, out and err."""

    def run_line(*words: object, called: str = "ullage") -> Result:
        capsysbinary.readouterr()
        code = run([str(word) for word in words], called)
        out, err = capsysbinary.readouterr()
        return Result(code, out.decode(), err.decode())

    return run_line


@pytest.fixture(scope="session")
def files() -> Path:
    return FILES


@pytest.fixture(scope="session")
def matches_golden():
    """Compare with a golden file; ULLAGE_UPDATE_GOLDEN=1 writes it instead."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("ULLAGE_UPDATE_GOLDEN") == "1":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        assert path.exists(), f"{path.name} is missing; ULLAGE_UPDATE_GOLDEN=1 writes it"
        assert text == path.read_text(encoding="utf-8"), (
            "ULLAGE_UPDATE_GOLDEN=1 rewrites the file if this is right"
        )

    return compare
