"""What is sent with a question is told apart by its kind; nothing is lost, and lines stay where they are."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.errors import InputError
from ullage.service.question_parts import CATALOG, POLICY, QUOTAS, TRACE, TYPES, WORKLOADS, parts_of
from ullage.sources.documents import documents_of

ALL = (POLICY, TYPES, CATALOG, WORKLOADS)
KINDS = {
    "Policy": POLICY,
    "ResourceTypes": TYPES,
    "Catalog": CATALOG,
    "WorkloadSet": WORKLOADS,
    "Pod": WORKLOADS,
}


def document(kind, number=0):
    api = "v1" if kind == "Pod" else "ullage.dev/v1"
    return {"apiVersion": api, "kind": kind, "name": f"x{number}", "note": "kind: Policy"}


def values(data):
    return [each.decode(msgspec.json.Decoder(dict)) for each in documents_of(data, "x")]


@given(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6), st.booleans(), st.booleans())
def test_every_document_is_in_its_part_in_order(kinds, as_json, marked):
    written = [document(kind, number) for number, kind in enumerate(kinds)]
    if as_json:
        body = b"\n".join(map(msgspec.json.encode, written))
    else:
        body = (b"---\n" if marked else b"") + b"---\n".join(map(msgspec.yaml.encode, written))
    parts = parts_of(body, ALL)
    wanted = {}
    for each in written:
        wanted.setdefault(KINDS[each["kind"]], []).append(each)
    assert {name: values(data) for name, data in parts.items()} == wanted
    for data in parts.values():
        assert len(data) == len(body)
        assert [line.endswith(b"\n") for line in data.splitlines(keepends=True)] == [
            line.endswith(b"\n") for line in body.splitlines(keepends=True)
        ]


def test_a_complaint_names_the_line_of_the_whole():
    body = b"kind: Pod\napiVersion: v1\n---\napiVersion: ullage.dev/v1\nkind: Policy\ncluster: 5\n"
    (policy,) = documents_of(parts_of(body, ALL)[POLICY], "body")
    assert policy.where("cluster").startswith("body:6:10")


@pytest.mark.parametrize("body", [b"", b" \n\n"])
def test_nothing_has_no_parts(body):
    assert parts_of(body, ALL) == {}


def test_what_no_kind_tells_apart_is_the_rest_untouched():
    for body in (b"name,start\nkind,0\n", b"resourceRequirementSpec: []", b"%PDF", b'{"kind": "List"}'):
        assert parts_of(body, (POLICY, TRACE)) == {TRACE: body}


def test_quotas_are_a_part_where_they_are_asked_for_and_else_come_with_workloads():
    quota = b"apiVersion: nos.nebuly.com/v1alpha1\nkind: ElasticQuota\nmetadata: {name: q, namespace: a}\n"
    trace = b"---\napiVersion: ullage.dev/v1\nkind: Trace\nworkloads: []\n"
    assert {*parts_of(quota + trace, (QUOTAS, TRACE))} == {QUOTAS, TRACE}
    policy = b"---\napiVersion: ullage.dev/v1\nkind: Policy\n"
    assert {*parts_of(quota + policy, ALL)} == {WORKLOADS, POLICY}


def test_a_kind_of_others_that_is_called_like_one_of_ours_is_the_rest():
    assert {*parts_of(b"apiVersion: kyverno.io/v1\nkind: Policy\n", ALL)} == {WORKLOADS}


def test_what_has_no_part_in_a_question_is_refused():
    with pytest.raises(InputError, match="a Policy has no part in this question"):
        parts_of(b"apiVersion: ullage.dev/v1\nkind: Policy\n", (CATALOG, WORKLOADS))


def test_there_is_a_limit_to_documents():
    with pytest.raises(InputError, match="more than 1000 documents"):
        parts_of(b'{"kind": "Policy", "apiVersion": "ullage.dev/v1"}\n' * 1001, ALL)
