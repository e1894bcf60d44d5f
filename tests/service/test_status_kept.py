"""The numbers of a cluster that is held are counted once, and are the same numbers."""

import pytest

from ullage.service import status as module
from ullage.service.asked import Asked, read_to_hold
from ullage.service.held import holding
from ullage.service.status import status, status_report
from ullage.service.status_kept import KEPT_MAX, is_kept, kept_report


@pytest.fixture
def counted(monkeypatch):
    """How often the numbers of a cluster were counted."""
    found = []

    def counting(snapshot, *rest, **named):
        found.append(snapshot)
        return status_report(snapshot, *rest, **named)

    monkeypatch.setattr(module, "status_report", counting)
    monkeypatch.setattr("ullage.service.status_kept.status_report", counting)
    return found


def test_a_cluster_that_is_held_is_counted_once_and_answers_the_same(counted):
    plain = status(Asked("demo")).data()
    with holding([read_to_hold("demo", Asked("demo"))]):
        answers = [status(Asked("demo")).data() for _ in range(3)]
    assert answers == [plain] * 3
    assert len(counted) == 2


def test_a_namespace_is_counted_for_itself(counted):
    with holding([read_to_hold("demo", Asked("demo"))]):
        whole, web = status(Asked("demo")).data(), status(Asked("demo", namespace="web")).data()
        listed = status(Asked("demo"), by="workload").data()
    assert len(counted) == 3
    assert len(whole["listed"]) < len(web["listed"]) < len(listed["listed"])


def test_only_the_last_clusters_are_kept():
    snapshots = [read_to_hold("demo", Asked("demo")).snapshot for _ in range(KEPT_MAX + 1)]
    for each in snapshots:
        assert kept_report(each) is kept_report(each)
    assert [is_kept(each) for each in snapshots] == [False] + [True] * KEPT_MAX
