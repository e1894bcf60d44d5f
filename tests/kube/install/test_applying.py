"""Installing on a real API server: once, again, over an older version, and beside what others have made."""

import asyncio
import contextlib
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml

from plane.client import ApiError
from ullage.kube.install.applying import apply_objects
from ullage.kube.install.choices import COMPONENTS, Choices
from ullage.kube.install.objects import objects
from ullage.model.errors import InputError
from ullage.sources.kubernetes.api.client import ApiClient
from ullage.sources.kubernetes.kubeconfig import find_access

pytestmark = pytest.mark.slow

WAIT_SECONDS_MAX = 30
FILES = Path(__file__).parent / "files"
DEPLOYMENTS = "/apis/apps/v1/namespaces/ullage-system/deployments"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


@pytest.fixture(autouse=True)
def emptied(cluster, ullage):
    """Take away what a test has installed."""
    yield
    for document in yaml.safe_load((FILES / "first-version.yaml").read_text())["items"]:
        with contextlib.suppress(ApiError):
            labels = {"metadata": {"labels": {"app.kubernetes.io/managed-by": "ullage"}}}
            cluster.patch(cluster.client().path(document), labels)
    assert isinstance(ullage("uninstall", "--apply", "--purge"), dict)
    cluster.wait_for("/api/v1/namespaces", lambda found: "ullage-system" not in names(found))
    cluster.wait_for(DEFINITIONS, lambda found: not found["items"])


def names(found):
    return {item["metadata"]["name"] for item in found["items"]}


def actions(answer):
    return Counter(each["action"] for each in answer["objects"])


def done(answer, action):
    return {f"{each['kind']} {each['name']}" for each in answer["objects"] if each["action"] == action}


def test_a_second_time_changes_nothing(cluster, ullage):
    components = [word for component in COMPONENTS for word in ("--component", component)]
    first = ullage("install", "--apply", *components)
    assert set(actions(first)) == {"created"}
    assert len(first["objects"]) == len(objects(Choices(components=COMPONENTS)))
    versions = {item["metadata"]["resourceVersion"] for item in cluster.items(DEFINITIONS)}
    again = ullage("install", "--apply", *components)
    assert set(actions(again)) == {"unchanged"}
    assert {item["metadata"]["resourceVersion"] for item in cluster.items(DEFINITIONS)} == versions


def test_kinds_are_served_when_the_command_returns(cluster, ullage):
    ullage("install", "--apply")
    assert cluster.items("/apis/ullage.dev/v1/quotas") == []
    assert cluster.items("/apis/nos.nebuly.com/v1alpha1/elasticquotas") == []
    assert cluster.items("/apis/csi-baremetal.dell.com/v1/availablecapacities") == []


def test_a_component_that_is_not_chosen_any_more_goes(cluster, ullage):
    ullage("install", "--apply", "--component", "operator", "--component", "extender")
    later = ullage("install", "--apply", "--component", "operator")
    assert done(later, "deleted") >= {"Deployment ullage-extender", "ClusterRole ullage-extender"}
    assert names(cluster.get(DEPLOYMENTS)) == {"ullage-operator"}


def create_when_served(cluster, document):
    """Create an object of a kind that is new to the server."""
    until = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        try:
            return cluster.create(document)
        except ApiError as error:
            if error.status not in {404, 429} or time.monotonic() > until:
                raise
            time.sleep(0.1)


def test_an_older_version_becomes_this_one(cluster, ullage, kubectl):
    old = FILES / "first-version.yaml"
    applied = kubectl("apply", "--server-side", "--field-manager=ullage", "-f", str(old))
    assert applied.returncode == 0, applied.stderr
    quota = {"min": {"cpu": "1"}, "namespaces": ["a"]}
    create_when_served(
        cluster, {"apiVersion": "ullage.dev/v1", "kind": "Quota", "metadata": {"name": "kept"}, "spec": quota}
    )
    answer = ullage("install", "--apply")
    assert done(answer, "deleted") == {"ConfigMap ullage-settings", "ClusterRole ullage-everything"}
    assert done(answer, "changed") >= {"Deployment ullage-operator", "Namespace ullage-system"}

    spec = cluster.get(f"{DEPLOYMENTS}/ullage-operator")["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert "env" not in container, "nobody names it any more"
    assert "minReadySeconds" not in spec
    assert spec["replicas"] == 2
    assert container["image"] == "ullage:0.1.0"
    binding = cluster.get("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/ullage-operator")
    assert binding["roleRef"]["name"] == "ullage-operator", "a role cannot be changed, so it is bound anew"
    assert cluster.get("/apis/ullage.dev/v1/quotas/kept")["spec"] == quota
    assert set(actions(ullage("install", "--apply"))) == {"unchanged"}


def test_the_certificate_that_the_operator_added_stays(cluster, ullage):
    ullage("install", "--apply")
    path = f"{WEBHOOKS}/ullage"
    cluster.patch(path, [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "QUJD"}], "json")
    assert set(actions(ullage("install", "--apply"))) == {"unchanged"}
    assert cluster.get(path)["webhooks"][0]["clientConfig"]["caBundle"] == "QUJD"


def test_what_others_have_made_stays_as_it_is(cluster, ullage):
    theirs = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "elasticquotas.nos.nebuly.com"},
        "spec": {
            "group": "nos.nebuly.com",
            "scope": "Namespaced",
            "names": {"kind": "ElasticQuota", "plural": "elasticquotas"},
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }
    cluster.create(theirs)
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "theirs"}})
    try:
        answer = ullage("install", "--apply", "--namespace", "theirs")
        kept = {"CustomResourceDefinition elasticquotas.nos.nebuly.com", "Namespace theirs"}
        assert done(answer, "kept") == kept
        assert "labels" not in cluster.get(f"{DEFINITIONS}/elasticquotas.nos.nebuly.com")["metadata"]
        gone = ullage("uninstall", "--apply", "--purge")
        assert not kept & done(gone, "deleted")
        assert "theirs" in names(cluster.get("/api/v1/namespaces"))
    finally:
        cluster.delete(f"{DEFINITIONS}/elasticquotas.nos.nebuly.com")
        cluster.delete("/api/v1/namespaces/theirs")


def test_an_installation_of_helm_is_left_to_helm(cluster, ullage):
    ullage("install", "--apply")
    cluster.patch(
        f"{DEPLOYMENTS}/ullage-operator", {"metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"}}}
    )
    said = ullage("install", "--apply")
    assert "Deployment ullage-system/ullage-operator is managed by Helm" in said
    assert "upgrade or uninstall with Helm" in said


def test_who_may_not_install_is_told_in_one_line(ullage):
    said = ullage("install", "--apply", "--as", "nobody")
    assert said.startswith("ullage: error: ")
    assert said.count("\n") == 1
    assert "use a cluster administrator's context" in said


def test_a_definition_that_is_never_served_is_named(cluster, monkeypatch):
    monkeypatch.setattr("ullage.kube.install.applying.SERVED_SECONDS_MAX", 0)
    (first, *_) = objects(Choices())
    rival = {**first, "metadata": {**first["metadata"], "name": "rivals.ullage.dev"}}
    spec = first["spec"]
    rival["spec"] = {**spec, "names": {**spec["names"], "plural": "rivals"}}

    async def both():
        client = ApiClient(find_access(kubeconfig=str(cluster.kubeconfig())))
        try:
            await apply_objects(client, [first])
            await apply_objects(client, [first, rival])
        finally:
            await client.close()

    with pytest.raises(InputError, match="is not served after 0 s"):
        asyncio.run(both())
