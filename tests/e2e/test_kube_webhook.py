"""What cannot hold is refused when it is written, with the command line's words: quotas, policies, types."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml

from kube_cluster import elastic_quota, until
from plane.client import ApiError

TRIES = 10
OVERLAP = """
apiVersion: ullage.dev/v1
kind: Quota
metadata: {name: second}
spec: {namespaces: [team], min: {cpu: "1"}}
"""


def own_quota(name: str, **spec) -> dict:
    return {"apiVersion": "ullage.dev/v1", "kind": "Quota", "metadata": {"name": name}, "spec": spec}


def policy(name: str, **settings: str) -> dict:
    metadata = {"name": name}
    return {
        "apiVersion": "ullage.dev/v1",
        "kind": "CapacityPolicy",
        "metadata": metadata,
        "spec": {"cluster": settings},
    }


def resource_type(name: str, /, **spec) -> dict:
    return {"apiVersion": "ullage.dev/v1", "kind": "ResourceType", "metadata": {"name": name}, "spec": spec}


def ullage(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ullage", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def not_simulated(*words: str) -> list[str]:
    done = ullage("status", *words, "-o", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["notSimulated"]


def refusal(cluster, document: dict) -> str:
    with pytest.raises(ApiError) as refused:
        cluster.plane.create(document)
    assert refused.value.status == 422
    return str(refused.value)


def test_what_cannot_hold_is_refused_and_what_can_is_stored(kube_cluster, tmp_path):
    kube_cluster.start_operator_with_webhook()
    kube_cluster.namespaces("team")
    kube_cluster.plane.create(own_quota("first", namespaces=["team"], min={"cpu": "2"}))
    overlap = refusal(kube_cluster, own_quota("second", namespaces=["team"], min={"cpu": "1"}))
    assert "team" in overlap
    assert "memory-ratio" in refusal(kube_cluster, policy("low", **{"memory-ratio": "often"}))
    kube_cluster.plane.create(policy("good", **{"memory-ratio": "1.5"}))
    kube_cluster.plane.create(
        elastic_quota("team/own", cpu="1") | {"metadata": {"name": "own", "namespace": "default"}}
    )

    manifest = tmp_path / "second.yaml"
    manifest.write_text(OVERLAP, encoding="utf-8")
    kubeconfig = str(kube_cluster.plane.kubeconfig())
    done = ullage("fit", "-c", "kube", "--kubeconfig", kubeconfig, "-f", str(manifest))
    assert done.returncode == 1
    assert overlap.rpartition("denied the request: ")[2].strip() in done.stderr


# What is written, as it stands in a file: each is wrong by itself.
WRONG = {
    "a min above its max": 'spec: {namespaces: [a], min: {cpu: "3"}, max: {cpu: "1"}}',
    "its own parent": 'spec: {parent: x, min: {cpu: "1"}}',
    "a weight below 0": 'spec: {namespaces: [a], weight: "-1"}',
    "a weight that is no number": "spec: {namespaces: [a], weight: much}",
    "a negative amount": 'spec: {namespaces: [a], min: {cpu: "-1"}}',
    "a negative bound": 'spec: {namespaces: [a], min: {cpu: "1"}, borrowingLimit: {cpu: "-2"}}',
    "an amount that is none": "spec: {namespaces: [a], min: {cpu: lots}}",
    "a suffix that is none": "spec: {namespaces: [a], min: {memory: 1Gib}}",
    "more than can be counted": "spec: {namespaces: [a], min: {cpu: 1E}}",
    "a resource that is none": "spec: {namespaces: [a], min: {kubernetes.io/seats: 1}}",
    "an amount that is nothing": "spec: {namespaces: [a], min: {cpu: null}}",
    "an amount that is a list": "spec: {namespaces: [a], min: {cpu: [1]}}",
    "a weight that is an answer": "spec: {namespaces: [a], weight: true}",
    "a queue that is none": "spec: {queues: [main]}",
    "a namespace without a name": 'spec: {namespaces: [a, ""], min: {cpu: "1"}}',
    "what no namespace can be called": 'spec: {namespaces: ["Ä b"], min: {cpu: "1"}}',
    "nobody who could go of its own": "spec: {namespaces: [a], evictsOwn: Somebody}",
    "nobody who could go of others": "spec: {namespaces: [a], evictsOthers: lowerPriority}",
}
FOREIGN = {
    "a composite of nothing": ("CompositeElasticQuota", 'spec: {namespaces: [], min: {cpu: "1"}}'),
    "a composite that names nothing": ("CompositeElasticQuota", 'spec: {min: {cpu: "1"}}'),
    "a composite of what has no name": ("CompositeElasticQuota", 'spec: {namespaces: [""], min: {cpu: "1"}}'),
    "a quota of nos": ("ElasticQuota", 'spec: {min: {cpu: "2"}, max: {cpu: "1"}}'),
}


WRONG_POLICIES = {
    "a setting that is none": 'spec: {cluster: {memory-ratoi: "2"}}',
    "a value that is none": "spec: {cluster: {memory-ratio: often}}",
    "a ratio of a group below 0": 'spec: {groups: {g: {cpu-ratio: "-1"}}}',
    "a setting of a node that is none": "spec: {nodes: {n0: {no-such: many}}}",
    "a value that is an answer": "spec: {cluster: {memory-ratio: true}}",
    "a value that is nothing": "spec: {cluster: {memory-ratio: null}}",
    "a group that is nothing": "spec: {groups: {g: null}}",
    "a node that is nothing": "spec: {nodes: {n0: null}}",
    "a profile that is none": "spec: {inherits: nobody}",
    "a file of the machine": "spec: {inherits: /etc/passwd}",
}
WRONG_TYPES = {
    "what is built in": "spec: {name: cpu, internalScaleExponent: 0}",
    "a name that is none": 'spec: {name: "not a name!"}',
    "a name without a domain": "spec: {name: seats}",
    "a default below 0": 'spec: {name: example.com/seats, defaultRequest: "-1"}',
    "a default that is no amount": "spec: {name: example.com/seats, defaultRequest: lots}",
    "an empty name": 'spec: {name: ""}',
    "no name": "spec: {units: seat}",
    "more decimals than are told apart": "spec: {name: example.com/seats, internalScaleExponent: 12}",
    "fewer decimals than none": "spec: {name: example.com/seats, internalScaleExponent: -1}",
    "steps of nothing": "spec: {name: example.com/seats, quantization: 0}",
}


def test_what_is_refused_is_refused_in_the_words_of_the_command_line(kube_cluster, tmp_path):
    kube_cluster.start_operator_with_webhook()
    kube_cluster.namespaces("team")
    fit, status = ("fit", "-c", "demo", "-f"), ("status", "-c")
    texts = {name: (fit, "ullage.dev/v1", "Quota", "{name: x}", spec) for name, spec in WRONG.items()}
    texts |= {
        name: (fit, "nos.nebuly.com/v1alpha1", kind, "{name: x, namespace: team}", spec)
        for name, (kind, spec) in FOREIGN.items()
    }
    texts |= {
        name: (status, "ullage.dev/v1", "ResourceType", "{name: x}", spec)
        for name, spec in WRONG_TYPES.items()
    }
    manifest = tmp_path / "x.yaml"
    for name, (asked, version, kind, metadata, spec) in texts.items():
        text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {metadata}\n{spec}\n"
        said = refusal(kube_cluster, yaml.safe_load(text)).rpartition("denied the request: ")[2].strip()
        manifest.write_text(text, encoding="utf-8")
        done = ullage(*asked, str(manifest))
        assert done.returncode == 1, name
        assert done.stderr.strip().endswith(f": {said}"), name


def test_a_policy_is_refused_in_the_words_of_the_command_line(kube_cluster, tmp_path):
    kube_cluster.start_operator_with_webhook()
    manifest = tmp_path / "x.yaml"
    for name, spec in WRONG_POLICIES.items():
        text = f"apiVersion: ullage.dev/v1\nkind: CapacityPolicy\nmetadata: {{name: x}}\n{spec}\n"
        said = refusal(kube_cluster, yaml.safe_load(text)).rpartition("denied the request: ")[2].strip()
        manifest.write_text(text, encoding="utf-8")
        assert f"not used: CapacityPolicy x: {said}" in not_simulated("-c", str(manifest)), name
        checked = json.loads(ullage("policy", "check", "--policy", str(manifest), "-o", "json").stdout)
        (found,) = checked["findings"]
        assert f"{found['message']}; {found['remedy']}" == f"CapacityPolicy x: {said}", name


def test_decimals_may_stand_without_quotes(kube_cluster, tmp_path):
    kube_cluster.start_operator_with_webhook()
    text = (
        "apiVersion: ullage.dev/v1\nkind: CapacityPolicy\nmetadata: {name: x}\n"
        "spec: {cluster: {memory-ratio: 0.9}}\n"
    )
    manifest = tmp_path / "x.yaml"
    manifest.write_text(text, encoding="utf-8")
    assert ullage("policy", "check", "--policy", str(manifest)).returncode == 0
    kube_cluster.plane.create(yaml.safe_load(text))
    kube_cluster.plane.create(own_quota("x", namespaces=["a"], min={"cpu": 1.5}, weight=1.5))
    live = ("-c", "kube", "--kubeconfig", str(kube_cluster.plane.kubeconfig()))
    assert not [line for line in not_simulated(*live) if line.startswith("not used")]


def test_a_wrong_type_that_is_there_is_left_out_and_named_and_a_second_one_is_refused(kube_cluster):
    kube_cluster.plane.create(resource_type("wrong", name="cpu", internalScaleExponent=0))
    kube_cluster.plane.create(resource_type("a", name="example.com/seats", internalScaleExponent=3))
    kube_cluster.start_operator_with_webhook()
    live = ("-c", "kube", "--kubeconfig", str(kube_cluster.plane.kubeconfig()))
    assert (
        "not used: ResourceType wrong: spec: resource type cpu is built in; "
        "give your own type a domain of your own"
    ) in not_simulated(*live)
    second = resource_type("b", name="example.com/seats", internalScaleExponent=2)
    assert "resource type example.com/seats is defined twice; keep one" in refusal(kube_cluster, second)


def test_what_cannot_be_read_and_is_there_may_be_labelled_and_may_go(kube_cluster):
    kube_cluster.namespaces("team")
    kept = {"finalizers": ["example.com/kept"]}
    made = [own_quota("x", namespaces=["team"], min={"cpu": "abc"}), elastic_quota("team/x", cpu="much")]
    for each in made:
        each["metadata"] |= kept
        kube_cluster.plane.create(each)
    kube_cluster.start_operator_with_webhook()
    for path in (
        "/apis/ullage.dev/v1/quotas/x",
        "/apis/nos.nebuly.com/v1alpha1/namespaces/team/elasticquotas/x",
    ):
        kube_cluster.plane.patch(path, {"metadata": {"labels": {"a": "b"}}})
        kube_cluster.plane.delete(path)
        kube_cluster.plane.patch(path, {"metadata": {"finalizers": None}})
        with pytest.raises(ApiError, match="not found"):
            kube_cluster.plane.get(path)


def test_a_parent_is_not_deleted_before_its_children(kube_cluster):
    kube_cluster.start_operator_with_webhook()
    kube_cluster.plane.create(own_quota("above", min={"cpu": "4"}))
    kube_cluster.plane.create(own_quota("below", parent="above", min={"cpu": "2"}))
    path = "/apis/ullage.dev/v1/quotas"
    kept = "below: parent 'above' is no quota"
    assert kept in _deletion(kube_cluster, f"{path}/above")
    assert _deletion(kube_cluster, f"{path}/below") == ""
    assert _deletion(kube_cluster, f"{path}/above") == ""


def test_what_was_just_written_counts_at_once(kube_cluster):
    kube_cluster.start_operator_with_webhook()
    kube_cluster.namespaces("team")
    client = kube_cluster.plane.client()
    path = "/apis/ullage.dev/v1/quotas"
    for each in range(TRIES):
        client.request("POST", path, own_quota(f"above{each}", min={"cpu": "2"}))
        client.request("POST", path, own_quota(f"below{each}", parent=f"above{each}", min={"cpu": "1"}))
        client.request("POST", path, own_quota(f"first{each}", namespaces=["team"]))
        client.request("DELETE", f"{path}/first{each}")
        client.request("POST", path, own_quota(f"second{each}", namespaces=["team"]))
        client.request("DELETE", f"{path}/second{each}")


def test_of_those_that_are_written_at_once_only_those_are_stored_that_hold_together(kube_cluster):
    kube_cluster.start_operator_with_webhook()
    kube_cluster.namespaces("team")
    kube_cluster.plane.create(own_quota("above", min={"cpu": "2"}))
    path = "/apis/ullage.dev/v1/quotas"
    for each in range(TRIES):
        over = _created_at_once(
            kube_cluster, [own_quota(f"q{each}-{one}", namespaces=["team"]) for one in range(2)]
        )
        children = _created_at_once(
            kube_cluster,
            [own_quota(f"c{each}-{one}", parent="above", min={"cpu": "2"}) for one in range(3)],
        )
        assert (len(over), len(children)) == (1, 1)
        for name in (*over, *children):
            kube_cluster.plane.delete(f"{path}/{name}")


def _created_at_once(cluster, documents: list[dict]) -> list[str]:
    """Return the names of those that were stored."""
    clients = [cluster.plane.client() for _ in documents]

    def created(client, document: dict) -> str:
        try:
            client.request("POST", "/apis/ullage.dev/v1/quotas", document)
        except ApiError as error:
            if error.status == 422:
                return ""
            raise
        return document["metadata"]["name"]

    with ThreadPoolExecutor(len(documents)) as threads:
        return [name for name in threads.map(created, clients, documents) if name]


def _deletion(cluster, path: str) -> str:
    try:
        cluster.plane.delete(path)
    except ApiError as error:
        return str(error)
    return ""


def test_a_quota_says_whether_it_holds(kube_cluster):
    kube_cluster.namespaces("team")
    kube_cluster.plane.create(own_quota("a", namespaces=["team"], min={"cpu": "2"}))
    kube_cluster.plane.create(own_quota("b", namespaces=["team"], min={"cpu": "2"}))
    kube_cluster.start("operator")

    def verdicts() -> dict[str, str]:
        found = kube_cluster.plane.items("/apis/ullage.dev/v1/quotas")
        conditions = {
            each["metadata"]["name"]: each.get("status", {}).get("conditions", ()) for each in found
        }
        return {name: each[0]["status"] for name, each in conditions.items() if each}

    until(lambda: sorted(verdicts().values()) == ["False", "True"], f"one of two holds: {verdicts()}")
