"""Quotas beside a snapshot of our own, and among the objects of a cluster."""

import pytest

from builders import cluster, node, quota
from ullage.model.errors import InputError
from ullage.sources.documents import documents_of
from ullage.sources.opening import open_source
from ullage.sources.own_text import snapshot_text
from ullage.sources.quota_documents import is_quota_document, with_quotas

SMALL = cluster(node("n1", cpu=4, memory="8Gi"), quota("company", {"cpu": "4"}), name="small")
OURS = """
apiVersion: ullage.dev/v1
kind: Quota
metadata: {name: research}
spec: {namespaces: [ml], min: {cpu: 1}, parent: company, weight: 2}
"""
ELASTIC = """
apiVersion: nos.nebuly.com/v1alpha1
kind: ElasticQuota
metadata: {name: q, namespace: web}
spec: {min: {cpu: 1}}
"""
LISTED = """
apiVersion: nos.nebuly.com/v1alpha1
kind: ElasticQuotaList
items:
- metadata: {name: q, namespace: web}
  spec: {min: {cpu: 1}}
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {capacity: {cpu: 4}}
"""


def documents(*texts):
    return list(documents_of("---".join(texts).encode(), "q.yaml"))


@pytest.fixture
def folder(tmp_path):
    def write(**files):
        for name, text in files.items():
            data = text if isinstance(text, bytes) else text.encode()
            (tmp_path / f"{name}.yaml").write_bytes(data)
        return str(tmp_path)

    return write


@pytest.mark.parametrize(
    ("text", "expected"), [(OURS, True), (ELASTIC, True), (LISTED, True), (NODE, False), ("a: 1", False)]
)
def test_quota_documents(text, expected):
    (document,) = documents(text)
    assert is_quota_document(document) is expected


def test_quotas_count_for_the_snapshot_they_stand_beside():
    found = with_quotas(SMALL, documents(OURS, LISTED))
    assert set(found.quotas.keys()) == {"company", "research", "web/q"}
    assert with_quotas(SMALL, []) is SMALL


# Each row: a document, and what is said of it.
WRONG = {
    "a name that is there": (OURS.replace("research", "company"), "q.yaml: quota company: is there twice"),
    "no parent": (OURS.replace("parent: company", "parent: other"), "q.yaml: quota research: parent 'other'"),
    "more than the parent has": (OURS.replace("cpu: 1", "cpu: 5"), "q.yaml: quota company: its children are"),
    "no amount": (OURS.replace("cpu: 1", "cpu: x"), "q.yaml:5:37: spec.min.cpu: quantity 'x'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_quotas_that_are_wrong_are_refused(case):
    text, said = WRONG[case]
    with pytest.raises(InputError) as caught:
        with_quotas(SMALL, documents(text))
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["a", "z"])
def test_a_quota_in_the_folder_of_a_snapshot(folder, name):
    path = folder(m=snapshot_text(SMALL, "yaml"), **{name: OURS})
    assert set(open_source(path).read().quotas.keys()) == {"company", "research"}


def test_quotas_in_the_file_of_a_snapshot(folder):
    path = folder(m=OURS + "---\n" + snapshot_text(SMALL, "yaml").decode() + "---\n" + ELASTIC)
    assert set(open_source(f"{path}/m.yaml").read().quotas.keys()) == {"company", "research", "web/q"}


@pytest.mark.parametrize("name", ["a", "z"])
def test_a_quota_in_the_folder_of_a_dump(folder, name):
    alone = OURS.replace(", parent: company", "")
    found = open_source(folder(m=NODE, **{name: alone})).read()
    assert (list(found.nodes.keys()), list(found.quotas.keys())) == (["n1"], ["research"])


def test_a_quota_in_the_file_of_a_dump(folder):
    found = open_source(f"{folder(m=OURS + '---' + NODE)}/m.yaml").read()
    assert (list(found.nodes.keys()), list(found.quotas.keys())) == (["n1"], ["research"])
    alone = open_source(f"{folder(m=OURS)}/m.yaml").read()
    assert list(alone.quotas.keys()) == ["research"]
