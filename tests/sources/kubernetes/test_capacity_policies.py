"""CapacityPolicies lie on each other by name, and one that is wrong does not count, and says why."""

import json

import pytest

from ullage.model.policy import PROFILE_NAMES, Layer
from ullage.model.resources import ResourceTypes
from ullage.model.settings import rules_for
from ullage.sources.kubernetes.capacity_policies import Policies, installed_layer

TYPES = ResourceTypes()
NO_PROFILE = f"spec.inherits: '{{}}' is no profile; use {', '.join(PROFILE_NAMES)}"


def document(name: str, **spec) -> bytes:
    return json.dumps({"metadata": {"name": name}, "spec": spec}).encode()


def rules(policies: Policies, group: str = "", node: str = ""):
    return rules_for(policies.policy(), TYPES, group, node)


def test_without_any_the_profile_holds_under_what_the_command_line_says():
    assert Policies(TYPES).policy().name == "kubernetes"
    found = Policies(TYPES, "zos", Layer("command line", cluster={"spare-nodes": "2"}))
    assert found.policy().name == "zos"
    assert rules(found).spare_nodes == 2


def test_layers_lie_on_each_other_in_the_order_of_their_names():
    found = Policies(TYPES, layer=Layer("command line", cluster={"spare-nodes": "9", "memory-ratio": "3"}))
    found.put(document("b", cluster={"spare-nodes": 2}, groups={"east": {"spare-nodes": "4"}}))
    found.put(document("a", cluster={"spare-nodes": 1}, inherits="ganeti"))
    assert rules(found).spare_nodes == 2
    assert rules(found, "east").spare_nodes == 4
    assert rules(found).ratio("memory") == 3
    assert found.policy().name == "ganeti"
    found.put(document("c", nodes={"n1": {"memory-ratio": "2"}}))
    assert rules(found, "east", "n1").ratio("memory") == 2
    found.drop("b")
    assert rules(found).spare_nodes == 1


WRONG = {
    "a setting that is none": ({"cluster": {"memory-ratoi": "1"}}, "spec.cluster.memory-ratoi: "),
    "a value that is none": (
        {"groups": {"g": {"memory-ratio": "often"}}},
        "spec.groups.g.memory-ratio: 'often'",
    ),
    "a value of a node that is none": (
        {"nodes": {"n.1": {"spare-nodes": "-1"}}},
        'spec.nodes["n.1"].spare-nodes: ',
    ),
    "a profile that is none": ({"inherits": "nobody"}, NO_PROFILE.format("nobody")),
    "a file that is there": ({"inherits": "/etc/passwd"}, NO_PROFILE.format("/etc/passwd")),
    "a form that is none": ({"cluster": {"memory-ratio": ["1"]}}, "spec.cluster.memory-ratio: expected "),
}


def test_no_file_is_inherited_even_if_it_is_a_policy(tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text("apiVersion: ullage.dev/v1\nkind: Policy\ncluster: {spare-nodes: 7}\n", encoding="utf-8")
    found = Policies(TYPES)
    for name in (str(file), str(tmp_path), str(tmp_path / "nothing")):
        assert not found.put(document("wrong", inherits=name))
        assert "is no profile; use kubernetes, " in found.problems["wrong"]


@pytest.mark.parametrize(("spec", "word"), WRONG.values(), ids=WRONG)
def test_one_that_is_wrong_does_not_count_and_says_why(spec, word):
    found = Policies(TYPES)
    found.put(document("good", cluster={"spare-nodes": 3}))
    before = found.policy()
    assert not found.put(document("wrong", **spec))
    assert found.policy() == before
    assert word in found.problems["wrong"]
    assert found.names() == {"good", "wrong"}
    assert found.put(document("wrong", cluster={"spare-nodes": 4}))
    assert not found.problems
    assert found.put(document("wrong", **spec))
    found.drop("wrong")
    assert found.names() == {"good"}
    assert not found.problems


def test_what_is_put_again_changes_nothing():
    found = Policies(TYPES)
    assert found.put(document("a", cluster={"spare-nodes": 1}))
    assert not found.put(document("a", cluster={"spare-nodes": 1}))
    assert found.put(document("a"))


def deployment(*arguments: str, name: str = "ullage") -> bytes:
    labels = {"app.kubernetes.io/name": name}
    template = {"spec": {"containers": [{"name": "main", "args": ["kube", "operator", *arguments]}]}}
    metadata = {"name": "ullage-operator", "namespace": "here", "labels": labels}
    return json.dumps({"metadata": metadata, "spec": {"template": template}}).encode()


INSTALLED = {
    "joined": (("--gpu-memory-gb=10", "--no-sequential-lvg"), {"gpu-memory": "10", "few-drives": "no"}),
    "apart": (("--gpu-memory-gb", "10", "--sequential-lvg"), {"gpu-memory": "10", "few-drives": "yes"}),
    "twice": (("--gpu-memory-gb=10", "--gpu-memory-gb=20"), {"gpu-memory": "20"}),
}


@pytest.mark.parametrize(("arguments", "settings"), INSTALLED.values(), ids=INSTALLED)
def test_what_processes_were_started_with_is_a_layer_under_all_policies(arguments, settings):
    layer = installed_layer(deployment(*arguments), TYPES)
    assert layer == Layer("Deployment here/ullage-operator", cluster=settings, stated=True)


NONE_OF_OURS = {
    "of others": deployment("--gpu-memory-gb=10", name="web"),
    "nothing is said": deployment(),
    "no number": deployment("--gpu-memory-gb=many"),
    "an end too early": deployment("--gpu-memory-gb"),
    "another form": b'{"metadata": {"name": "x", "labels": {"app.kubernetes.io/name": "ullage"}}, "spec": 1}',
    "no form": b"[]",
}


@pytest.mark.parametrize("content", NONE_OF_OURS.values(), ids=NONE_OF_OURS)
def test_other_deployments_decide_nothing(content):
    assert installed_layer(content, TYPES) is None
