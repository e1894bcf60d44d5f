import json

import click
import msgspec
import pytest

from ullage.cli.kube import command as kube
from ullage.cli.kube.process import options_of
from ullage.kube.install.choices import COMPONENTS, Choices
from ullage.kube.install.processes import arguments, processes
from ullage.model.resources import ResourceTypes
from ullage.sources.kubernetes.capacity_policies import installed_layer


def deployment(component, **chosen):
    (found,) = [each for each in processes(component, Choices(**chosen)) if each["kind"] == "Deployment"]
    return found


def container(component, **chosen):
    (only,) = deployment(component, **chosen)["spec"]["template"]["spec"]["containers"]
    return only


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_process_can_do_no_harm_to_its_node(component):
    pod = deployment(component)["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container(component)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert [volume["emptyDir"] for volume in pod["volumes"]] == [{"sizeLimit": "64Mi"}]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_process_has_probes_a_size_and_one_way_to_be_found(component):
    made = container(component)
    ports = {each["name"] for each in made["ports"]}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert made[probe]["httpGet"]["port"] in ports
    assert set(made["resources"]["requests"]) == {"cpu", "memory"}
    assert set(made["resources"]["limits"]) == {"memory"}
    spec = deployment(component)["spec"]
    wanted = spec["selector"]["matchLabels"].items()
    assert wanted <= spec["template"]["metadata"]["labels"].items()
    for each in processes(component, Choices()):
        if each["kind"] == "Service":
            assert each["spec"]["selector"].items() == wanted
            assert {port["targetPort"] for port in each["spec"]["ports"]} <= ports
        if each["kind"] == "PodDisruptionBudget":
            assert each["spec"]["selector"]["matchLabels"].items() == wanted


def test_choices_reach_the_command_line_of_a_process():
    chosen = Choices(
        scheduler_names=("nos-scheduler", "ullage"),
        gpu_memory_gigabytes=80,
        sequential_volume_groups=False,
        node_capacity=False,
    )
    common = ["--gpu-memory-gb=80", "--no-sequential-lvg"]
    assert arguments("operator", chosen) == ["kube", "operator", *common, "--no-node-capacity"]
    assert arguments("operator", Choices())[-1] == "--node-capacity"
    assert arguments("extender", chosen) == ["kube", "extender", *common]
    names = ["--scheduler-name=nos-scheduler", "--scheduler-name=ullage"]
    assert arguments("scheduler", chosen) == ["kube", "scheduler", *common, *names]
    kept = msgspec.structs.replace(chosen, components=("operator", "extender"))
    assert arguments("extender", kept) == ["kube", "extender", *common, *names]
    assert deployment("operator", replicas=3)["spec"]["replicas"] == 3
    assert container("operator", image="example.com/u:1")["image"] == "example.com/u:1"


@pytest.mark.parametrize("component", [each for each in COMPONENTS if each in kube.list_commands(None)])
def test_the_command_of_a_process_takes_its_command_line(component):
    context = click.Context(kube)
    command = kube.get_command(context, component)
    assert command.make_context(component, arguments(component, Choices())[2:], parent=context)


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("chosen", [{}, {"gpu_memory_gigabytes": 10, "sequential_volume_groups": False}])
def test_questions_about_a_cluster_are_answered_by_the_settings_of_its_processes(component, chosen):
    context = click.Context(kube)
    words = arguments(component, Choices(**chosen))[2:]
    given = kube.get_command(context, component).make_context(component, words, parent=context).params
    layer = installed_layer(json.dumps(deployment(component, **chosen)).encode(), ResourceTypes())
    assert layer is not None
    assert layer.cluster == options_of(component, given).settings
