"""Balance: moves, and what they change."""

import pytest

from ullage.service.asked import Asked, read_cluster
from ullage.service.status import status_report
from ullage.web.pages.balance import MOVES_DEFAULT, MOVES_MAX, changes_of, moves_of


def test_moves_are_shown_with_what_is_before_and_after(draws):
    page = draws("balance")
    assert "Moves" in page.words
    assert "Before and after" in page.words
    assert "63.25Gi (102%)" in page.words
    assert "/explain/pod/platform/objects-0" in page.links


def test_the_plan_can_be_downloaded_as_it_was_asked_for(draws):
    links = draws("balance", moves="3").links
    assert "/v1/clusters/cluster/balance?movesMax=3" in links
    assert "/v1/clusters/cluster/balance?drain=n1" in draws("balance", drain="n1").links


def test_a_node_is_emptied(draws):
    page = draws("balance", drain="n1")
    assert "n1 can be emptied" in page.words
    assert "no node" in draws("balance", drain="nothing").words


def test_of_a_large_cluster_moves_are_looked_for_only_when_it_is_asked(draws):
    page = draws("balance", "synthetic:nodes=600,seed=3")
    assert "Look for moves" in page.words
    assert 'class="verdict' not in page.html


@pytest.mark.parametrize(
    ("moves", "kept"), [("", MOVES_DEFAULT), ("x", MOVES_DEFAULT), ("0", 1), ("7", 7), ("9999", MOVES_MAX)]
)
def test_moves_are_within_bounds(draws, moves, kept):
    assert f'name="moves" value="{kept}"' in draws("balance", drain="n1", moves=moves).html


def test_a_move_takes_from_one_node_what_it_brings_to_the_other():
    snapshot = read_cluster(Asked("demo"))
    report = status_report(snapshot)
    changes = changes_of(snapshot, report, ("cpu",), [("web/shop-0", "n1", "n2"), ("gone", "n1", "n2")])
    assert [(each.node, each.before_words, each.after_words) for each in changes] == [
        ("n1", "11.1 (70%)", "9.6 (61%)"),
        ("n2", "10.3 (65%)", "11.8 (75%)"),
    ]


def test_moves_are_those_of_groups_or_of_a_drain():
    move = {"workload": "w", "fromNode": "a", "toNode": "b"}
    assert moves_of({"groups": [{"moves": [move]}]}) == [("w", "a", "b")]
    assert moves_of({"moves": [move]}) == [("w", "a", "b")]
    assert moves_of({}) == []
