"""A standing in label order gives the same answers as one that sorts each time."""

from random import Random

import pytest

from quota_traces import job, setting
from ullage.engine.quota.ordered_standing import OrderedStanding
from ullage.engine.quota.standing import Standing

ORDERS = [("created", "requests", "name"), ("-priority", "-created", "name"), ("-requests",)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(20))
def test_labels_are_those_of_a_standing_after_any_changes(seed, order):
    random = Random(seed)  # noqa: S311 - nothing secret
    made = setting(A={"gpu": 4}, B={"gpu": 3, "cpu": 2})
    plain, ordered = Standing(made.book, (), order), OrderedStanding(made.book, (), order)
    assert ordered.labels(0) == {}
    running = {}
    for number in range(40):
        if running and random.random() < 0.4:
            member = running.pop(random.choice(sorted(running)))
            plain.remove(member)
            ordered.remove(member)
        else:
            key = f"j{number}"
            member = job(
                made,
                key,
                random.choice(("A", "B", "")),
                random.randint(0, 5),
                priority=random.randint(0, 2),
                gpu=random.randint(0, 2),
                cpu=random.randint(0, 1),
            ).member
            running[key] = member
            plain.add(member)
            ordered.add(member)
        for quota in (0, 1):
            newest = next(iter(plain.members[quota].values()), None)
            assert list(ordered.labels(quota).items()) == list(plain.labels(quota).items())
            assert ordered.labels(quota, newest) == plain.labels(quota, newest)
            anew = OrderedStanding(made.book, running.values(), order)
            assert list(anew.labels(quota).items()) == list(plain.labels(quota).items())


def test_one_that_comes_again_with_another_age_has_another_place():
    made = setting(A={"gpu": 1})
    standing = OrderedStanding(made.book, ())
    old, young = job(made, "x", "A", 1, gpu=1).member, job(made, "y", "A", 2, gpu=1).member
    standing.add(old)
    standing.add(young)
    assert standing.labels(0) == {"x": "in-quota", "y": "over-quota"}
    standing.remove(old)
    standing.add(old._replace(created_seconds=3))
    assert standing.labels(0) == {"y": "in-quota", "x": "over-quota"}
