"""What every test may use: hypothesis profiles, oracles, the quantity reference, the test control plane."""

import functools
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from kube_anew import ClusterAnew
from kube_cluster import KubeCluster
from kube_extended import Extended
from plane.build import PlaneAbsentError
from plane.build import plane_program as find_plane_program
from plane.plane import Plane
from reference.build import quantity_reference as find_quantity_reference

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("ULLAGE_SHARED", "") or ROOT.parent / "shared")
REFERENCE_SECONDS_MAX = 300
PLANES = {"plane", "kube_cluster", "kube_extended"}
"""Fixtures that are a control plane which tests of several files share."""

# `ci` draws the same examples in every run and judges no test by the clock of a busy machine; `explore`
# draws new ones (pytest --hypothesis-profile=explore); `mutation` is what a mutant is tried with.
UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("ci", derandomize=True, database=None, **UNTIMED)
settings.register_profile("explore", max_examples=2000, **UNTIMED)
settings.register_profile("mutation", derandomize=True, database=None, max_examples=25, **UNTIMED)
settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--failed-to", type=Path, help="the file that gets the names of failed tests")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the failed tests as pytest takes them, without the group that xdist puts behind them."""
    path = config.getoption("failed_to")
    if path is not None:
        reports = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
        names = {re.sub(r"@\w+$", "", report.nodeid): None for report in reports}
        path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


@pytest.fixture(scope="session")
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("../shared is absent")
    return SHARED


@pytest.fixture(scope="session")
def oracle(shared: Path) -> Callable[[str], Any]:
    """What a real program answered: `oracle("zos")` is the content of oracles/zos.json."""

    @functools.cache
    def load(name: str) -> Any:
        return json.loads((shared / "oracles" / f"{name}.json").read_text(encoding="utf-8"))

    return load


class QuantityReference:
    """Kubernetes' resource.Quantity in one process per call; see tests/reference/quantity/main.go."""

    def __init__(self, program: Path) -> None:
        self.program = program

    def __call__(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Say for each text: ok or error, and if ok its value, milli, canonical, unscaled, scale."""
        return self._ask(texts)

    def compare(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        """Say for each pair how its first compares with its second: ok, error, compared."""
        return self._ask(pairs)

    def _ask(self, questions: Sequence[Any]) -> list[dict[str, Any]]:
        done = subprocess.run(
            [self.program],
            input="".join(f"{json.dumps(question)}\n" for question in questions),
            capture_output=True,
            text=True,
            check=True,
            timeout=REFERENCE_SECONDS_MAX,
        )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(answers) == len(questions)
        return answers


@pytest.fixture(scope="session")
def quantity_reference() -> QuantityReference:
    said: list[str] = []
    program = find_quantity_reference(said.append)
    if program is None:
        pytest.skip(said[-1])
    return QuantityReference(program)


@pytest.fixture(scope="session")
def plane_program() -> Path:
    """The program of all parts of the control plane, for a test that wants a `Plane` of its own."""
    try:
        return find_plane_program()
    except PlaneAbsentError as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def plane(plane_program: Path) -> Iterator[Plane]:
    """The one control plane of the run, with every part: a test works inside `plane.scratch()`."""
    with Plane(plane_program) as running:
        yield running


@pytest.fixture(scope="session")
def cluster_anew(plane_program: Path) -> Iterator[ClusterAnew[KubeCluster]]:
    """What gives `kube_cluster` to one test after the other."""
    with ClusterAnew(lambda: KubeCluster(plane_program)) as giving:
        yield giving


@pytest.fixture
def kube_cluster(cluster_anew: ClusterAnew[KubeCluster]) -> Iterator[KubeCluster]:
    """A control plane as if it was the test's own: our definitions and roles installed, kwok for nodes."""
    with cluster_anew.as_installed() as running:
        yield running


@pytest.fixture(scope="session")
def extended_anew(plane_program: Path) -> Iterator[ClusterAnew[Extended]]:
    """What gives `kube_extended` to one test after the other."""
    with ClusterAnew(lambda: Extended(plane_program)) as giving:
        yield giving


@pytest.fixture
def kube_extended(extended_anew: ClusterAnew[Extended]) -> Iterator[Extended]:
    """The same with a kube-scheduler that asks our extender."""
    with extended_anew.as_installed() as running:
        yield running


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep tests of one plane in one worker (--dist=loadgroup), and all of them out of the fast ones."""
    for item in items:
        used = set(getattr(item, "fixturenames", ()))
        if "plane_program" not in used:
            continue
        item.add_marker(pytest.mark.slow)
        if config.pluginmanager.hasplugin("xdist"):
            group = min(PLANES & used, default=item.path.stem)
            item.add_marker(pytest.mark.xdist_group(group))
