"""One node: its arithmetic term by term."""

import msgspec

from ullage.service.asked import Asked, read_cluster
from ullage.service.status import status_report
from ullage.web.pages.node import node_bars


def test_every_term_of_every_resource_is_there(draws):
    words = draws("node", node="n1").words
    for line in (
        "capacity 64Gi",
        "reserve 2Gi stated by the source",
        "allocatable 62Gi",
        "ratio 1 memory-ratio=1 (profile kubernetes)",
        "committed 41.25Gi promised to 7 workloads",
        "free 20.75Gi",
    ):
        assert line in words


def test_each_resource_can_be_linked_to(draws):
    page = draws("node", node="g1")
    identifiers = {told.get("id") for _, told in page.tags}
    assert {"cpu", "memory", "nvidia.com/gpu", "pods", "workloads"} <= identifiers


def test_what_is_wrong_with_a_node_is_on_its_page_and_what_is_wrong_elsewhere_is_not(draws):
    assert "1.25Gi over its limit" in draws("node", node="s1").words
    assert "over its limit" not in draws("node", node="n1").words


def test_it_leads_to_what_breaks_and_how_it_is_emptied(draws):
    links = draws("node", node="n1").links
    assert "/what-breaks?lose=node%2Fn1" in links
    assert "/balance?drain=n1" in links
    assert "/explain/pod/web/shop-0" in links


def test_an_unknown_node_is_refused_with_one_that_there_is(draws):
    assert draws("node", node="n99")["title"].startswith("no node 'n99'; did you mean ")


def test_bars_add_up_and_what_is_free_of_a_closed_node_is_blocked():
    snapshot = read_cluster(Asked("demo"))
    nodes = {each.name: each for each in status_report(snapshot).nodes}
    for name in ("n1", "n8"):
        for row in node_bars(nodes[name], snapshot.resource_types).rows:
            assert sum(part.part for part in row.segments) == row.whole
    words = [
        {part.word for row in node_bars(nodes[name], snapshot.resource_types).rows for part in row.segments}
        for name in ("n1", "n8")
    ]
    assert "free" in words[0]
    assert "blocked" in words[1]
    held = msgspec.structs.replace(nodes["n1"], standby=nodes["n1"].reserve)
    assert "standby" in dict(node_bars(held, snapshot.resource_types).legend)
