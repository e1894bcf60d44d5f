"""The chart, the kustomize base and the image install the same as `ullage kube install`."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from deployed import BASE, CHART, KEPT, ROOT, files
from helm.build import HelmAbsentError
from helm.build import helm_program as find_helm_program
from ullage import __version__
from ullage.kube.install.choices import COMPONENTS, Choices
from ullage.kube.install.objects import objects
from ullage.kube.install.places import identity
from ullage.kube.install.processes import SIZES, USER

VALUES = yaml.safe_load((ROOT / CHART / "values.yaml").read_text(encoding="utf-8"))
SCHEMA = json.loads((ROOT / CHART / "values.schema.json").read_text(encoding="utf-8"))
CONTAINERFILE = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
COMMAND_SECONDS_MAX = 120


@pytest.fixture(scope="module")
def helm():
    try:
        program = find_helm_program()
    except HelmAbsentError as reason:
        pytest.skip(str(reason))

    def run(*arguments):
        environment = {**os.environ, "HELM_CACHE_HOME": "/nonexistent", "KUBECONFIG": "/nonexistent"}
        return subprocess.run(
            [program, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS_MAX,
            check=False,
        )

    return run


@pytest.mark.parametrize("path", sorted(files()), ids=str)
def test_a_file_that_is_made_from_the_installation_is_up_to_date(path):
    assert (ROOT / path).read_text(encoding="utf-8") == files()[path], "run `make deploy`"


def test_there_is_no_file_of_a_former_installation():
    written_by_hand = {"Chart.yaml", "values.yaml", "values.schema.json", "deployments.yaml", "NOTES.txt"}
    for folder in (CHART, BASE):
        found = {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert {path for path in found - set(files()) if path.name not in written_by_hand} == set()


def test_the_chart_is_of_this_version():
    chart = yaml.safe_load((ROOT / CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["version"] == chart["appVersion"] == __version__


def test_values_are_what_choices_are_by_default():
    default = Choices()
    assert VALUES["components"] == list(default.components)
    assert VALUES["replicas"] == default.replicas
    assert VALUES["schedulerNames"] == list(default.scheduler_names)
    assert VALUES["global"]["nvidiaGpuResourceMemoryGB"] == default.gpu_memory_gigabytes
    assert VALUES["storage"]["sequentialLVG"] == default.sequential_volume_groups
    assert VALUES["operator"]["nodeCapacity"] == default.node_capacity
    for component, size in SIZES.items():
        assert VALUES[component]["resources"] == {
            "requests": {"cpu": size.cpu, "memory": size.memory},
            "limits": {"memory": size.memory_max},
        }


def test_the_schema_of_values_takes_them_and_names_each():
    jsonschema.validate(VALUES, SCHEMA)
    assert set(SCHEMA["properties"]) == set(VALUES)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**VALUES, "components": ["web"]}, SCHEMA)


def rendered(text):
    """Return objects by identity, without what Helm alone says of them."""
    made = {}
    for each in yaml.safe_load_all(text):
        if each:
            metadata = each["metadata"]
            if metadata.get("annotations") == KEPT:
                del metadata["annotations"]
            made[identity(each)] = json.loads(json.dumps(each).replace('"Helm"', '"ullage"'))
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "choices"),
    [
        ([], Choices()),
        (
            [
                "components={operator,scheduler,extender}",
                "schedulerNames={ullage,nos-scheduler}",
                "replicas=3",
                "image.repository=example.com/ullage",
                "image.tag=v7",
                "global.nvidiaGpuResourceMemoryGB=80",
                "storage.sequentialLVG=false",
                "operator.nodeCapacity=false",
            ],
            Choices(
                components=COMPONENTS,
                scheduler_names=("ullage", "nos-scheduler"),
                replicas=3,
                image="example.com/ullage:v7",
                gpu_memory_gigabytes=80,
                sequential_volume_groups=False,
                node_capacity=False,
            ),
        ),
        (["components={extender}"], Choices(components=("extender",))),
        (
            ["components={extender}", "schedulerNames={mine}"],
            Choices(components=("extender",), scheduler_names=("mine",)),
        ),
    ],
)
def test_the_chart_renders_to_what_is_installed(helm, settings, choices):
    words = [word for each in settings for word in ("--set", each)]
    done = helm("template", "any", str(ROOT / CHART), "-n", choices.namespace, "--include-crds", *words)
    assert done.returncode == 0, done.stderr
    wanted = {identity(each): each for each in objects(choices) if each["kind"] != "Namespace"}
    found = rendered(done.stdout)
    assert set(found) == set(wanted)
    for which, each in wanted.items():
        assert found[which] == each, which


@pytest.mark.slow
def test_definitions_can_be_left_out_of_the_chart(helm):
    done = helm("template", "any", str(ROOT / CHART), "--set", "crds=false")
    assert "kind: Deployment" in done.stdout
    assert "kind: CustomResourceDefinition" not in done.stdout


@pytest.mark.slow
def test_the_chart_passes_helms_own_judgement(helm):
    done = helm("lint", "--strict", str(ROOT / CHART))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("replicas=0", "replicas"),
        ("components={web}", "components"),
        ("shedulerNames={a}", "shedulerNames"),
        ("storage.sequentialLVG=maybe", "sequentialLVG"),
        ("operator.nodeCapacity=maybe", "nodeCapacity"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(helm, setting, said):
    done = helm("template", "any", str(ROOT / CHART), "--set", setting)
    assert done.returncode != 0
    assert said in done.stderr


@pytest.mark.slow
def test_the_kustomize_base_is_what_is_installed(plane_program):
    done = subprocess.run(
        [plane_program, "kubectl", "kustomize", str(ROOT / BASE)],
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS_MAX,
        check=True,
    )
    found = {identity(each): each for each in yaml.safe_load_all(done.stdout)}
    assert found == {identity(each): each for each in objects(Choices())}


def test_the_image_runs_as_the_user_that_deployments_name():
    assert f"USER {USER}:{USER}\n" in CONTAINERFILE
    assert 'ENTRYPOINT ["ullage"]' in CONTAINERFILE
    assert "PYTHONDONTWRITEBYTECODE=1" in CONTAINERFILE


def test_what_the_image_is_made_from_is_there():
    ignored = (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
    sources = re.findall(r"^COPY (?!--from)(.*) \S+$", CONTAINERFILE, re.MULTILINE)
    names = [name for each in sources for name in each.split()]
    assert names
    for name in names:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in ignored, name


@pytest.mark.slow
def test_nothing_is_written_where_the_root_is_read_only():
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid():
        pytest.skip("a read-only root needs unshare and root")
    frozen = "mount --bind / /mnt && mount -o remount,bind,ro /mnt && exec chroot /mnt"
    command = f"{frozen} {sys.executable} -B -m ullage kube install --without-crds"
    done = subprocess.run(
        [unshare, "--mount", "sh", "-c", command],
        cwd=Path("/"),
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS_MAX,
        check=False,
    )
    if "mount" in done.stderr:
        pytest.skip(f"no mounts here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert "kind: Deployment" in done.stdout
