"""What the real API server takes and refuses once the kinds and rights are installed."""

import re
from pathlib import Path

import pytest
import yaml

from plane.client import ApiError
from ullage.kube.install.choices import COMPONENTS
from ullage.kube.install.foreign_kinds import FOREIGN, NOS_VERSION
from ullage.kube.install.own_kinds import OWN
from ullage.kube.install.rights import cluster_rights, namespace_rights

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
INDENTED = re.compile(r"(?:^    .*\n|^\n)+", re.MULTILINE)
FENCED = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SERVED = {(names.group, names.kind) for names in (*OWN, *FOREIGN)}


@pytest.fixture(scope="module")
def installed(cluster, ullage):
    """A cluster with everything installed, but for the webhook, which nobody serves here."""
    components = [word for component in COMPONENTS for word in ("--component", component)]
    assert isinstance(ullage("install", "--apply", *components), dict)
    cluster.delete("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/ullage")
    return cluster


def made(kind, spec, version="ullage.dev/v1", **more):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "a", **more}, "spec": spec}


def strictly(cluster, document):
    """Have the server judge an object without keeping it; fields that it does not know are errors."""
    client = cluster.client()
    path = f"{client.collection(document)}?dryRun=All&fieldValidation=Strict"
    return client.request("POST", path, document)


def plan(revision, name="", **changed):
    """A step of the ledger; what is None is left out."""
    spec = {"revision": revision, "atSeconds": 0, "command": "{}", "decision": "{}", "hash": "0" * 64}
    spec = {field: value for field, value in (spec | changed).items() if value is not None}
    document = made("Plan", spec)
    document["metadata"]["name"] = name or f"step-{revision:016}"
    return document


def quota(**spec):
    return made("Quota", spec)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (quota(maximum={}), 'unknown field "spec.maximum"'),
        (quota(min=[]), "spec.min in body must be of type object"),
        (made("Plan", {"revision": 0}), "spec.revision"),
        (plan(7, name="step-0000000000000008"), "the name of a step is its revision"),
        (plan(7, name="seven"), "the name of a step is its revision"),
        (plan(7, name="state-7"), "the name of a step is its revision"),
        (plan(7, state="x"), "a plan is a step, with a command and a decision, or a part of a state"),
        (plan(7, command=None), "a plan is a step, with a command and a decision, or a part of a state"),
        (plan(7, command=None, decision=None, state="x"), "a part of a state says which it is of how many"),
        (plan(7, part=0), "a part of a state says which it is of how many"),
    ],
)
def test_what_is_of_another_form_is_not_stored(installed, document, said):
    with pytest.raises(ApiError) as refused:
        strictly(installed, document)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "document",
    [
        quota(),
        quota(min={"cpu": "8", "memory": "much"}, max={"cpu": 7}, weight=-1, parent="a", queues=["team"]),
        made("CompositeElasticQuota", {"min": {"cpu": -1}}, "nos.nebuly.com/v1alpha1", namespace="default"),
        made("CapacityPolicy", {"inherits": "none"}),
        quota(min={"cpu": True}, max={"cpu": None}, weight="1" * 1025),
        made("CapacityPolicy", {"cluster": {"memory-ratio": 1.5, "cpu-ratio": None, "spare-nodes": True}}),
        quota(min={"cpu": "500m"}, max={"cpu": 1}, weight="4/3", queues=["team/main"], parent="b"),
        quota(min={"cpu": "1e3", "memory": "1.5Gi", "example.com/x": "3n"}, max={"pods": 4}),
        made("CapacityPolicy", {"cluster": {"memory-ratio": "1.5", "spare-nodes": 1}, "groups": {"g": {}}}),
        made(
            "ResourceType",
            {"name": "example.com/licences", "internalScaleExponent": 3, "defaultRequest": "1"},
        ),
        made("Drive", {"UUID": "u", "Size": 1, "Slot": "4"}, "csi-baremetal.dell.com/v1"),
    ],
)
def test_what_readers_and_the_webhook_judge_is_not_judged_by_the_definitions(installed, document):
    assert strictly(installed, document)["spec"] == document["spec"]


@pytest.mark.parametrize(
    ("document", "change"),
    [
        (made("ResourceType", {"name": "example.com/a"}), {"name": "example.com/b"}),
        (made("ResourceType", {"name": "example.com/a"}), {"internalScaleExponent": 3}),
        (
            plan(1),
            {"decision": "{ }"},
        ),
    ],
)
def test_what_others_count_on_cannot_be_changed(installed, document, change):
    path = installed.client().path(installed.create(document))
    try:
        with pytest.raises(ApiError, match=r"cannot be changed|is not changed"):
            installed.patch(path, {"spec": change})
    finally:
        installed.delete(path)


def documents():
    """Yield every object of an installed kind that examples and documentation show."""
    texts = [(path, path.read_text(encoding="utf-8")) for path in sorted((ROOT / "examples").glob("*.yaml"))]
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        blocks = [each.group(1) for each in FENCED.finditer(text)]
        blocks += [each.group() for each in INDENTED.finditer(text)]
        texts += [(page, block) for block in blocks if "apiVersion:" in block]
    for path, text in texts:
        try:
            found = list(yaml.safe_load_all(text))
        except yaml.YAMLError:
            continue
        for each in found:
            items = each.get("items", [each]) if isinstance(each, dict) else []
            for item in items:
                if not isinstance(item, dict):
                    continue
                group = str(item.get("apiVersion", "")).partition("/")[0]
                if (group, item.get("kind")) in SERVED:
                    yield pytest.param(item, id=f"{path.name}: {item['kind']} {item['metadata']['name']}")


@pytest.mark.parametrize("document", list(documents()))
def test_what_documentation_shows_can_be_stored(installed, document):
    namespace = document["metadata"].get("namespace")
    if namespace:
        try:
            installed.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        except ApiError as error:
            assert error.status == 409  # noqa: PT017 - it is there already
    assert strictly(installed, document)


def test_documentation_shows_some():
    assert {each.values[0]["kind"] for each in documents()} >= {"ElasticQuota", "Quota"}


@pytest.mark.parametrize("component", COMPONENTS)
def test_an_account_may_do_what_its_table_says(installed, component):
    everywhere = [(each, "") for each in cluster_rights(component)]
    inside = [(each, "ullage-system") for each in namespace_rights(component)]
    for right, namespace in (*everywhere, *inside):
        for resource in right.resources:
            for verb in right.verbs:
                for name in right.names or ("",):
                    asked = attributes(right.group, resource, verb, name=name, namespace=namespace)
                    assert allowed(installed, component, asked), f"{verb} {resource} {name}"


@pytest.mark.parametrize(
    ("group", "resource", "verb"),
    [
        ("", "secrets", "get"),
        ("", "secrets", "list"),
        ("", "nodes", "patch"),
        ("", "pods", "delete"),
        ("", "pods", "create"),
        ("", "configmaps", "get"),
        ("apps", "deployments", "patch"),
        ("rbac.authorization.k8s.io", "clusterroles", "patch"),
        ("apiextensions.k8s.io", "customresourcedefinitions", "delete"),
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "delete"),
        ("ullage.dev", "quotas", "patch"),
    ],
)
@pytest.mark.parametrize("component", COMPONENTS)
def test_an_account_may_do_no_more(installed, component, group, resource, verb):
    assert not allowed(installed, component, attributes(group, resource, verb, namespace="ullage-system"))


def attributes(group, resource, verb, *, name="", namespace=""):
    plural, _, part = resource.partition("/")
    where = {"group": group, "resource": plural, "subresource": part}
    return {**where, "verb": verb, "name": name, "namespace": namespace}


def allowed(cluster, component, asked):
    user = f"system:serviceaccount:ullage-system:ullage-{component}"
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": {"user": user, "resourceAttributes": asked},
    }
    return cluster.create(review)["status"]["allowed"]


def test_the_names_that_people_type_are_served(installed):
    group = installed.get("/apis/ullage.dev/v1")["resources"]
    assert {each["kind"] for each in group if "/" not in each["name"]} == {names.kind for names in OWN}
    nos = installed.get(f"/apis/nos.nebuly.com/{NOS_VERSION}")["resources"]
    assert {"eq", "ceq"} <= {short for each in nos for short in each.get("shortNames", ())}
