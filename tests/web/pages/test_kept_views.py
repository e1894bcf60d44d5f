"""Views are made once for a cluster and what is recorded, and anew when one of them has changed."""

import pytest

from builders import cluster, node
from ullage.stores.usage import Batch, Marks, append
from ullage.web.pages.kept_views import VIEWS_MAX, kept_view
from usage_builders import book


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "ledger.db"
    record(found, 0)
    return found


def record(path, batches):
    append(path, Batch("test", book({("node/n1", "cpu"): [(batches, 1)]}), Marks(batches, {}), 9))


@pytest.fixture
def views(path):
    """Ask for a view; those that are made are numbered."""
    made = iter(range(100))

    def view(snapshot, name="use"):
        return kept_view(snapshot, path, name, lambda: {"number": next(made)})["number"]

    return view


def test_a_view_is_made_once(views):
    snapshot = cluster(node("n1", cpu="4"))
    assert [views(snapshot), views(snapshot), views(snapshot, "forecast"), views(snapshot)] == [0, 0, 1, 0]


def test_another_cluster_has_another_view_even_if_it_is_equal(views):
    one, other = cluster(node("n1", cpu="4")), cluster(node("n1", cpu="4"))
    assert [views(one), views(other)] == [0, 1]


def test_what_is_recorded_since_is_in_the_view(views, path):
    snapshot = cluster(node("n1", cpu="4"))
    views(snapshot)
    record(path, 1)
    assert [views(snapshot), views(snapshot)] == [1, 1]


def test_a_file_that_was_put_in_its_place_is_another(views, path):
    snapshot = cluster(node("n1", cpu="4"))
    views(snapshot)
    path.rename(path.with_name("old"))
    record(path, 0)
    assert views(snapshot) == 1


def test_only_some_are_kept(views):
    snapshot = cluster(node("n1", cpu="4"))
    for number in range(VIEWS_MAX + 1):
        views(snapshot, str(number))
    assert views(snapshot, "1") == 1
    assert views(snapshot, "0") == VIEWS_MAX + 1
