"""Objects of documents with their kinds and places."""

import json

import pytest
import yaml

from sources.kubernetes.kube import listed, node, pod, thing
from ullage.sources.documents import documents_of
from ullage.sources.kubernetes.items import Kind, Page, items_of, kind_of


def read(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return [item for document in documents_of(data, "f") for item in items_of(document, **options)]


@pytest.mark.parametrize(
    ("api_version", "expected"),
    [
        ("v1", Kind("", "K")),
        ("apps/v1", Kind("apps", "K")),
        ("a.b/v1beta1", Kind("a.b", "K")),
        ("", Kind("", "K")),
    ],
)
def test_the_group_is_what_stands_before_the_version(api_version, expected):
    assert kind_of(api_version, "K") == expected


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump])
def test_items_have_kinds_and_paths(write):
    objects = listed(node(), thing("csi-baremetal.dell.com/v1", "Node"), listed(pod("p")))
    found = read(write(objects))
    assert [(item.kind, item.path) for item in found if not isinstance(item, Page)] == [
        (Kind("", "Node"), ("items", 0)),
        (Kind("csi-baremetal.dell.com", "Node"), ("items", 1)),
        (Kind("", "Pod"), ("items", 2, "items", 0)),
    ]
    assert found[0].place() == "f: items[0]"


def test_an_object_that_is_no_list_is_itself():
    (found,) = read(json.dumps(pod("p")))
    assert (found.kind, found.path, found.place()) == (Kind("", "Pod"), (), "f")


def test_a_kind_that_ends_like_a_list_need_not_be_one():
    found = read(json.dumps(listed(thing("example.com/v1", "IPAllowList", spec={}))))
    assert [item.kind.name for item in found] == ["IPAllowList", ""]
    (found,) = read(json.dumps(thing("example.com/v1", "IPAllowList")))
    assert found.kind.name == "IPAllowList"


def test_the_end_of_a_list_says_whether_more_follows():
    text = json.dumps(listed(kind="PodList", metadata={"continue": "abc", "remainingItemCount": 7}))
    assert read(text) == [Page(Kind("", "Pod"), "f", continues=True, remaining=7)]
    assert read(json.dumps(listed())) == [Page(Kind("", ""), "f", continues=False, remaining=None)]


def test_a_node_of_another_group_among_pods_and_nodes_keeps_its_group():
    text = json.dumps(
        listed(*(node(f"n{n}") for n in range(9)), thing("csi-baremetal.dell.com/v1", "Node", spec={})),
        indent=4,
    )
    kinds = [item.kind for item in read(text, part_bytes=50) if not isinstance(item, Page)]
    assert kinds == [*[Kind("", "Node")] * 9, Kind("csi-baremetal.dell.com", "Node")]


def test_items_are_text_unless_read_in_parts():
    text = json.dumps(listed(*(pod(f"p{n}") for n in range(9))), indent=4)
    decoded = [item.content for item in read(text, part_bytes=50)[:-1]]
    texts = [item.content for item in read(text, in_parts=False)[:-1]]
    assert [each.metadata.name for each in decoded] == [
        json.loads(bytes(each))["metadata"]["name"] for each in texts
    ]
