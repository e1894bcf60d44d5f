"""A control plane of their own for tests that install: what they leave behind is nobody else's."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plane.plane import Plane
from plane.settings import CONTROLLERS

COMMAND_SECONDS_MAX = 120


@pytest.fixture(scope="module")
def cluster(plane_program: Path) -> Iterator[Plane]:
    """An API server with controllers, for one file of tests."""
    with Plane(plane_program, [CONTROLLERS]) as running:
        yield running


@pytest.fixture(scope="module")
def ullage(cluster: Plane) -> Callable[..., Any]:
    """Run `ullage kube ...` on the cluster; the answer is its JSON, or the line that went wrong."""

    def run(*arguments: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "ullage", "kube", *arguments, "-o", "json"],
            env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig())},
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    return run


@pytest.fixture(scope="module")
def kubectl(cluster: Plane) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run kubectl on the cluster."""

    def run(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(cluster.program), "kubectl", "--kubeconfig", str(cluster.kubeconfig()), *arguments],
            input=given,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )

    return run
