"""Who pays for what has a place: before and after, by quota."""

import pytest

from builders import batch, cluster, node, pod, quota, waiting
from ullage.service.asked import Asked
from ullage.service.fit import fit_of
from ullage.service.wanted import Wanted


def answered(snapshot, *batches, atomic=False):
    return fit_of(snapshot, Wanted(batches, atomic=atomic, types=snapshot.resource_types), Asked(cluster="x"))


def paid(snapshot, *batches, atomic=False):
    return {
        each["quota"]: tuple(each[term].get("cpu") for term in ("used", "usedAfter", "borrowedAfter"))
        for each in answered(snapshot, *batches, atomic=atomic).data().get("payers", ())
    }


def room(*more, cpu="8"):
    held = [pod(f"b/p{number}", cpu="1") for number in range(4)]
    return cluster(
        node("n1", cpu=cpu).holding(*held),
        quota("a", {"cpu": "2"}, {"cpu": "6"}),
        quota("b", {"cpu": "0"}),
        *more,
    )


@pytest.mark.parametrize(
    ("replicas", "after", "borrowed"), [(1, "1", "0"), (2, "2", "0"), (3, "3", "1"), (4, "4", "2")]
)
def test_a_quota_pays_within_its_min_and_borrows_above_it(replicas, after, borrowed):
    assert paid(room(), batch(replicas, waiting("a/new", cpu="1"))) == {"a": ("0", after, borrowed)}


def test_the_report_tells_the_bounds_of_who_pays_and_for_whom():
    data = answered(room(), batch(1, waiting("a/new", cpu="1"))).data()
    assert data["payers"] == (
        {
            "quota": "a",
            "workloads": ("a/new",),
            "min": {"cpu": "2"},
            "max": {"cpu": "6"},
            "used": {"cpu": "0"},
            "usedAfter": {"cpu": "1"},
            "borrowed": {"cpu": "0"},
            "borrowedAfter": {"cpu": "0"},
        },
    )


def test_who_is_evicted_is_paid_for_no_more():
    found = paid(room(cpu="4"), batch(1, waiting("a/new", cpu="1")), batch(1, waiting("b/more", cpu="1")))
    assert found == {"a": ("0", "1", "0"), "b": ("4", "3", "3")}


def test_what_has_no_place_is_paid_for_by_nobody_but_who_would_pay_is_named():
    assert paid(room(), batch(1, waiting("a/new", cpu="9"))) == {"a": ("0", "0", "0")}
    both = batch(1, waiting("a/new", cpu="1")), batch(1, waiting("a/large", cpu="9"))
    assert paid(room(), *both) == {"a": ("0", "1", "0")}
    (payer,) = answered(room(), *both).data()["payers"]
    assert payer["workloads"] == ("a/new",)
    assert paid(room(), *both, atomic=True) == {"a": ("0", "0", "0")}


def test_a_workload_that_runs_already_is_counted_once():
    assert paid(room(), batch(1, waiting("b/p0", cpu="3"))) == {"b": ("4", "6", "6")}
    assert paid(room(), batch(1, waiting("b/p0", cpu="1"))) == {"b": ("4", "4", "4")}


def test_where_no_quota_counts_it_nobody_pays():
    answer = answered(room(), batch(1, waiting("other/new", cpu="1")))
    assert "payers" not in answer.data()
    assert "Who pays" not in {block.title for block in answer.page().blocks}


def test_the_page_has_a_row_for_each_resource_that_a_quota_counts():
    answer = answered(
        cluster(node("n1", cpu="8", memory="8Gi"), quota("a", {"cpu": "2", "memory": "1Gi"})),
        batch(3, waiting("a/new", cpu="1", memory="256Mi")),
    )
    (table,) = [block for block in answer.page().blocks if block.title == "Who pays"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["a", "cpu", "0", "3", "2", "-", "1", "a/new"],
        ["a", "memory", "0", "768Mi", "1Gi", "-", "0", "a/new"],
    ]
