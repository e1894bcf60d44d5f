"""A map of nodes: a square for each, its shade by how full it is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.model.resources import NOTHING, Resources
from ullage.render.view import Share
from ullage.service.status import NodeStatus
from ullage.web.pages.heat import LINKS_MAX, columns_of, shade_of, share_of, size_of, steps_of, tiles_of


def node(name="n", committed=0, limit=100, state="ready", domain=""):
    bound = Resources({"cpu": limit}) if limit is not None else NOTHING
    used = Resources({"cpu": committed})
    return NodeStatus(name, "", domain, state, 0, used, NOTHING, used, bound, used, None, used, NOTHING)


@pytest.mark.parametrize(
    ("committed", "limit", "state", "shade"),
    [
        (0, 100, "ready", "h0"),
        (9, 100, "ready", "h0"),
        (10, 100, "ready", "h1"),
        (99, 100, "ready", "h9"),
        (100, 100, "ready", "h9"),
        (101, 100, "ready", "h10"),
        (101, 100, "cordoned", "hx"),
        (5, None, "ready", "hn"),
    ],
)
def test_a_shade_is_a_tenth_of_the_limit_or_says_what_is_special(committed, limit, state, shade):
    one = node(committed=committed, limit=limit, state=state)
    assert shade_of(one, share_of(one, ("cpu",))) == shade


def test_a_node_that_takes_nothing_new_is_called_closed_whatever_closes_it():
    steps = steps_of([node("a", state="cordoned"), node("b", state="not-ready")], ("cpu",))
    assert [(step.label, step.nodes) for step in steps if step.nodes] == [("closed", 2)]


def test_the_fullest_resource_counts():
    one = node(committed=50)
    assert share_of(one, ("cpu", "memory")) == Share(50, 100)
    assert share_of(one, ("memory",)) is None


@given(st.lists(st.integers(0, 150), max_size=60))
def test_every_node_is_in_one_step(amounts):
    nodes = [node(f"n{at}", amount) for at, amount in enumerate(amounts)]
    assert sum(step.nodes for step in steps_of(nodes, ("cpu",))) == len(nodes)


def test_up_to_a_bound_every_square_is_a_link_and_beyond_squares_of_a_shade_are_one_path():
    few = [node(f"n{at}", at % 120) for at in range(LINKS_MAX)]
    many = [*few, node("last", 110)]
    assert sum(len(tile.spots) for tile in tiles_of(few, ("cpu",), lambda _: "")) == LINKS_MAX
    tiles = tiles_of(many, ("cpu",), lambda _: "")
    assert not any(tile.spots for tile in tiles)
    assert sum(path.count("M") for tile in tiles for _, path in tile.paths) == len(many)
    assert [name for tile in tiles for name in tile.names.split()] == [each.name for each in many]
    assert [len(tile.words.split("|")) for tile in tiles] == [len(tile.names.split()) for tile in tiles]


def test_nodes_of_a_domain_share_a_tile_that_leads_to_them():
    tiles = tiles_of(
        [node("a", domain="r2"), node("b", domain="r1"), node("c", domain="r2")], ("cpu",), "at {}".format
    )
    assert [(tile.name, tile.address, [spot.name for spot in tile.spots]) for tile in tiles] == [
        ("r1", "at r1", ["b"]),
        ("r2", "at r2", ["a", "c"]),
    ]


@given(st.integers(1, 3000))
def test_every_square_lies_within_its_tile(count):
    [*tiles] = tiles_of([node(f"n{at}", domain="r") for at in range(count)], ("cpu",), lambda _: "")
    for tile in tiles:
        places = [(spot.x, spot.y) for spot in tile.spots]
        places += [(int(x), int(y)) for _, path in tile.paths for x, y in re.findall(r"M(\d+) (\d+)h", path)]
        assert len(set(places)) == count
        assert all(0 <= x <= tile.width - tile.size and 0 <= y <= tile.height - tile.size for x, y in places)


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (4, 4), (24, 8), (100, 15), (7, 7), (11, 5), (13, 6)])
def test_a_tile_has_no_rest_where_that_can_be_had(count, columns):
    assert columns_of(count) == columns


def test_squares_are_larger_the_fewer_there_are():
    assert size_of(10) > size_of(100) > size_of(5000)
