"""The image runs every process as the Deployments run it: not root, and on files that nobody can change."""

import subprocess

import pytest

from container_image import ContainerImage, missing
from kube_cluster import KubeCluster, gpu_pod
from ullage import __version__
from ullage.kube.install.processes import USER

pytestmark = pytest.mark.image
COMMAND_SECONDS_MAX = 120


@pytest.fixture(scope="module")
def image():
    reason = missing()
    if reason:
        pytest.skip(reason)
    with ContainerImage() as built:
        yield built


@pytest.fixture
def ullage(image, tmp_path):
    def run(*arguments, program=()):
        command = image.command(tmp_path)
        words = [*command[:-1], *program] if program else [*command, *arguments]
        return subprocess.run(words, capture_output=True, text=True, timeout=COMMAND_SECONDS_MAX, check=False)

    return run


def test_the_image_says_what_it_runs_and_as_whom(image, ullage):
    assert image.config["User"] == f"{USER}:{USER}"
    assert image.config["Entrypoint"] == ["ullage"]
    assert ullage("--version").stdout == f"ullage {__version__}\n"
    assert ullage(program=("id", "-u")).stdout == f"{USER}\n"


def test_nothing_of_the_image_can_be_written(ullage):
    assert "Read-only file system" in ullage(program=("touch", "/ullage/new")).stderr
    assert ullage(program=("touch", "/tmp/new")).returncode == 0  # noqa: S108 - of the container


def test_the_image_holds_no_installer(image):
    assert not list((image.root / "ullage").glob("**/site-packages/pip"))


def test_the_image_answers_questions(ullage):
    answered = ullage("status", "-c", "demo")
    assert (answered.returncode, answered.stderr) == (0, "")
    assert "11 of 12 nodes ready" in answered.stdout


@pytest.mark.parametrize("component", ["operator", "scheduler", "extender"])
def test_a_process_of_the_image_follows_a_cluster_by_its_own_rights(image, plane_program, component):
    with KubeCluster(plane_program) as cluster:
        cluster.plane.folder.chmod(0o755)
        cluster.program = image.command(cluster.plane.folder)
        cluster.nodes(1, **{"nvidia.com/gpu": "8"})
        cluster.start(component)
        if component == "scheduler":
            cluster.namespaces("a")
            cluster.plane.create(gpu_pod("a/first", "ullage"))
            assert cluster.wait_until_placed("a/first") == {"a/first": "n0"}
