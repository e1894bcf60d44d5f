"""What the guide to the service shows is what a server answers."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from web_client import started, until_ready

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guides" / "service.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ADDRESS = "localhost:8480"


def examples():
    """The commands of the guide that ask a server, with what they print."""
    for block in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
        for command, printed in zip(parts[1::2], parts[2::2], strict=True):
            if command.startswith("curl ") or ADDRESS in command:
                yield command, printed.rstrip("\n")


def test_the_guide_shows_examples():
    assert len(list(examples())) >= 6


def test_the_examples_of_the_guide_print_what_it_shows(tmp_path):
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    with started(tmp_path / "data", "-c", "demo") as server:
        until_ready(server)
        for command, printed in examples():
            here = command.replace(f"http://{ADDRESS}", ADDRESS).replace(ADDRESS, server.address)
            done = subprocess.run(
                ["bash", "-c", here],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
                env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            )
            assert done.stdout.rstrip("\n") == printed, command


def test_systemd_can_read_the_unit():
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not installed")
    unit = ROOT / "deploy" / "systemd" / "ullage.service"
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    assert "ullage.service" not in done.stderr, done.stderr
