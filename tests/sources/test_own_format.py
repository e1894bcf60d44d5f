import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import cluster, node, pod, quota, resources
from ullage.model.delta import Delta
from ullage.model.errors import InputError
from ullage.model.resources import Resources, ResourceType, ResourceTypes
from ullage.sources.documents import documents_of
from ullage.sources.own_format import (
    is_own,
    read_bare_spec,
    read_delta,
    read_header,
    read_own,
    read_policy_document,
    read_resource_types,
    read_snapshot,
    read_workload_set,
)

V1 = "apiVersion: ullage.dev/v1\n"
SNAPSHOT = f"{V1}kind: Snapshot\n"


def document(text, name="c.yaml"):
    (only,) = documents_of(text.encode(), name)
    return only


def refusal(read, text, name="c.yaml"):
    with pytest.raises(InputError) as raised:
        read(document(text, name))
    return str(raised.value)


def test_a_snapshot_is_read():
    text = f"""
{V1}kind: Snapshot
name: lab
nodes:
- {{name: n1, capacity: {{cpu: 4, memory: 8Gi}}, group: gpu, fromANewerVersion: {{x: 1}}}}
workloads:
- {{name: a, namespace: web, node: n1, requests: {{cpu: 0.5}}}}
quotas:
- {{name: web, namespaces: [web], min: {{cpu: 1}}, max: {{cpu: 2}}}}
"""
    expected = cluster(
        node("n1", cpu=4, memory="8Gi").in_group("gpu").holding(pod("web/a", cpu="500m")),
        quota("web", {"cpu": "1"}, {"cpu": "2"}),
        name="lab",
    )
    assert read_own(document(text)) == expected
    assert list(expected.groups.keys()) == ["gpu"]


def test_types_of_the_document_are_read_first_and_count_for_its_amounts():
    text = f"""
{V1}kind: Snapshot
nodes: [{{name: n1, capacity: {{example.com/lanes: 1.5}}}}]
resourceTypes: [{{name: example.com/lanes, internalScaleExponent: 3}}]
"""
    snapshot = read_snapshot(document(text))
    assert snapshot.nodes["n1"].capacity == Resources({"example.com/lanes": 1500})
    assert snapshot.resource_types["example.com/lanes"].internal_scale_exponent == 3


def test_types_given_beside_a_document_join_its_own():
    given = ResourceTypes((ResourceType("example.com/a", "a"),))
    text = f"{SNAPSHOT}resourceTypes: [{{name: example.com/b, units: b}}]"
    added = read_snapshot(document(text), given).resource_types.added()
    assert [each.name for each in added] == ["example.com/a", "example.com/b"]
    clash = f"{SNAPSHOT}resourceTypes: [{{name: example.com/a, units: other}}]"
    with pytest.raises(
        InputError, match=r"c.yaml:3:16: resourceTypes: resource type example.com/a is defined twice"
    ):
        read_snapshot(document(clash), given)


BAD_SNAPSHOTS = {
    "an unknown major version": (
        "apiVersion: ullage.dev/v2\nkind: Snapshot",
        "c.yaml:1:13: apiVersion: apiVersion 'ullage.dev/v2' is not known to this version of ullage; use",
    ),
    "another system's document": (
        "apiVersion: v1\nkind: Pod",
        "apiVersion 'v1'; write apiVersion: ullage.dev/v1",
    ),
    "no version": ("kind: Snapshot", "no apiVersion"),
    "an unknown kind": (f"{V1}kind: Pod", "c.yaml:2:7: kind: kind is 'Pod'; use one of Snapshot, Delta,"),
    "no kind": (f"{V1}nodes: []", "kind is None"),
    "a list": ("- a", "expected a mapping"),
    "a duplicate key": (f"{SNAPSHOT}name: a\nname: b", '"name"'),
    "a bad quantity": (
        f"{SNAPSHOT}nodes:\n- name: n1\n  capacity: {{cpu: 4x}}",
        "c.yaml:5:13: nodes[0].capacity: cpu: quantity '4x': unknown suffix 'x' at character 2",
    ),
    "a resource named twice": (
        f"{SNAPSHOT}nodes:\n- name: n1\n  capacity: {{cpu: 4, kubernetes.io/cpu: 4}}",
        "nodes[0].capacity: resource cpu is named twice",
    ),
    "a boolean amount": (
        f"{SNAPSHOT}nodes:\n- {{name: n1, capacity: {{cpu: 1}}}}\n- {{name: n2, capacity: {{cpu: true}}}}",
        "nodes[1].capacity: cpu: True is no quantity",
    ),
    "a list of amounts": (
        f"{SNAPSHOT}nodes:\n- {{name: n1, capacity: {{cpu: [1]}}}}",
        "capacity: cpu: [1] is no quantity",
    ),
    "a text for a map": (f"{SNAPSHOT}nodes:\n- {{name: n1, capacity: all}}", "expected a map of resources"),
    "a wrong field": (
        f"{SNAPSHOT}nodes:\n- {{name: n1, labels: {{gpu: true}}}}",
        "nodes[0].labels.gpu: expected text, found a boolean; put it in quotes",
    ),
    "a number that is none": (
        f"{SNAPSHOT}nodes:\n- {{name: n1, cpuConversionFactor: fast}}",
        "nodes[0].cpuConversionFactor: 'fast' is no number",
    ),
    "two nodes of one name": (
        f"{SNAPSHOT}nodes:\n- name: n1\n- name: n1",
        "c.yaml:5:3: nodes[1]: node n1: is there twice; remove or rename one",
    ),
    "two classes of one name": (
        f"{SNAPSHOT}storageClasses:\n- name: a\n- name: a",
        "c.yaml:5:3: storageClasses[1]: storage class a: is there twice; remove or rename one",
    ),
    "a budget in words": (
        f"{SNAPSHOT}disruptionBudgets: [{{name: b, minAvailable: some}}]",
        "c.yaml: disruption budget b: minAvailable is 'some'; write a number such as 2",
    ),
    "a workload on an unknown node": (
        f"{SNAPSHOT}workloads:\n- {{name: a, node: n7, requests: {{}}}}",
        "c.yaml: workload a: node 'n7' is none of the 0 nodes",
    ),
    "settings that are in no layer of its policy": (
        f"{SNAPSHOT}policy: {{name: kubernetes, settings: {{memory-ratio: 2}}}}",
        "c.yaml:3:38: policy.settings: the policy of a snapshot has no field 'settings'; write layers: [",
    ),
    "a layer with a field of another name": (
        f"{SNAPSHOT}policy: {{layers: [{{origin: a}}, {{origin: b, settings: {{memory-ratio: 2}}}}]}}",
        "policy.layers[1].settings: the policy of a snapshot has no field 'settings'; write layers: [{origin",
    ),
    "min above max": (
        f"{SNAPSHOT}quotas:\n- {{name: q, min: {{cpu: 2}}, max: {{cpu: 1}}}}",
        "c.yaml: quota q: cpu has min 2 above max 1",
    ),
    "a negative guarantee": (
        f"{SNAPSHOT}quotas:\n- {{name: q, min: {{cpu: -2}}}}",
        "c.yaml: quota q: min: cpu is -2; use 0 or more",
    ),
    "a namespace under two quotas": (
        f"{SNAPSHOT}quotas:\n- {{name: q, namespaces: [a]}}\n- {{name: p, namespaces: [a]}}",
        "c.yaml: quota q: this Quota and Quota p both cover namespace a",
    ),
    "an unknown parent": (
        f"{SNAPSHOT}quotas:\n- {{name: q, parent: p}}",
        "c.yaml: quota q: parent 'p' is no quota",
    ),
}


@pytest.mark.parametrize(("text", "said"), BAD_SNAPSHOTS.values(), ids=BAD_SNAPSHOTS)
def test_a_bad_snapshot_is_refused_with_its_place(text, said):
    assert said in refusal(read_own, text)


def test_a_duplicate_key_in_json_is_refused():
    text = '{"apiVersion": "ullage.dev/v1", "kind": "Snapshot", "name": "a", "name": "b"}'
    assert '"name"' in refusal(read_own, text, "c.json")


def test_a_reader_of_one_kind_refuses_another():
    assert "write kind: Snapshot" in refusal(read_snapshot, f"{V1}kind: Delta")
    assert "write kind: Delta" in refusal(read_delta, f"{V1}kind: Snapshot")
    assert "write kind: Policy" in refusal(read_policy_document, f"{V1}kind: Snapshot")
    assert "write kind: WorkloadSet" in refusal(read_workload_set, f"{V1}kind: Snapshot")
    assert "write kind: ResourceTypes" in refusal(read_resource_types, f"{V1}kind: Snapshot")


def test_a_header_tells_whose_document_it_is():
    assert is_own(read_header(document(f"{V1}kind: Snapshot")))
    assert is_own(read_header(document("apiVersion: ullage.dev/v9")))
    assert not is_own(read_header(document("apiVersion: v1\nkind: List")))
    assert not is_own(read_header(document("a: 1")))


def test_a_workload_without_requests_asks_for_what_its_containers_do():
    text = f"""
{V1}kind: Snapshot
nodes: [{{name: n1}}]
workloads:
- name: a
  node: n1
  containers:
  - {{name: main, requests: {{cpu: 1}}, limits: {{cpu: 2, memory: 1Gi}}}}
- {{name: b, node: n1, limits: {{memory: 2Gi}}}}
- {{name: c, node: n1, requests: {{}}, limits: {{memory: 2Gi}}}}
"""
    workloads = read_snapshot(document(text)).workloads
    assert workloads["a"].requests == resources(cpu=1, memory="1Gi")
    assert workloads["a"].limits == resources(cpu=2, memory="1Gi")
    assert workloads["b"].requests == resources(memory="2Gi")
    assert workloads["c"].requests == Resources()


def test_a_snapshot_keeps_a_limit_below_its_request_because_kubernetes_allows_it():
    text = f"{SNAPSHOT}workloads: [{{name: a, requests: {{cpu: 2}}, limits: {{cpu: 1}}}}]"
    assert read_snapshot(document(text)).workloads["a"].limits == resources(cpu=1)


def test_a_delta_is_read():
    text = (
        f"{V1}kind: Delta\nrevision: 3\nworkloads: [{{name: a, limits: {{cpu: 1}}}}]\ndropped: {{nodes: [n]}}"
    )
    expected = Delta(
        revision=3, workloads=(pod("a", cpu=1, limits=resources(cpu=1)),), dropped={"nodes": ("n",)}
    )
    assert read_own(document(text)) == expected


def test_tables_are_dropped_from_by_their_names_in_files():
    read = read_own(document(f"{V1}kind: Delta\ndropped: {{storageClasses: [a], limitRanges: [ml/b]}}"))
    assert read == Delta(dropped={"storage_classes": ("a",), "limit_ranges": ("ml/b",)})
    said = refusal(read_delta, f"{V1}kind: Delta\ndropped: {{storage_classes: [a]}}")
    assert "dropped.storage_classes: 'storage_classes' is no table; use nodes," in said
    assert "storageClasses" in said


def test_a_bad_delta_is_refused_with_its_place():
    said = refusal(read_delta, f"{V1}kind: Delta\ndropped: {{pods: [a]}}")
    assert "c.yaml:3:17: dropped.pods: 'pods' is no table; use nodes, groups," in said
    assert "c.yaml: node n1: is there twice" in refusal(
        read_delta, f"{V1}kind: Delta\nnodes: [{{name: n1}}, {{name: n1}}]"
    )


def test_a_policy_document_is_read_as_it_stands():
    text = (
        f"{V1}kind: Policy\ninherits: zos\ncluster: {{spare-nodes: 1, cpu-ratio: 1.50, memory-reserve: 10%}}"
    )
    policy = read_own(document(text))
    assert policy.inherits == "zos"
    assert policy.cluster == {"spare-nodes": 1, "cpu-ratio": "1.50", "memory-reserve": "10%"}


def test_resource_types_are_read():
    text = f"{V1}kind: ResourceTypes\nresourceTypes: [{{name: example.com/a, units: licence}}]"
    assert read_own(document(text)).added() == (ResourceType("example.com/a", "licence"),)


def test_the_resource_models_three_forms_are_read():
    requirement = (
        'resourceRequirementSpec: [\n  request: [ cpu: 2.5, memory: "40Mi" ],\n'
        '  limit: [ cpu: 4.0, memory: "99Mi" ],\n]'
    )
    (batch,) = read_bare_spec(document(requirement)).batches
    assert batch.workload.requests == resources(cpu="2.5", memory="40Mi")
    assert batch.workload.limits == resources(cpu=4, memory="99Mi")

    capacity = 'resourceCapacitySpec: [\n  total: [ cpu: 12,  memory: "128Gi" ]\n]'
    (only,) = read_bare_spec(document(capacity)).nodes
    assert only.capacity == resources(cpu=12, memory="128Gi")
    assert only.reserve == resources(cpu=0, memory=0)

    types = (
        'resourceTypes: [\n  "kubernetes.io/memory": [ isCompressible: false ],\n'
        '  "kubernetes.io/cpu": [ isCompressible: true, internalScaleExponent: 3 ],\n'
        '  "example.com/slots": [ units: slot ]\n]'
    )
    assert read_bare_spec(document(types)).added() == (ResourceType("example.com/slots", "slot"),)
    assert read_bare_spec(document("a: 1")) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("resourceRequirementSpec: [request: [cpu: 1, cpu: 2]]", "cpu is named twice"),
        ("resourceRequirementSpec: [request: [cpu: 2], limit: [cpu: 1]]", "limit 1 below the 2 requested"),
        ("resourceRequirementSpec: [asked: [cpu: 2]]", "expected request and limit"),
        ("resourceRequirementSpec: [request: [1]]", "expected a list of pairs"),
        ("resourceCapacitySpec: [total: [cpu: -1]]", "cpu is -1"),
        ("resourceTypes: ['kubernetes.io/cpu': [isCompressible: false]]", "cpu is built in"),
        ("resourceTypes: ['example.com/a': 3]", "expected the properties of a resource type"),
        ("resourceTypes: [3]", "expected a resource type"),
        (
            "resourceTypes: [{name: example.com/a, units: 3}]",
            "resourceTypes[0].units: expected text, found a number",
        ),
    ],
)
def test_a_bad_bare_form_is_refused(text, said):
    assert said in refusal(read_bare_spec, text)


leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
)
garbage = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "capacity", "cpu", "requests", "min", "weight", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
FIELDS = (
    "resourceTypes",
    "nodes",
    "workloads",
    "quotas",
    "claims",
    "policy",
    "revision",
    "cluster",
    "dropped",
)


@settings(max_examples=150)
@given(
    st.sampled_from(("Snapshot", "Delta", "WorkloadSet", "Policy", "ResourceTypes")),
    st.dictionaries(st.sampled_from(FIELDS), garbage, max_size=3),
)
def test_any_document_is_read_or_refused_in_one_line(kind, fields):
    text = json.dumps({"apiVersion": "ullage.dev/v1", "kind": kind, **fields})
    said = ""
    try:
        read_own(document(text, "c.json"))
    except InputError as error:
        said = str(error)
    assert "\n" not in said


def test_a_quota_of_a_delta_is_refused_for_what_is_its_own():
    text = "apiVersion: ullage.dev/v1\nkind: Delta\nquotas:\n- {name: q, parent: elsewhere, min: {cpu: -1}}"
    assert refusal(read_own, text) == "c.yaml: quota q: min: cpu is -1; use 0 or more"
    assert len(read_own(document(text.replace("-1", "1"))).quotas) == 1
