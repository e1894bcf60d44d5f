"""All nodes: filtered, sorted, in pages."""

import re
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import pytest

from ullage.service.asked import Asked, read_cluster
from ullage.service.status import status_report
from ullage.web.pages.nodes import PAGE_NODES, filtered

MANY = "synthetic:nodes=600,seed=3"


def listed(page):
    """The nodes of the table, in its order."""
    table = page.html[page.html.index('id="table"') :]
    return re.findall(r'<th scope="row"><a href="/nodes/([^"]+)"', table)


def test_every_node_is_a_square_and_a_row_of_a_small_cluster(draws):
    page = draws("nodes")
    assert listed(page) == ["g1", "g2", "g3", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "s1"]
    assert page.html.count('class="cell ') == 12


def test_what_is_over_its_limit_or_takes_nothing_is_told_by_more_than_colour(draws):
    page = draws("nodes")
    assert page.html.count('class="cross"') == 1
    assert page.html.count("cell hx") == 1
    assert "s1: 102%" in page.words
    assert "n8: 8% cordoned" in page.words


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"q": "S"}, ["s1"]),
        ({"domain": "rack-3"}, ["g3", "n7", "n8", "s1"]),
        ({"group": "gpu", "domain": "rack-1"}, ["g1"]),
        ({"state": "cordoned"}, ["n8"]),
        (
            {"sort": "memory", "order": "down", "group": "general"},
            ["s1", "n6", "n1", "n4", "n7", "n2", "n3", "n5", "n8"],
        ),
        ({"sort": "workloads", "order": "up", "domain": "rack-3"}, ["n8", "g3", "s1", "n7"]),
        ({"sort": "name", "order": "down", "group": "gpu"}, ["g3", "g2", "g1"]),
        ({"sort": "state", "domain": "rack-3"}, ["n8", "g3", "n7", "s1"]),
        ({"sort": "fullest", "order": "down", "domain": "rack-3"}, ["s1", "g3", "n7", "n8"]),
        ({"sort": "nonsense"}, ["g1", "g2", "g3", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "s1"]),
    ],
)
def test_filters_leave_what_matches_and_sorting_orders_it(draws, filters, names):
    assert listed(draws("nodes", **filters)) == names


def test_nothing_found_says_so_and_leads_back(draws):
    page = draws("nodes", q="nothing-like-that")
    assert "No node is like that" in page.words
    assert "/nodes" in page.links


def test_a_page_has_so_many_nodes_and_all_pages_have_all(draws):
    pages = [listed(draws("nodes", MANY, page=str(number))) for number in range(1, 7)]
    assert [len(page) for page in pages] == [PAGE_NODES] * 6
    assert len({name for page in pages for name in page}) == 600


@pytest.mark.parametrize("number", ["0", "-1", "99999", "x", "1" * 20])
def test_a_page_that_does_not_exist_is_the_nearest_that_does(draws, number):
    found = listed(draws("nodes", MANY, page=number))
    assert len(found) == PAGE_NODES


def test_a_map_of_many_nodes_is_small(draws):
    page = draws("nodes", MANY)
    assert page.html.count("<rect") < 600
    names = re.findall(r'data-names="([^"]+)"', page.html)
    assert sum(len(each.split()) for each in names) == 600


def test_names_are_filtered_by_a_part_of_them_and_the_rest_exactly():
    nodes = status_report(read_cluster(Asked("demo"))).nodes
    assert [each.name for each in filtered(nodes, {"q": " N1 "})] == ["n1"]
    assert [each.name for each in filtered(nodes, {"q": "1"})] == ["g1", "n1", "s1"]
    assert filtered(nodes, {"domain": "rack"}) == []


def test_the_count_of_a_shade_leads_to_its_nodes(draws):
    counts = re.findall(r'<b><a class="figure" href="([^"]+)">(\d+)</a></b>', draws("nodes").html)
    assert counts
    for link, count in counts:
        parameters = dict(parse_qsl(urlsplit(unescape(link)).query))
        noun = "node" if count == "1" else "nodes"
        assert f"{count} {noun} committed of the limit" in draws("nodes", **parameters).words
