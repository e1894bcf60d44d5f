"""Who could claim back what is borrowed."""

from builders import quota, resources
from ullage.engine.quota.book import NO_QUOTA, Book, Member
from ullage.engine.quota.standing import Standing
from ullage.engine.quota.threats import threats_to

BOOK = Book(
    [
        quota("a", {"cpu": "2m"}),
        quota("full", {"cpu": "3m"}),
        quota("idle", {"cpu": "5m", "memory": "7"}),
        quota("other", {"memory": "7"}),
    ]
)


def threats(used: int, quota_place: int = 0):
    running = [Member("a/1", 0, (used, 0), resources()), Member("full/1", 1, (3, 0), resources())]
    return [(each.quota, dict(each.could_claim)) for each in threats_to(Standing(BOOK, running), quota_place)]


def test_those_with_something_unused_of_a_resource_that_is_borrowed():
    assert threats(3) == [("idle", {"cpu": 5})]


def test_nobody_while_nothing_is_borrowed():
    assert threats(2) == []
    assert threats(3, NO_QUOTA) == []


def test_parents_and_children_do_not_claim_from_each_other():
    book = Book([quota("top", {"cpu": "9m"}), quota("a", {"cpu": "1m"}, parent="top")])
    standing = Standing(book, [Member("a/1", 0, (5,), resources())])
    assert threats_to(standing, 0) == ()
