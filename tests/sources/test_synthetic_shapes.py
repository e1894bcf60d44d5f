from random import Random

import pytest

from ullage.sources.synthetic_shapes import NODE_CLASSES, Weighted, below, heavy_tailed


@pytest.fixture
def random():
    return Random(1)  # noqa: S311 - tests repeat, they keep no secret


def test_the_shares_of_the_node_classes_are_a_thousand():
    assert sum(each.share for each in NODE_CLASSES) == 1000


def test_things_are_drawn_as_often_as_their_weights_say(random):
    weighted = Weighted(["often", "never", "seldom"], [3, 0, 1])
    drawn = [weighted.draw(random) for _ in range(4000)]
    assert drawn.count("never") == 0
    assert 2800 < drawn.count("often") < 3200


def test_numbers_lie_below_their_bound(random):
    assert {below(random, 5) for _ in range(200)} == {0, 1, 2, 3, 4}


def test_large_numbers_are_rare_and_bounded(random):
    drawn = [heavy_tailed(random, 1000) for _ in range(4000)]
    assert min(drawn) == 1
    assert max(drawn) <= 1000
    assert 1800 < sum(number > 1 for number in drawn) < 2200
    assert 300 < sum(number > 9 for number in drawn) < 500
