"""Dumps of every form to the same snapshot."""

import contextlib
import io
import itertools
import json
import random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sources.kubernetes.kube import TYPES, container, dumped, listed, node, pod, read_text, thing
from ullage.model.errors import InputError
from ullage.sources.documents import documents_of
from ullage.sources.kubernetes.cluster_reading import ClusterReading
from ullage.sources.kubernetes.dump import KubernetesSource, read_dump
from ullage.sources.kubernetes.items import Page, items_of
from ullage.sources.kubernetes.nodes import GROUP_LABEL
from ullage.sources.limits import Limits
from ullage.sources.protocol import Source

OBJECTS = [
    node("n1", allocatable={"cpu": "7"}, labels={"topology.kubernetes.io/zone": "a"}),
    node("n2"),
    pod("a", container("main", {"cpu": "1", "memory": "1Gi"}), nodeName="n1", runtimeClassName="kata"),
    pod("b", container("main", {"cpu": "2"}), nodeName="n2", priorityClassName="gold"),
    pod(
        "c",
        container("main", {"cpu": "2"}),
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
    ),
    thing("node.k8s.io/v1", "RuntimeClass", "kata", overhead={"podFixed": {"memory": "128Mi"}}),
    thing("scheduling.k8s.io/v1", "PriorityClass", "gold", value=1000),
    thing(
        "v1", "PersistentVolumeClaim", "data", namespace="team",
        spec={"resources": {"requests": {"storage": "1Gi"}}},
    ),
    thing("nos.nebuly.com/v1alpha1", "ElasticQuota", "q", namespace="team", spec={"min": {"cpu": "4"}}),
    thing("metrics.k8s.io/v1beta1", "NodeMetrics", "n1", usage={"cpu": "900m", "memory": "3Gi"}),
    thing("v1", "ConfigMap", "cm"),
]  # fmt: skip
EXPECTED = dumped(*OBJECTS)


def test_the_objects_say_what_the_other_tests_expect():
    assert list(EXPECTED.nodes.keys()) == ["n1", "n2"]
    assert list(EXPECTED.workloads.keys()) == ["team/a", "team/b", "team/c"]
    assert EXPECTED.workloads["team/a"].overhead
    assert EXPECTED.workloads["team/b"].priority == 1000
    assert EXPECTED.workloads["team/c"].volumes[0].size_bytes == 1 << 30
    assert EXPECTED.nodes["n1"].actual
    assert EXPECTED.unknowns == ("not read: 1 ConfigMap",)


# Each row: the same objects, written in another way.
FORMS = {
    "a list": json.dumps(listed(*OBJECTS)),
    "a list as kubectl indents it": json.dumps(listed(*OBJECTS), indent=4),
    "objects one after the other": "\n".join(json.dumps(each) for each in OBJECTS),
    "lists one after the other": json.dumps(listed(*OBJECTS[:3]), indent=4)
    + json.dumps(listed(*OBJECTS[3:])),
    "a list of lists": json.dumps(listed(listed(*OBJECTS[:5]), *OBJECTS[5:])),
    "a list in YAML": yaml.safe_dump(listed(*OBJECTS)),
    "documents in YAML": yaml.safe_dump_all(OBJECTS),
    "kind after the rest": json.dumps(
        listed(*({key: each[key] for key in reversed(each)} for each in OBJECTS))
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_form_does_not_matter(form):
    assert read_text(FORMS[form]) == EXPECTED


def test_typed_lists_need_not_say_the_kind_of_each_item():
    def bare(item):
        return {key: value for key, value in item.items() if key not in {"kind", "apiVersion"}}

    nodes, pods = OBJECTS[:2], OBJECTS[2:5]
    lists = [
        {**listed(*map(bare, nodes)), "kind": "NodeList"},
        {**listed(*map(bare, pods)), "kind": "PodList"},
        listed(*OBJECTS[5:]),
    ]
    assert read_text("".join(map(json.dumps, lists))) == EXPECTED


def test_several_files_a_folder_and_standard_input_add_up(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "nodes.yaml").write_text(yaml.safe_dump(listed(*OBJECTS[:2])), encoding="utf-8")
    (tmp_path / "folder" / "pods.json").write_text(json.dumps(listed(*OBJECTS[2:5])), encoding="utf-8")
    (tmp_path / "rest.json").write_text(json.dumps(listed(*OBJECTS[5:8])), encoding="utf-8")
    stdin = io.BytesIO(json.dumps(listed(*OBJECTS[8:])).encode())
    inputs = [str(tmp_path / "folder"), str(tmp_path / "rest.json"), "-"]
    assert read_dump(inputs, stdin=stdin) == EXPECTED


@given(st.permutations(range(len(OBJECTS))))
def test_the_order_of_objects_does_not_matter(order):
    assert dumped(*(OBJECTS[position] for position in order)) == EXPECTED


def test_unknown_fields_are_ignored():
    given = json.loads(json.dumps(OBJECTS))
    for item in given:
        item["future"] = [{"a": None}]
        item["metadata"]["managedFields"] = [{"fieldsV1": {"f:spec": {}}}]
        item.setdefault("spec", {})["future"] = {"b": 1.5}
        item.setdefault("status", {})["future"] = "c"
    assert dumped(*given) == EXPECTED


def long_dump(pods=40, extra=()):
    objects = [*(node(f"n{n}") for n in range(5)), *extra]
    objects += [
        pod(
            f"p{n}",
            container("main", {"cpu": f"{n}m"}),
            nodeName=f"n{n % 5}",
            metadata={"labels": {"n": str(n)}},
        )
        for n in range(pods)
    ]
    return listed(*objects)


@pytest.mark.parametrize("indent", [None, 1, 2, 4])
@pytest.mark.parametrize("extra", [(), (thing("v1", "Secret"),), (listed(node("inner")),)])
def test_a_long_list_is_read_like_a_short_one(indent, extra):
    text = json.dumps(long_dump(extra=extra), indent=indent)
    reading = ClusterReading(TYPES, GROUP_LABEL)
    for document in documents_of(text.encode(), "f"):
        for item in items_of(document, part_bytes=700):
            if not isinstance(item, Page):
                reading.take(item)
    assert reading.snapshot() == read_text(text)


def test_a_source_has_a_name_and_a_profile(tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(listed(*OBJECTS)), encoding="utf-8")
    source: Source = KubernetesSource(str(path))
    assert (source.name, source.profile) == ("cluster.json", "kubernetes")
    assert source.read().name == "cluster.json"
    assert source.read().nodes == EXPECTED.nodes
    assert KubernetesSource("-").name == "standard input"
    assert KubernetesSource([str(path), "x", "y"]).name == "cluster.json and 2 more"


def message(text, **options):
    with pytest.raises(InputError) as caught:
        read_text(text, **options)
    return str(caught.value)


# Each row: a text, and the message about it.
BAD_TEXTS = {
    "a list": ("[]", "standard input: expected a mapping, found a list; write a mapping"),
    "an object without kind": (
        '{"items": []}',
        "standard input: the object has no kind; expected Kubernetes objects; add apiVersion and kind",
    ),
    "an item without kind": (
        '{"kind": "List", "items": [{"metadata": {}}]}',
        "standard input: items[0]: the object has no kind; add apiVersion and kind",
    ),
    "items that are none": (
        '{"kind": "List", "items": {}}',
        "standard input: items: expected a list or null, found a mapping; write a list or null",
    ),
    "an item that is none": (
        '{"kind": "List", "items": [3]}',
        "standard input: items[0]: expected a mapping, found a number; write a mapping",
    ),
    "a kind that is none": (
        '{"kind": "List", "items": [{"kind": 3}]}',
        "standard input: items[0].kind: expected text or null, found a number; write text or null",
    ),
    "lists without end": (
        '{"kind": "List", "items": [' * 5 + "]}" * 5,
        f"standard input: {'.'.join(['items[0]'] * 4)}: more than 4 lists inside each other; flatten them",
    ),
    "metadata that is none": (
        '{"kind": "List", "items": [], "metadata": {"continue": 3}}',
        "standard input: metadata.continue: expected text or null, found a number; write text or null",
    ),
    "wrong YAML": (
        "kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    resources: [1]\n",
        (
            "standard input:6:16: spec.containers[0].resources: expected a mapping or null, found a list; "
            "write a mapping or null"
        ),
    ),
}


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_bad_text_is_one_line_with_its_place(case):
    text, expected = BAD_TEXTS[case]
    assert message(text) == expected


@pytest.mark.parametrize("indent", [None, 4])
def test_a_dump_that_is_cut_off_says_so(indent):
    text = json.dumps(long_dump(), indent=indent)
    assert "run kubectl again" in message(text[: len(text) * 2 // 3])


@pytest.mark.parametrize("depth", [100, 900, 960, 970, 980, 990, 2000])
def test_deep_nesting_is_read_or_refused_in_one_line(depth):
    text = json.dumps(listed(node("n1"), node("deep")))
    text = text.replace('"name": "deep"', f'"name": "deep", "x": {"[" * depth}{"]" * depth}')
    try:
        assert len(read_text(text).nodes) == 2
    except InputError as error:
        problem = str(error)
    else:
        return
    assert depth >= 900
    assert "nested" in problem


def test_limits_are_those_that_are_given():
    assert message(json.dumps(listed()), limits=Limits(file_bytes_max=10)) == (
        "standard input: more than 10 bytes of text; dump fewer namespaces or kinds at a time"
    )


def test_an_empty_list_is_an_empty_cluster():
    for items in ("[]", "null"):
        assert not len(read_text(f'{{"kind": "PodList", "apiVersion": "v1", "items": {items}}}').nodes)


@given(st.binary(max_size=60), st.integers(0, 2**32 - 1))
def test_a_damaged_dump_is_read_or_refused(noise, seed):
    """Nothing but an InputError ever comes out, whatever stands in the text."""
    draw = random.Random(seed)  # noqa: S311 - damage, not a secret
    text = bytearray(json.dumps(listed(*OBJECTS[:6]), indent=2).encode())
    for byte in itertools.islice(noise, 8):
        text[draw.randrange(len(text))] = byte
    with contextlib.suppress(InputError):
        read_text(bytes(text))
